# seed 4336
# torch: no graph; RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn
# predicted: another error: GS402 None line 14
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj_in = nn.Linear(4, 4)


def main():
    gen = Head()
    target = torch.randn(3, 4)
    inner = (target @ gen.proj_in.weight).mean()
    g = torch.autograd.grad(inner, gen.proj_in.weight)[0]
    extra = g
    extra.backward()


main()
