"""Squiggles for a client that asks for them."""

from __future__ import annotations

import asyncio

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from lsp.clients import capabilities_of
from lsp.editor import EMACS, NEOVIM, VS_CODE, VS_CODE_NOW, editing, span

pytestmark = pytest.mark.asyncio

URI = "file:///work/train.py"

Full = types.RelatedFullDocumentDiagnosticReport
Unchanged = types.RelatedUnchangedDocumentDiagnosticReport


@pytest.mark.parametrize(("kind", "pulls"), [(VS_CODE_NOW, True), (VS_CODE, False), (NEOVIM, False), (EMACS, False)])
async def test_who_is_offered_to_ask(kind: str, pulls: bool) -> None:
    async with editing(kind) as editor:
        offered = editor.capabilities.diagnostic_provider
        assert (offered is not None) == pulls
        if offered is not None:
            assert offered.inter_file_dependencies


async def test_who_asks_is_not_told() -> None:
    async with editing(VS_CODE_NOW) as editor:
        editor.open(URI, "'é' BAD\nEXTRA\n")
        bad, extra = await editor.diagnostics(URI)
        assert (bad.code, bad.source, editor.covered(URI, bad.range)) == ("GS201", "gradsense", "BAD")
        assert bad.related_information and bad.data and extra.tags
        editor.close(URI)
        await editor.barrier()
        assert not editor.published


async def test_an_answer_is_for_the_newest_text_and_says_when_nothing_changed() -> None:
    async with editing(VS_CODE_NOW) as editor:
        editor.open(URI, "BAD\n")
        first = await editor.pull(URI)
        assert isinstance(first, Full) and first.result_id is not None
        again = await editor.pull(URI, first.result_id)
        assert again == Unchanged(result_id=first.result_id)
        editor.edit(URI, (span(1, 0, 1, 0), "SLOW"))
        assert isinstance(await editor.pull(URI, first.result_id), Unchanged)
        editor.edit(URI, (span(0, 0, 0, 0), " "))
        moved = await editor.pull(URI, first.result_id)
        assert isinstance(moved, Full)
        assert [found.range for found in moved.items] == [span(0, 1, 0, 4)]
        editor.edit(URI, (span(0, 0, 0, 1), ""))
        back = await editor.pull(URI, moved.result_id)
        assert isinstance(back, Full) and back.result_id == first.result_id


async def test_what_a_client_does_not_ask_for_it_is_told() -> None:
    async with editing(VS_CODE_NOW) as editor:
        cells = editor.open_notebook("untitled:/Interactive-1.interactive", "'é' BAD\n", kind="interactive")
        told = await editor.publication(cells[0])
        assert [found.code for found in told.diagnostics] == ["GS201"]
        assert not (await editor.pull(cells[0])).items


async def test_unknown_and_foreign_documents() -> None:
    async with editing(VS_CODE_NOW) as editor:
        assert await editor.pull("file:///not-open.py") == Full(items=())
        editor.open("file:///notes.md", "BAD", "markdown")
        assert await editor.diagnostics("file:///notes.md") == []


async def test_a_change_of_settings_makes_the_client_ask_again() -> None:
    async with editing(VS_CODE_NOW) as editor:
        editor.open(URI, "BAD EXTRA")
        assert len(await editor.diagnostics(URI)) == 2
        assert editor.refreshes == 0
        editor.client.set_configuration({"showHints": False}, section="gradsense")
        editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=None))
        await editor.refreshed()
        assert len(await editor.diagnostics(URI)) == 1
        editor.rewrite(URI, "BAD")
        await editor.diagnostics(URI)
        assert editor.refreshes == 0, "it asks by itself after an edit"


@pytest.mark.parametrize("speaks_of_others", [True, False])
async def test_other_cells_follow(speaks_of_others: bool) -> None:
    told = capabilities_of(VS_CODE_NOW)
    assert told.text_document is not None and told.text_document.diagnostic is not None
    told.text_document.diagnostic.related_document_support = speaks_of_others
    async with editing(capabilities=told) as editor:
        first, second = editor.open_notebook("file:///work/a.ipynb", "EXTRA", "ok")
        assert len(await editor.diagnostics(first)) == 1
        report = await editor.pull(second)
        assert isinstance(report, Full)
        assert not report.items
        # The fake analysis looks at each cell alone; settings change what is found in all of them.
        editor.client.set_configuration({"showHints": False}, section="gradsense")
        editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=None))
        await editor.refreshed()
        report = await editor.pull(second)
        if speaks_of_others:
            assert isinstance(report, Full) and report.related_documents is not None
            (about,) = report.related_documents.values()
            assert list(report.related_documents) == [first]
            assert isinstance(about, types.FullDocumentDiagnosticReport) and not about.items
        else:
            await editor.refreshed()
            assert await editor.diagnostics(first) == []


async def test_a_question_that_is_cancelled_is_dropped() -> None:
    async with editing(VS_CODE_NOW) as editor:
        editor.open(URI, "HANG")
        waiting = asyncio.ensure_future(editor.pull(URI))
        await asyncio.sleep(0.3)
        (number,) = editor.client.protocol._request_futures
        editor.client.cancel_request(types.CancelParams(id=number))
        with pytest.raises(JsonRpcException, match="cancel"):
            await asyncio.wait_for(waiting, 1)
