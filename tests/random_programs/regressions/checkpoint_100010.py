# seed 100010
# torch: checkpoint; RuntimeError: When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an
# predicted: agree: GS418 checkpoint line 7
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

net = nn.Linear(4, 4)
x = torch.randn(3, 4, requires_grad=True)
torch.autograd.grad(checkpoint(net, x, use_reentrant=True).sum(), x)
