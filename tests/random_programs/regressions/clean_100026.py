# seed 100026
# torch: clean
# predicted: agree: nothing
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
loss = net(torch.randn(3, 4)).mean()
net.requires_grad_(False)
loss.backward(retain_graph=True)
opt.step()
loss.backward()
