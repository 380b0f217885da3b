"""Measures what a step costs under anomaly mode and under the probe, beside the plain step, all in one run.

usage: python server/tools/bench_run.py [--steps N] [--rounds N] [--goal RATIO] [--only WORD]

The steps are those of an MLP, a small transformer and an LSTM on the CPU (or, with --device cuda, the GPU). Rounds of
the three kinds take turns, so that a busy machine hurts all of them; of the rounds the best counts. Looking for what is
alive at the end of a pass is no part of a step and is shown by itself.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
from torch import nn
from torch.nn import functional

from gradsense.run.inside.memory import Alive
from gradsense.run.inside.probe import Probe, only_new_objects

Step = Callable[[], None]


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description="Measures what the probe costs.")
    parser.add_argument("--steps", type=int, default=5, help="steps in a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--goal", type=float, default=3.0, help="fail if the probe costs more than so many plain steps")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", default="", metavar="WORD")
    options = parser.parse_args()
    torch.set_num_threads(1)
    worst = 0.0
    for name, make in {"MLP": mlp, "transformer": transformer, "LSTM": lstm}.items():
        if options.only.lower() not in name.lower():
            continue
        times = measure(make(options.device), options.steps, options.rounds)
        plain = times["plain"]
        worst = max(worst, times["probe"] / plain)
        ratios = ", ".join(f"{kind} {seconds / plain:.2f}" for kind, seconds in times.items())
        print(f"{name}: plain step {1000 * plain:.1f} ms; {ratios}", flush=True)
    print(f"the probe costs at most {worst:.2f} times a plain step (goal: {options.goal})")
    sys.exit(worst > options.goal)


def measure(step: Step, steps: int, rounds: int) -> dict[str, float]:
    """Seconds a step of each kind."""
    kinds: dict[str, Callable[[], Any]] = {"plain": plainly, "anomaly": under_anomaly, "probe": under_probe}
    best = dict.fromkeys(kinds, float("inf"))
    for _ in range(3):
        step()
    for _ in range(rounds):
        for name, around in kinds.items():
            with around():
                step()
                began = now()
                for _ in range(steps):
                    step()
                synchronise()
                best[name] = min(best[name], (now() - began) / steps)
    with only_new_objects():
        began = now()
        Alive()
        best["(a look at what is alive)"] = now() - began
    return best


def now() -> float:
    """Processor time: what other programs do on this machine does not count."""
    return time.perf_counter() if torch.cuda.is_available() else time.process_time()


def plainly() -> Any:
    """Nothing is on."""
    return torch.autograd.set_grad_enabled(True)


def under_anomaly() -> Any:
    """torch's own anomaly mode, with its check for NaN."""
    return torch.autograd.set_detect_anomaly(True)


def under_probe() -> Any:
    """The probe, with everything that it does during a step."""
    return Probe(files=[__file__])


def synchronise() -> None:
    """Waits for the GPU, if one is in use."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def mlp(device: str) -> Step:
    """Twelve layers of 256, a batch of 64, AdamW."""
    layers = [nn.Sequential(nn.Linear(256, 256), nn.LayerNorm(256), nn.ReLU()) for _ in range(12)]
    return training(
        nn.Sequential(*layers, nn.Linear(256, 10)), torch.randn(64, 256), torch.randint(0, 10, (64,)), device
    )


def transformer(device: str) -> Step:
    """Four encoder layers of width 128, 8 sequences of 64."""
    layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
    model = nn.Sequential(nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), nn.Flatten(), nn.LazyLinear(10))
    return training(model, torch.randn(8, 64, 128), torch.randint(0, 10, (8,)), device)


def lstm(device: str) -> Step:
    """Two layers of 128, 16 sequences of 50."""

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn = nn.LSTM(64, 128, 2, batch_first=True)
            self.head = nn.Linear(128, 10)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            states, _ = self.rnn(x)
            result: torch.Tensor = self.head(states[:, -1])
            return result

    return training(Tagger(), torch.randn(16, 50, 64), torch.randint(0, 10, (16,)), device)


def training(model: nn.Module, inputs: torch.Tensor, targets: torch.Tensor, device: str) -> Step:
    """A step of training."""
    model, inputs, targets = model.to(device), inputs.to(device), targets.to(device)
    model(inputs)
    optimizer = torch.optim.AdamW(model.parameters())

    def step() -> None:
        optimizer.zero_grad()
        functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()

    return step


if __name__ == "__main__":
    main()
