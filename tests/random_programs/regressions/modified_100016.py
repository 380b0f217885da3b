# seed 100016
# torch: modified; RuntimeError: one of the variables needed for gradient computation has been modified by an inplace opera
# predicted: agree: GS205 modified line 9
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
opt = torch.optim.Adam(net.parameters())
for _ in range(2):
    opt.zero_grad(set_to_none=False)
    loss = net(torch.randn(3, 4)).mean()
    opt.step()
    loss.backward()
