"""Notebooks as an editor has them open: cells are text documents, and all of them one program."""

from __future__ import annotations

import pytest
from lsprotocol import types

from lsp.editor import NEOVIM, VS_CODE_NOW, Editor, editing, span

pytestmark = pytest.mark.asyncio

URI = "file:///work/train.ipynb"


async def shown(editor: Editor, uri: str) -> list[str]:
    """What is squiggled in a cell, by the text that it covers."""
    return [editor.covered(uri, found.range) for found in await editor.diagnostics(uri)]


async def test_notebooks_are_announced() -> None:
    async with editing(VS_CODE_NOW) as editor:
        sync = editor.capabilities.notebook_document_sync
        assert isinstance(sync, types.NotebookDocumentSyncOptions)
        assert [chosen.notebook for chosen in sync.notebook_selector] == ["*"]
    async with editing(NEOVIM) as editor:
        assert editor.capabilities.notebook_document_sync is None


@pytest.mark.parametrize("encodings", [None, ["utf-8"]])
async def test_squiggles_are_in_the_cells(encodings: list[str] | None) -> None:
    async with editing(VS_CODE_NOW, encodings=encodings) as editor:
        first, text, second, empty = editor.open_notebook(
            URI, "x = 1\nBAD", ("markdown", "# BAD"), "'😀'; BAD\nEXTRA", ""
        )
        assert await shown(editor, first) == ["BAD"]
        assert await shown(editor, second) == ["BAD", "EXTRA"]
        assert await shown(editor, text) == await shown(editor, empty) == []
        editor.edit(second, (span(0, 0, 0, 0), "ok\n"))
        assert await shown(editor, second) == ["BAD", "EXTRA"]
        hover = await editor.hover(second, 1, 9)
        assert hover is not None
        assert editor.covered(second, hover.range or span(0, 0, 0, 0)) == "BAD"


async def test_a_client_that_waits_is_told_about_the_cells_that_changed() -> None:
    pushed = types.ClientCapabilities(
        notebook_document=types.NotebookDocumentClientCapabilities(
            synchronization=types.NotebookDocumentSyncClientCapabilities()
        )
    )
    async with editing(capabilities=pushed) as editor:
        first, second = editor.open_notebook(URI, "BAD", "ok")
        assert await shown(editor, first) == ["BAD"]
        assert await shown(editor, second) == []
        editor.edit(second, (span(0, 0, 0, 0), "BAD "))
        assert await shown(editor, second) == ["BAD"]
        assert not editor.published, "the other cell is as it was"
        editor.remove_cells(URI, 1)
        assert not (await editor.publication(second)).diagnostics
        editor.close_notebook(URI)
        assert not (await editor.publication(first)).diagnostics


async def test_cells_come_move_change_and_go() -> None:
    async with editing(VS_CODE_NOW) as editor:
        first, second = editor.open_notebook(URI, "BAD", "ok")
        assert await shown(editor, first) == ["BAD"]
        (third,) = editor.insert_cells(URI, 1, "EXTRA")
        assert await shown(editor, third) == ["EXTRA"]
        editor.move_cell(URI, 0, 2)
        editor.edit(first, (span(0, 0, 0, 0), "a\n"))
        assert await shown(editor, first) == ["BAD"]
        editor.change_language(URI, 2, "markdown")
        assert await shown(editor, first) == []
        editor.change_language(URI, 2, "python")
        assert await shown(editor, first) == ["BAD"]
        editor.run_cell(URI, 2)
        editor.remove_cells(URI, 0)
        assert await shown(editor, first) == ["BAD"]
        assert await shown(editor, second) == []
        editor.close_notebook(URI)
        report = await editor.pull(first)
        assert isinstance(report, types.RelatedFullDocumentDiagnosticReport) and not report.items


