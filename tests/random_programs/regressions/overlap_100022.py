# seed 100022
# torch: overlap; RuntimeError: unsupported operation: more than one element of the written-to tensor refers to a single m
# predicted: agree: GS206 overlap line 4
import torch

h = torch.randn(4).expand(3, 4)
h += 1
