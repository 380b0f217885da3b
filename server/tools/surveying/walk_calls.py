"""The backward and grad calls of a program, found in its syntax without running anything."""

from __future__ import annotations

import ast
from collections.abc import Iterator

# As a place's key has it: line, column, last line, last column.
Range = tuple[int, int, int, int]


def walk_calls(tree: ast.Module) -> list[Range]:
    """Every call that walks a graph: `….backward(…)`, `manual_backward(…)`, `autograd.grad(…)` under any name."""
    names = _names_of_grad(tree)
    own = _calls_of_own_methods(tree)
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node not in own and _walks(node.func, names):
            found.append((node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0))
    return sorted(found)


def _walks(function: ast.expr, names: set[str]) -> bool:
    if isinstance(function, ast.Name):
        return function.id in names
    if not isinstance(function, ast.Attribute):
        return False
    return function.attr in ("backward", "manual_backward") or ast.unparse(function) in names


def _names_of_grad(tree: ast.Module) -> set[str]:
    """How this program may write `torch.autograd.grad`."""
    names = {"torch.autograd.grad", "autograd.grad"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "torch.autograd":
            names.update(alias.asname or alias.name for alias in node.names if alias.name in ("grad", "backward"))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            prefix = f"{node.module}." if isinstance(node, ast.ImportFrom) and node.module else ""
            for alias in node.names:
                if f"{prefix}{alias.name}" == "torch.autograd" and alias.asname:
                    names.add(f"{alias.asname}.grad")
    return names


def _calls_of_own_methods(tree: ast.Module) -> set[ast.Call]:
    """`self.backward(…)` in a class that defines `backward`: the walk is in there."""
    found: set[ast.Call] = set()
    for cls in ast.walk(tree):
        if isinstance(cls, ast.ClassDef):
            methods = {part.name for part in cls.body if isinstance(part, ast.FunctionDef)}
            found.update(call for call in _calls_on_self(cls) if call.func.attr in methods)  # type: ignore[attr-defined]
    return found


def _calls_on_self(cls: ast.ClassDef) -> Iterator[ast.Call]:
    for node in ast.walk(cls):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            receiver = node.func.value
            if isinstance(receiver, ast.Name) and receiver.id == "self":
                yield node
