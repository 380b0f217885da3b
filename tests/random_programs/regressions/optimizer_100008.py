# seed 100008
# torch: optimizer; ValueError: can't optimize a non-leaf Tensor
# predicted: agree: GS417 optimizer line 4
import torch

latent = torch.randn(3, requires_grad=True) * 0.1
opt = torch.optim.SGD([latent], lr=0.1)
