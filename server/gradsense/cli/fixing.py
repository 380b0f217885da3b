"""The fix that `gradsense run --with-fix` tries: it is applied to a copy in memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gradsense.cli.jobs import Job, run_job
from gradsense.cli.targets import Target, Unusable
from gradsense.config import Settings
from gradsense.files import NOTEBOOK, File
from gradsense.fixes.fix import Fix
from gradsense.regions import region
from gradsense.rules.finding import Finding
from gradsense.syntax import SourceError, TextEdit

_WANTED = re.compile(r"(?P<code>[A-Za-z]+[0-9]+)(?::(?:(?:cell )?(?P<cell>[0-9]+):)?(?P<line>[0-9]+))?")


@dataclass(frozen=True)
class Mended:
    """A program with a fix in it.

    Args:
        target: the mended copy.
        overlays: the texts of other files that the fix changes, by path.
        code, title: the finding, and the fix.
    """

    target: Target
    overlays: dict[str, str]
    code: str
    title: str


def mended(target: Target, wanted: str, settings: Settings) -> Mended:
    """The program with the first fix of a finding.

    Args:
        wanted: `CODE`, `CODE:LINE`, or in a notebook `CODE:CELL:LINE`.

    Raises:
        Unusable: there is no such finding, there are several, or it has no fix that can be tried.
    """
    asked = _WANTED.fullmatch(wanted)
    if asked is None:
        raise Unusable(f"--with-fix takes a code, or a code and a line, such as GS201:17, not {wanted}")
    job = Job((target.path,), replace(settings, show_hints=True), data=target.file.data)
    result = run_job(job)
    found = [finding for finding in result.findings if finding.path == target.path]
    fitting = [finding for finding in found if _fits(target, finding, asked)]
    if not fitting:
        others = ", ".join(f"{finding.code}:{_place(target, finding)}" for finding in found if finding.fixes)
        raise Unusable(f"{wanted} is not found in {target.path}; to be fixed is {others or 'nothing'}")
    if len(fitting) > 1:
        places = " or ".join(f"{finding.code}:{_place(target, finding)}" for finding in fitting)
        raise Unusable(f"{wanted} is found {len(fitting)} times; say which: --with-fix {places}")
    finding = fitting[0]
    if not finding.fixes:
        raise Unusable(f"for {finding.code}:{_place(target, finding)} there is no fix; gradsense rule {finding.code}")
    return _applied(target, finding, finding.fixes[0])


def _fits(target: Target, finding: Finding, asked: re.Match[str]) -> bool:
    if finding.code != asked["code"].upper():
        return False
    if asked["line"] is None:
        return True
    at = region({target.path: target.file.source}, target.path, finding.span)
    cell = None if at.cell is None else at.cell + 1
    return at.line == int(asked["line"]) and (asked["cell"] is None or int(asked["cell"]) == cell)


def _place(target: Target, finding: Finding) -> str:
    at = region({target.path: target.file.source}, target.path, finding.span)
    return str(at.line) if at.cell is None else f"{at.cell + 1}:{at.line}"


def _applied(target: Target, finding: Finding, fix: Fix) -> Mended:
    own = [edit for edit in fix.edits if edit.path == target.path]
    overlays = {}
    try:
        file = target.file.edited(own)
        for path in {edit.path for edit in fix.edits} - {target.path}:
            if path.endswith(NOTEBOOK):
                raise Unusable(f"“{fix.title}” changes the notebook {path} too, so it cannot be tried on a copy")
            overlays[path] = File.read(path).edited([edit for edit in fix.edits if edit.path == path]).source.text
    except (SourceError, ValueError) as error:
        raise Unusable(f"“{fix.title}” cannot be applied: {error}") from None
    line = None if target.line is None else _moved(target.line, own)
    return Mended(replace(target, file=file, line=line), overlays, finding.code, fix.title)


def _moved(line: int, edits: Sequence[TextEdit]) -> int:
    """A line after the edits above it."""
    above = [edit for edit in edits if edit.span.end_line <= line]
    return line + sum(edit.new_text.count("\n") - (edit.span.end_line - edit.span.line) for edit in above)
