# seed 100028
# torch: view write; RuntimeError: Output 0 of Same is a view and is being modified inplace. This view was created inside a c
# predicted: agree: GS206 view write line 15
import torch


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view(-1)

    @staticmethod
    def backward(ctx, grad):
        return grad.view(3, 4)


h = Same.apply(torch.randn(3, 4, requires_grad=True) * 2)
h += 1
