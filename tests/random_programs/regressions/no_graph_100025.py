# seed 100025
# torch: no graph; RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn
# predicted: agree: GS401 no graph line 6
import torch

w = torch.randn(4, requires_grad=True)
loss = w.clamp(min=0).sum()
loss.backward(create_graph=True)
w.grad.pow(2).sum().backward()
