"""One line a finding, as compilers write them, so that editors and other tools can take them apart."""

from __future__ import annotations

from typing import TextIO

from gradsense.cli.result import Result
from gradsense.cli.terminal import clean
from gradsense.regions import place


def write(result: Result, out: TextIO) -> None:
    """Writes `path:line:column: severity: message [code]` for each finding, counted from 1."""
    for finding in result.findings:
        where = place(result.sources, finding.path, finding.span)
        message = " ".join(finding.message.split())
        out.write(clean(f"{where}: {finding.severity.value}: {message} [{finding.code}]") + "\n")
