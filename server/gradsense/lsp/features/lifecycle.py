"""`initialize`, `initialized`, `shutdown`, and the end of a client that says nothing."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from lsprotocol import types

from gradsense.lsp.client import Client
from gradsense.lsp.features import configuration, diagnostic, log_trace, watched_files, workspace_diagnostic
from gradsense.lsp.parent import outlived

if TYPE_CHECKING:
    from gradsense.lsp.server import GradSenseServer


def register(server: GradSenseServer) -> None:
    """Adds these methods to the server."""
    session = server.session

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        name = params.client_info.name if params.client_info is not None else ""
        session.client = Client.of(params.capabilities, server.workspace.position_encoding, name)
        log_trace.begin(server, params.trace)
        session.change_folders(added=_folders(params), removed=())
        configuration.take(server, params.initialization_options)
        if session.client.pull:
            diagnostic.register(server)
            workspace_diagnostic.register(server)
        server.start(server.scheduler.run(), "the scheduler")
        server.start(session.backend.watch(), "the watch on the analysis")
        server.start(session.lookups.run(), "what looks names up")
        if params.process_id is not None:
            server.start(_end_with_client(server, params.process_id), "the watch on the client")

    @server.feature(types.INITIALIZED)
    async def initialized(params: types.InitializedParams) -> None:
        await asyncio.gather(watched_files.watch(server), configuration.pull(server))
        if not session.client.pull:
            server.start(workspace_diagnostic.watch(server), "the watch on the workspace")

    @server.feature(types.SHUTDOWN)
    def shutdown(params: None) -> None:
        session.shut_down = True
        session.close()
        server.runner.close()


def _folders(params: types.InitializeParams) -> list[str]:
    if params.workspace_folders:
        return [folder.uri for folder in params.workspace_folders]
    return [params.root_uri] if params.root_uri else []


async def _end_with_client(server: GradSenseServer, pid: int) -> None:
    await outlived(pid)
    server.session.close()
    server.runner.close()
    # The thread that reads standard input may wait for ever; a normal exit would wait for it.
    os._exit(1)
