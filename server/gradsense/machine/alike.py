"""Functions that only make what others make, too: of hundreds that build one network in another size, one is run."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradsense.machine.outcomes import Outcome
from gradsense.machine.units import Definition, Unit, only_calls


class Alike:
    """Knows which functions of a file do nothing but call what one before them called, in which nothing was found.

    Args:
        tree: the file.
        units: its functions and methods.
    """

    def __init__(self, tree: ast.Module, units: Iterable[Unit]) -> None:
        self._functions = {unit.node.name: unit.node for unit in units if unit.cls is None}
        self._own = {*self._functions, *(part.name for part in tree.body if isinstance(part, ast.ClassDef))}
        self._known: set[frozenset[str]] = set()

    def has(self, unit: Unit | None) -> bool:
        """Whether there was one like this."""
        return unit is not None and bool(self._known) and self._ends(unit) in self._known

    def add(self, unit: Unit | None, outcome: Outcome) -> None:
        """Takes note of what a unit came to."""
        if unit is not None and outcome.is_uneventful and (ends := self._ends(unit)):
            self._known.add(ends)

    def _ends(self, unit: Unit) -> frozenset[str]:
        """The functions and classes that a function comes to call; nothing if it does more than that."""
        if unit.cls is not None or only_calls(unit.node) is None:
            return frozenset()
        found: set[str] = set()
        seen: set[Definition] = set()
        todo = [unit.node]
        while todo:
            function = todo.pop()
            seen.add(function)
            for name in only_calls(function) or ():
                called = self._functions.get(name)
                if called is None or only_calls(called) is None or self._own.isdisjoint(only_calls(called) or ()):
                    found.add(name)
                elif called not in seen:
                    todo.append(called)
        return frozenset(found)
