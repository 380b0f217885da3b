"""From all that was found to what is reported: settings, comments that silence, and comments that silence nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gradsense.config import Settings, selected
from gradsense.fixes.fix import Applicability, Fix
from gradsense.rules.finding import Finding, Severity
from gradsense.syntax import Source, Span, TextEdit
from gradsense.syntax.suppressions import Suppression, Suppressions

if TYPE_CHECKING:
    from gradsense.check import Report

UNUSED_IGNORE = "GS001"
NAME = "unused-ignore"
PAGE = """\
A comment that silences a rule silences nothing.

`# gradsense: ignore[GS301]` hides findings of GS301 that begin in the statement on its line, `# gradsense: ignore`
those of all rules, and `# gradsense: ignore-file` those of the whole file. Once the program has changed and there is
nothing left to hide, such a comment hides only the next fault that someone makes there. So it is reported: the whole of
it, or those of its codes that are not needed.

A comment that begins like one of these and is not understood is reported as well: it was meant to do something.
"""


def apply(report: Report, sources: Mapping[str, Source], settings: Settings) -> list[Finding]:
    """Leaves out what the settings or a comment in the program do not want to see.

    Args:
        report: everything that was found.
        sources: the programs that were checked, by path; only in these are comments obeyed.
        settings: what is wanted.

    Returns:
        The findings left, and one of GS001 for each comment that silenced nothing, in order of file and place.
    """
    comments = {path: Suppressions.of(source) for path, source in sources.items()}
    kept = []
    for finding in report.findings:
        silent = finding.path in comments and comments[finding.path].hides(finding.code, finding.span.line)
        if not silent:
            kept.append(finding)
    for path, found in comments.items():
        kept += _idle(sources[path], found)
    ignored = _PerFile(settings)
    wanted = (
        finding
        for finding in kept
        if (settings.show_hints or finding.severity is not Severity.HINT)
        and selected(finding.code, settings.select, (*settings.ignore, *ignored.by(finding.path)))
    )
    return sorted(wanted, key=lambda finding: finding.sort_key)


class _PerFile:
    """What the settings ignore in single files."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known: dict[str, tuple[str, ...]] = {}

    def by(self, path: str) -> tuple[str, ...]:
        """The codes ignored in a file."""
        if not self._settings.per_file_ignores:
            return ()
        if path not in self._known:
            self._known[path] = tuple(self._matching(path))
        return self._known[path]

    def _matching(self, path: str) -> Iterator[str]:
        from pathspec import GitIgnoreSpec

        root = self._settings.root or Path.cwd()
        full = Path(path).absolute()
        name = full.relative_to(root).as_posix() if full.is_relative_to(root) else full.name
        for pattern, codes in self._settings.per_file_ignores.items():
            if GitIgnoreSpec.from_lines([pattern]).match_file(name):
                yield from codes


def _idle(source: Source, comments: Suppressions) -> Iterator[Finding]:
    """A finding for each comment that could go, or do with less."""
    for comment, codes in comments.unused():
        yield _finding(source, comment.span, _message(comment, codes), (_removal(source, comment, codes),))
    for mistake in comments.mistakes:
        line = source.lines[mistake.line - 1]
        span = Span(mistake.line, line.index("#"), mistake.line, len(line.rstrip()))
        yield _finding(source, span, mistake.message, ())


def _finding(source: Source, span: Span, message: str, fixes: tuple[Fix, ...]) -> Finding:
    return Finding(
        code=UNUSED_IGNORE,
        name=NAME,
        severity=Severity.INFORMATION,
        message=message,
        path=source.path,
        span=span,
        tags=("unnecessary",),
        make_fixes=lambda: fixes,
    )


def _message(comment: Suppression, codes: tuple[str, ...]) -> str:
    where = "in this file" if comment.whole_file else "here"
    if not codes:
        return f"nothing is found {where} that this comment could silence"
    listed = " and ".join([", ".join(codes[:-1]), codes[-1]] if len(codes) > 1 else codes)
    return f"{listed} {'is' if len(codes) == 1 else 'are'} not found {where}, so this comment need not silence it"


def _removal(source: Source, comment: Suppression, codes: tuple[str, ...]) -> Fix:
    span = comment.span
    left = [code for code in comment.codes if code not in codes]
    if left:
        word = "ignore-file" if comment.whole_file else "ignore"
        edit = TextEdit(source.path, span, f"# gradsense: {word}[{', '.join(left)}]")
        return Fix("Leave out the codes that are not found", Applicability.SAFE, (edit,), preferred=True)
    edit = TextEdit(source.path, _without_comment(source, span), "")
    return Fix("Remove the comment", Applicability.SAFE, (edit,), preferred=True)


def _without_comment(source: Source, span: Span) -> Span:
    """The comment with the words that explain it and the space before it; with its line, where that holds no more."""
    line = source.lines[span.line - 1]
    another = line.find("#", span.end_column)
    if another >= 0:
        return Span(span.line, span.column, span.line, another)
    before = len(line[: span.column].rstrip())
    if before == 0 and span.line < len(source.lines):
        return Span(span.line, 0, span.line + 1, 0)
    return Span(span.line, before, span.line, len(line))
