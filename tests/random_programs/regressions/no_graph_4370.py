# seed 4370
# torch: no graph; RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn
# predicted: another error: GS203 leaf write line 12; GS402 None line 21
import torch
from torch import nn


class Mixer(nn.Module):
    def __init__(self, scale=1.0, residual=True):
        super(Mixer, self).__init__()
        self.blocks = [nn.Linear(4, 4) for _ in range(2)]
        self.out_proj = nn.Linear(4, 4)

    def forward(self, x):
        self.out_proj.weight[2] -= self.out_proj


class Trainer:
    def __init__(self, model):
        self.model = model

    def step(self, x, target=None):
        inner = (x @ self.model.blocks[0].weight).mean()
        g = torch.autograd.grad(inner, self.model.blocks[0].weight)
        hv = torch.autograd.grad(g, self.model.blocks[0].weight)


model = Mixer()
trainer = Trainer(model)
trainer.step(torch.randn(3, 4))
