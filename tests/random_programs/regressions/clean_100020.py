# seed 100020
# torch: clean
# predicted: agree: nothing
import torch
from torch import nn

net = nn.Linear(4, 4)
low = net.weight.chunk(2, dim=1)[1].contiguous()
torch.clamp_(low, max=2.0)
net(torch.randn(3, 4)).sum().backward()
