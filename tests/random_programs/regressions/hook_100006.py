# seed 100006
# torch: hook; RuntimeError: can't retain_grad on Tensor that has requires_grad=False
# predicted: agree: GS412 hook line 6
import torch
from torch import nn

net = nn.Linear(4, 4)
x = torch.randn(3, 4)
net(x).sum().backward(inputs=[x])
