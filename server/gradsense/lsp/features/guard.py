"""A feature that fails must not cost the session: the error goes to the log, the client gets an empty answer."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

log = logging.getLogger(__name__)

P = TypeVar("P")
R = TypeVar("R")

Handler = Callable[[P], Coroutine[Any, Any, R]]


def guarded(empty: Callable[[], Any]) -> Callable[[Handler[P, R]], Handler[P, R]]:
    """Makes a request handler answer with what `empty` makes where it raises. Cancelling passes through."""

    def decorate(handler: Handler[P, R]) -> Handler[P, R]:
        @functools.wraps(handler)
        async def answer(params: P) -> R:
            try:
                return await handler(params)
            except Exception:
                log.exception("%s failed", handler.__name__)
                nothing: R = empty()
                return nothing

        return answer

    return decorate
