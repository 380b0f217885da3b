"""Trains a small classifier on made-up data. Four lines of it are wrong."""

import torch
from torch import nn
from torch.nn import functional as F


class GatedClassifier(nn.Module):
    def __init__(self, features: int = 16, hidden: int = 32, classes: int = 4) -> None:
        super().__init__()
        self.gate = nn.Linear(features, hidden)
        self.skip = nn.Linear(features, hidden)
        self.head = nn.Linear(hidden, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.sigmoid(self.gate(x))
        h += self.skip(x)
        return self.head(h)


def make_batches(count: int, size: int = 8) -> list[tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(count, size, 16, generator=generator)
    targets = torch.randint(0, 4, (count, size), generator=generator)
    return list(zip(inputs, targets))


def train(model: GatedClassifier, epochs: int = 2) -> list[torch.Tensor]:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    history = []
    for epoch in range(epochs):
        running = 0.0
        for inputs, targets in make_batches(8):
            optimizer.zero_grad()
            logits = model(inputs)
            loss = F.cross_entropy(logits, targets)
            loss.backward()
            optimizer.step()
            running += loss
            history.append(loss)
        print(f"epoch {epoch}: mean loss {running / 8:.3f}")
    return history


def evaluate(model: GatedClassifier) -> float:
    model.eval()
    outputs = []
    labels = []
    for inputs, targets in make_batches(4):
        outputs.append(model(inputs))
        labels.append(targets)
    predictions = torch.cat(outputs).argmax(dim=1)
    return (predictions == torch.cat(labels)).float().mean().item()


if __name__ == "__main__":
    classifier = GatedClassifier()
    train(classifier)
    print(f"accuracy {evaluate(classifier):.2f}")
