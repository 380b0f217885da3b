# seed 100030
# torch: clean
# predicted: agree: nothing
import torch
from torch import nn

table, net = nn.Embedding(4, 4), nn.Linear(4, 4)
loss = net(table(torch.tensor([0, 3, 1])) + torch.tanh(net.weight[:3])).mean()
loss.backward(create_graph=True)
table.weight.grad.pow(2).sum().backward()
loss.backward()
