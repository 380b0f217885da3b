"""Trains a character model over one long text, window by window. Two lines of it are wrong."""

import torch
from torch import nn

TEXT = "the quick brown fox jumps over the lazy dog. " * 8
ALPHABET = sorted(set(TEXT))
WINDOW = 24


class CharModel(nn.Module):
    def __init__(self, symbols: int, width: int = 32) -> None:
        super().__init__()
        self.embed = nn.Embedding(symbols, width)
        self.rnn = nn.LSTM(width, width, batch_first=True)
        self.head = nn.Linear(width, symbols)

    def forward(self, codes, state=None):
        out, state = self.rnn(self.embed(codes), state)
        return self.head(out), state


codes = torch.tensor([[ALPHABET.index(char) for char in TEXT]])
model = CharModel(len(ALPHABET))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

state = None
total = 0.0
windows = 0
for start in range(0, codes.size(1) - WINDOW - 1, WINDOW):
    inputs = codes[:, start : start + WINDOW]
    targets = codes[:, start + 1 : start + WINDOW + 1]
    logits, state = model(inputs, state)
    loss = criterion(logits.transpose(1, 2), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total = total + loss
    windows += 1

print(f"mean loss {total / windows:.3f}")
