"""What is typed into a program while a server is measured."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROGRAM = Path(__file__).with_name("programs") / "train.py"

# After which line a person goes on, and what she types there, character by character.
TYPED = (
    ("        hidden = F.gelu(self.inner(x)) * gate\n", "        hidden = hidden + 0.1 * x.mean()\n"),
    ("        scores = query @ key.transpose(-2, -1) * self.scale\n", "        # scores are scaled before the mask\n"),
    ("        total = loss + config.adversarial * adversarial\n", "        total = total / config.batch\n"),
    ("    progress = (step - config.warmup) / max(1, steps - config.warmup)\n", "    progress = min(progress, 1.0)\n"),
    ("        x = self.positions(self.embed(tokens))\n", "        x = F.dropout(x, 0.1, self.training)\n"),
    ('    best = float("inf")\n', "    started = time.time()\n"),
)
# A fault, and where it goes: what is typed there raises.
FAULT_AFTER = "        gate = torch.sigmoid(self.gate(x))\n"
FAULT = "        gate += 1.0\n"
FAULT_CODE = "GS201"


@dataclass(frozen=True)
class Key:
    """One keystroke: what is put in at a place."""

    line: int
    character: int
    text: str


def script() -> str:
    """A training script of some 300 lines."""
    return PROGRAM.read_text(encoding="utf-8")


def long_file(lines: int) -> str:
    """A file of as many lines at least: the networks and steps of many such scripts, and one script that runs."""
    text = script()
    imports, _, rest = text.partition("log = logging")
    rest = "log = logging" + rest
    body, _, _ = rest.partition("def parse_arguments")
    names = sorted(set(re.findall(r"^(?:def|class) (\w+)", body, re.MULTILINE)), key=len, reverse=True)
    parts = [imports]
    while sum(part.count("\n") for part in parts) + rest.count("\n") < lines:
        suffix = str(len(parts))
        parts.append(re.sub(rf"\b({'|'.join(names)})\b", rf"\g<1>{suffix}", body))
    return "".join([*parts, rest])


def keystrokes(text: str) -> Iterator[Key]:
    """All that is typed, one key after another; the text that it is typed into changes with them."""
    for after, typed in TYPED:
        position = text.index(after) + len(after)
        line = text.count("\n", 0, position)
        text = text[:position] + typed + text[position:]
        # A new line first, as the return key gives it, with its indentation; then the words.
        indent = typed[: len(typed) - len(typed.lstrip())]
        yield Key(line, 0, indent + "\n")
        for number, letter in enumerate(typed.strip()):
            yield Key(line, len(indent) + number, letter)
