"""Text synchronisation against a model that does it the slow way."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lsprotocol import types

from gradsense.lsp.documents import Document, Documents, split_lines
from gradsense.syntax.columns import Encoding
from lsp.editor import FAKE, editing, span
from lsp.model import replaced

ALPHABET = "ab \n\r\f\u2028\x85é😀"
texts = st.text(ALPHABET, max_size=12)
places = st.builds(span, *(st.integers(0, 9) for _ in range(4)))
encodings = st.sampled_from(["utf-8", "utf-16", "utf-32"])


def document(text: str) -> Document:
    return Document(types.TextDocumentItem("file:///work/a.py", "python", 1, text))


@given(texts, st.lists(st.tuples(places, texts), max_size=6), encodings)
@example("a\rX\nb", [(span(1, 0, 1, 1), "")], "utf-16")
@example("a\n\nb", [(span(0, 1, 0, 1), "\r"), (span(1, 0, 1, 0), "x\r")], "utf-16")
def test_edits_leave_the_text_that_the_client_has(
    text: str, edits: list[tuple[types.Range, str]], encoding: Encoding
) -> None:
    mine = document(text)
    for number, (place, new_text) in enumerate(edits):
        change = types.TextDocumentContentChangePartial(range=place, text=new_text)
        mine.change([change], number + 2, encoding)
        text = replaced(text, place, new_text, encoding)
        assert mine.text == text
        assert mine._lines == split_lines(text)


@given(texts)
def test_lines_end_where_the_protocol_says(text: str) -> None:
    lines = split_lines(text)
    assert "".join(lines) == text
    assert [line.rstrip("\r\n") for line in lines] == text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def test_a_whole_text_replaces_the_document() -> None:
    mine = document("old")
    mine.change([types.TextDocumentContentChangeWholeDocument(text="new\n")], 7, "utf-16")
    assert (mine.text, mine.version, mine.revision) == ("new\n", 7, 1)


def test_a_reopened_document_is_not_mistaken_for_the_old_one() -> None:
    documents = Documents()
    item = types.TextDocumentItem("file:///work/a.py", "python", 1, "x")
    assert documents.open(item).revision != documents.open(item).revision


@pytest.mark.asyncio
async def test_a_server_keeps_up_with_a_fast_typist() -> None:
    chance = random.Random(7)
    uri = "file:///work/train.py"
    async with editing(command=FAKE) as editor:
        editor.open(uri, "x = '😀'\nBAD\n" * 20)
        await editor.diagnostics(uri)
        for _ in range(300):
            line, column, width = chance.randrange(45), chance.randrange(12), chance.randrange(4)
            new_text = chance.choice(["BAD", "\n", "😀", "", "\r\n", "BA", "D\r"])
            editor.edit(uri, (span(line, column, line + chance.randrange(2), column + width), new_text))
            if chance.random() < 0.05:
                await asyncio.sleep(0.01)
        editor.edit(uri, (span(0, 0, 0, 0), "BAD "))
        while True:
            found = await editor.diagnostics(uri)
            if found and found[0].range == span(0, 0, 0, 3):
                break
        assert [editor.covered(uri, one.range) for one in found] == ["BAD"] * editor.texts[uri].count("BAD")
