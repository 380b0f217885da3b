# seed 244
# torch: flag of non-leaf; RuntimeError: you can only change requires_grad flags of leaf variables. If you want to use a computed v
# predicted: another error: may: WalkedTwice second walk line 5
import torch
from torch import nn

target = torch.randn(3, 4)
cell = nn.GRUCell(4, 4)
state = {"h": torch.zeros(3, 4)}
state["h"] = cell(target, state["h"])
memo = state["h"]
memo.requires_grad_(False)
for k in 3:
    F.hardtanh(memo[2:,]).backward()
