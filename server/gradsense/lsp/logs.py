"""The log goes to the client, as `window/logMessage`."""

from __future__ import annotations

import logging

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

_TYPES = {
    logging.ERROR: types.MessageType.Error,
    logging.WARNING: types.MessageType.Warning,
    logging.INFO: types.MessageType.Info,
}


class ClientLog(logging.Handler):
    """Sends log records to the client.

    Only our own records from INFO up and errors of others are sent; pygls warns of much that is nobody's concern.
    """

    def __init__(self, server: LanguageServer) -> None:
        super().__init__(logging.INFO)
        self._server = server
        self._sending = False

    def emit(self, record: logging.LogRecord) -> None:
        """Sends a record, unless it comes of sending one."""
        ours = record.name.startswith("gradsense")
        if record.exc_info and isinstance(record.exc_info[1], JsonRpcException):
            # An answer to the client; that it is told is enough.
            return
        if self._sending or not (ours or record.levelno >= logging.ERROR):
            return
        self._sending = True
        try:
            message = types.LogMessageParams(type=_type_of(record.levelno), message=self.format(record))
            self._server.window_log_message(message)
        except Exception:
            self.handleError(record)
        finally:
            self._sending = False


def log_to_client(server: LanguageServer) -> None:
    """Sends the log to the client from now on, and no longer to standard error."""
    root = logging.getLogger()
    root.handlers = [ClientLog(server)]
    logging.getLogger("gradsense").setLevel(logging.INFO)


def _type_of(level: int) -> types.MessageType:
    return next((kind for floor, kind in _TYPES.items() if level >= floor), types.MessageType.Log)
