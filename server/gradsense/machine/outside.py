"""What is told about names of packages that are not in the workspace, and which names somebody should look up.

The machine never waits for an answer: it goes on with an unknown, and what it asked is found here afterwards.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

MOST_QUESTIONS = 200
# Their names mean nothing that carries a graph, or the machine knows what it must of them.
_NEVER = sys.stdlib_module_names | frozenset(
    "torch builtins numpy pandas matplotlib scipy sklearn PIL cv2 transformers datasets accelerate tqdm wandb".split()
)


class Kind(str, Enum):
    """What a name stands for."""

    SOURCE = "source"
    """Code that the person works on: a file outside of the workspace's folders that imports lead to."""
    NETWORK = "network"
    """A class of modules that own parameters, or a function that makes one."""
    OPTIMIZER = "optimizer"
    """A class of optimizers."""
    NUMBER = "number"
    """A function whose result is a number or a text."""
    OTHER = "other"
    """Nothing that helps."""


@dataclass(frozen=True, slots=True)
class Known:
    """An answer.

    Args:
        kind: what the name stands for.
        path: the file, for `SOURCE`.
    """

    kind: Kind
    path: str = ""


class Outside:
    """Answers so far, and the questions without one.

    Args:
        known: answers by dotted name.
    """

    def __init__(self, known: Mapping[str, Known] | None = None) -> None:
        self.known = dict(known or {})
        self.open: dict[str, None] = {}

    def kind(self, name: str) -> Kind | None:
        """What a dotted name stands for, or None where that is not known yet."""
        found = self.known.get(name)
        if found is not None:
            return found.kind
        self._ask(name)
        return None

    def file(self, module: str) -> str | None:
        """The file of a module that is no library, or None."""
        found = self.known.get(module)
        if found is None:
            self._ask(module)
            return None
        return found.path if found.kind is Kind.SOURCE else None

    def _ask(self, name: str) -> None:
        if len(self.open) < MOST_QUESTIONS and name.partition(".")[0] not in _NEVER:
            self.open[name] = None
