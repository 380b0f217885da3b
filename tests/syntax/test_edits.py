"""Applying text edits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradsense.syntax import Source, Span, TextEdit, apply_edits


def edit(*place: int, new: str = "", path: str = "a.py") -> TextEdit:
    return TextEdit(path, Span(*place), new)


def test_edits_in_any_order_use_the_original_places() -> None:
    text = "one\ntwo\r\nthree"
    edits = [edit(3, 0, 3, 5, new="3"), edit(1, 0, 1, 3, new="uno\neins"), edit(2, 3, 2, 3, new="!")]
    assert apply_edits(text, edits) == "uno\neins\ntwo!\r\n3"


def test_lines_can_be_joined_and_deleted() -> None:
    assert apply_edits("a\r\nb\nc", [edit(1, 1, 2, 0)]) == "ab\nc"
    assert apply_edits("a\nb\nc", [edit(2, 0, 3, 0)]) == "a\nc"
    assert apply_edits("a\n", [edit(2, 0, 2, 0, new="b\n")]) == "a\nb\n"


def test_insertions_at_one_place_keep_their_order() -> None:
    assert apply_edits("x", [edit(1, 0, 1, 0, new="a"), edit(1, 0, 1, 0, new="b")]) == "abx"


def test_neighbours_do_not_overlap() -> None:
    assert apply_edits("abc", [edit(1, 1, 1, 2, new="B"), edit(1, 0, 1, 1, new="A")]) == "ABc"
    assert apply_edits("abc", [edit(1, 1, 1, 1, new="-"), edit(1, 0, 1, 1, new="A")]) == "A-bc"
    assert apply_edits("abc", [edit(1, 0, 1, 1, new="A"), edit(1, 0, 1, 0, new="-")]) == "-Abc"


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        ([edit(1, 0, 1, 2), edit(1, 1, 1, 3)], "overlap"),
        ([edit(1, 0, 1, 3), edit(1, 1, 1, 1, new="x")], "overlap"),
        ([edit(1, 0, 1, 1), edit(1, 0, 1, 1)], "overlap"),
        ([edit(1, 4, 1, 4)], "column 4"),
        ([edit(3, 0, 3, 0)], "line 3"),
        ([edit(0, 0, 1, 0)], "line 0"),
        ([edit(2, 0, 1, 0)], "ends before"),
        ([edit(1, 0, 1, 1), edit(1, 2, 1, 3, path="b.py")], "several files"),
    ],
)
def test_edits_that_cannot_be_meant(edits: list[TextEdit], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        apply_edits("abc\nd", edits)


@given(st.text(alphabet="ab\r\n🔥", max_size=30), st.lists(st.tuples(st.integers(0, 30), st.text("xy\n", max_size=3))))
def test_the_same_as_on_the_string(text: str, parts: list[tuple[int, str]]) -> None:
    source = Source("a.py", text)
    # A place within \r\n cannot be said in lines and columns.
    legal = [offset for offset in range(len(text) + 1) if source.offset(*source.place(offset)) == offset]
    cuts = sorted({min(legal, key=lambda offset: abs(offset - wanted)) for wanted, _ in parts})
    texts = [new for _, new in parts]
    edits = []
    expected = []
    position = 0
    for index, (start, end) in enumerate(zip(cuts[::2], cuts[1::2], strict=False)):
        edits.append(TextEdit("a.py", Span(*source.place(start), *source.place(end)), texts[index]))
        expected += [text[position:start], texts[index]]
        position = end
    expected.append(text[position:])
    assert apply_edits(text, reversed(edits)) == "".join(expected)


def test_spans() -> None:
    outer, inner, empty = Span(1, 0, 3, 4), Span(2, 9, 2, 11), Span(2, 5, 2, 5)
    assert outer.contains(inner)
    assert outer.contains(outer)
    assert not inner.contains(outer)
    assert outer.overlaps(inner)
    assert empty.is_empty
    assert outer.overlaps(empty)
    assert not Span(1, 0, 1, 2).overlaps(Span(1, 2, 1, 4))
    assert sorted([inner, outer]) == [outer, inner]
