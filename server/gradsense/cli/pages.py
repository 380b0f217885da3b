"""The page of every rule, in markdown."""

from __future__ import annotations

from dataclasses import dataclass

from gradsense import filtering
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


def pages() -> dict[str, Page]:
    """All pages by code, in the order of the codes."""
    found = [Page(filtering.UNUSED_IGNORE, filtering.NAME, filtering.PAGE)]
    found += [Page(rule.code, rule.name, rule.page) for rule in all_rules().values()]
    return {page.code: page for page in sorted(found, key=lambda page: page.code)}
