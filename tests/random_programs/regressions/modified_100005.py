# seed 100005
# torch: modified; RuntimeError: one of the variables needed for gradient computation has been modified by an inplace opera
# predicted: agree: GS201 modified line 5
import torch
from torch import nn

h = nn.Linear(4, 4)(torch.randn(3, 4))
h *= h
h.sum().backward()
