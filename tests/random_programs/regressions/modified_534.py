# seed 534
# torch: modified; RuntimeError: one of the variables needed for gradient computation has been modified by an inplace opera
# predicted: another error: WalkedTwice second walk line 14
import torch
from torch import nn


class Head(nn.Module):
    pass


class Trainer:
    def __init__(self, model):
        self.cell = nn.RNNCell(4, 4)
        self.state = torch.zeros(3, 4)

    def step(self, x, target=None):
        self.state = self.cell(x, self.state)
        memo = self.state
        memo.zero_()
        emb = memo
        loss_b = emb.norm()
        loss_b.backward()


model = Head()
trainer = Trainer(model)
for step in range(3):
    trainer.step(torch.randn(3, 4))
