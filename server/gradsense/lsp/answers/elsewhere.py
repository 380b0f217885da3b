"""Findings in files that a program imports: a person who looks at the program is told there, where it leads to them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from gradsense.rules.finding import Finding, Related
from gradsense.syntax import Source
from gradsense.syntax.suppressions import Suppressions


def at_home(
    findings: Iterable[Finding],
    path: str,
    source_of: Callable[[str], Source | None],
    shown: Callable[[Finding], bool],
) -> Iterator[Finding]:
    """The findings in a file, and those elsewhere at the last of its lines that their stories pass.

    What passes none of its lines is left out, and so is what a comment silences where it lies.

    Args:
        findings: what a check of the file found.
        path: the file.
        source_of: the source of another one by its path.
        shown: whether a finding is shown where it lies, since that file is open and has it by itself.
    """
    for finding in findings:
        if finding.path == path:
            yield finding
            continue
        own = [related for related in finding.related if related.path == path]
        source = source_of(finding.path) if own and not shown(finding) else None
        if source is None or Suppressions.of(source).hides(finding.code, finding.span.line):
            continue
        where = f"{os.path.basename(finding.path)} line {finding.span.line}"
        spot = max(own, key=lambda related: related.span)
        cause = Related(finding.path, finding.span, "the line to change")
        yield replace(
            finding,
            path=path,
            span=spot.span,
            message=f"{finding.message} ({where})",
            related=(cause, *(one for one in finding.related if one is not spot)),
        )
