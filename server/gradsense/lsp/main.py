"""`gradsense server`: serves one client on standard input and output."""

from __future__ import annotations

import gc
import os
from contextlib import ExitStack
from typing import BinaryIO

from gradsense.lsp.kept_code import kept_code
from gradsense.lsp.worker_process import WorkerProcess

ENGINE = "gradsense.lsp.engine:AnalysisEngine"


def serve(engine: str = ENGINE, time_limit: float | None = None) -> int:
    """Serves until the client ends the session or is gone.

    Args:
        engine: `module:callable`, what the analysis worker answers with.
        time_limit: seconds that one analysis may take, if not as many as usual.

    Returns:
        The exit status: 0 after `shutdown` and `exit`, 1 where the client left without `shutdown`.
    """
    # The worker loads the analysis while we load the protocol.
    worker = WorkerProcess(engine)
    with ExitStack() as ends:
        ends.callback(worker.kill)
        usual = gc.get_threshold()
        # Classes are made twice, and what is left of the first is garbage; nothing else of an import is so soon.
        gc.set_threshold(5_000, 50, 50)
        with kept_code("server", also="attr._make"):
            from gradsense.lsp.backend import TIME_LIMIT, Backend
            from gradsense.lsp.logs import log_to_client
            from gradsense.lsp.server import GradSenseServer
        gc.freeze()
        gc.set_threshold(*usual)
        server = GradSenseServer(Backend(engine, time_limit or TIME_LIMIT, worker))
        ends.callback(server.session.close)
        log_to_client(server)
        server.start_io(*_private_pipes())
    return 0 if server.session.shut_down else 1


def _private_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Takes standard input and output for the protocol, so that a stray `print` cannot break it."""
    messages_in = os.fdopen(os.dup(0), "rb")
    messages_out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return messages_in, messages_out
