"""Whatever a client sends and whatever the analysis does, the server lives and says what happened."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from lsp.editor import FAKE, Editor, editing, span
from lsp.test_lifecycle import children_of, gone, needs_proc

pytestmark = pytest.mark.asyncio

URI = "file:///work/train.py"


async def works(editor: Editor) -> bool:
    """Whether the server still does its job, seen at a document of its own."""
    uri = "file:///work/still-alive.py"
    editor.open(uri, "BAD")
    found = await editor.diagnostics(uri)
    editor.close(uri)
    return len(found) == 1


def send(editor: Editor, body: bytes) -> None:
    """Sends bytes as a message."""
    server: Any = editor.client._server
    server.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))


async def test_edits_past_the_end_land_at_the_end() -> None:
    async with editing() as editor:
        editor.open(URI, "x")
        await editor.diagnostics(URI)
        editor.edit(URI, (span(90, 90, 99, 99), " BAD"))
        (found,) = await editor.diagnostics(URI)
        assert found.range == span(0, 2, 0, 5)


async def test_unknown_documents_are_ignored_and_logged() -> None:
    async with editing() as editor:
        editor.texts[URI], editor.versions[URI] = "x", 1
        editor.edit(URI, (span(0, 0, 0, 0), "BAD"))
        await editor.logged("not open was ignored")
        editor.close(URI)
        await editor.logged("not open was closed")
        assert await editor.hover(URI, 0, 0) is None
        assert await editor.actions(URI, span(0, 0, 0, 0)) == []
        assert await works(editor)


async def test_versions_that_go_backwards_are_logged_and_taken() -> None:
    async with editing() as editor:
        editor.open(URI, "x")
        await editor.diagnostics(URI)
        editor.versions[URI] = -5
        editor.edit(URI, (span(0, 0, 0, 0), "BAD"))
        assert len(await editor.diagnostics(URI)) == 1
        await editor.logged("version -4")


@pytest.mark.parametrize(
    "uri", ["", "nonsense", "http://example.org/a.py", "file://", "file:///%00%ff%zz.py", "untitled:", "vsls:/~1/a.py"]
)
async def test_strange_uris(uri: str) -> None:
    async with editing() as editor:
        editor.open(uri, "BAD")
        editor.edit(uri, (span(0, 0, 0, 0), " "))
        await editor.hover(uri, 0, 2)
        editor.close(uri)
        assert await works(editor)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"jsonrpc": "2.0"}',
        b'{"jsonrpc": "1.0", "method": "textDocument/hover", "id": 5}',
        b'{"jsonrpc": "2.0", "method": "no/such/notification", "params": {"a": [1]}}',
        b'{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": 5}}',
        b'{"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 12345}}',
        b'{"jsonrpc": "2.0", "id": 77, "result": null}',
        b'{"jsonrpc": "2.0", "id": 78, "error": {"code": 1, "message": "no"}}',
    ],
)
async def test_messages_that_make_no_sense(body: bytes) -> None:
    async with editing() as editor:
        send(editor, body)
        assert await works(editor)


async def test_a_request_that_cannot_be_read_gets_an_error_response() -> None:
    async with editing() as editor:
        waiting = editor.client.protocol.send_request_async("no/such/request", {"a": 1})
        with pytest.raises(JsonRpcException, match="Not Found"):
            await waiting
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        editor.client.protocol._request_futures["mine"] = future  # type: ignore[assignment]
        send(editor, b'{"jsonrpc": "2.0", "id": "mine", "method": "textDocument/hover", "params": {"position": 3}}')
        with pytest.raises(JsonRpcException, match="Invalid Params"):
            await asyncio.wait_for(future, 10)
        assert await works(editor)


async def test_a_huge_text() -> None:
    async with editing(options={"maxFileSize": 100}) as editor:
        editor.client.set_configuration({"maxFileSize": 100}, section="gradsense")
        text = "x = 1\n" * 2_000_000
        editor.open(URI, text + "BAD")
        (found,) = await editor.diagnostics(URI, seconds=60)
        assert found.range.start.line == 2_000_000
        editor.edit(URI, (span(0, 0, 0, 0), "BAD\n"))
        assert len(await editor.diagnostics(URI, seconds=60)) == 2


async def test_a_text_that_is_too_large() -> None:
    async with editing() as editor:
        editor.open(URI, "BAD\n" + "x = 1\n" * 9_000_000)
        assert await editor.diagnostics(URI, seconds=120) == []
        await editor.barrier()
        (message,) = editor.client.messages
        assert "train.py has more than 5 MB and is left alone (setting maxFileSize)" in message.message
        editor.edit(URI, (span(9, 0, 9, 0), "y = 1\n"))
        assert await editor.hover(URI, 0, 1) is None
        assert await editor.actions(URI, span(0, 0, 0, 3)) == []
        assert await works(editor)
        editor.edit(URI, (span(1, 0, 9_000_009, 0), ""))
        assert len(await editor.diagnostics(URI, seconds=60)) == 1
        assert len(editor.client.messages) == 1


async def test_lone_surrogates() -> None:
    async with editing() as editor:
        send(
            editor,
            b'{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": {"uri": "file:///s.py",'
            b' "languageId": "python", "version": 1, "text": "\'\\ud83d\' BAD"}}}',
        )
        (found,) = await editor.diagnostics("file:///s.py")
        assert found.range == span(0, 4, 0, 7)


async def test_an_analysis_that_hangs_is_ended_and_the_next_text_is_analysed() -> None:
    async with editing(command=(*FAKE, "1")) as editor:
        editor.open("file:///work/other.py", "BAD")
        assert await editor.diagnostics("file:///work/other.py")
        editor.open(URI, "HANG BAD")
        await editor.logged("it took more than 1 s and was ended")
        editor.edit(URI, (span(0, 0, 0, 4), ""))
        assert len(await editor.diagnostics(URI)) == 1
        assert await works(editor)


@needs_proc
async def test_a_worker_that_dies_is_replaced() -> None:
    async with editing() as editor:
        editor.open(URI, "DIE BAD")
        await editor.logged("it ended with status 3")
        editor.edit(URI, (span(0, 0, 0, 3), ""))
        assert len(await editor.diagnostics(URI)) == 1
        (worker,) = children_of(editor.pid)
        os.kill(worker, signal.SIGKILL)
        assert await gone([worker])
        editor.edit(URI, (span(0, 0, 0, 0), "BAD"))
        assert len(await editor.diagnostics(URI)) == 2


async def test_an_analysis_that_raises_is_logged() -> None:
    async with editing() as editor:
        editor.open(URI, "RAISE")
        logged = await editor.logged("as told")
        assert "Traceback" in logged
        assert await asyncio.wait_for(editor.hover(URI, 0, 0), 2) is None
        editor.rewrite(URI, "BAD")
        assert len(await editor.diagnostics(URI)) == 1


async def test_the_server_answers_while_an_analysis_runs() -> None:
    async with editing() as editor:
        editor.open(URI, "HANG")
        await asyncio.wait_for(editor.barrier(), 2)


async def test_a_cancelled_request_is_answered_at_once() -> None:
    async with editing() as editor:
        editor.open(URI, "HANG")
        waiting = asyncio.ensure_future(editor.hover(URI, 0, 0))
        await asyncio.sleep(0.3)
        (number,) = editor.client.protocol._request_futures
        editor.client.cancel_request(types.CancelParams(id=number))
        with pytest.raises(JsonRpcException, match="cancel"):
            await asyncio.wait_for(waiting, 1)
