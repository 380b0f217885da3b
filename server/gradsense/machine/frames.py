"""Scopes while a program is run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gradsense.machine.graph import Store
from gradsense.syntax.source import Source

if TYPE_CHECKING:
    from gradsense.machine.values import ClassValue, Function, Value


class Frame:
    """The names of a file, a class body, a function call or a comprehension.

    Attributes:
        parent: the scope in which names are looked up next.
        stores: the last store to each name.
        on_yield: what a `yield` does in a generator that a loop or a `with` is driving.
        lookup: makes names that are only loaded when asked for (`from models import *`).
    """

    __slots__ = (
        "cls",
        "function",
        "global_names",
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
