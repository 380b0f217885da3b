# seed 81
# torch: modified; RuntimeError: one of the variables needed for gradient computation has been modified by an inplace opera
# predicted: another error: WalkedTwice second walk line 9
import torch
import torch.nn.functional as F
from torch import nn

param = torch.randn(3, 4)
cell = nn.RNNCell(4, 4)
state = torch.zeros(3, 4)
for step, (x, target) in enumerate(zip(torch.randn(2, 3, 4), torch.randn(2, 3, 4))):
    state = cell(target, state)
    memo = state
    memo.mul_(0.5)
    loss = F.mse_loss(memo, param)
    torch.autograd.backward(loss)
