# seed 100004
# torch: modified; RuntimeError: one of the variables needed for gradient computation has been modified by an inplace opera
# predicted: agree: GS201 modified line 7
import torch
from torch import nn

net = nn.Linear(4, 4)
gate, index = max(enumerate([net(torch.randn(3, 4))]), key=lambda pair: pair[0])[::-1]
out = gate.sigmoid()
out += 1
out.sum().backward()
