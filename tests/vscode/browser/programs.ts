// The programs that the tests open.

/** A training script with one fault for each of the four classic fixes; the first raises before the others are reached. */
export const FOUR_FAULTS = `import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(8, 16)
        self.skip = nn.Linear(8, 16)
        self.rnn = nn.RNN(16, 16)
        self.left = nn.Linear(16, 2)
        self.right = nn.Linear(16, 2)

    def forward(self, x, state):
        h = torch.sigmoid(self.gate(x))
        h += self.skip(x)
        out, state = self.rnn(h, state)
        return self.left(out), self.right(out), state


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
state = torch.zeros(1, 4, 16)
running = 0.0
for step in range(5):
    x = torch.randn(3, 4, 8)
    a, b, state = net(x, state)
    loss_a = a.square().mean()
    loss_b = b.square().mean()
    optimizer.zero_grad()
    loss_a.backward()
    loss_b.backward()
    optimizer.step()
    running += loss_a
print(running)
`;
