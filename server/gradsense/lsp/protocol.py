"""The protocol layer: pygls's, with its text synchronisation replaced and its manners mended."""

from __future__ import annotations

from typing import Any

from cattrs import Converter
from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidRequest, JsonRpcServerNotInitialized
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.json_rpc import RPCMessage, RPCRequest

_OURS = (
    types.TEXT_DOCUMENT_DID_OPEN,
    types.TEXT_DOCUMENT_DID_CHANGE,
    types.TEXT_DOCUMENT_DID_CLOSE,
    types.NOTEBOOK_DOCUMENT_DID_OPEN,
    types.NOTEBOOK_DOCUMENT_DID_CHANGE,
    types.NOTEBOOK_DOCUMENT_DID_CLOSE,
    types.WORKSPACE_EXECUTE_COMMAND,
)


class GradSenseProtocol(LanguageServerProtocol):
    """Hands text synchronisation to our own documents, and answers what pygls leaves without an answer.

    pygls splits lines where Python does (at form feeds, say) rather than where the protocol does, and copies the whole
    text at every edit. It also drops requests that come before `initialize` or after `shutdown`, and those whose
    parameters do not fit, so that a client waits for ever. And it goes on with a command that the client has cancelled.
    """

    def __init__(self, server: LanguageServer, converter: Converter) -> None:
        super().__init__(server, converter)
        self._initialized = False
        for method in _OURS:
            self.fm.builtin_features.pop(method, None)

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Reads a message; a request that cannot be read gets its error response before the error is passed on."""
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" in data and "method" in data:
                self._send_response(data["id"], error=error.to_response_error())
            raise

    def handle_message(self, message: RPCMessage) -> None:
        """Handles a message if the server is in a state to do so; otherwise a request gets an error response."""
        method = getattr(message, "method", "")
        if isinstance(message, RPCRequest):
            refusal = self._refusal(method)
            if refusal is not None:
                self._send_response(message.id, error=refusal.to_response_error())
                return
            self._initialized = True
        elif not self._initialized and method and method != types.EXIT:
            return
        super().handle_message(message)

    def _refusal(self, method: str) -> JsonRpcException | None:
        if self._shutdown:
            return JsonRpcInvalidRequest("the server is shutting down")
        if (method == types.INITIALIZE) == self._initialized:
            if self._initialized:
                return JsonRpcInvalidRequest("the server was initialized before")
            return JsonRpcServerNotInitialized("the first request must be `initialize`")
        return None
