"""`workspace/didChangeConfiguration`, and asking the client for settings where it lets us."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from gradsense.lsp.features import code_lens_refresh, inlay_refresh
from gradsense.lsp.settings import SECTION, EditorSettings, read_settings

if TYPE_CHECKING:
    from gradsense.lsp.server import GradSenseServer

log = logging.getLogger(__name__)


def register(server: GradSenseServer) -> None:
    """Adds these methods to the server."""

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def did_change_configuration(params: types.DidChangeConfigurationParams) -> None:
        if not await pull(server):
            take(server, params.settings)

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def did_change_workspace_folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        event = params.event
        server.session.change_folders([folder.uri for folder in event.added], [folder.uri for folder in event.removed])
        await pull(server)
        changed(server)


def take(server: GradSenseServer, value: Any) -> None:
    """Puts settings that the client sent in force for all folders."""
    settings = _read(server, value)
    if settings != server.session.settings:
        server.session.settings = settings
        changed(server)


async def pull(server: GradSenseServer) -> bool:
    """Asks the client for the settings that hold everywhere and for those of each folder.

    Returns:
        Whether it told any.
    """
    session = server.session
    if not session.client.pull_settings:
        return False
    scopes = (None, *session.folders)
    items = [types.ConfigurationItem(scope_uri=scope, section=SECTION) for scope in scopes]
    try:
        values = await server.workspace_configuration_async(types.ConfigurationParams(items=items))
    except Exception as error:
        log.warning("the client did not tell its settings: %s", error)
        return False
    if all(value is None for value in values):
        return False
    settings = {scope: _read(server, value) for scope, value in zip(scopes, values, strict=False)}
    everywhere = settings.pop(None, session.settings)
    folders = {scope: found for scope, found in settings.items() if scope is not None}
    if (everywhere, folders) != (session.settings, session.folder_settings):
        session.settings, session.folder_settings = everywhere, folders
        changed(server)
    return True


def changed(server: GradSenseServer) -> None:
    """Has everything done again that settings have a say in."""
    server.scheduler.all_changed()
    server.session.workspace.changed()
    inlay_refresh.ask(server)
    code_lens_refresh.ask(server)


def _read(server: GradSenseServer, value: Any) -> EditorSettings:
    settings, problems = read_settings(value)
    tell(server, [str(problem) for problem in problems])
    return settings


def tell(server: GradSenseServer, problems: list[str]) -> None:
    """Shows the person what is wrong with the settings, each thing once."""
    for problem in server.session.news(problems):
        message = f"GradSense: {problem}"
        server.window_show_message(types.ShowMessageParams(type=types.MessageType.Warning, message=message))
