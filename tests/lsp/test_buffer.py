"""The outcome of mending a buffer, as edits of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gradsense.lsp.buffer import Buffer, edits_between
from gradsense.syntax import Source, Span, TextEdit, apply_edits

texts = st.lists(st.sampled_from(["a\n", "b\r\n", "c\r", "\n", "d", "😀\n"]), max_size=8).map("".join)


@given(texts, texts)
def test_the_edits_make_one_text_of_the_other(before: str, after: str) -> None:
    assert apply_edits(before, edits_between("a.py", before, after)) == after


def test_lines_that_stay_are_not_touched() -> None:
    before = "".join(f"line {number}\n" for number in range(100))
    after = before.replace("line 7\n", "line seven\n").replace("line 90\n", "")
    assert list(edits_between("a.py", before, after)) == [
        TextEdit("a.py", Span(8, 0, 9, 0), "line seven\n"),
        TextEdit("a.py", Span(91, 0, 92, 0), ""),
    ]


def test_a_declared_encoding_means_nothing_in_an_editor() -> None:
    source = Source.from_text("a.py", "# coding: latin-1\r\nx = 'é'\r\n")
    edited = Buffer.of_source(source).edited([TextEdit("a.py", Span(2, 0, 2, 1), "y\nz")])
    assert edited.source.text == "# coding: latin-1\r\ny\r\nz = 'é'\r\n"
