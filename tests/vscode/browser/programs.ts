// The programs that the tests open.

/** A training script with one fault for each of the four classic fixes; the first raises, the others are behind it. */
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

/** What the margin shows beside it: the story of the first fault, and of the second walk behind it. */
export const FOUR_MARKS = ["15 saved", "16 written", "17 saved", "18 made", "28 made", "31 walked"];

/** A notebook with code cells. */
export function notebook(...cells: string[]): string {
  const made = cells.map((source, index) => ({
    cell_type: "code",
    execution_count: null,
    id: `cell-${index}`,
    metadata: {},
    outputs: [],
    source: source.split(/(?<=\n)/),
  }));
  const kernelspec = { display_name: "Python 3", language: "python", name: "python3" };
  return JSON.stringify(
    { cells: made, metadata: { kernelspec, language_info: { name: "python" } }, nbformat: 4, nbformat_minor: 5 },
    null,
    1,
  );
}

/** The texts of a notebook's code cells. */
export function sourcesOf(text: string): string[] {
  const { cells } = JSON.parse(text) as { cells: { cell_type: string; source: string[] | string }[] };
  return cells
    .filter((cell) => cell.cell_type === "code")
    .map(({ source }) => (typeof source === "string" ? source : source.join("")));
}

/** A notebook with a list that keeps graphs, and a write in place that breaks a backward. */
export const NOTEBOOK = notebook(
  `import torch
from torch import nn

x = torch.linspace(-3, 3, 64).unsqueeze(1)
y = torch.sin(x)`,
  `model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
losses = []`,
  `for step in range(20):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss)`,
  `probe = x.clone().requires_grad_(True)
bump = torch.exp(-model(probe) ** 2)
bump += 0.5
bump.sum().backward()`,
);

/** A program that takes a day, in a process of its own that a careless end would leave behind. */
export const SLOW = `import subprocess
import torch

w = torch.ones(3, requires_grad=True)
subprocess.run(["sleep", "86399"])
(w * w).sum().backward()
`;

/** A fault in a function that nothing calls but a person who selects the call in its last line. */
export const UNCALLED = `import torch


def tilt(scale=2.0):
    w = torch.ones(3, requires_grad=True)
    y = (w * scale).exp()
    y += 1
    y.sum().backward()


# try it: tilt(3.0)
`;
