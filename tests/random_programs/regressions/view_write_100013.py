# seed 100013
# torch: view write; RuntimeError: Output 0 of Split is a view and its base or another view of its base has been modified inp
# predicted: agree: GS206 view write line 10
import torch
from torch import nn

net = nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
first, second = net.weight.chunk(2)
for _ in range(2):
    loss = (first * second).sum()
    loss.backward()
    opt.step()
