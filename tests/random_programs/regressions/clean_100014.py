# seed 100014
# torch: clean
# predicted: agree: nothing
import torch

h = torch.randn(3, 4, requires_grad=True) + 1
h[...] = 1.5
h[:, :] = torch.zeros(3, 4)
loss = h.sum()
loss.backward()
loss.backward()
