# seed 100015
# torch: second walk; RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after
# predicted: agree: GS103 second walk line 11
import torch
from torch import nn

h = nn.Linear(4, 4)(torch.randn(3, 4)).exp()
out = h.sigmoid()
h += 1
try:
    out.pow(2).sum().backward()
except RuntimeError:
    pass
(out * 2).sum().backward()
