# seed 100023
# torch: not scalar; RuntimeError: grad can be implicitly created only for scalar outputs
# predicted: agree: GS403 not scalar line 5
import torch
from torch import nn

out = nn.Linear(4, 4)(torch.randn(3, 4)).unsqueeze(1).squeeze(1).std(0)
out.roll(1, dims=0).backward()
