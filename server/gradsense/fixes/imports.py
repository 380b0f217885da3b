"""Adds `import torch` to a file that has no name for it."""

from __future__ import annotations

import ast

from gradsense.fixes.fix import Edits
from gradsense.fixes.insert import insert_after, insert_before
from gradsense.syntax.source import Source


def import_torch(source: Source, tree: ast.Module) -> Edits | None:
    """Puts `import torch` beside the file's imports, or at its top below the docstring.

    Returns:
        None where the file has no statement to put it beside.
    """
    body = tree.body
    imports = [statement for statement in body if isinstance(statement, ast.Import | ast.ImportFrom)]
    plain = [statement for statement in imports if getattr(statement, "module", None) != "__future__"]
    of_torch = [statement for statement in plain if _names_torch(statement)]
    if of_torch:
        return insert_before(source, tree, of_torch[0], "import torch")
    if plain:
        return insert_after(source, tree, plain[-1], "import torch")
    if imports:
        return insert_after(source, tree, imports[-1], "import torch")
    docstring = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) if body else False
    if docstring:
        return insert_after(source, tree, body[0], f"{source.newline}import torch")
    return insert_before(source, tree, body[0], "import torch") if body else None


def _names_torch(statement: ast.Import | ast.ImportFrom) -> bool:
    names = [alias.name for alias in statement.names]
    if isinstance(statement, ast.ImportFrom):
        names = [statement.module or ""]
    return any(name.split(".")[0] == "torch" for name in names)
