"""The analysis worker: a process that answers the server's requests one after another.

It is apart from the server so that a long analysis never holds up the protocol, and so that one that runs wild can be
ended. It ends by itself, at once, when the server is gone.
"""

from __future__ import annotations

import gc
import importlib
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any, Protocol

from gradsense.garbage import ANALYSIS, Pauses, collect_seldom
from gradsense.lsp import wire
from gradsense.lsp.kept_code import kept_code

if TYPE_CHECKING:
    from gradsense.lsp.messages import Reply, Request

PAUSE = 1.0
"""Seconds without a request after which garbage is looked for."""


class Engine(Protocol):
    """Answers requests; it keeps what it must between them."""

    def prepare(self) -> None:
        """Does now what the first answer would have to do first; called where there is time for it."""

    def answer(self, request: Request, waiting: Callable[[], bool]) -> Reply:
        """Answers one request; whatever it raises is reported to the server.

        Args:
            waiting: says whether another request has come meanwhile.
        """


def main(engine: str) -> None:
    """Serves until the server closes the pipe.

    Args:
        engine: `module:callable`, called without arguments to get the engine.
    """
    # Ctrl+C in a terminal reaches the whole process group; ending the worker is the server's business.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    collect_seldom(ANALYSIS)
    # How long a request that comes in the middle of an analysis waits until somebody takes it off the pipe.
    sys.setswitchinterval(0.001)
    requests_in, replies_out = _private_pipes()
    inbox: queue.SimpleQueue[Request] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests_in, inbox), daemon=True).start()
    # Nothing that an import makes is garbage soon.
    gc.disable()
    with kept_code(engine.rpartition(":")[2]):
        serving = _load(engine)
    gc.enable()
    pauses, is_tidy = Pauses(), False
    if inbox.empty():
        serving.prepare()
    while True:
        try:
            request = inbox.get(timeout=None if is_tidy else PAUSE)
        except queue.Empty:
            pauses.collect()
            is_tidy = True
            continue
        is_tidy = False
        try:
            reply = serving.answer(request, lambda: not inbox.empty())
        except Exception as error:
            from gradsense.lsp.messages import Failed

            reply = Failed(f"{type(error).__name__}: {error}", traceback.format_exc())
        wire.send(replies_out, reply)


def _listen(requests_in: IO[bytes], inbox: queue.SimpleQueue[Request]) -> None:
    try:
        while True:
            inbox.put(wire.receive(requests_in))
    except (EOFError, OSError):
        # Not a normal exit, which would wait for an analysis that nobody needs any more.
        os._exit(0)


def _load(engine: str) -> Engine:
    module, _, name = engine.partition(":")
    factory: Any = getattr(importlib.import_module(module), name)
    serving: Engine = factory()
    return serving


def _private_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Takes standard input and output for ourselves, so that a stray `print` cannot break the wire."""
    requests_in = os.fdopen(os.dup(0), "rb")
    replies_out = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return requests_in, replies_out
