# seed 709
# torch: second walk; RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after
# predicted: missed: nothing
import torch
import torch.nn.functional as F
from torch import nn

labels = torch.tensor([0, 3, 1])
encoder = nn.Linear(4, 4)
target = torch.randn(3, 4)
opt = torch.optim.LBFGS(encoder.parameters())
shared = encoder(target)


def closure():
    loss = F.cross_entropy(shared, labels)
    loss.backward()
    return loss


opt.step(closure)
