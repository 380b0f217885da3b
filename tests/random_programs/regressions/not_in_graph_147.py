# seed 147
# torch: not in graph; RuntimeError: The differentiated Tensor at index 1 appears to not have been used in the graph. Set allow
# predicted: another error: WalkedTwice second walk line 21
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])

    @property
    def size(self):
        return self.blocks[0].weight.pow(2).sum()


class Trainer:
    def __init__(self, model):
        self.model = model

    def step(self, x, target=None):
        err = self.model.size
        grads = torch.autograd.grad(err, self.model.parameters())
        err.backward()


model = Head()
trainer = Trainer(model)
trainer.step(3)
