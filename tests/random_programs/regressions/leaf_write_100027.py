# seed 100027
# torch: leaf write; RuntimeError: a view of a leaf Variable that requires grad is being used in an in-place operation.
# predicted: agree: GS203 leaf write line 16
import torch


class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.clamp_(-1.0, 1.0)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


Clip.apply(torch.randn(3, 4, requires_grad=True)[:2])
