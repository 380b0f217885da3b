"""A JSON list of findings; lines from 1, columns from 0 in code points, in a notebook by cell."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TextIO

from gradsense.cli.result import Result
from gradsense.fixes.fix import Fix
from gradsense.regions import region
from gradsense.rules.finding import Finding
from gradsense.syntax import Source, Span

Object = dict[str, Any]


def write(result: Result, out: TextIO) -> None:
    """Writes all findings, each with its story and with every fix on offer."""
    json.dump([finding_object(result.sources, finding) for finding in result.findings], out, indent=2)
    out.write("\n")


def finding_object(sources: Mapping[str, Source], finding: Finding) -> Object:
    """One finding, as an object."""
    return {
        "path": finding.path,
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        **_region(sources, finding.path, finding.span),
        "expected": finding.expected,
        "related": [
            {"path": other.path, **_region(sources, other.path, other.span), "message": other.message}
            for other in finding.related
        ],
        "fixes": [_fix(sources, fix) for fix in finding.fixes],
    }


def _fix(sources: Mapping[str, Source], fix: Fix) -> Object:
    return {
        "title": fix.title,
        "applicability": fix.applicability.value,
        "preferred": fix.preferred,
        "edits": [
            {"path": edit.path, **_region(sources, edit.path, edit.span), "newText": edit.new_text}
            for edit in fix.edits
        ],
    }


def _region(sources: Mapping[str, Source], path: str, span: Span) -> Object:
    at = region(sources, path, span)
    numbers = {"line": at.line, "column": at.column, "endLine": at.end_line, "endColumn": at.end_column}
    return numbers if at.cell is None else {"cell": at.cell, **numbers}
