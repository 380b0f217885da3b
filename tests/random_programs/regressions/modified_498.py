# seed 498
# torch: modified; RuntimeError: one of the variables needed for gradient computation has been modified by an inplace opera
# predicted: missed: nothing
import torch
from torch import nn


class Trainer:
    def __init__(self, model):
        self.cell = nn.RNNCell(4, 4)
        self.state = torch.zeros(3, 4)

    def step(self, x, target=None):
        target = torch.zeros(3, 4)
        self.state = self.cell(target, self.state)
        memo = self.state
        self.state += 0.1
        loss = memo.sum()
        loss.backward()

    def fit(self, count):
        self.step(3)


model = 4
trainer = Trainer(model)
trainer.fit(3)
