# seed 41
# torch: clean
# predicted: false alarm: GS401 no graph line 11
import torch
import torch.nn.functional as F
from torch import nn
labels = torch.tensor([0, 3, 1])

def main():
    net = nn.Linear(4, 4)
    target = torch.randn(3, 4)
    err = F.cross_entropy(net(target), labels)
    err.backward(create_graph=True)
    net.bias.grad.sum().backward()
main()
