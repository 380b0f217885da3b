"""The fix engine: rounds, conflicts, fixes that do not help, files that must stay as they are."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from cli.making import finding, replacing
from gradsense.files import File
from gradsense.mending import Mended, mend
from gradsense.rules.finding import Finding, Severity

PATH = "train.py"


def run(data: bytes, check: object, *, unsafe: bool = False, path: str = PATH) -> tuple[bytes, Mended]:
    """Mends one file with a check that sees its source only."""

    def of_files(files: Mapping[str, File]) -> list[Finding]:
        return check(files[path].source)  # type: ignore[operator]

    mended = mend({path: File.of(path, data)}, of_files, unsafe)
    return mended.files[path].data, mended


def replace_each(old: str, new: str, **options: bool) -> object:
    """A check that finds every occurrence of some text and offers to replace it."""

    def check(source):  # type: ignore[no-untyped-def]
        count = source.text.count(old)
        return [finding(source, old, replacing(source, old, new, nth=n, **options), nth=n) for n in range(count)]

    return check


def test_one_fix_a_finding_and_what_is_left_is_told() -> None:
    after, mended = run(b"x += 1\ny += 2\n", replace_each("+=", "= 0 +"))
    assert after == b"x = 0 + 1\ny = 0 + 2\n"
    assert len(mended.mends) == 2
    assert mended.findings == []


def test_unsafe_fixes_are_applied_only_on_request() -> None:
    check = replace_each("+=", "= 0 +", unsafe=True)
    assert run(b"x += 1\n", check)[0] == b"x += 1\n"
    assert len(run(b"x += 1\n", check)[1].findings) == 1
    assert run(b"x += 1\n", check, unsafe=True)[0] == b"x = 0 + 1\n"


def test_a_safe_fix_is_taken_where_the_first_is_unsafe() -> None:
    def check(source):  # type: ignore[no-untyped-def]
        if "a" not in source.text:
            return []
        return [finding(source, "a", replacing(source, "a", "b", unsafe=True), replacing(source, "a", "c"))]

    assert run(b"a\n", check)[0] == b"c\n"
    assert run(b"a\n", check, unsafe=True)[0] == b"b\n"


def test_hints_are_not_mended() -> None:
    def check(source):  # type: ignore[no-untyped-def]
        return [finding(source, "+=", replacing(source, "+=", "= 0 +"), severity=Severity.HINT)]

    assert run(b"x += 1\n", check)[0] == b"x += 1\n"


def test_a_mended_fault_may_uncover_the_next() -> None:
    def check(source):  # type: ignore[no-untyped-def]
        for old, new, code in (("one", "two", "GS102"), ("two", "three", "GS201")):
            if old in source.text:
                return [finding(source, old, replacing(source, old, new), code=code)]
        return []

    after, mended = run(b"one\n", check)
    assert after == b"three\n"
    assert len(mended.mends) == 2


def test_fixes_of_the_same_lines_wait_for_each_other() -> None:
    """Both want to change the line; the second is no longer wanted after the first."""

    def check(source):  # type: ignore[no-untyped-def]
        if "retain" in source.text or ".detach" in source.text:
            return []
        return [
            finding(source, "backward", replacing(source, "()", "(retain_graph=True)"), code="GS101"),
            finding(source, "loss", replacing(source, "loss.", "loss.detach()."), code="GS102"),
        ]

    assert run(b"loss.backward()\n", check)[0] == b"loss.detach().backward()\n"


def test_a_fix_waits_that_would_edit_the_story_of_another() -> None:
    def check(source):  # type: ignore[no-untyped-def]
        found = []
        if "made = a" in source.text:
            used = finding(source, "used", replacing(source, "used", "USED"), related=(("made", "made here"),))
            found = [used, finding(source, "made", replacing(source, "made", "MADE"))]
        return found

    assert run(b"made = a\nused = made\n", check)[0] == b"MADE = a\nused = made\n"


def test_a_fix_that_does_not_help_is_applied_once() -> None:
    after, mended = run(b"first = 1\nx\n", lambda source: [finding(source, "x", replacing(source, "x", "x.detach()"))])
    assert after == b"first = 1\nx.detach()\n"
    assert len(mended.mends) == 1
    assert len(mended.findings) == 1


def test_no_other_fix_is_put_on_top_of_one_that_did_not_help() -> None:
    def check(source):  # type: ignore[no-untyped-def]
        return [finding(source, "x", replacing(source, "x", "x.detach()"), replacing(source, "x", "x.clone()"))]

    assert run(b"x\n", check)[0] == b"x.detach()\n"


def test_the_same_fix_elsewhere_is_still_applied_after_one_that_did_not_help() -> None:
    def check(source):  # type: ignore[no-untyped-def]
        """Finds both `x`, the second only when the first is mended, and is never content."""
        count = 2 if "x.detach()" in source.text else 1
        fixes = [replacing(source, "x", "x.detach()", nth=n, title="Detach") for n in range(count)]
        return [finding(source, "x", fix, nth=n) for n, fix in enumerate(fixes)]

    assert run(b"x\n\nx\n", check)[0] == b"x.detach()\n\nx.detach()\n"


def test_rounds_are_bounded() -> None:
    def check(source):  # type: ignore[no-untyped-def]
        return [finding(source, "x", replacing(source, "x", "xx"), code=f"GS{len(source.text)}")]

    after, mended = run(b"x\n", check)
    assert len(mended.mends) == 10
    assert after == b"x" * 11 + b"\n"


def test_a_result_that_does_not_parse_is_refused_and_the_others_are_kept() -> None:
    def check(source):  # type: ignore[no-untyped-def]
        wanted = [("one", "1 +"), ("two", "2")]
        return [finding(source, old, replacing(source, old, new)) for old, new in wanted if old in source.text]

    after, mended = run(b"x = one\ny = two\n", check)
    assert after == b"x = one\ny = 2\n"
    assert "would not be valid Python" in mended.refused[0][1]


def test_a_file_that_is_broken_elsewhere_is_mended() -> None:
    assert run(b"def f(:\n\nx += 1\n", replace_each("+=", "= 0 +"))[0] == b"def f(:\n\nx = 0 + 1\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"x += 1\r\ny = 2\r\n", b"x = (\r\n  1)\r\ny = 2\r\n"),
        (b"\xef\xbb\xbfx += 1\n", b"\xef\xbb\xbfx = (\n  1)\n"),
        ("# -*- coding: latin-1 -*-\nx += 1  # é\n".encode("latin-1"),
         "# -*- coding: latin-1 -*-\nx = (\n  1)  # é\n".encode("latin-1")),
        ("s = '😀'; x += 1".encode(), "s = '😀'; x = (\n  1)".encode()),
        (b"x += 1\ry = 2\r", b"x = (\r  1)\ry = 2\r"),
    ],
)  # fmt: skip
def test_encoding_mark_and_line_ends_stay(before: bytes, after: bytes) -> None:
    assert run(before, replace_each("+= 1", "= (\n  1)"))[0] == after


def test_a_character_that_the_encoding_lacks_is_refused() -> None:
    before = b"# -*- coding: latin-1 -*-\nx += 1\n"
    after, mended = run(before, replace_each("+= 1", "= 1  # →"))
    assert after == before
    assert "latin-1" in mended.refused[0][1].lower()


def test_a_fix_over_two_files_is_applied_whole_or_not_at_all() -> None:
    a, b = File.of("a.py", b"one\n"), File.of("b.py", b"two\n")

    def check(files: Mapping[str, File]) -> list[Finding]:
        one, two = files["a.py"].source, files["b.py"].source
        if "one" not in one.text:
            return []
        fix = replacing(one, "one", "ONE")
        return [finding(one, "one", type(fix)(fix.title, fix.applicability, (*fix.edits, *tail(two).edits)))]

    def tail(source):  # type: ignore[no-untyped-def]
        return replacing(source, "two", new)

    new = "TWO"
    files = mend({"a.py": a, "b.py": b}, check, unsafe=False).files
    assert [file.data for file in files.values()] == [b"ONE\n", b"TWO\n"]
    new = "("
    files = mend({"a.py": a, "b.py": b}, check, unsafe=False).files
    assert [file.data for file in files.values()] == [b"one\n", b"two\n"]
    files = mend({"a.py": a}, lambda files: check({**files, "b.py": b}), unsafe=False).files
    assert files["a.py"].data == b"one\n"


def notebook(*cells: str) -> bytes:
    """A notebook as Jupyter writes it, indented by one."""
    made = [
        {"cell_type": "code", "execution_count": 3, "id": f"c{n}", "metadata": {}, "outputs": [],
         "source": text.splitlines(keepends=True)}
        for n, text in enumerate(cells)
    ]  # fmt: skip
    return (json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n").encode()


def test_a_notebook_is_mended_cell_by_cell_and_keeps_its_magics() -> None:
    before = notebook("%time x = 1\ny = 2", "!ls\nx += 1\ny += 1")
    after, mended = run(before, replace_each("+=", "= 0 +"), path="a.ipynb")
    assert after == notebook("%time x = 1\ny = 2", "!ls\nx = 0 + 1\ny = 0 + 1")
    assert len(mended.mends) == 2