async def test_a_fix_edits_its_own_cell() -> None:
    async with editing(VS_CODE_NOW) as editor:
        first, second = editor.open_notebook(URI, "BAD", "ok\nBAD and BAD")
        found = await editor.diagnostics(second)
        actions = await editor.actions(second, found[0].range, [found[0]], only=["quickfix"])
        assert [action.title for action in actions] == [
            "Make it good",
            "Make it maybe (may change results)",
            "Fix all GS201 in this notebook",
            "Try on a copy and run the step: Make it good",
            "Ignore GS201 on this line",
        ]
        editor.apply(await editor.edit_of(actions[0]))
        assert (editor.texts[first], editor.texts[second]) == ("BAD", "ok\nGOOD and BAD")
        (again,) = await editor.diagnostics(second)
        *_, ignore = await editor.actions(second, again.range, [again], only=["quickfix"])
        editor.apply(await editor.edit_of(ignore))
        assert editor.texts[second] == "ok\nGOOD and BAD  # gradsense: ignore[GS201]"


async def test_changes_of_what_is_not_open_are_logged() -> None:
    async with editing(VS_CODE_NOW) as editor:
        (cell,) = editor.open_notebook(URI, "BAD")
        await editor.diagnostics(cell)
        cells = editor.notebooks.pop(URI)
        stray = types.VersionedNotebookDocumentIdentifier(version=2, uri="file:///other.ipynb")
        nothing = types.NotebookDocumentChangeEvent()
        editor.client.notebook_document_did_change(types.DidChangeNotebookDocumentParams(stray, nothing))
        await editor.logged("a change of a notebook that is not open")
        editor.client.notebook_document_did_close(
            types.DidCloseNotebookDocumentParams(types.NotebookDocumentIdentifier("file:///other.ipynb"), [])
        )
        await editor.logged("a notebook that is not open was closed")
        editor.notebooks[URI] = [*cells, types.NotebookCell(types.NotebookCellKind.Code, "vscode-notebook-cell:/x#1")]
        editor.texts["vscode-notebook-cell:/x#1"], editor.versions["vscode-notebook-cell:/x#1"] = "", 1
        editor.edit("vscode-notebook-cell:/x#1", (span(0, 0, 0, 0), "BAD"))
        await editor.logged("a change of a cell that is not in its notebook")
        assert await shown(editor, cell) == ["BAD"]


async def test_whatever_a_client_says_of_cells() -> None:
    async with editing(VS_CODE_NOW) as editor:
        first, second = editor.open_notebook(URI, "BAD", "ok")
        assert await shown(editor, first) == ["BAD"]
        editor.edit(first, (span(70, 0, 99, 9), " BAD"))
        assert await shown(editor, first) == ["BAD", "BAD"]
        editor.versions[URI] = -9
        editor.edit(second, (span(0, 0, 0, 0), "BAD "))
        assert await shown(editor, second) == ["BAD"]
        await editor.logged("version -8")
        nameless = types.NotebookCell(types.NotebookCellKind.Code, "vscode-notebook-cell:/without-a-text")
        for start, deleted in ((99, 5), (1, 0), (0, 0)):
            array = types.NotebookCellArrayChange(start=start, delete_count=deleted, cells=[nameless])
            structure = types.NotebookDocumentCellChangeStructure(array=array)
            editor._tell_notebook(URI, types.NotebookDocumentCellChanges(structure=structure))
        editor._tell_notebook(URI, types.NotebookDocumentCellChanges(text_content=[]))
        assert await shown(editor, first) == ["BAD", "BAD"]
        again = types.NotebookDocument(URI, "jupyter-notebook", 1, list(editor.notebooks[URI]))
        texts = [types.TextDocumentItem(name, "python", 1, editor.texts[name]) for name in (first, second)]
        editor.client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(again, texts))
        assert await shown(editor, second) == ["BAD"]
        editor.client.notebook_document_did_save(
            types.DidSaveNotebookDocumentParams(types.NotebookDocumentIdentifier(URI))
        )
        assert await shown(editor, first) == ["BAD", "BAD"]


async def test_a_notebook_as_json_text_is_no_python() -> None:
    async with editing() as editor:
        editor.open(URI, '{"cells": [{"source": "BAD"}]}')
        assert await editor.diagnostics(URI) == []
        editor.open("file:///work/paired.ipynb", "# %%\nBAD\n")
        assert len(await editor.diagnostics("file:///work/paired.ipynb")) == 1, "a plugin shows its cells as a script"


async def test_an_old_state_of_a_notebook_is_left_alone() -> None:
    async with editing(VS_CODE_NOW) as editor:
        (cell,) = editor.open_notebook("git:/work/train.ipynb?HEAD", "BAD")
        assert await shown(editor, cell) == []
