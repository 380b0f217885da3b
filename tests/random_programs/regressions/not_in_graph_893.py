# seed 893
# torch: not in graph; RuntimeError: The differentiated Tensor at index 0 appears to not have been used in the graph. Set allow
# predicted: missed: nothing
import torch
import torch.nn.functional as F
from torch import nn

labels = torch.tensor([0, 3, 1])
encoder = nn.Linear(4, 4)
param = torch.randn(3, 4, requires_grad=True)
loss = F.cross_entropy(param, labels)
grads_ = torch.autograd.grad(loss, encoder.parameters())
