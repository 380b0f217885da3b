"""`workspace/didChangeWatchedFiles`: a file that changes on disk changes what the open ones mean."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from lsprotocol import types

from gradsense.lsp.messages import Done, FilesChanged
from gradsense.lsp.program import path_of

if TYPE_CHECKING:
    from gradsense.lsp.server import GradSenseServer

_PATTERNS = ("**/*.py", "**/*.ipynb", "**/pyproject.toml")
_REGISTRATION = "gradsense-watched-files"

log = logging.getLogger(__name__)


def register(server: GradSenseServer) -> None:
    """Adds these methods to the server."""

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def did_change_watched_files(params: types.DidChangeWatchedFilesParams) -> None:
        paths = tuple(path_of(change.uri) for change in params.changes)
        await server.session.ask(FilesChanged(paths), Done)
        server.scheduler.all_changed()
        server.session.workspace.changed()


async def watch(server: GradSenseServer) -> None:
    """Asks the client to tell about files that change, if it can."""
    if not server.session.client.watch:
        return
    options = types.DidChangeWatchedFilesRegistrationOptions(
        watchers=[types.FileSystemWatcher(glob_pattern=pattern) for pattern in _PATTERNS]
    )
    registration = types.Registration(
        id=_REGISTRATION, method=types.WORKSPACE_DID_CHANGE_WATCHED_FILES, register_options=options
    )
    try:
        await server.client_register_capability_async(types.RegistrationParams(registrations=[registration]))
    except Exception as error:
        log.warning("the client does not watch files for us: %s", error)
