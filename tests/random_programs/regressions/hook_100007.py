# seed 100007
# torch: hook; RuntimeError: can't retain_grad on Tensor that has requires_grad=False
# predicted: agree: GS416 hook line 7
import torch
from torch import nn

net = nn.Linear(4, 4)
with torch.no_grad():
    h = net(torch.randn(3, 4))
h.retain_grad()
