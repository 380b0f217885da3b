"""`$/logTrace`: what the server does, for who turned the trace on, by `trace` of `initialize` or by `$/setTrace`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from gradsense.lsp.server import GradSenseServer


def begin(server: GradSenseServer, value: types.TraceValue | str | None) -> None:
    """Takes what the client asks for at the start."""
    server.protocol.trace = types.TraceValue(value or types.TraceValue.Off)


def tell(server: GradSenseServer, message: str, verbose: str | None = None) -> None:
    """Tells what was done.

    Args:
        verbose: more of it, for who wants to know everything.
    """
    trace = server.protocol.trace
    if trace != types.TraceValue.Off:
        more = verbose if trace == types.TraceValue.Verbose else None
        server.log_trace(types.LogTraceParams(message=message, verbose=more))
