"""Programs whose nodes of interest are marked: `total += «loss»`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeVar

from gradsense.fixes.fix import Edits
from gradsense.syntax.edits import apply_edits
from gradsense.syntax.source import Source
from gradsense.syntax.spans import Span

Node = TypeVar("Node", bound=ast.AST)


class Marked:
    """A program, and the nodes that its text marks with « and », outermost first where two have the same place."""

    def __init__(self, text: str) -> None:
        plain, spans, opened = "", [], []
        for character in text:
            if character == "«":
                opened.append(len(plain))
            elif character == "»":
                spans.append((opened.pop(), len(plain)))
            else:
                plain += character
        self.text = plain
        self.source = Source.from_text("program.py", plain)
        self.tree = ast.parse(plain)
        self._spans = [Span(*self.source.place(start), *self.source.place(end)) for start, end in sorted(spans)]

    def nodes(self, kind: type[Node]) -> list[Node]:
        """The marked nodes of a kind, in the order of the text."""
        places: dict[Span, Node] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, kind) and hasattr(node, "lineno"):
                places.setdefault(self.source.span_of(node), node)
        return [places[span] for span in self._spans]

    def expressions(self) -> list[ast.expr]:
        """The marked expressions."""
        return self.nodes(ast.expr)

    def statements(self) -> list[ast.stmt]:
        """The marked statements."""
        return self.nodes(ast.stmt)

    def after(self, edits: Edits | None) -> str | None:
        """The program with the edits applied; checks that it still parses and that each edit changes something."""
        if edits is None:
            return None
        assert edits
        for edit in edits:
            assert edit.path == "program.py"
            assert self.source.slice(edit.span) != edit.new_text
        changed = apply_edits(self.text, edits)
        ast.parse(changed)
        return changed


def on_expressions(text: str, fix: Callable[..., Edits | None], *arguments: object, **options: object) -> str | None:
    """Applies a fix to the marked expressions."""
    program = Marked(text)
    return program.after(fix(program.source, program.tree, *program.expressions(), *arguments, **options))


def on_statements(text: str, fix: Callable[..., Edits | None], *arguments: object, **options: object) -> str | None:
    """Applies a fix to the marked statements."""
    program = Marked(text)
    return program.after(fix(program.source, program.tree, *program.statements(), *arguments, **options))


def on_statement_list(text: str, fix: Callable[..., Edits | None], *arguments: object, **options: object) -> str | None:
    """Applies a fix that takes a list of statements to the marked ones."""
    program = Marked(text)
    return program.after(fix(program.source, program.tree, program.statements(), *arguments, **options))
