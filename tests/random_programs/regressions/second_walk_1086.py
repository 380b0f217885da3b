# seed 1086
# torch: second walk; RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after
# predicted: missed: nothing
import torch
import torch.nn.functional as F
from torch import nn

labels = torch.tensor([0, 3, 1])
net = nn.Linear(4, 4)
x = torch.randn(3, 4)
opt = torch.optim.LBFGS(net.parameters())
shared = net(x)


def closure():
    objective = F.cross_entropy(shared, labels)
    objective.backward()
    return objective


opt.step(closure)
