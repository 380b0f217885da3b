"""Imports of the user's own modules: they are rewritten like the program itself, and leave no bytecode behind."""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

from .cutting import Sites, compiled
from .places import Places


class _Loader(SourceFileLoader):
    """Loads what another loader would load, rewritten."""

    def __init__(self, inner: SourceFileLoader, sites: Sites) -> None:
        super().__init__(inner.name, inner.path)
        self.inner, self.sites = inner, sites

    def get_source(self, fullname: str) -> str | None:
        return self.inner.get_source(fullname)

    def get_code(self, fullname: str) -> CodeType | None:
        source = self.get_source(fullname)
        if source is None:
            return None
        if type(self.inner) is not SourceFileLoader:  # a text that is not the file's: tracebacks show it all the same
            lines = source.splitlines(keepends=True)
            linecache.cache[self.path] = (len(source), None, lines, self.path)
        return compiled(ast.parse(source, self.path), self.path, self.sites)


class Importing:
    """Finds the user's modules before others do, while it is entered."""

    def __init__(self, places: Places, sites: Sites) -> None:
        self.places, self.sites = places, sites
        self._loaders: list[tuple[str, _Loader]] = []

    def __enter__(self) -> Importing:
        sys.meta_path.insert(0, self)
        return self

    def __exit__(self, *_: object) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        for name, loader in self._loaders:
            module: Any = sys.modules.get(name)
            if getattr(module, "__loader__", None) is loader:
                module.__loader__ = module.__spec__.loader = loader.inner

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The protocol of import finders: asks those after it, and puts a loader of its own in what is the user's."""
        if self.places.knows_no_roots():
            return None
        finders: list[Any] = [finder for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec")]
        for finder in finders:
            spec: Any = finder.find_spec(name, path, target)
            if spec is None:
                continue
            if not isinstance(spec.loader, SourceFileLoader) or not self.places.is_user(spec.origin or ""):
                return None
            spec.loader = _Loader(spec.loader, self.sites)
            self._loaders.append((name, spec.loader))
            spec.cached = None
            found: ModuleSpec = spec
            return found
        return None
