# seed 4734
# torch: no graph; RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn
# predicted: another error: GS402 None line 11
import torch
from torch import nn


class Trainer:
    def __init__(self, model):
        self.model = model

    def step(self, x, target):
        inner = (target @ self.model.weight).mean()
        g = torch.autograd.grad(inner, self.model.weight)
        hv = torch.autograd.grad(g, self.model.weight)

    def fit(self, count):
        self.step(3, torch.ones(3, 4))


model = nn.Linear(4, 4)
trainer = Trainer(model)
trainer.fit(3)
