# seed 100024
# torch: modified; RuntimeError: one of the variables needed for gradient computation has been modified by an inplace opera
# predicted: agree: GS201 modified line 8
import itertools

import torch
from torch import nn

net = nn.Linear(4, 4)
total = list(itertools.accumulate([net(torch.randn(3, 4)), net(torch.randn(3, 4))]))[-1].sigmoid()
total += 1
total.sum().backward()
