"""The parts of a fix put together."""

from __future__ import annotations

from gradsense.fixes.fix import Applicability, Fix, combine
from gradsense.syntax.edits import TextEdit
from gradsense.syntax.spans import Span


def _edit(line: int, start: int, end: int, text: str) -> TextEdit:
    return TextEdit("program.py", Span(line, start, line, end), text)


def test_the_steps_of_a_fix_come_in_the_order_of_the_text() -> None:
    assert combine((_edit(3, 0, 1, "c"),), (_edit(1, 0, 1, "a"), _edit(2, 0, 1, "b"))) == (
        _edit(1, 0, 1, "a"),
        _edit(2, 0, 1, "b"),
        _edit(3, 0, 1, "c"),
    )


def test_a_step_that_cannot_be_done_undoes_the_whole_fix() -> None:
    assert combine((_edit(1, 0, 1, "a"),), None) is None


def test_steps_that_touch_the_same_text_are_no_fix() -> None:
    assert combine((_edit(1, 0, 4, "a"),), (_edit(1, 2, 6, "b"),)) is None
    assert combine((_edit(1, 0, 4, "a"),), (_edit(1, 0, 4, "b"),)) is None


def test_a_step_that_two_parts_share_is_done_once() -> None:
    assert combine((_edit(1, 0, 0, "a"),), (_edit(1, 0, 0, "a"),)) == (_edit(1, 0, 0, "a"),)


def test_insertions_at_one_place_keep_their_order() -> None:
    assert combine((_edit(1, 0, 0, "b"),), (_edit(1, 0, 0, "a"),)) == (_edit(1, 0, 0, "b"), _edit(1, 0, 0, "a"))


def test_edits_of_two_files_do_not_overlap() -> None:
    other = TextEdit("other.py", Span(1, 0, 1, 4), "x")
    assert combine((_edit(1, 0, 4, "a"),), (other,)) == (other, _edit(1, 0, 4, "a"))


def test_a_fix_is_not_preferred_unless_it_says_so() -> None:
    assert not Fix("Detach it", Applicability.SAFE, ()).preferred
    assert Applicability("unsafe") is Applicability.UNSAFE
