"""Random edits of a program as people make them: typing, deleting, moving, pasting, undoing; valid or not."""

from __future__ import annotations

import ast
import random
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

# Lines that are typed into a program, each at the indentation of the line above.
LINES = """\
x = x * 2
y = torch.sigmoid(x)
y += 1
y.sum().backward()
loss = (x ** 2).mean()
loss.backward()
loss.backward(retain_graph=True)
total += loss
total += loss.item()
h = h.detach()
h = torch.tanh(h)
optimizer.zero_grad()
optimizer.step()
x.add_(1)
x = x.clone()
losses.append(loss)
return x
self.hidden = x
with torch.no_grad(): x += 1
if x.mean() > 0: x = x + 1
for _ in range(3): loss = loss + x.sum()
# a comment
""".splitlines()
# What stands between functions, or in a class.
OUTER = (
    "RETAIN = True",
    "DETACH = False",
    "again = True",
    "KEEP = not KEEP",
    "config = Config(retain=False)",
    "options = {'retain': False}",
    "criterion = LOSSES['exp']",
    "SEEN = TABLE = {}",
    "from torch import *",
    "from torch.nn import functional as torch",
    "import torch as nn",
    "del ALIAS",
    "Net = Base",
    "register(use)",
    "Options.exact = False",
    "SEEN.append(1)",
    "config.retain = False",
    "settings = dict",
    "def choose(name): return max",
    "x = torch.ones(3, requires_grad=True)",
    "if size: RETAIN = True",
)
INNER = (
    "inplace = True",
    "exact = True",
    "scale = torch.ones(1)",
    "keep: bool = False",
    "def forward(self, x): return x",
)
LITERAL = re.compile(r"\b(?:True|False|None|\d+)\b")
BLOCKS = (
    "def helper(a):\n    a = torch.exp(a)\n    a += 1\n    return a\n",
    "class Net(nn.Module):\n    def forward(self, x):\n        y = torch.exp(x)\n        y += 1\n        return y\n",
    "x = torch.ones(3, requires_grad=True)\n",
    "for step in range(10):\n    x = torch.exp(x)\n    x.sum().backward()\n",
    '"""\n',
    "if True:\n    pass\n",
    "\n\n",
)
WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Change:
    """A replacement of the text between two offsets."""

    start: int
    end: int
    text: str

    def of(self, text: str) -> str:
        """The text after it."""
        return text[: self.start] + self.text + text[self.end :]


def is_valid(text: str) -> bool:
    """Whether a text is Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text)
        except (SyntaxError, ValueError):
            return False
    return True


class Typist:
    """Edits a text at random, and puts it in order again before long.

    Args:
        text: what it begins with.
        seed: each gives other edits, the same every time.
        broken: how many of the edits may leave something that is no Python, at most.
        outer: how many of the edits are of what is outside of functions, about.
    """

    def __init__(self, text: str, seed: int, broken: float = 0.3, outer: float = 0.1) -> None:
        self.text = text
        self._random = random.Random(seed)
        self._broken = broken
        self._outer = outer
        self._good = [text]
        self._first = text

    def edits(self) -> Iterator[Change]:
        """One change after another; `text` is what they have come to."""
        while True:
            change = self._next()
            self.text = change.of(self.text)
            if is_valid(self.text):
                self._good = [*self._good[-20:], self.text]
            yield change

    def _next(self) -> Change:
        chance = self._random.random()
        if chance < 0.06:
            return self._to(self._random.choice(self._good))
        if len(self.text) > 2 * len(self._first) + 2_000 or chance < 0.01:
            return self._to(self._first)
        may_break = self._random.random() < self._broken
        for _ in range(60):
            change = self._any()
            if may_break or is_valid(change.of(self.text)):
                return change
        return self._to(self._good[-1])

    def _to(self, text: str) -> Change:
        return Change(0, len(self.text), text)

    def _any(self) -> Change:
        pick = self._random
        if pick.random() < self._outer:
            return pick.choice((self._flip, self._flip, self._outer_line, self._inner_line, self._move))()
        kinds = [self._type, self._erase, self._new_line, self._drop_line, self._paste_line, self._rename, self._block]
        return pick.choices(kinds, (4, 3, 4, 2, 2, 3, 1))[0]()

    def _type(self) -> Change:
        at = self._random.randrange(len(self.text) + 1)
        return Change(at, at, self._random.choice([*"abxyz_ ()[].,:=+-*#'\"\n1é😀", "    ", "\n    ", "x.", "()"]))

    def _erase(self) -> Change:
        at = self._random.randrange(len(self.text) + 1)
        return Change(at, min(len(self.text), at + self._random.choice((1, 1, 1, 2, 4, 20))), "")

    def _new_line(self) -> Change:
        start, end = self._line()
        line = self.text[start:end]
        indent = line[: len(line) - len(line.lstrip())]
        if line.rstrip().endswith(":"):
            indent += "    "
        return Change(end, end, f"\n{indent}{self._random.choice(LINES)}")

    def _drop_line(self) -> Change:
        start, end = self._line()
        return Change(start, min(end + 1, len(self.text)), "")

    def _paste_line(self) -> Change:
        start, end = self._line()
        to, _ = self._line()
        return Change(to, to, self.text[start:end] + "\n")

    def _rename(self) -> Change:
        words = list(WORD.finditer(self.text))
        if len(words) < 2:
            return self._type()
        one, other = self._random.sample(words, 2)
        return Change(one.start(), one.end(), other.group())

    def _block(self) -> Change:
        start, _ = self._line()
        return Change(start, start, self._random.choice(BLOCKS))

    def _flip(self) -> Change:
        literals = list(LITERAL.finditer(self.text))
        if not literals:
            return self._type()
        one = self._random.choice(literals)
        return Change(one.start(), one.end(), self._random.choice(("True", "False", "None", "2", "0")))

    def _outer_line(self) -> Change:
        starts = [match.start() for match in re.finditer(r"^(?=\S)", self.text, re.MULTILINE)]
        at = self._random.choice(starts or [0])
        return Change(at, at, f"{self._random.choice(OUTER)}\n")

    def _inner_line(self) -> Change:
        headers = list(re.finditer(r"^class .*:\n", self.text, re.MULTILINE))
        if not headers:
            return self._outer_line()
        at = self._random.choice(headers).end()
        return Change(at, at, f"    {self._random.choice(INNER)}\n")

    def _move(self) -> Change:
        """Swaps two blocks that blank lines stand between."""
        blocks = self.text.split("\n\n\n")
        if len(blocks) < 2:
            return self._drop_line()
        one, other = sorted(self._random.sample(range(len(blocks)), 2))
        blocks[one], blocks[other] = blocks[other], blocks[one]
        return self._to("\n\n\n".join(blocks))

    def _line(self) -> tuple[int, int]:
        """Where a line begins and ends."""
        at = self._random.randrange(len(self.text) + 1)
        start = self.text.rfind("\n", 0, at) + 1
        end = self.text.find("\n", start)
        return start, len(self.text) if end < 0 else end
