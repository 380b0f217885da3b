"""Comments that hide findings."""

from __future__ import annotations

import pytest

from gradsense.syntax import Source, Span
from gradsense.syntax.suppressions import Suppressions


def of(text: str) -> Suppressions:
    return Suppressions.of(Source.from_text("a.py", text))


def hidden(text: str, code: str = "GS301") -> list[int]:
    """The lines on which a finding would be hidden."""
    found = of(text)
    return [line for line in range(1, text.count("\n") + 2) if found.hides(code, line)]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a\nb  # gradsense: ignore[GS301]\nc", [2]),
        ("a\nb  # gradsense: ignore[GS101, GS301]\nc", [2]),
        ("a\nb  # gradsense: ignore[GS101 gs301]\nc", [2]),
        ("a\nb  # gradsense: ignore\nc", [2]),
        ("a\nb  #gradsense:ignore[ GS301 ]\nc", [2]),
        ("a\nb  # GradSense: Ignore[GS301]\nc", [2]),
        ("a\nb  # noqa: E501  # gradsense: ignore[GS301]  # type: ignore\nc", [2]),
        ("a\nb  # why # gradsense: ignore [GS301] because\nc", [2]),
        ("a\nb  # gradsense: ignore[GS101]\nc", []),
        ("a\nb  # gradsense: ignore[GS3]\nc", []),
        ("a\nb = '# gradsense: ignore[GS301]'\nc", []),
        ('a\n"""\n# gradsense: ignore[GS301]\n"""\nc', []),
        ("a\n# gradsense: ignore[GS301]\nc", [2]),
        ("# gradsense: ignore-file\na\nb", [1, 2, 3]),
        ("a\nb\n# gradsense: ignore-file[GS301]", [1, 2, 3]),
        ("# gradsense: ignore-file[GS101]\na\nb", []),
        ("a\nb = f(\n    1,  # gradsense: ignore[GS301]\n    2,\n)\nc", [2, 3, 4, 5]),
        ("a\nb = f(\n    1,\n)  # gradsense: ignore[GS301]\nc", [2, 3, 4]),
        ("b = 1 + \\\n    2  # gradsense: ignore[GS301]\nc", [1, 2]),
        ("for i in range(\n    3\n):  # gradsense: ignore[GS301]\n    b\nc", [1, 2, 3]),
        ("b = (  # gradsense: ignore[GS301]\nc = 1\ndef f(:\n  d # gradsense: ignore\n", [1, 4]),
    ],
)
def test_which_lines_are_quiet(text: str, lines: list[int]) -> None:
    assert hidden(text) == lines


def test_what_hid_nothing_is_told() -> None:
    found = of(
        "a  # gradsense: ignore[GS301, GS102]\n"
        "b  # gradsense: ignore[GS101]\n"
        "c  # gradsense: ignore\n"
        "d  # gradsense: ignore\n"
        "e  # gradsense: ignore[GS301]\n"
    )
    for code, line in (("GS301", 1), ("GS201", 4), ("GS301", 5), ("GS999", 2)):
        found.hides(code, line)
    assert [(item.span.line, codes) for item, codes in found.unused()] == [(1, ("GS102",)), (2, ("GS101",)), (3, ())]


def test_the_comment_has_a_span() -> None:
    (item,) = of("é = 1  # x # gradsense: ignore[GS301]  because").items
    assert item.span == Span(1, 11, 1, 38 - 1)
    (item,) = of("x # gradsense: ignore  because").items
    assert item.span == Span(1, 2, 1, 21)


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("# gradsense: ingore[GS301]", "not understood"),
        ("# gradsense: ignore-line", "not understood"),
        ("# gradsense:", "not understood"),
        ("# gradsense: ignore[GS301", "no closing bracket"),
        ("# gradsense: ignore[]", "names no codes"),
    ],
)
def test_comments_that_are_not_understood(comment: str, message: str) -> None:
    found = of(f"a\nb  {comment}\n")
    assert found.items == ()
    assert [(problem.line, message in problem.message) for problem in found.mistakes] == [(2, True)]


def test_cells_are_apart() -> None:
    source = Source.from_cells(
        "a.ipynb", [(0, "a = ("), (1, "b  # gradsense: ignore[GS301]\n%time c # gradsense: ignore")]
    )
    found = Suppressions.of(source)
    assert [line for line in range(1, 4) if found.hides("GS301", line)] == [2, 3]


def test_a_text_without_comments_costs_nothing() -> None:
    assert of("x = 1\n" * 10).items == ()
