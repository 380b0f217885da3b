"""Scopes while a program is run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradsense.machine.graph import Store
from gradsense.syntax.source import Source

if TYPE_CHECKING:
    from gradsense.machine.values import ClassValue, Function, Value


@dataclass(frozen=True)
class Import:
    """What a name was imported from, while nobody has asked for it.

    Args:
        module: the dotted name of the module, as it is written.
        level: how many dots stand before it.
        name: what of the module is meant; None where it is the module itself.
        whole: whether of a dotted module the last part is meant and not the first.
    """

    module: str
    level: int = 0
    name: str | None = None
    whole: bool = False


class Frame:
    """The names of a file, a class body, a function call or a comprehension.

    Attributes:
        parent: the scope in which names are looked up next.
        stores: the last store to each name.
        on_yield: what a `yield` does in a generator that a loop or a `with` is driving.
        imported: names that are only loaded when somebody asks for them.
        lookup: makes names of a library that are only made when somebody asks for them (`from torch.nn import *`).
    """

    __slots__ = (
        "cls",
        "function",
        "global_names",
        "imported",
        "lookup",
        "nonlocal_names",
        "on_yield",
        "parent",
        "receiver",
        "source",
        "started",
        "stores",
        "variables",
    )

    def __init__(self, source: Source, parent: Frame | None = None, function: Function | None = None) -> None:
        self.source = source
        self.parent = parent
        self.function = function
        self.variables: dict[str, Value] = {}
        self.stores: dict[str, Store] = {}
        self.global_names: set[str] = set()
        self.nonlocal_names: set[str] = set()
        self.on_yield: Callable[[Value], Value] | None = None
        self.imported: dict[str, Import] = {}
        self.receiver: Value = None
        # When the call began: its parameters were bound then.
        self.started = 0
        self.cls: ClassValue | None = None
        self.lookup: Callable[[str], tuple[bool, Value]] | None = None

    @property
    def file(self) -> Frame:
        """The scope of the file."""
        frame = self
        while frame.parent is not None:
            frame = frame.parent
        return frame
