"""Classes as they stand in their files: what they derive from, and what their constructors make."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from gradsense.machine import annotated

MOST_BYTES = 2_000_000
# The words with which a module says that its parameters get no gradients.
_FROZEN = ("requires_grad", "no_grad", "inference_mode", "stop_gradient")


@dataclass(frozen=True)
class SourceClass:
    """A class in a file.

    Args:
        path: the file.
        node: the class.
        imported: what the file's names stand for, by dotted name, as far as its imports tell.
        lines: those of the file.
    """

    path: str
    node: ast.ClassDef
    imported: dict[str, str]
    lines: list[str]

    @property
    def freezes(self) -> bool:
        """Whether its constructor or its forward may keep parameters from getting gradients."""
        texts = [self.text_of(name) for name in ("__init__", "forward")]
        return any(word in text for text in texts for word in _FROZEN)

    def text_of(self, method: str) -> str:
        """The source of a method, with its decorators; empty where the class does not define it."""
        for node in self.node.body:
            if isinstance(node, ast.FunctionDef) and node.name == method:
                first = min([node.lineno, *(part.lineno for part in node.decorator_list)])
                return "\n".join(self.lines[first - 1 : node.end_lineno])
        return ""

    def base_names(self) -> Iterator[tuple[str, int, int]]:
        """Each base: its dotted name, as far as it is known, and the place of the last part of it."""
        for base in self.node.bases:
            if isinstance(base, ast.Subscript):
                base = base.value
            if isinstance(base, ast.Name | ast.Attribute):
                yield dotted(base, self.imported), base.end_lineno or base.lineno, (base.end_col_offset or 1) - 1

    def made(self) -> Iterator[tuple[str, int, int]]:
        """What its constructor calls, in the same terms."""
        for method in self.node.body:
            if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                for part in ast.walk(method):
                    if isinstance(part, ast.Call) and isinstance(part.func, ast.Name | ast.Attribute):
                        called = part.func
                        yield dotted(called, self.imported), called.end_lineno or 1, (called.end_col_offset or 1) - 1


def dotted(node: ast.expr, imported: dict[str, str]) -> str:
    """A name with its first part replaced by what it was imported as; empty for other expressions."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([imported.get(node.id, node.id), *reversed(parts)])


def class_at(path: str, line: int) -> SourceClass | None:
    """The class whose header is on a line, decorators not counted; None where the file cannot be read."""
    tree = _tree(path)
    if tree is None:
        return None
    text, module = tree
    for node in ast.walk(module):
        if isinstance(node, ast.ClassDef) and line in (node.lineno, node.lineno - len(node.decorator_list)):
            return SourceClass(path, node, _imports(module), text.split("\n"))
    return None


def class_called(path: str, name: str) -> SourceClass | None:
    """The class of that name at the top of a file."""
    tree = _tree(path)
    for node in tree[1].body if tree is not None else ():
        if isinstance(node, ast.ClassDef) and node.name == name:
            return class_at(path, node.lineno)
    return None


def result_at(path: str, line: int) -> tuple[str, int, int] | None:
    """The name that a function's result is annotated with, dotted, with the place of the last part of it.

    None where there is no function on that line, or none that says. In a text (`-> "Net"`) it has no place: line 0.
    """
    tree = _tree(path)
    for node in ast.walk(tree[1]) if tree is not None else ():
        if isinstance(node, ast.FunctionDef) and line in (node.lineno, node.lineno - len(node.decorator_list)):
            found = annotated.named(node.returns) if node.returns is not None else None
            if found is None or found[1] or tree is None:
                return None
            name = found[0]
            if isinstance(node.returns, ast.Constant):
                return dotted(name, _imports(tree[1])), 0, 0
            return dotted(name, _imports(tree[1])), name.end_lineno or 1, (name.end_col_offset or 1) - 1
    return None


@lru_cache(maxsize=64)
def _tree(path: str) -> tuple[str, ast.Module] | None:
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            return None
        text = data.decode("utf-8")
        return text, ast.parse(text)
    except (OSError, ValueError, SyntaxError, RecursionError):
        return None


def _imports(module: ast.Module) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                found[name] = alias.name if alias.asname else name
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
    return found
