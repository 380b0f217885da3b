# seed 100011
# torch: view write; RuntimeError: A view was created in no_grad mode and its base or another view of its base has been modif
# predicted: agree: GS206 view write line 9
import torch
from torch import nn

net = nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
with torch.no_grad():
    row = net.weight[0]
net(torch.randn(3, 4)).sum().backward()
opt.step()
(row * 2).sum()
