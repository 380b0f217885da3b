# seed 979
# torch: flag of non-leaf; RuntimeError: you can only change requires_grad flags of leaf variables. If you want to use a computed v
# predicted: another error: WalkedTwice second walk line 24
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, scale=1.0, residual=True):
        super().__init__()
        self.net = nn.Linear(4, 4)

    @property
    def size(self):
        return self.net(2)

    def forward(self, x):
        hidden = x
        return (self.net(hidden),)


def train_step(x, target):
    mix = torch.zeros(3, 4)
    mix[:, 0], mix[:, 1] = (sum(model(x))[:, 0], model(x)[0][:, 1])
    mix.requires_grad_(False)
    loss = sum([model.size])
    loss.backward()
    loss.backward()


model = Encoder()
for step, (x, target) in enumerate(zip(torch.randn(2, 3, 4), torch.randn(2, 3, 4))):
    train_step(x, target)
