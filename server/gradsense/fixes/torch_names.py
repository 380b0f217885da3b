"""What a file calls torch: its aliases, and what a dotted name of the file stands for."""

from __future__ import annotations

import ast

from gradsense.fixes.tree import ancestors


def spelling(tree: ast.Module, node: ast.AST, dotted: str) -> str | None:
    """How `node` can spell something of torch, such as `torch.no_grad`, with the names that the file imports.

    Returns:
        `no_grad`, `th.no_grad` or `torch.no_grad`; None where no import of the file reaches it.
    """
    names = _imported(tree, node)
    for name, meaning in reversed(names.items()):
        if meaning == dotted:
            return name
    parts = dotted.split(".")
    for length in range(len(parts) - 1, 0, -1):
        prefix = ".".join(parts[:length])
        for name, meaning in reversed(names.items()):
            if meaning == prefix:
                return ".".join([name, *parts[length:]])
    return None


def meaning(tree: ast.Module, expression: ast.expr) -> str | None:
    """What an expression stands for by the file's imports: `torch.nn.functional.relu` for `F.relu`."""
    attributes: list[str] = []
    current = expression
    while isinstance(current, ast.Attribute):
        attributes.insert(0, current.attr)
        current = current.value
    if not isinstance(current, ast.Name):
        return None
    root = _imported(tree, expression).get(current.id)
    return None if root is None else ".".join([root, *attributes])


def is_torch_function(tree: ast.Module, expression: ast.expr) -> bool:
    """Whether an expression names a function of torch or of `torch.nn.functional`, rather than a tensor's method."""
    full = meaning(tree, expression)
    return full is not None and full.startswith("torch.")


def _imported(tree: ast.Module, node: ast.AST) -> dict[str, str]:
    """The names that imports bind, of the module and of the functions around `node`; later ones come last."""
    names: dict[str, str] = {}
    functions = [
        parent for parent in ancestors(tree, node) if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    for scope in (tree, *functions):
        for statement in _statements(scope):
            if isinstance(statement, ast.Import):
                for alias in statement.names:
                    bound = alias.asname or alias.name.split(".")[0]
                    _bind(names, bound, alias.name if alias.asname else bound)
            elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
                for alias in statement.names:
                    _bind(names, alias.asname or alias.name, f"{statement.module}.{alias.name}")
    return names


def _bind(names: dict[str, str], name: str, what: str) -> None:
    names.pop(name, None)
    names[name] = what


def _statements(scope: ast.AST) -> list[ast.stmt]:
    """The statements of a scope, also those in `try` and `if` blocks, without those of inner functions."""
    found: list[ast.stmt] = []
    for child in ast.iter_child_nodes(scope):
        if isinstance(child, ast.Import | ast.ImportFrom):
            found.append(child)
        elif isinstance(child, ast.If | ast.Try | ast.With | ast.ExceptHandler):
            found.extend(_statements(child))
    return found
