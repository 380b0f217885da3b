# seed 4094
# torch: no graph; RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn
# predicted: another error: GS402 None line 17
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, scale=1.0, residual=True):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.Linear(4, 4), nn.Dropout(0.5))


class Trainer:
    def __init__(self, model):
        self.model = model

    def step(self, x, target=None):
        inner = (x @ self.model.trunk[0].weight).mean()
        g = torch.autograd.grad(inner, self.model.trunk[0].weight)
        hv = torch.autograd.grad(g, self.model.trunk[0].weight)


model = Head()
trainer = Trainer(model)
trainer.step(torch.randn(3, 4))
