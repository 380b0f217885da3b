"""SARIF 2.1.0, which code scanning services read: the rules, the findings with their stories, and the fixes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote

from gradsense import __version__
from gradsense.cli.pages import Page, pages
from gradsense.cli.result import Message, Result, from_here
from gradsense.fixes.fix import Fix
from gradsense.regions import place, region
from gradsense.rules.finding import Finding, Severity
from gradsense.syntax import Source, Span, TextEdit

Object = dict[str, Any]

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFORMATION: "note",
    Severity.HINT: "note",
}


def write(result: Result, out: TextIO) -> None:
    """Writes one run."""
    rules = pages()
    index = {code: position for position, code in enumerate(rules)}
    run = {
        "tool": {
            "driver": {"name": "GradSense", "version": __version__, "rules": [_rule(page) for page in rules.values()]}
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not result.failures,
                "toolExecutionNotifications": [
                    *(_notification(message, "error") for message in result.failures),
                    *(_notification(message, "note") for message in result.notes),
                ],
            }
        ],
        "results": [_result(result.sources, finding, index[finding.code]) for finding in result.findings],
    }
    json.dump({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, out, indent=2)
    out.write("\n")


def _rule(page: Page) -> Object:
    return {
        "id": page.code,
        "name": _pascal(page.name),
        "shortDescription": {"text": page.summary},
        "help": {"text": page.text, "markdown": page.text},
    }


def _pascal(name: str) -> str:
    """SARIF's advice for rule names: `BackwardTwice` for `backward-twice`."""
    return "".join(part.capitalize() for part in name.split("-"))


def _result(sources: Mapping[str, Source], finding: Finding, rule: int) -> Object:
    text = finding.message if not finding.expected else f"{finding.message}\n\ntorch: {finding.expected}"
    found: Object = {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": _LEVELS[finding.severity],
        "message": {"text": text},
        "locations": [_location(sources, finding.path, finding.span)],
        "relatedLocations": [
            {"id": number, **_location(sources, other.path, other.span), "message": {"text": other.message}}
            for number, other in enumerate(finding.related)
        ],
    }
    fixes = [_fix(fix) for fix in finding.fixes if not any(_is_notebook(sources, edit.path) for edit in fix.edits)]
    if fixes:
        found["fixes"] = fixes
    return found


def _fix(fix: Fix) -> Object:
    by_path: dict[str, list[TextEdit]] = {}
    for edit in fix.edits:
        by_path.setdefault(edit.path, []).append(edit)
    return {
        "description": {"text": f"{fix.title} ({fix.applicability.value})"},
        "artifactChanges": [
            {
                "artifactLocation": _artifact(path),
                "replacements": [
                    {"deletedRegion": _span(edit.span), "insertedContent": {"text": edit.new_text}} for edit in edits
                ],
            }
            for path, edits in by_path.items()
        ],
    }


def _location(sources: Mapping[str, Source], path: str, span: Span) -> Object:
    """A place in a file; in a notebook, whose cells have no lines in the file, a place by name."""
    physical: Object = {"artifactLocation": _artifact(path)}
    if not _is_notebook(sources, path):
        return {"physicalLocation": {**physical, "region": _span(span)}}
    at = region(sources, path, span)
    return {
        "physicalLocation": physical,
        "logicalLocations": [
            {
                "name": f"cell {(at.cell or 0) + 1}, line {at.line}",
                "fullyQualifiedName": place(sources, path, span),
                "kind": "cell",
            }
        ],
    }


def _span(span: Span) -> Object:
    """SARIF counts columns from 1, and its end is behind the last character as ours is."""
    return {
        "startLine": span.line,
        "startColumn": span.column + 1,
        "endLine": span.end_line,
        "endColumn": span.end_column + 1,
    }


def _artifact(path: str) -> Object:
    """A relative reference from the current folder where the file lies in it, else a file URI."""
    inside = from_here(path)
    return {"uri": Path(path).absolute().as_uri() if inside is None else quote(os.fsencode(inside))}


def _notification(message: Message, level: str) -> Object:
    location: Object = {"physicalLocation": {"artifactLocation": _artifact(message.path)}}
    if message.line is not None:
        location["physicalLocation"]["region"] = {"startLine": message.line}
    return {"level": level, "message": {"text": message.text}, "locations": [location]}


def _is_notebook(sources: Mapping[str, Source], path: str) -> bool:
    source = sources.get(path)
    return source is not None and bool(source.cells)
