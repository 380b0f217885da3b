"""`workspace/executeCommand` with `gradsense.clearRun`: takes away what is shown of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gradsense.lsp.features import run_step

if TYPE_CHECKING:
    from gradsense.lsp.server import GradSenseServer

COMMAND = "gradsense.clearRun"


def register(server: GradSenseServer) -> None:
    """Adds this command to the server."""

    @server.command(COMMAND)
    def clear_run(argument: Any = None) -> None:
        """Clears the run of a program, or of a document that has a part in one; without a `uri` all of them."""
        uri = argument.get("uri") if isinstance(argument, Mapping) else argument
        for known in [uri] if uri else list(server.session.runs):
            run_step.forget(server, known)
