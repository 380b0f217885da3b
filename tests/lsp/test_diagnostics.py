"""Squiggles: when they come, where, and with what."""

from __future__ import annotations

import asyncio

import pytest
from lsprotocol import types

from lsp.editor import NEOVIM, VS_CODE, editing, span

pytestmark = pytest.mark.asyncio

URI = "file:///work/train.py"


@pytest.mark.parametrize(
    ("kind", "encodings", "chosen", "start"),
    [
        (VS_CODE, None, "utf-16", 7),
        (NEOVIM, None, "utf-8", 10),
        (NEOVIM, ["utf-32"], "utf-32", 6),
        (VS_CODE, ["martian"], "utf-16", 7),
    ],
)
async def test_columns_are_in_the_negotiated_units(
    kind: str, encodings: list[str] | None, chosen: str, start: int
) -> None:
    async with editing(kind, encodings=encodings) as editor:
        editor.open(URI, "x = 1\ny = '😀'\n'é', BAD\n😀'é', BAD")
        first, second = await editor.diagnostics(URI)
        assert editor.encoding == chosen
        assert second.range.start == types.Position(3, start)
        assert editor.covered(URI, first.range) == editor.covered(URI, second.range) == "BAD"


async def test_a_diagnostic_carries_what_the_client_understands() -> None:
    async with editing(VS_CODE) as editor:
        editor.open(URI, "BAD\nEXTRA\n")
        bad, extra = await editor.diagnostics(URI)
        assert (bad.severity, bad.code, bad.source) == (types.DiagnosticSeverity.Error, "GS201", "gradsense")
        assert bad.code_description is not None and bad.code_description.href == "https://example.org/GS201"
        (related,) = bad.related_information or ()
        assert (related.location.uri, related.message) == (URI, "saved here")
        assert bad.data is not None
        assert extra.severity == types.DiagnosticSeverity.Hint
        assert list(extra.tags or ()) == [types.DiagnosticTag.Unnecessary]


async def test_a_client_without_abilities_gets_the_plain_thing() -> None:
    async with editing(capabilities=types.ClientCapabilities()) as editor:
        editor.open(URI, "BAD\nEXTRA\n")
        bad, extra = await editor.diagnostics(URI)
        assert bad.code_description is bad.related_information is bad.data is extra.tags is None
        assert editor.encoding == "utf-16"


async def test_typing_gets_an_answer_to_the_newest_text() -> None:
    async with editing(NEOVIM) as editor:
        editor.open(URI, "SLOW\n")
        for letter in "BAD":
            editor.edit(URI, (span(1, 9, 1, 9), letter))
        editor.edit(URI, (span(0, 0, 0, 4), ""))
        publication = await editor.publication(URI)
        assert [editor.covered(URI, found.range) for found in publication.diagnostics] == ["BAD"]
        await asyncio.sleep(0.7)
        assert not editor.published, "an analysis of older text was published"


async def test_other_open_files_follow_when_typing_pauses() -> None:
    other = "file:///work/models.py"
    async with editing() as editor:
        editor.open(other, "x")
        await editor.diagnostics(other)
        editor.open(URI, "BAD")
        await editor.diagnostics(URI)
        await asyncio.sleep(0.6)
        assert not editor.published, "nothing changed in the other file, so nothing is said about it"


async def test_closing_takes_the_squiggles_away() -> None:
    async with editing() as editor:
        editor.open(URI, "BAD")
        assert await editor.diagnostics(URI)
        editor.close(URI)
        assert await editor.diagnostics(URI) == []


async def test_only_python_is_analysed() -> None:
    async with editing() as editor:
        for uri, language in (
            ("file:///work/notes.md", "markdown"),
            ("vscode-notebook-cell:/work/a.ipynb#W0", "python"),
            ("git:/work/train.py", "python"),
        ):
            editor.open(uri, "BAD", language)
            assert await editor.diagnostics(uri) == []
        editor.open("untitled:Untitled-1", "BAD")
        assert len(await editor.diagnostics("untitled:Untitled-1")) == 1


async def test_a_stray_print_in_the_analysis_breaks_nothing() -> None:
    async with editing() as editor:
        editor.open(URI, "PRINT BAD")
        assert len(await editor.diagnostics(URI)) == 1
