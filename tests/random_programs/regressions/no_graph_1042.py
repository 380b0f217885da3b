# seed 1042
# torch: no graph; RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn
# predicted: missed: nothing
import torch
from torch import nn


class Trainer:
    def __init__(self, model):
        self.model = model

    def step(self, x, target=None):
        target = torch.zeros(3, 4)
        loss = self.model(target).mean()
        loss.backward(create_graph=True)
        self.model.bias.grad.sum().backward()

    def fit(self, count):
        self.step(3)


model = nn.Linear(4, 4)
Trainer(model).fit(count=2)
