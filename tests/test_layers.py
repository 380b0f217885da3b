"""Dependencies point one way."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import gradsense

ROOT = Path(gradsense.__file__).parent
# What each folder may use of the others; modules that lie beside the folders may be used by what stands above them.
MAY_USE = {
    "syntax": set(),
    "machine": {"syntax"},
    "fixes": {"syntax"},
    "rules": {"syntax", "machine", "fixes"},
    "run": {"syntax"},
    "types": {"syntax", "machine", "run"},
    "explain": {"syntax", "rules"},
    "integrations": {"syntax", "run", "cli"},
    "lsp": {"syntax", "machine", "fixes", "rules", "types", "run", "explain"},
}


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("folder", MAY_USE)
def test_a_folder_uses_only_what_stands_below_it(folder: str) -> None:
    folders = {path.name for path in ROOT.iterdir() if path.is_dir()}
    forbidden = folders - MAY_USE[folder] - {folder}
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for name in _imported(path)
        if name.startswith("gradsense.") and name.split(".")[1] in forbidden
    ]
    assert not wrong
