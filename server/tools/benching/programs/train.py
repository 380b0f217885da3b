"""Trains a small recurrent language model with an adversarial regulariser: the script that typing is measured in."""

from __future__ import annotations

import argparse
import logging
import math
import time
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

log = logging.getLogger(__name__)


@dataclass
class Config:
    """What can be set on the command line."""

    vocabulary: int = 1000
    width: int = 128
    heads: int = 4
    layers: int = 3
    length: int = 64
    batch: int = 32
    epochs: int = 10
    rate: float = 3e-4
    decay: float = 0.01
    dropout: float = 0.1
    clip: float = 1.0
    adversarial: float = 0.05
    warmup: int = 100
    seed: int = 0
    device: str = "cuda" if torch.cuda.is_available() else "cpu"
    output: str = "runs"


class Tokens(Dataset):
    """Windows of a long text, as numbers."""

    def __init__(self, data: torch.Tensor, length: int) -> None:
        self.data = data
        self.length = length

    def __len__(self) -> int:
        return (len(self.data) - 1) // self.length

    def __getitem__(self, index: int):
        start = index * self.length
        window = self.data[start : start + self.length + 1]
        return window[:-1], window[1:]


class Positions(nn.Module):
    """Adds sines of the position."""

    def __init__(self, width: int, longest: int = 2048) -> None:
        super().__init__()
        position = torch.arange(longest).unsqueeze(1)
        scale = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        table = torch.zeros(longest, width)
        table[:, 0::2] = torch.sin(position * scale)
        table[:, 1::2] = torch.cos(position * scale)
        self.register_buffer("table", table)

    def forward(self, x):
        return x + self.table[: x.size(1)]


class Attention(nn.Module):
    """Causal self-attention."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.scale = (width // heads) ** -0.5
        self.project = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        batch, length, width = x.shape
        query, key, value = self.project(x).chunk(3, dim=-1)
        query = query.view(batch, length, self.heads, -1).transpose(1, 2)
        key = key.view(batch, length, self.heads, -1).transpose(1, 2)
        value = value.view(batch, length, self.heads, -1).transpose(1, 2)
        scores = query @ key.transpose(-2, -1) * self.scale
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        weights = self.dropout(F.softmax(scores, dim=-1))
        mixed = (weights @ value).transpose(1, 2).reshape(batch, length, width)
        return self.output(mixed)


class FeedForward(nn.Module):
    """Two linear layers with a gate."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.inner = nn.Linear(width, 4 * width)
        self.gate = nn.Linear(width, 4 * width)
        self.outer = nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        gate = torch.sigmoid(self.gate(x))
        hidden = F.gelu(self.inner(x)) * gate
        return self.dropout(self.outer(hidden))


class Block(nn.Module):
    """Attention and feed-forward, each with a residual."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attention = Attention(config.width, config.heads, config.dropout)
        self.feed_forward = FeedForward(config.width, config.dropout)
        self.first_norm = nn.LayerNorm(config.width)
        self.second_norm = nn.LayerNorm(config.width)

    def forward(self, x, mask=None):
        x = x + self.attention(self.first_norm(x), mask)
        return x + self.feed_forward(self.second_norm(x))


class LanguageModel(nn.Module):
    """Blocks, and a recurrent memory between windows."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocabulary, config.width)
        self.positions = Positions(config.width)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.layers)])
        self.memory = nn.GRU(config.width, config.width, batch_first=True)
        self.norm = nn.LayerNorm(config.width)
        self.head = nn.Linear(config.width, config.vocabulary, bias=False)
        self.apply(self.initialise)

    def initialise(self, module):
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=0.02)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.02)

    def forward(self, tokens, state=None):
        length = tokens.size(1)
        mask = torch.tril(torch.ones(length, length, device=tokens.device))
        x = self.positions(self.embed(tokens))
        for block in self.blocks:
            x = block(x, mask)
        x, state = self.memory(x, state)
        features = self.norm(x)
        return self.head(features), features, state


