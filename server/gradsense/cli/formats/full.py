"""For reading in a terminal: each finding with its lines, what torch will say, and what can be done."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator
from typing import TextIO

from rich.console import Console
from rich.text import Text

from gradsense.cli.formats.snippet import Mark, Snippet
from gradsense.cli.result import Result
from gradsense.cli.terminal import clean, console
from gradsense.fixes.fix import Applicability
from gradsense.regions import place
from gradsense.rules.finding import Finding, Severity

_STYLES = {
    Severity.ERROR: "bold red",
    Severity.WARNING: "bold yellow",
    Severity.INFORMATION: "bold blue",
    Severity.HINT: "bold cyan",
}
_NAMES = {
    Severity.ERROR: ("error", "errors"),
    Severity.WARNING: ("warning", "warnings"),
    Severity.INFORMATION: ("information", "information"),
    Severity.HINT: ("hint", "hints"),
}
_SAFETY = {Applicability.SAFE: " (--fix)", Applicability.UNSAFE: " (may change results: --unsafe-fixes)"}
_WARNING = {Applicability.SAFE: "", Applicability.UNSAFE: " (may change results)"}
_WIDEST_TEXT = 100
_FIXES_SHOWN = 4


def write(result: Result, out: TextIO) -> None:
    """Writes all findings and a closing line that counts them."""
    terminal = console(out)
    page = Page(terminal)
    for finding in result.findings:
        for line in page.finding(result, finding):
            terminal.print(line)
        terminal.print()
    for line in _summary(result):
        terminal.print(line)


class Page:
    """Lays text out for a terminal or a pipe."""

    def __init__(self, terminal: Console) -> None:
        self._terminal = terminal

    def finding(self, result: Result, finding: Finding, *, brief: bool = False) -> Iterator[Text]:
        """A finding with its lines and fixes; a brief one leaves out what torch says and where to read on."""
        style = _STYLES[finding.severity]
        yield Text.assemble(
            (clean(place(result.sources, finding.path, finding.span)), "bold"),
            " ",
            (f"{finding.severity.value} {finding.code}", style),
            f" {finding.name}",
        )
        yield from self.paragraph(finding.message, "  ", "  ")
        yield Text("")
        marks = [Mark(finding.path, finding.span, "", style)]
        marks += [Mark(other.path, other.span, other.message, None) for other in finding.related]
        yield from Snippet(marks, result.sources, self._terminal).lines()
        yield Text("")
        if finding.expected and not brief:
            yield from self.entry("torch", finding.expected)
        for fix in finding.fixes[:_FIXES_SHOWN]:
            yield from self.entry("fix", f"{fix.title}{(_WARNING if brief else _SAFETY)[fix.applicability]}")
        if not brief:
            yield from self.entry("help", f"gradsense rule {finding.code}")

    def entry(self, name: str, text: str) -> Iterator[Text]:
        """A named line."""
        head = f"  {name:<5} "
        for line in self.paragraph(text, head, " " * len(head)):
            line.stylize("bold", 0, len(head))
            yield line

    def paragraph(self, text: str, first: str, rest: str) -> Iterator[Text]:
        """Breaks long text at a terminal's width; a pipe gets it in one line."""
        text = clean(" ".join(text.split()))
        if not self._terminal.is_terminal:
            yield Text(first + text)
            return
        width = min(self._terminal.width, _WIDEST_TEXT)
        for line in textwrap.wrap(text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False):
            yield Text(line)


def _summary(result: Result) -> Iterator[Text]:
    checked = _count(result.checked, "file", "files")
    if not result.findings:
        yield Text(f"No findings in {checked}.", style="bold green" if not result.failures else "")
        return
    by_severity = Counter(finding.severity for finding in result.findings)
    counts = [_count(by_severity[severity], *names) for severity, names in _NAMES.items() if by_severity[severity]]
    listed = " and ".join([", ".join(counts[:-1]), counts[-1]] if len(counts) > 1 else counts)
    files = len({finding.path for finding in result.findings})
    yield Text(f"Found {listed} in {files} of {checked}.", style="bold")
    offers = [{fix.applicability for fix in finding.fixes} for finding in result.findings]
    safe = sum(Applicability.SAFE in offer for offer in offers)
    unsafe = sum(bool(offer) for offer in offers) - safe
    if safe and unsafe:
        yield Text(f"--fix can mend {safe} of them; {unsafe} more with --unsafe-fixes, which may change results.")
    elif safe:
        yield Text(f"--fix can mend {safe} of them.")
    elif unsafe:
        yield Text(f"--fix --unsafe-fixes can mend {unsafe} of them, which may change results.")


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
