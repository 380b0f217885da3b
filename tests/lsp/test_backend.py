"""The server's side of the worker: what is cancelled in time never reaches it."""

from __future__ import annotations

import asyncio

import pytest

from gradsense.lsp.backend import Backend
from gradsense.lsp.messages import Analyse, Analysis

pytestmark = pytest.mark.asyncio


def analyse(text: str) -> Analyse:
    return Analyse("/work/train.py", text, 0, "utf-16", None, {})


async def test_a_request_that_is_cancelled_in_the_queue_does_not_run() -> None:
    backend = Backend("lsp.fake_engine:FakeEngine")
    try:
        pid = backend.pid
        # The second is sent at once, since the first may make way for it; the others wait.
        first, second, deadly, last = (
            asyncio.ensure_future(backend.ask(analyse(text))) for text in ("SLOW", "ok", "DIE", "ok")
        )
        await asyncio.sleep(0.1)
        deadly.cancel()
        replies = await asyncio.gather(first, second, last)
        assert all(isinstance(reply, Analysis) for reply in replies)
        assert deadly.cancelled()
        assert backend.pid == pid, "it ran, and the worker died of it"
    finally:
        backend.close()
