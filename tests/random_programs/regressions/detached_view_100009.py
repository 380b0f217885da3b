# seed 100009
# torch: detached view; RuntimeError: Can't detach views in-place. Use detach() instead. If you are using DistributedDataParalle
# predicted: agree: GS206 detached view line 5
import torch

buffer = torch.zeros(4)
part = buffer[:2]
part.detach_()
