"""Workers for types that answer at once, never, or with their end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from gradsense.lsp.messages import Done, Reply, Request
from gradsense.machine.outside import Kind, Known
from gradsense.types.messages import LookedUp, LookUp


class FakeTypes:
    """Names say what is to be done: `hang.x`, `die.x`, `raise.x`, `net.x`."""

    def prepare(self) -> None:
        """There is nothing to do."""

    def answer(self, request: Request, waiting: Callable[[], bool]) -> Reply:
        """Answers as the real engine would."""
        if not isinstance(request, LookUp):
            return Done()
        if request.name.startswith("hang"):
            time.sleep(600)
        if request.name.startswith("die"):
            os._exit(3)
        if request.name.startswith("raise"):
            raise ValueError(request.name)
        kind = Kind.NETWORK if request.name.startswith("net") else Kind.OTHER
        return LookedUp(Known(kind))
