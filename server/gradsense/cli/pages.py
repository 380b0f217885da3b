"""The page of every rule, in markdown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from gradsense import filtering
from gradsense.config import EVERYTHING
from gradsense.rules.registry import all_rules


@dataclass(frozen=True, slots=True)
class Page:
    """What there is to read about a code.

    Args:
        text: the whole page in markdown, without its heading.
    """

    code: str
    name: str
    text: str

    @property
    def summary(self) -> str:
        """The page's first line."""
        return self.text.partition("\n")[0]

    @property
    def markdown(self) -> str:
        """The page with its heading."""
        return f"# {self.code} {self.name}\n\n{self.text}\n"


@cache
def pages() -> dict[str, Page]:
    """All pages by code, in the order of the codes."""
    found = [Page(filtering.UNUSED_IGNORE, filtering.NAME, filtering.PAGE)]
    found += [Page(rule.code, rule.name, rule.page) for rule in all_rules().values()]
    return {page.code: page for page in sorted(found, key=lambda page: page.code)}


def unknown(selectors: Iterable[str]) -> list[str]:
    """Those of some codes, and beginnings of codes, that no rule has."""
    codes = [*pages(), EVERYTHING]
    return [selector for selector in selectors if not any(code.startswith(selector) for code in codes)]
