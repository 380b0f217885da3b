# seed 197
# torch: modified; RuntimeError: one of the variables needed for gradient computation has been modified by an inplace opera
# predicted: another error: WalkedTwice second walk line 21
from collections import deque
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, scale=1.0, residual=True):
        super().__init__()
        self.layers = [nn.Linear(4, 4) for _ in range(2)]

    def forward(self, x):
        for index, layer in enumerate(self.layers):
            y_ = layer(x)
            x = y_
        bias = x
        bias.addcmul_(bias, bias)
        y = x
        return y


gen = Encoder()
target = torch.randn(3, 4)
memory = deque()
for step in range(3):
    memory.append(gen(target))
    mix = sum(memory)
    inner = mix.mean()
    g = torch.autograd.grad(inner, gen.layers[0].weight)
