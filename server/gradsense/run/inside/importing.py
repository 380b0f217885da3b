"""Imports of the user's own modules: they are rewritten like the program itself, and leave no bytecode behind."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

from .cutting import Sites, rewrite
from .places import Places


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, sites: Sites) -> None:
        super().__init__(name, path)
        self.sites = sites

    def get_code(self, fullname: str) -> CodeType | None:
        source = self.get_source(fullname)
        if source is None:
            return None
        code: CodeType = compile(rewrite(source, self.path, self.sites), self.path, "exec", dont_inherit=True)
        return code


class Importing:
    """Finds the user's modules before Python does, while it is entered."""

    def __init__(self, places: Places, sites: Sites) -> None:
        self.places, self.sites = places, sites

    def __enter__(self) -> Importing:
        sys.meta_path.insert(0, self)
        return self

    def __exit__(self, *_: object) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The protocol of import finders."""
        if self.places.knows_no_roots():
            return None
        spec: Any = PathFinder.find_spec(name, path, target)
        if spec is None or type(spec.loader) is not SourceFileLoader or not self.places.is_user(spec.origin):
            return None
        spec.loader = _Loader(name, spec.origin, self.sites)
        spec.cached = None
        found: ModuleSpec = spec
        return found
