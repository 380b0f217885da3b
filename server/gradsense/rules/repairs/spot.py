"""An expression whose value is kept with its graph."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from gradsense.fixes.detach import detach, detach_structure
from gradsense.fixes.fix import Edits
from gradsense.fixes.scalarise import scalarise
from gradsense.machine.place import Place
from gradsense.rules.editing import Code
from gradsense.rules.wording import quoted


@dataclass(frozen=True, eq=False)
class Spot:
    """An expression whose value is kept with its graph.

    Args:
        code: its file.
        expression: the expression.
        kinds: the structure of its value, outermost first, as `detach_structure` takes it; empty for a tensor.
        callee: the name of the function that is given it, where the expression is an argument of a call.
        narrowed: it is the one of several arguments that has the graph.
    """

    code: Code
    expression: ast.expr
    kinds: tuple[str, ...] = ()
    callee: str = ""
    narrowed: bool = False

    @property
    def place(self) -> Place:
        """Where the expression is."""
        return Place(self.code.source, self.expression)

    @property
    def text(self) -> str:
        """The expression in backticks, on one line."""
        return quoted(self.code.text(self.expression))

    def detached(self) -> Edits | None:
        """The edits that detach it."""
        if self.kinds:
            return detach_structure(self.code.source, self.code.tree, self.expression, self.kinds)
        return detach(self.code.source, self.code.tree, self.expression)

    def as_number(self) -> Edits | None:
        """The edits that turn it into a number."""
        return None if self.kinds else scalarise(self.code.source, self.code.tree, self.expression)
