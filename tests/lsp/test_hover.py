"""What a squiggle says when it is pointed at."""

from __future__ import annotations

import pytest
from lsprotocol import types

from gradsense.lsp.explanation import Explanation
from gradsense.lsp.messages import FindingView, Place, RelatedView
from lsp.editor import NEOVIM, editing, span

URI = "file:///work/train.py"


@pytest.mark.asyncio
async def test_a_hover_tells_the_whole_story() -> None:
    async with editing(NEOVIM) as editor:
        editor.open(URI, "'é' BAD\n")
        hover = await editor.hover(URI, 0, 6)
        assert hover is not None and hover.range == span(0, 5, 0, 8)
        assert isinstance(hover.contents, types.MarkupContent)
        assert hover.contents.kind == types.MarkupKind.Markdown
        for words in (
            "[GS201 inplace-on-saved](https://example.org/GS201)",
            "raises: `BAD` on line 1",
            "```text\none of the variables needed",
            "line 1: saved here `'é' BAD`",
            "- Make it good\n- Make it maybe (may change results)",
            "Explained **at length**",
        ):
            assert words in hover.contents.value
        assert await editor.hover(URI, 0, 1) is None
        assert await editor.hover(URI, 40, 1) is None


@pytest.mark.asyncio
async def test_a_client_without_markdown_gets_plain_text() -> None:
    async with editing(capabilities=types.ClientCapabilities()) as editor:
        editor.open(URI, "BAD\n")
        hover = await editor.hover(URI, 0, 0)
        assert hover is not None and isinstance(hover.contents, types.MarkupContent)
        assert hover.contents.kind == types.MarkupKind.PlainText
        assert "    one of the variables needed" in hover.contents.value
        assert "```" not in hover.contents.value


def test_backticks_in_a_program_break_no_markdown() -> None:
    place = Place(3, 0, 3, 1)
    related = (RelatedView("/a/models.py", place, "saved here", 'x = "`"', "models.py line 4"),)
    finding = FindingView(0, "/a/train.py", "GS201", "n", "error", "m", place, related, "a ``` b", (), None)
    text = Explanation(finding, (), None).markdown()
    assert '- models.py line 4: saved here ``x = "`"``' in text
    assert "````text\na ``` b\n````" in text
