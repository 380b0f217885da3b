"""What is reported of what was found: settings, comments that silence, and comments that need not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cli.making import finding
from gradsense.config import Settings
from gradsense.filtering import apply
from gradsense.rules.finding import Finding, Severity
from gradsense.syntax import Source, apply_edits


def reported(
    source: Source, found: Mapping[str, str], settings: Settings | None = None, severity: Severity = Severity.ERROR
) -> list[Finding]:
    """What is left of findings given as text and code."""
    findings = [finding(source, text, code=code, severity=severity) for text, code in found.items()]
    report: Any = SimpleNamespace(findings=findings)
    return apply(report, {source.path: source}, settings or Settings())


def codes(findings: list[Finding]) -> list[str]:
    return [finding.code for finding in findings]


def test_findings_come_in_order_of_place() -> None:
    source = Source.from_text("a.py", "one\ntwo\n")
    assert codes(reported(source, {"two": "GS101", "one": "GS301"})) == ["GS301", "GS101"]


def test_settings_choose() -> None:
    source = Source.from_text("a.py", "one\ntwo\n")
    found = {"one": "GS101", "two": "GS301"}
    assert codes(reported(source, found, Settings(select=("GS3",)))) == ["GS301"]
    assert codes(reported(source, found, Settings(ignore=("GS301",)))) == ["GS101"]


def test_hints_are_shown_on_request() -> None:
    source = Source.from_text("a.py", "one\n")
    assert reported(source, {"one": "GS210"}, severity=Severity.HINT) == []
    assert codes(reported(source, {"one": "GS210"}, Settings(show_hints=True), Severity.HINT)) == ["GS210"]


def test_per_file_ignores_go_by_the_folder_of_the_settings(tmp_path: Path) -> None:
    settings = Settings(per_file_ignores={"tests/*": ("GS1",), "/train.py": ("GS101",)}, root=tmp_path)
    for path, kept in (("tests/a.py", []), ("train.py", []), ("sub/train.py", ["GS101"]), ("src/a.py", ["GS101"])):
        source = Source.from_text(str(tmp_path / path), "one\n")
        assert codes(reported(source, {"one": "GS101"}, settings)) == kept


@pytest.mark.parametrize(
    ("comment", "left"),
    [
        ("# gradsense: ignore[GS301]", []),
        ("# gradsense: ignore", []),
        ("# gradsense: ignore[GS301, GS302]", ["GS001"]),
        ("# gradsense: ignore[GS302]", ["GS301", "GS001"]),
    ],
)
def test_comments_silence_and_idle_ones_are_reported(comment: str, left: list[str]) -> None:
    source = Source.from_text("a.py", f"total += loss  {comment}\n")
    assert codes(reported(source, {"total += loss": "GS301"})) == left


def test_a_comment_is_in_use_though_its_finding_would_not_be_shown() -> None:
    source = Source.from_text("a.py", "total += loss  # gradsense: ignore[GS301]\n")
    assert reported(source, {"total += loss": "GS301"}, Settings(ignore=("GS3",))) == []


def test_idle_comments_can_be_ignored_too() -> None:
    source = Source.from_text("a.py", "x = 1  # gradsense: ignore[GS301]\n")
    assert reported(source, {}, Settings(ignore=("GS001",))) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1  # gradsense: ignore[GS301]\n", "x = 1\n"),
        ("x = 1  # gradsense: ignore\ny = 2\n", "x = 1\ny = 2\n"),
        ("x = 1  # gradsense: ignore[GS301] since it is small\n", "x = 1\n"),
        ("x = 1  # gradsense: ignore[GS301] # noqa\n", "x = 1  # noqa\n"),
        ("x = 1  # noqa # gradsense: ignore[GS301]\n", "x = 1  # noqa\n"),
        ("# gradsense: ignore[GS301]\nx = 1\n", "x = 1\n"),
        ("# gradsense: ignore-file\nx = 1\n", "x = 1\n"),
        ("x = 1\n# gradsense: ignore-file", "x = 1\n"),
        ("x = 1  # gradsense: ignore[GS301, GS201]\n", "x = 1  # gradsense: ignore[GS201]\n"),
    ],
)
def test_the_fix_removes_what_is_idle(before: str, after: str) -> None:
    source = Source.from_text("a.py", before)
    [found] = reported(source, {"x = 1": "GS201"} if "GS201" in before else {})
    assert apply_edits(before, found.fixes[0].edits) == after


def test_a_comment_that_is_not_understood_is_reported() -> None:
    source = Source.from_text("a.py", "x = 1  # gradsense: off\n")
    [found] = reported(source, {})
    assert found.code == "GS001"
    assert "not understood" in found.message
    assert source.slice(found.span) == "# gradsense: off"
