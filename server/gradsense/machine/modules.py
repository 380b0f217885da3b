"""The files of a workspace, and which of them an import means."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from gradsense.machine.outside import Outside
from gradsense.machine.shelf import Shelf
from gradsense.syntax.parse import ParsedModule, parse
from gradsense.syntax.source import Source, SourceError

# Enough to see that a file may be a package of libraries and not of the workspace.
FOREIGN = frozenset(("site-packages", "dist-packages", "node_modules"))


class Workspace:
    """Finds and keeps the parsed files of a program.

    Args:
        roots: folders that absolute imports start from, nearest first.
        read: reads a file's source; an editor gives its unsaved text.
        outside: what is known of other packages.
    """

    def __init__(
        self,
        roots: Sequence[str] = (),
        read: Callable[[str], Source] | None = None,
        outside: Outside | None = None,
    ) -> None:
        self.outside = outside or Outside()
        self.roots = [os.path.realpath(r) for r in roots]
        self._read = read or Source.from_path
        self._parsed: dict[str, ParsedModule] = {}
        self._found: dict[tuple[str, str, int], str | None] = {}
        # How a file is named in findings: as its source was named.
        self._names: dict[str, str] = {}
        self._real: dict[str, str] = {}
        # The parts of all names that were looked for.
        self._asked: set[str] = set()
        # Files that were run already.
        self.shelf = Shelf()

    def real(self, path: str) -> str:
        """The path without links, looked up once."""
        known = self._real.get(path)
        if known is None:
            known = self._real[path] = os.path.realpath(path)
        return known

    def add(self, module: ParsedModule) -> None:
        """Takes a file that is parsed already."""
        path = self.real(module.source.path)
        self._parsed[path] = module
        self._names[path] = module.source.path

    def forget(self, path: str) -> bool:
        """Drops what is known about a changed file.

        Returns:
            Whether names that were looked for may mean other files now.
        """
        real = self.real(path)
        known = self._parsed.pop(real, None) is not None and os.path.exists(real)
        stem = os.path.splitext(os.path.basename(real))[0]
        if not known and (stem in self._asked or stem == "__init__"):
            # A file came or went: names may mean other files now.
            self._found.clear()
            self._real.clear()
            self._asked.clear()
            self.shelf.clear()
            return True
        return False

    def held(self, real: str) -> ParsedModule | None:
        """The file with this real path if it was parsed already."""
        return self._parsed.get(real)

    def holds(self, real: str, module: ParsedModule) -> bool:
        """Whether this is what the file with this real path is still."""
        return self._parsed.get(real) is module

    def parsed(self, path: str) -> ParsedModule | None:
        """The parsed file, or None if it can't be read."""
        try:
            return self.load(path)
        except (OSError, SourceError):
            return None

    def load(self, path: str) -> ParsedModule:
        """The parsed file, read the first time it is asked for.

        Raises:
            OSError, SourceError: if it can't be read.
        """
        real = self.real(path)
        known = self._parsed.get(real)
        if known is None:
            known = self._parsed[real] = parse(self._read(self._names.get(real, path)))
        return known

    def find(self, module: str, level: int, importer: str) -> str | None:
        """The file or package folder that `module` means in `importer`, or None if it is not in the workspace.

        Args:
            module: the dotted name, empty for `from . import x`.
            level: how many dots stand before it.
            importer: the path of the importing file.
        """
        key = (module, os.path.dirname(self.real(importer)), level)
        if key not in self._found:
            self._asked.update(module.split("."))
            self._found[key] = self._search(*key)
        return self._found[key]

    def imports(self, module: ParsedModule, nodes: Iterable[ast.AST]) -> set[str]:
        """The files and folders that imports among some nodes of a file mean."""
        found: set[str] = set()
        for node in nodes:
            names: list[tuple[str, int]] = []
            if isinstance(node, ast.Import):
                names = [(alias.name, 0) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                base = node.module or ""
                names = [(base, node.level)] if base else []
                names += [(f"{base}.{alias.name}" if base else alias.name, node.level) for alias in node.names]
            found.update(p for n, level in names if (p := self.find(n, level, module.source.path)) is not None)
        return found

    def _search(self, module: str, folder: str, level: int) -> str | None:
        parts = module.split(".") if module else []
        if level:
            base = folder
            for _ in range(level - 1):
                base = os.path.dirname(base)
            return _locate(base, parts)
        for base in self._bases(folder):
            found = _locate(base, parts)
            if found is not None:
                return found
        return None

    def _bases(self, folder: str) -> Iterable[str]:
        yield folder
        inside = [r for r in self.roots if folder == r or folder.startswith(r + os.sep)]
        if inside:
            # From the file's folder up to the root, since a script may be started from any of them.
            root = min(inside, key=len)
            parent = folder
            while parent != root:
                parent = os.path.dirname(parent)
                yield parent
        for root in self.roots:
            if root not in inside:
                yield root
        for root in inside or self.roots:
            source = os.path.join(root, "src")
            if os.path.isdir(source):
                yield source


def _locate(base: str, parts: list[str]) -> str | None:
    path = os.path.join(base, *parts)
    if FOREIGN & set(Path(path).parts):
        return None
    if parts and os.path.isfile(path + ".py"):
        return path + ".py"
    package = os.path.join(path, "__init__.py")
    if os.path.isfile(package):
        return package
    if os.path.isdir(path) and (parts or base):
        return path if any(name.endswith(".py") for name in _names_in(path)) or not parts else None
    return None


def _names_in(path: str) -> list[str]:
    try:
        return os.listdir(path)
    except OSError:
        return []
