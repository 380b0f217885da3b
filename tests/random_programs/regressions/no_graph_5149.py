# seed 5149
# torch: no graph; RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn
# predicted: another error: GS402 None line 20
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, scale=1.0, residual=True):
        super().__init__()
        self.proj_in = nn.Linear(4, 4)


class Trainer:
    def __init__(self, model):
        self.model = model

    def step(self, x, target):
        y, gate = (target, torch.addmm(self.model.proj_in.bias, x, self.model.proj_in.weight))
        holder = gate
        feat = holder
        inner = feat.mean()
        (g,) = torch.autograd.grad(inner, [self.model.proj_in.weight])
        extra = g
        extra.backward()

    def fit(self, count):
        self.step(torch.randn(3, 4), 3)


model = Encoder()
Trainer(model).fit(count=2)
