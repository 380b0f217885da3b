"""The trace: what the server does, for who asks."""

from __future__ import annotations

import asyncio

import pytest
from lsprotocol import types

from lsp.editor import NEOVIM, editing

URI = "file:///work/train.py"


@pytest.mark.asyncio
async def test_the_trace_can_be_turned_on_and_off() -> None:
    async with editing(NEOVIM) as editor:
        traced: list[types.LogTraceParams] = []
        news = asyncio.Event()

        @editor.client.feature(types.LOG_TRACE)
        def take(params: types.LogTraceParams) -> None:
            traced.append(params)
            news.set()

        editor.open(URI, "BAD\n")
        assert len(await editor.diagnostics(URI)) == 1
        await editor.barrier()
        assert not traced
        editor.client.set_trace(types.SetTraceParams(value=types.TraceValue.Verbose))
        editor.rewrite(URI, "BAD\nBAD\n")
        await asyncio.wait_for(news.wait(), 20)
        assert "train.py: 2 findings" in traced[0].message and traced[0].verbose == "GS201@1 GS201@2"
        editor.client.set_trace(types.SetTraceParams(value=types.TraceValue.Off))
        await editor.barrier()
        traced.clear()
        editor.rewrite(URI, "ok\n")
        while await editor.diagnostics(URI):
            pass
        await editor.barrier()
        assert not traced
