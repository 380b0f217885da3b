"""The pages that lie in the package, where an editor's links lead."""

from __future__ import annotations

from gradsense.cli.pages import pages
from gradsense.rules.page_files import page_file


def test_every_code_has_a_page_that_can_be_read_without_a_network() -> None:
    for code, page in pages().items():
        assert page.markdown.rstrip() in page_file(code).read_text(encoding="utf-8"), "run python server/tools/docs.py"
