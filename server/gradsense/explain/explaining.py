"""Puts together what a traceback says and what the check finds in its files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gradsense.explain.causes import CAUSES, Cause
from gradsense.explain.pasted import Frame, Pasted
from gradsense.explain.places import Places, Spot
from gradsense.explain.reading import likely_codes, said
from gradsense.rules.finding import Finding, Severity
from gradsense.rules.registry import all_rules
from gradsense.rules.torch_says import UNKNOWN

_MOST_FILES = 12
# How much each agreement between a finding and the traceback weighs.
_SURFACE, _TEXT, _FORWARD, _CALLER = 8, 4, 4, 1


@dataclass(frozen=True)
class Explanation:
    """What is known about a traceback.

    Args:
        cause: the kind of error.
        kind: the exception's type, empty where it was not pasted.
        message: its message.
        facts: what the message tells beside its kind, a sentence each.
        codes: the rules that may tell its story, the likeliest first.
        frames: the person's own lines in the traceback, the innermost last.
        trace: the same that were found in files here.
        forward: the lines of the forward call that anomaly mode printed.
        finding: what the check found that this is the error of, or None.
        others: what it found that may be.
        named: whether `finding` accounts for the line that failed, and is not merely of the same kind.
    """

    cause: Cause
    kind: str
    message: str
    facts: tuple[str, ...]
    codes: tuple[str, ...]
    frames: tuple[Frame, ...]
    trace: tuple[Spot, ...]
    forward: tuple[Spot, ...]
    finding: Finding | None
    others: tuple[Finding, ...]
    named: bool

    @property
    def code(self) -> str | None:
        """The rule that tells the story, where one does and it is known which."""
        if self.finding is not None:
            return self.finding.code
        return self.codes[0] if len(self.codes) == 1 else None

    @property
    def rules(self) -> list[str]:
        """The rules to read about, by code and name."""
        codes = (self.code,) if self.code is not None else self.codes
        return [f"{code} {all_rules()[code].name}" for code in codes]


def explain(text: str, places: Places, check: Callable[[Sequence[str]], Iterable[Finding]]) -> Explanation | None:
    """Explains a traceback.

    Args:
        text: what was pasted.
        places: finds its files here.
        check: what is found in some files, as one program.

    Returns:
        None where no error about gradients is in the text.
    """
    pasted = Pasted(text)
    recognised = _recognise(pasted)
    if recognised is None:
        return None
    cause, start, end = recognised
    kind, message = pasted.error_at(start, end)
    frames = tuple(frame for frame in pasted.frames_before(start) if frame.is_users)
    trace = places.spots(frames)
    forward = places.spots(pasted.forward_frames())
    codes = likely_codes(cause, message)
    ranked = _ranked(_found(places, trace, forward, check), codes, trace, forward, f"{kind}: {message}")
    passing = [finding for points, finding in ranked if points >= _SURFACE or cause.everywhere]
    best = passing or [finding for _, finding in ranked]
    return Explanation(
        cause=cause,
        kind=kind,
        message=message,
        facts=tuple(said(cause, message, pasted.flat)),
        codes=codes,
        frames=frames,
        trace=trace,
        forward=forward,
        finding=best[0] if best else None,
        others=tuple(best[1:]) if cause.everywhere or not passing else (),
        named=bool(passing),
    )


def _recognise(pasted: Pasted) -> tuple[Cause, int, int] | None:
    """The last message in the text that is one of ours, and where it stands."""
    found: list[tuple[int, int, Cause]] = []
    for cause in CAUSES:
        for match in cause.pattern.finditer(pasted.flat):
            if cause.in_frame and not _fails_at(pasted, match.start(), cause.in_frame):
                continue
            found.append((match.start(), match.end(), cause))
    if not found:
        return None
    start, end, cause = max(found, key=lambda one: one[0])
    return cause, start, end


def _fails_at(pasted: Pasted, offset: int, words: str) -> bool:
    frames = [frame for frame in pasted.frames_before(offset) if frame.is_users]
    return bool(frames) and words in frames[-1].text


def _found(
    places: Places,
    trace: Sequence[Spot],
    forward: Sequence[Spot],
    check: Callable[[Sequence[str]], Iterable[Finding]],
) -> list[Finding]:
    paths = list(dict.fromkeys(spot.path for spot in (*reversed(trace), *forward)))
    if places.program is not None and places.program not in paths and not paths:
        paths.append(places.program)
    return list(check(paths[:_MOST_FILES])) if paths else []


def _ranked(
    findings: Iterable[Finding],
    codes: Sequence[str],
    trace: Sequence[Spot],
    forward: Sequence[Spot],
    error: str,
) -> list[tuple[int, Finding]]:
    """The findings that this may be the error of, the best first, with how well they fit."""
    fitting = []
    # The backward of a custom Function is called by the walk, whose line the story is about.
    surface = [spot for spot in trace if spot.frame.name != "backward"] or trace
    for finding in findings:
        if finding.code not in codes or finding.severity is Severity.HINT:
            continue
        story = {(finding.path, finding.span.line), *((one.path, one.span.line) for one in finding.related)}
        points = _CALLER * sum((spot.path, spot.line) in story for spot in trace)
        if surface and (surface[-1].path, surface[-1].line) in story:
            points += _SURFACE
        if forward and (forward[-1].path, forward[-1].line) in story:
            points += _FORWARD
        if finding.expected and _says(finding.expected, error):
            points += _TEXT
        fitting.append((points, finding))
    return sorted(fitting, key=lambda one: (-one[0], one[1].severity.rank, codes.index(one[1].code)))


def _says(expected: str, error: str) -> bool:
    pattern = ".*".join(re.escape(part) for part in expected.split(UNKNOWN))
    return re.search(pattern, error) is not None
