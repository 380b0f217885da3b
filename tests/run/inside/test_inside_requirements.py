"""What runs in the user's interpreter asks nothing of it but torch, and Python 3.9."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

INSIDE = Path(__file__).parents[3] / "server" / "gradsense" / "run" / "inside"
FILES = sorted(INSIDE.glob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_needs_the_standard_library_and_torch_only(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 9))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level <= 1, f"line {node.lineno} imports from outside its own folder"
            names = [node.module or ""] if node.level == 0 else []
        else:
            continue
        for name in names:
            assert name.split(".")[0] in {*sys.stdlib_module_names, "torch"}, f"line {node.lineno} imports {name}"
