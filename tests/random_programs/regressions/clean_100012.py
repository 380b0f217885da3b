# seed 100012
# torch: clean
# predicted: agree: nothing
import torch
from torch import nn

net = nn.Linear(4, 4)
with torch.no_grad():
    row = net.weight[0]
(row * 2).sum().backward()
