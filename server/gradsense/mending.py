"""Applies fixes to texts in memory, round by round, until nothing more can be mended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gradsense.files import File, Files, with_newline
from gradsense.fixes.fix import Applicability, Fix
from gradsense.regions import place
from gradsense.rules.finding import Finding, Severity
from gradsense.syntax import SourceError, TextEdit, parse

MOST_ROUNDS = 10
# Each is compared with all others of its round.
MOST_AT_ONCE = 200

Check = Callable[[Mapping[str, File]], list[Finding]]


@dataclass(frozen=True, slots=True)
class Mend:
    """A fix that was applied to a finding, and where that was at the time."""

    finding: Finding
    fix: Fix
    where: str

    def __str__(self) -> str:
        return f"{self.where}: {self.fix.title} [{self.finding.code}]"


@dataclass
class Mended:
    """What mending came to.

    Args:
        files: the files, changed or not.
        mends: what was done, in order.
        findings: what is found in the files as they are now.
        refused: fixes that were not applied since the result would not have been valid, and why.
    """

    files: Files
    findings: list[Finding]
    mends: list[Mend] = field(default_factory=list)
    refused: list[tuple[Mend, str]] = field(default_factory=list)


def mend(files: Files, check: Check, unsafe: bool) -> Mended:
    """Applies the first fix of each finding, checks what came of it, and goes on with what that uncovers.

    Args:
        files: every file that a fix may touch, by path.
        check: finds what there is to find in given files.
        unsafe: whether fixes that may change results are applied too.
    """
    state = Mended(dict(files), check(files))
    done: list[_Done] = []
    for _ in range(MOST_ROUNDS):
        chosen = _choose(state, unsafe, done)
        applied, files = _apply(state, chosen)
        if not applied:
            break
        done = [old.moved(state.files, applied) for old in done]
        done += [_Done.of(mend, state.files, applied) for mend in applied]
        state.mends += applied
        state.files = files
        state.findings = check(files)
    return state


def _choose(state: Mended, unsafe: bool, done: Sequence[_Done]) -> list[Mend]:
    """One fix each for as many findings as can be mended without one in the way of another."""
    chosen: list[Mend] = []
    refused = [mend for mend, _ in state.refused]
    sources = {path: file.source for path, file in state.files.items()}
    for finding in sorted(state.findings, key=lambda finding: (finding.severity.rank, finding.sort_key)):
        if len(chosen) >= MOST_AT_ONCE:
            break
        if finding.severity is Severity.HINT:
            # It says that the code is right as it stands.
            continue
        if any(old.covers(finding, state.files) for old in done):
            # It was mended and came back. Another fix on top of one that did not help would make it worse.
            continue
        for fix in finding.fixes:
            if fix.applicability is Applicability.UNSAFE and not unsafe:
                continue
            mend = Mend(finding, fix, place(sources, finding.path, finding.span))
            if mend in refused or not all(edit.path in state.files for edit in fix.edits):
                continue
            if not any(_in_the_way(mend, other) for other in chosen):
                chosen.append(mend)
            break
    return chosen


def _in_the_way(one: Mend, other: Mend) -> bool:
    """Whether one edits a line of the other's story: mending the first may be the end of the second."""
    edited, other_edited = _edited(one.fix), _edited(other.fix)
    return bool(edited & other_edited or edited & _story(other.finding) or other_edited & _story(one.finding))


def _edited(fix: Fix) -> set[tuple[str, int]]:
    return {(edit.path, line) for edit in fix.edits for line in range(edit.span.line, edit.span.end_line + 1)}


def _story(finding: Finding) -> set[tuple[str, int]]:
    places = [(finding.path, finding.span), *((other.path, other.span) for other in finding.related)]
    return {(path, line) for path, span in places for line in range(span.line, span.end_line + 1)}


def _apply(state: Mended, chosen: list[Mend]) -> tuple[list[Mend], Files]:
    """Applies all that was chosen, or as much of it as leaves every file in order."""
    files, reason = _attempt(state.files, chosen)
    if reason is None:
        return chosen, files
    kept: list[Mend] = []
    files = state.files
    for mend in chosen:
        attempt, reason = _attempt(state.files, [*kept, mend])
        if reason is None:
            kept.append(mend)
            files = attempt
        else:
            state.refused.append((mend, reason))
    return kept, files


def _attempt(files: Files, mends: Iterable[Mend]) -> tuple[Files, str | None]:
    """The files after some mends, and a reason if they must not be taken."""
    edited = dict(files)
    for path, edits in _by_path(mends).items():
        try:
            edited[path] = files[path].edited(edits)
        except (SourceError, ValueError) as error:
            return files, str(error)
        if _broken(edited[path]) > _broken(files[path]):
            return files, "the result would not be valid Python"
    return edited, None


def _broken(file: File) -> int:
    return len(parse(file.source).problems)


def _by_path(mends: Iterable[Mend]) -> dict[str, list[TextEdit]]:
    """The edits of several mends, each once."""
    found: dict[str, dict[TextEdit, None]] = {}
    for mend in mends:
        for edit in mend.fix.edits:
            found.setdefault(edit.path, {})[edit] = None
    return {path: list(edits) for path, edits in found.items()}


@dataclass(frozen=True, slots=True)
class _Done:
    """Where a fix was applied, in offsets that move with later edits: the finding's start, and the text put in."""

    path: str
    code: str
    stretches: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, mend: Mend, files: Files, applied: Sequence[Mend]) -> _Done:
        """Remembers a mend of the round that turned `files` into what they are next."""
        finding = mend.finding
        source = files[finding.path].source
        start = source.offset(*finding.span.start)
        stretches = [(start, start)]
        for edit in mend.fix.edits:
            if edit.path == finding.path:
                stretches.append((source.offset(*edit.span.start), source.offset(*edit.span.end)))
        return cls(finding.path, finding.code, tuple(stretches)).moved(files, applied)

    def moved(self, files: Files, applied: Sequence[Mend]) -> _Done:
        """The same places after a round of edits."""
        source = files[self.path].source
        shifts = []
        for edit in _by_path(applied).get(self.path, ()):
            begin, end = source.offset(*edit.span.start), source.offset(*edit.span.end)
            shifts.append((begin, end, len(with_newline(edit.new_text, source.newline)) - (end - begin)))

        def start(offset: int) -> int:
            return offset + sum(grown for begin, end, grown in shifts if begin < offset and end <= offset)

        def stop(offset: int) -> int:
            return offset + sum(grown for begin, _, grown in shifts if begin <= offset)

        return replace(self, stretches=tuple((min(start(a), stop(b)), stop(b)) for a, b in self.stretches))

    def covers(self, finding: Finding, files: Files) -> bool:
        """Whether this mended a finding of the same kind at the same place."""
        if (finding.path, finding.code) != (self.path, self.code):
            return False
        at = files[finding.path].source.offset(*finding.span.start)
        return any(begin <= at <= end for begin, end in self.stretches)
