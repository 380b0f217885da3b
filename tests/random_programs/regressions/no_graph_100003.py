# seed 100003
# torch: no graph; RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn
# predicted: agree: GS401 no graph line 5
import torch

frozen = torch.randn(3)
out = (frozen * 2).sum()
torch.autograd.grad(out, frozen)
