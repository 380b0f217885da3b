# seed 100017
# torch: modified; RuntimeError: one of the variables needed for gradient computation has been modified by an inplace opera
# predicted: agree: GS201 modified line 7
import torch
from torch import nn

attention = nn.MultiheadAttention(4, 2)
h = nn.Linear(4, 4)(torch.randn(3, 4))
out, weights = attention(h, h, h)
h += 1
out.sum().backward()
