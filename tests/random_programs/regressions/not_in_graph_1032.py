# seed 1032
# torch: not in graph; RuntimeError: One of the differentiated Tensors does not require grad
# predicted: another error: NoGraph no graph line 21
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.out_proj = nn.Linear(4, 4)


def main():
    encoder = Encoder()
    target = torch.randn(3, 4)
    cell = nn.GRUCell(4, 4)
    state = {"h": torch.zeros(3, 4)}
    for p in encoder.parameters():
        p.requires_grad_(False)
    state["h"] = cell(target, state["h"])
    memo = state["h"]
    inner = memo.mean()
    g = torch.autograd.grad(inner, encoder.out_proj.weight)
    torch.stack([encoder.out_proj.bias]).backward()


main()