class Critic(nn.Module):
    """Tells features of one window from those of another."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(width, width),
            nn.LeakyReLU(0.2),
            nn.Linear(width, width),
            nn.LeakyReLU(0.2),
            nn.Linear(width, 1),
        )

    def forward(self, features):
        return self.layers(features.mean(dim=1)).squeeze(-1)


class Average:
    """A running mean of numbers."""

    def __init__(self) -> None:
        self.total = 0.0
        self.count = 0

    def add(self, value: float, count: int = 1) -> None:
        self.total += value * count
        self.count += count

    @property
    def mean(self) -> float:
        return self.total / max(self.count, 1)


def rate_at(step: int, config: Config, steps: int) -> float:
    """A linear warm-up, then half a cosine."""
    if step < config.warmup:
        return step / max(1, config.warmup)
    progress = (step - config.warmup) / max(1, steps - config.warmup)
    return 0.5 * (1.0 + math.cos(math.pi * progress))


def language_loss(logits, targets):
    """Cross entropy of every position."""
    return F.cross_entropy(logits.reshape(-1, logits.size(-1)), targets.reshape(-1))


def critic_loss(critic, features, noise):
    """What the critic minimises: it must not move the model."""
    real = critic(noise)
    fake = critic(features.detach())
    real_loss = F.binary_cross_entropy_with_logits(real, torch.ones_like(real))
    fake_loss = F.binary_cross_entropy_with_logits(fake, torch.zeros_like(fake))
    return (real_loss + fake_loss) / 2


def train_epoch(model, critic, loader, optimizer, critic_optimizer, schedule, config, epoch):
    """One pass over the data; the mean loss."""
    model.train()
    average = Average()
    state = None
    started = time.time()
    for index, (tokens, targets) in enumerate(loader):
        tokens, targets = tokens.to(config.device), targets.to(config.device)
        if state is not None:
            state = state.detach()
        logits, features, state = model(tokens, state)

        noise = torch.randn_like(features)
        critic_optimizer.zero_grad()
        loss_of_critic = critic_loss(critic, features, noise)
        loss_of_critic.backward()
        critic_optimizer.step()

        optimizer.zero_grad()
        loss = language_loss(logits, targets)
        score = critic(features)
        adversarial = F.binary_cross_entropy_with_logits(score, torch.ones_like(score))
        total = loss + config.adversarial * adversarial
        total.backward()
        nn.utils.clip_grad_norm_(model.parameters(), config.clip)
        optimizer.step()
        schedule.step()

        average.add(loss.item(), tokens.size(0))
        if index % 50 == 0:
            speed = (index + 1) * config.batch / (time.time() - started)
            log.info("epoch %d step %d loss %.4f (%.1f/s)", epoch, index, average.mean, speed)
    return average.mean


@torch.no_grad()
def evaluate(model, loader, config):
    """The mean loss on held-out data."""
    model.eval()
    average = Average()
    state = None
    for tokens, targets in loader:
        tokens, targets = tokens.to(config.device), targets.to(config.device)
        logits, _, state = model(tokens, state)
        average.add(language_loss(logits, targets).item(), tokens.size(0))
    return average.mean


def save(model, optimizer, epoch, config):
    """Writes a checkpoint."""
    folder = Path(config.output)
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(
        {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch},
        folder / f"epoch{epoch:03d}.pt",
    )


def parse_arguments() -> Config:
    """The configuration, from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in vars(Config()).items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    return Config(**vars(parser.parse_args()))


def main() -> None:
    """Trains and evaluates."""
    logging.basicConfig(level=logging.INFO)
    config = parse_arguments()
    torch.manual_seed(config.seed)
    text = torch.randint(config.vocabulary, (200_000,))
    train_loader = DataLoader(Tokens(text[:180_000], config.length), batch_size=config.batch, drop_last=True)
    valid_loader = DataLoader(Tokens(text[180_000:], config.length), batch_size=config.batch, drop_last=True)

    model = LanguageModel(config).to(config.device)
    critic = Critic(config.width).to(config.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.rate, weight_decay=config.decay)
    critic_optimizer = torch.optim.Adam(critic.parameters(), lr=config.rate)
    steps = config.epochs * len(train_loader)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate_at(step, config, steps))

    best = float("inf")
    for epoch in range(config.epochs):
        trained = train_epoch(model, critic, train_loader, optimizer, critic_optimizer, schedule, config, epoch)
        valid = evaluate(model, valid_loader, config)
        log.info("epoch %d: train %.4f valid %.4f", epoch, trained, valid)
        if valid < best:
            best = valid
            save(model, optimizer, epoch, config)


if __name__ == "__main__":
    main()
