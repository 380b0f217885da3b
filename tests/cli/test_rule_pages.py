"""`gradsense rule` and `gradsense rules`."""

from __future__ import annotations

import pytest

from gradsense.cli.main import main
from gradsense.cli.pages import pages


def test_every_rule_is_listed_on_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [[page.code, page.name] for page in pages().values()]
    assert all(page.summary.endswith(".") for page in pages().values())


@pytest.mark.parametrize("name", ["GS201", "gs201", "inplace-on-saved"])
def test_a_rule_is_found_by_code_and_by_name(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main(["rule", name]) == 0
    out = capsys.readouterr().out
    assert out.startswith("# GS201 inplace-on-saved\n\n")
    assert "## Mended\n\n```python\n" in out


def test_all_pages(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "--all"]) == 0
    out = capsys.readouterr().out
    assert all(f"# {page.code} {page.name}\n" in out for page in pages().values())
