# seed 100018
# torch: clean
# predicted: agree: nothing
import torch
from torch import nn

encoder = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0)
out = encoder(torch.randn(3, 4))
out += 1
out.sum().backward()
