"""Writes the random program of a seed."""

from __future__ import annotations

import ast
import random
import re
from collections import Counter
from dataclasses import dataclass

from .builder import CONSTANTS, Builder
from .definitions import definitions
from .scenarios import SCENARIOS, classes


@dataclass(frozen=True)
class Program:
    """A random program.

    Attributes:
        seed: what it was made from.
        text: its source.
        features: what it uses, with how often it was written.
    """

    seed: int
    text: str
    features: Counter[str]


def generate(seed: int) -> Program:
    """The program of a seed: the same text in every run."""
    rng = random.Random(seed)
    builder = Builder(rng, hazard=rng.choice([0.0, 0.2, 0.5, 0.8, 1.0]))
    definitions(builder, rng.choice([0, 1, 1, 2, 3]))
    made = classes(builder)
    builder.budget = len(builder.lines) + rng.choice([18, 26, 34])
    scenario = builder.pick(*SCENARIOS)
    scenario(builder, made)
    builder.used(f"scenario:{scenario.__name__}")
    body = "\n".join(builder.lines)
    head = [
        *sorted(builder.imports),
        "import torch",
        "import torch.nn.functional as F",
        "from torch import nn",
        "torch.manual_seed(0)",
    ]
    head += [f"{name} = {value}" for name, value in CONSTANTS.items() if re.search(rf"\b{name}\b", body)]
    return Program(seed, ast.unparse(ast.parse("\n".join([*head, body]))) + "\n", builder.features)
