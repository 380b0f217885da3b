"""Libraries that are loaded when something of them is used for the first time."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType
from typing import Any


class _Unloaded(ModuleType):
    """A library before something of it was used.

    The standard library's `LazyLoader` loads at the second `import`, which asks for `__spec__`.
    """

    def __getattr__(self, name: str) -> Any:
        self.__class__ = ModuleType  # type: ignore[assignment]
        assert self.__spec__ is not None and self.__spec__.loader is not None
        self.__spec__.loader.exec_module(self)
        return getattr(self, name)


def load_when_used(name: str) -> None:
    """Lets `import NAME` cost nothing: the library is loaded when something of it is used.

    Its submodules can be imported from then on.
    """
    spec = importlib.util.find_spec(name) if name not in sys.modules else None
    if spec is None:
        # Loaded already; or missing, which the import says best.
        return
    module = _Unloaded(name)
    module.__spec__ = spec
    module.__loader__ = spec.loader
    module.__file__ = spec.origin
    module.__package__ = spec.parent
    if spec.submodule_search_locations is not None:
        module.__path__ = spec.submodule_search_locations
    sys.modules[name] = module
