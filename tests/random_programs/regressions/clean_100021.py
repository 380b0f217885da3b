# seed 100021
# torch: clean
# predicted: agree: nothing
import torch

h = (torch.randn(4, requires_grad=True) * 2).expand(3, 4)
h[0, 0] *= 2.0
