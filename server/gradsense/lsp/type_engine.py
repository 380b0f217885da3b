"""The engine of the process that answers questions about types.

It is started and asked as the analysis is (`lsp/backend.py`): one that takes too long over a question is ended and
replaced. It must not take the machine's memory, so it is given a bound, at which a question fails and nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import jedi  # type: ignore[import-untyped]

from gradsense.lsp.messages import Done, Reply, Request
from gradsense.machine.outside import Known
from gradsense.types.answering import OTHER, Answering
from gradsense.types.messages import LookedUp, LookUp, Where
from gradsense.types.packages import own_packages, packages_of
from gradsense.types.reading import settle

MOST_MEMORY = 1 << 31
"""Bytes of address space, where the system can bound it."""


class TypeEngine:
    """Answers the server's questions, one after another."""

    def __init__(self) -> None:
        _bound_memory()
        settle()
        self._answering: dict[Where, Answering] = {}

    def prepare(self) -> None:
        """Nothing: it is started when there is a question."""

    def answer(self, request: Request, waiting: Callable[[], bool]) -> Reply:
        """Answers one request; none makes way for another."""
        if isinstance(request, LookUp):
            return LookedUp(_about(self._of(request.where), request.name))
        return Done()

    def _of(self, where: Where) -> Answering:
        if where not in self._answering:
            packages = packages_of(where.interpreter, where.root) if where.trusted else own_packages()
            path = (where.root, *(entry for entry in packages.path if entry != where.root))
            self._answering[where] = Answering(where.root, path, [packages.library])
        return self._answering[where]


def _about(answering: Answering, name: str) -> Known:
    try:
        return answering.about(name)
    except (MemoryError, RecursionError):
        # What it has read so far may be what fills the memory.
        jedi.cache.clear_time_caches(delete_all=True)
        return OTHER
    except Exception:
        # jedi fails on some code; that is one name of which nothing is known.
        return OTHER


def _bound_memory() -> None:
    if sys.platform == "win32":
        return
    import resource

    try:
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, hard))
    except (OSError, ValueError):
        # macOS refuses it; the time limit still holds.
        return
