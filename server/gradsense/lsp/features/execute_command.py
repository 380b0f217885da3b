"""`workspace/executeCommand`: hands a command to what registered it, and ends it when the client cancels it."""

from __future__ import annotations

import inspect
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

if TYPE_CHECKING:
    from gradsense.lsp.server import GradSenseServer

work_done_token: ContextVar[str | int | None] = ContextVar("work_done_token", default=None)
"""The token under which the client wants to be told of the progress of the command that is running."""


def register(server: GradSenseServer) -> None:
    """Adds this method to the server. Commands are what `server.command` has registered."""

    @server.feature(types.WORKSPACE_EXECUTE_COMMAND)
    async def execute_command(params: types.ExecuteCommandParams) -> Any:
        command = server.protocol.fm.commands.get(params.command)
        if command is None:
            raise JsonRpcInvalidParams(f"there is no command {params.command}")
        arguments = params.arguments or ()
        try:
            inspect.signature(command).bind(*arguments)
        except TypeError as error:
            raise JsonRpcInvalidParams(f"{params.command}: {error}") from None
        work_done_token.set(params.work_done_token)
        result = command(*arguments)
        return await result if inspect.isawaitable(result) else result
