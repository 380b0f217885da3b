# seed 100029
# torch: view write; RuntimeError: Output 2 of Unbind is a view and its base or another view of its base has been modified in
# predicted: agree: GS206 view write line 7
import torch

h = torch.randn(3, 4, requires_grad=True) * 2
cost = 0.0
for row in h:
    cost = cost + row.pow(2).mean()
h += 1
cost.backward()
