"""What a hover says about one finding, as markdown or as plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gradsense.lsp.messages import FindingView, FixView, RuleView

_RUN_OF_TICKS = re.compile("`+")


@dataclass(frozen=True)
class Explanation:
    """One finding with all that can be said about it.

    Args:
        fixes: its fixes, the preferred one first.
        rule: its rule's page, where it could be had.
    """

    finding: FindingView
    fixes: tuple[FixView, ...]
    rule: RuleView | None

    def markdown(self, *, message: bool = True) -> str:
        """The explanation for a client that shows markdown, with the finding's message where that is not shown by
        itself."""
        return "\n\n".join(self._markdown_parts(message))

    def plain(self) -> str:
        """The explanation for a client that shows text as it is."""
        return "\n\n".join(self._plain_parts())

    def _markdown_parts(self, message: bool) -> Iterator[str]:
        finding = self.finding
        title = f"{finding.code} {finding.name}"
        yield f"**[{title}]({finding.url})**" if finding.url else f"**{title}**"
        if message:
            yield finding.message
        if finding.expected:
            yield f"torch will say:\n\n{_block(finding.expected)}"
        if finding.related:
            lines = (f"- {line.where}: {line.message}{_quoted(line.text)}" for line in finding.related)
            yield "In this program:\n\n" + "\n".join(lines)
        if self.fixes:
            yield "Fixes:\n\n" + "\n".join(f"- {fix.label}" for fix in self.fixes)
        if self.rule is not None:
            yield self.rule.text.strip()

    def _plain_parts(self) -> Iterator[str]:
        finding = self.finding
        yield f"{finding.code} {finding.name}"
        yield finding.message
        if finding.expected:
            yield f"torch will say:\n{_indented(finding.expected)}"
        if finding.related:
            lines = (f"{line.where}: {line.message}\n    {line.text}" for line in finding.related)
            yield "In this program:\n" + _indented("\n".join(lines))
        if self.fixes:
            yield "Fixes:\n" + _indented("\n".join(fix.label for fix in self.fixes))
        if self.rule is not None:
            yield self.rule.text.strip()
        if finding.url:
            yield finding.url


def _block(text: str) -> str:
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}text\n{text}\n{fence}"


def _quoted(text: str) -> str:
    if not text:
        return ""
    ticks = "`" * (_longest_run(text) + 1)
    pad = " " if text[0] == "`" or text[-1] == "`" else ""
    return f" {ticks}{pad}{text}{pad}{ticks}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in _RUN_OF_TICKS.findall(text)), default=0)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
