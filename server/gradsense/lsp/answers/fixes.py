"""The fixes of findings, and all of a program's at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import replace

from gradsense import filtering
from gradsense.check import check_source
from gradsense.files import File
from gradsense.fixes.fix import Applicability, Fix
from gradsense.fixes.suppress import suppress_line
from gradsense.lsp.answers.silencing import ignore_in_file
from gradsense.lsp.buffer import Buffer, NotebookBuffer, edits_between
from gradsense.lsp.held import Held
from gradsense.lsp.messages import Edits, EditView, FindFixes, FixAll, Fixes, FixView
from gradsense.machine.limits import Limits
from gradsense.mending import mend
from gradsense.rules.finding import Finding
from gradsense.syntax import Source


def find_fixes(held: Held, request: FindFixes) -> Fixes:
    """The fixes of some findings, and what silences each."""
    chosen = [(number, held.findings[number]) for number in request.findings if number in held.findings]
    fixes = [
        view
        for index, finding in chosen
        for fix in finding.fixes
        if (view := held.views.fix(index, finding, fix)) is not None
    ]
    suppressions = [view for index, finding in chosen for view in _suppressions(held, index, finding)]
    return Fixes(tuple(fixes), tuple(suppressions))


def fix_all(held: Held, request: FixAll, limits: Limits) -> Edits:
    """The edits that mend all that can safely be mended."""
    path = request.path
    only = held.cell_named(request.cell)

    def wanted(files: Mapping[str, File]) -> list[Finding]:
        source = files[path].source
        report = check_source(source, held.check.project, limits)
        every = filtering.apply(report, {path: source}, held.settings)
        findings = [found for found in every if found.path == path and request.code in (None, found.code)]
        if request.cell is None:
            return findings
        return [_within(source, found, only) for found in findings if _cell_of(source, found.span.line) == only]

    buffer = (Buffer if held.request.cells is None else NotebookBuffer).of_source(copy(held.source))
    mended = mend({path: buffer}, wanted, unsafe=False)
    # Imports of this file are to find it as it is, not as it would be.
    held.check.attach()
    return Edits(tuple(_difference(held, mended.files[path].source)))


def _difference(held: Held, after: Source) -> Iterator[EditView]:
    before = held.source
    if held.request.cells is None:
        yield from held.views.edits(list(edits_between(before.path, before.text, after.text))) or ()
        return
    for old, new in zip(before.cells, after.cells, strict=True):
        for edit in edits_between(before.path, old.text, new.text):
            yield held.views.edit_of_cell(old.index, edit, old.text)


def _within(source: Source, finding: Finding, cell: int | None) -> Finding:
    """A finding with those of its fixes that stay in a cell."""

    def fixes() -> tuple[Fix, ...]:
        return tuple(
            fix for fix in finding.fixes if all(_cell_of(source, edit.span.line) == cell for edit in fix.edits)
        )

    return replace(finding, make_fixes=fixes)


def _cell_of(source: Source, line: int) -> int | None:
    cell = source.cell_of(line)
    return None if cell is None else cell.index


def _suppressions(held: Held, index: int, finding: Finding) -> Iterator[FixView]:
    code, line = finding.code, finding.span.line
    where = "file" if held.request.cells is None else "notebook"
    for place, edits in (
        ("on this line", suppress_line(held.source, held.check.tree, line, code)),
        (f"in this {where}", ignore_in_file(held, line, code)),
    ):
        if edits is not None:
            fix = Fix(f"Ignore {code} {place}", Applicability.SAFE, edits)
            view = held.views.fix(index, finding, fix)
            if view is not None:
                yield view
