"""How sessions begin and end, and that nothing stays behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pytest_lsp import client_capabilities, make_test_lsp_client

from gradsense.lsp.parent import is_alive
from lsp.editor import FAKE, NEOVIM, VS_CODE, Editor, editing

pytestmark = pytest.mark.asyncio

URI = "file:///work/train.py"


def children_of(pid: int) -> list[int]:
    """The processes that a process started and that still run."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        except OSError:
            continue
        if int(fields["PPid"]) == pid and "Z" not in fields["State"]:
            found.append(int(fields["Pid"]))
    return found


async def gone(pids: Iterable[int], seconds: float = 10) -> bool:
    """Whether processes end within some seconds."""
    for _ in range(int(seconds / 0.05)):
        if not any(is_running(pid) for pid in pids):
            return True
        await asyncio.sleep(0.05)
    return False


def is_running(pid: int) -> bool:
    """Whether a process runs; a dead one that nobody has waited for does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.mark.parametrize("kind", [VS_CODE, NEOVIM])
async def test_what_is_announced(kind: str) -> None:
    async with editing(kind) as editor:
        can = editor.capabilities
        assert isinstance(can.text_document_sync, types.TextDocumentSyncOptions)
        assert can.text_document_sync.change == types.TextDocumentSyncKind.Incremental
        assert can.text_document_sync.open_close
        assert can.hover_provider
        assert isinstance(can.code_action_provider, types.CodeActionOptions)
        assert can.code_action_provider.resolve_provider
        kinds = ["quickfix", "refactor.rewrite", "source.fixAll.gradsense", "notebook.source.fixAll.gradsense"]
        assert list(can.code_action_provider.code_action_kinds or ()) == kinds
        await editor.barrier()
        assert (types.WORKSPACE_DID_CHANGE_WATCHED_FILES in editor.registered) == (kind == VS_CODE)


@needs_proc
async def test_a_proper_end_leaves_no_process() -> None:
    async with editing() as editor:
        editor.open(URI, "BAD")
        await editor.diagnostics(URI)
        children = children_of(editor.pid)
        assert len(children) == 1
        assert await editor.quit() == 0
        assert await gone(children)


@needs_proc
async def test_an_end_in_the_middle_of_an_analysis_leaves_no_process() -> None:
    async with editing() as editor:
        editor.open(URI, "HANG")
        await asyncio.sleep(0.5)
        children = children_of(editor.pid)
        assert await editor.quit() == 0
        assert await gone(children)


async def test_exit_without_shutdown_is_an_error() -> None:
    async with editing() as editor:
        editor.client.exit(None)
        assert await editor.wait() == 1


@needs_proc
async def test_a_client_that_hangs_up_takes_everything_with_it() -> None:
    async with editing() as editor:
        editor.open(URI, "HANG")
        await asyncio.sleep(0.5)
        children = children_of(editor.pid)
        editor.client._server.stdin.close()  # type: ignore[union-attr]
        assert await editor.wait() == 1
        assert await gone(children)


@needs_proc
async def test_a_client_that_dies_takes_everything_with_it() -> None:
    # Its pipe stays open, as where another process has inherited it.
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stand_in:
        client = make_test_lsp_client()
        await client.start_io(*FAKE)
        params = types.InitializeParams(capabilities=client_capabilities(VS_CODE), process_id=stand_in.pid)
        editor = Editor(client, await client.initialize_session(params))
        children = children_of(editor.pid)
        stand_in.kill()
        stand_in.wait()
        assert await editor.wait() == 1
        assert await gone(children)
        await client.stop()


@needs_proc
async def test_a_server_that_is_killed_takes_its_worker_with_it() -> None:
    async with editing() as editor:
        editor.open(URI, "HANG")
        await asyncio.sleep(0.5)
        children = children_of(editor.pid)
        os.kill(editor.pid, signal.SIGKILL)
        assert await gone(children)
        await editor.wait()


async def test_requests_out_of_order_get_an_error_response() -> None:
    client = make_test_lsp_client()
    await client.start_io(*FAKE)
    hover = types.HoverParams(text_document=types.TextDocumentIdentifier(uri=URI), position=types.Position(0, 0))
    client.capabilities = types.ClientCapabilities()
    with pytest.raises(JsonRpcException, match="first request"):
        await client.text_document_hover_async(hover)
    params = types.InitializeParams(capabilities=client_capabilities(VS_CODE))
    editor = Editor(client, await client.initialize_session(params))
    with pytest.raises(JsonRpcException, match="initialized before"):
        await client.initialize_async(params)
    await client.shutdown_async(None)
    with pytest.raises(JsonRpcException, match="shutting down"):
        await client.text_document_hover_async(hover)
    client.exit(None)
    assert await editor.wait() == 0
    await client.stop()


async def test_this_process_is_alive() -> None:
    assert is_alive(os.getpid())
