# seed 100001
# torch: clean
# predicted: agree: nothing
import torch
from torch import nn

net = nn.Linear(4, 4)
other = nn.Parameter(torch.randn(4))
loss = net(torch.randn(3, 4)).pow(2).mean()
for p, g in zip([other], torch.autograd.grad(loss, [other], allow_unused=True)):
    if g is not None:
        p -= 0.1 * g
