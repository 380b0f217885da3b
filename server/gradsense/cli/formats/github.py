"""Workflow commands that GitHub shows as annotations on the lines of a pull request."""

from __future__ import annotations

from typing import TextIO

from gradsense.cli.result import Result, from_here, line_place
from gradsense.regions import place, region
from gradsense.rules.finding import Finding, Severity

_LEVELS = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFORMATION: "notice",
    Severity.HINT: "notice",
}


def write(result: Result, out: TextIO) -> None:
    """Writes one command a finding and one a file that could not be checked."""
    for finding in result.findings:
        out.write(_command(_LEVELS[finding.severity], _properties(result, finding), _message(result, finding)))
    for failure in result.failures:
        out.write(_command("error", {"title": "gradsense", "file": _path(failure.path)}, failure.text))
    for note in result.notes:
        text = f"{line_place(result.sources, note)}: {note.text}"
        out.write(_command("notice", {"title": "gradsense", "file": _path(note.path)}, text))


def _properties(result: Result, finding: Finding) -> dict[str, str | int]:
    properties: dict[str, str | int] = {"title": f"{finding.code} {finding.name}", "file": _path(finding.path)}
    at = region(result.sources, finding.path, finding.span)
    if at.cell is not None:
        # A notebook's lines are not those of its file.
        return properties
    properties["line"] = at.line
    properties["endLine"] = at.end_line
    if at.line == at.end_line:
        properties["col"] = at.column + 1
        properties["endColumn"] = at.end_column + 1
    return properties


def _message(result: Result, finding: Finding) -> str:
    lines = [finding.message]
    if region(result.sources, finding.path, finding.span).cell is not None:
        lines[0] = f"{place(result.sources, finding.path, finding.span)}: {finding.message}"
    lines += [f"{place(result.sources, other.path, other.span)}: {other.message}" for other in finding.related]
    if finding.expected:
        lines.append(f"torch: {finding.expected}")
    return "\n".join(lines)


def _path(path: str) -> str:
    """GitHub takes paths from the top of the repository, where a workflow runs unless told otherwise."""
    return from_here(path) or path


def _command(level: str, properties: dict[str, str | int], message: str) -> str:
    fields = ",".join(f"{key}={_escaped(str(value), property=True)}" for key, value in properties.items())
    return f"::{level} {fields}::{_escaped(message)}\n"


def _escaped(text: str, property: bool = False) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if property else text
