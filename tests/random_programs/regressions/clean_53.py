# seed 53
# torch: clean
# predicted: false alarm: SavedModified modified line 16
import torch
from torch import nn


def criterion(pred, target):
    return pred.mean()


target = torch.randn(3, 4)
cell = nn.GRUCell(4, 4)
state = {"h": torch.zeros(3, 4)}
opt = torch.optim.Adam([{"params": cell.parameters()}])
step = 0
while step < 2:
    state["h"] = cell(target, state["h"])
    memo = state["h"]
    err = criterion(memo, memo)
    err.backward(retain_graph=True)
    opt.step()
    step += 1
