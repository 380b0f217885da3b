"""Runs of steps as an editor asks for them, with all that it is told on the way."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lsprotocol import types

from lsp.editor import Editor
from lsp.test_lifecycle import children_of

SECONDS = 120
FINISHED = "gradsense/runFinished"


class Runs:
    """Asks the server of an editor for runs, and listens."""

    def __init__(self, editor: Editor) -> None:
        self.editor = editor
        self.finished: list[Any] = []
        self.questions: list[types.ShowMessageRequestParams] = []
        self.applied: list[types.ApplyWorkspaceEditParams] = []
        self.answer: str | None = None
        self.inlay_refreshes = 0
        self._numbers = itertools.count()
        client = editor.client

        @client.feature(FINISHED)
        def finished(params: Any) -> None:
            self.finished.append(params)

        @client.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)
        def question(params: types.ShowMessageRequestParams) -> types.MessageActionItem | None:
            self.questions.append(params)
            return None if self.answer is None else types.MessageActionItem(self.answer)

        @client.feature(types.WORKSPACE_APPLY_EDIT)
        def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
            self.applied.append(params)
            editor.apply(params.edit)
            return types.ApplyWorkspaceEditResult(applied=True)

        @client.feature(types.WORKSPACE_INLAY_HINT_REFRESH)
        def refresh(params: None) -> None:
            self.inlay_refreshes += 1

    def forget(self) -> None:
        """Begins anew, for another test in the same session."""
        self.finished.clear()
        self.questions.clear()
        self.applied.clear()
        self.answer = None
        self.inlay_refreshes = 0
        self.editor.progress.clear()
        self.editor.published.clear()
        self.editor.client.messages.clear()

    @property
    def progress(self) -> list[dict[str, Any]]:
        """What was told of progress, in order."""
        return [value for values in self.editor.progress.values() for value in values]

    def ask(self, uri: str, token: str | None = None, **argument: Any) -> tuple[str, asyncio.Future[Any]]:
        """Asks for a run; returns the number of the request and what becomes of it."""
        number = f"run-{next(self._numbers)}"
        params = types.ExecuteCommandParams(
            command="gradsense.runStep", arguments=[{"uri": uri, **argument}], work_done_token=token
        )
        answer = self.editor.client.protocol.send_request_async(types.WORKSPACE_EXECUTE_COMMAND, params, number)
        return number, asyncio.ensure_future(answer)

    async def run(self, uri: str, **argument: Any) -> Any:
        """Runs a step, and returns the report."""
        _, answer = self.ask(uri, **argument)
        return plain(await asyncio.wait_for(answer, SECONDS))

    def cancel(self, number: str) -> None:
        """Cancels a request."""
        self.editor.client.protocol.notify(types.CANCEL_REQUEST, types.CancelParams(number))

    async def told(self, true: Callable[[], bool]) -> None:
        """Waits until the editor has been told of something."""

        async def wait() -> None:
            while not true():
                await asyncio.sleep(0.02)

        await asyncio.wait_for(wait(), SECONDS)

    async def told_progress(self, words: str) -> None:
        """Waits for a report of progress."""
        await self.told(lambda: any(words in value.get("message", "") for value in self.progress))

    async def shown(self, uri: str) -> list[types.Diagnostic]:
        """What is drawn of a run in a buffer now."""
        await self.editor.barrier()
        latest = [params for params in self.editor.published if params.uri == uri]
        return [found for found in latest[-1].diagnostics if found.source == "gradsense run"] if latest else []

    async def inlays(self, uri: str) -> list[types.InlayHint]:
        """The short texts behind lines of a buffer."""
        whole = types.Range(types.Position(0, 0), types.Position(10_000, 0))
        params = types.InlayHintParams(text_document=types.TextDocumentIdentifier(uri=uri), range=whole)
        return list(await self.editor.client.text_document_inlay_hint_async(params) or [])

    def workers(self) -> list[int]:
        """The processes that run the user's code, or are ready to."""
        return [pid for pid in children_of(self.editor.pid) if b"guest/start.py" in _command_line(pid)]


def plain(value: Any) -> Any:
    """What was read from JSON, as dictionaries."""
    if hasattr(value, "_asdict"):
        return {key: plain(item) for key, item in value._asdict().items()}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
