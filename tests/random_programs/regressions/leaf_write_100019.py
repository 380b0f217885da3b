# seed 100019
# torch: leaf write; RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.
# predicted: agree: GS203 leaf write line 7
import torch

w = torch.randn(3, requires_grad=True)
buffer = torch.zeros(3)
part = buffer[:2]
buffer[1:] = w[1:]
part.add_(1)
