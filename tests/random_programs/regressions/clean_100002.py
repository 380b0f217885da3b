# seed 100002
# torch: clean
# predicted: agree: nothing
import torch

x = torch.randn(3, requires_grad=True)
b = torch.randn(3)
with torch.inference_mode():
    d = x.detach()
    v = b[:2]
(x * d).sum().backward()
v.add_(1)
