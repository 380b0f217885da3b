"""The user's program as Python would run it: its name, arguments, folder, import path and text as typed."""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import linecache
import os
import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from .cutting import compiled
from .probe import Probe


class Program:
    """A program and what of it is to run.

    Args:
        spec: what the host asks for, see `main.run`.
    """

    def __init__(self, spec: dict[str, Any]) -> None:
        self.path: str = os.path.abspath(spec["path"])
        self.text: str = spec["text"]
        self.until: int | None = spec.get("until_line")
        self.call: str | None = spec.get("call")
        self.arguments: list[str] = list(spec.get("argv") or ())
        self.cwd: str = spec.get("cwd") or os.path.dirname(self.path)
        self.name: str | None = spec.get("module")
        first = self.cwd if self.name else os.path.dirname(self.path)
        self.roots: list[str] = [first, *(spec.get("roots") or ())]
        self.more_walks_follow = False
        self.module = ModuleType("__main__" if self.call is None else self.name or _module_name(self.path))
        self.module.__file__ = self.path
        self.package = (self.name or "").rpartition(".")[0]
        if self.name:
            self.module.__package__ = self.package
            self.module.__spec__ = importlib.util.spec_from_file_location(self.name, self.path)

    def run(self, probe: Probe) -> None:
        """Runs it. What it raises comes through."""
        probe.places.add(self.path)
        probe.books.base = sys._getframe()
        tree = self.parse()
        probe.more_walks_follow = self.more_walks_follow
        code = compiled(tree, self.path, probe.sites)
        try:
            if self.package:
                importlib.import_module(self.package)
            exec(code, self.module.__dict__)
            if self.call is not None:
                exec(probe.compile(self.call, "<call>"), self.module.__dict__)
        finally:
            probe.books.base = None

    def parse(self) -> ast.Module:
        """The part of the program that is to run.

        Raises:
            SyntaxError: it is not Python as this interpreter understands it.
        """
        text = self.text
        if self.until is not None:
            lines = text.splitlines(keepends=True)
            text, rest = "".join(lines[: self.until]), "".join(lines[self.until :])
            self.more_walks_follow = re.search(r"\bbackward\(|\bgrad\(|\.step\(", rest) is not None
        tree = ast.parse(text, self.path)
        if self.call is not None:
            tree.body = [statement for statement in tree.body if not _runs_something(statement)]
        return tree

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """Makes the interpreter look as if it had been started with this program."""
        lines = self.text.splitlines(keepends=True)
        linecache.cache[self.path] = (
            len(self.text),
            None,
            [line if line.endswith("\n") else line + "\n" for line in lines],
            self.path,
        )
        kept = sys.argv, list(sys.path), os.getcwd(), sys.modules.get("__main__")
        sys.argv = [self.path, *self.arguments]
        sys.path[:0] = list(dict.fromkeys(self.roots))
        sys.modules["__main__"] = self.module
        if self.call is not None:
            sys.modules[self.module.__name__] = self.module
        os.chdir(self.cwd)
        try:
            yield
        finally:
            sys.argv, sys.path[:] = kept[0], kept[1]
            with contextlib.suppress(OSError):
                os.chdir(kept[2])
            if kept[3] is not None:
                sys.modules["__main__"] = kept[3]


def _module_name(path: str) -> str:
    name = os.path.splitext(os.path.basename(path))[0]
    return name if name.isidentifier() else "__gradsense_program__"


def _runs_something(statement: ast.stmt) -> bool:
    """Whether a statement at the top level trains, where only definitions are wanted."""
    if isinstance(statement, (ast.For, ast.While)):
        return True
    return isinstance(statement, ast.Expr) and any(
        isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr in ("backward", "step")
        for part in ast.walk(statement)
    )
