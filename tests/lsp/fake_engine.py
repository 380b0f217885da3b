"""An analysis for tests of the server alone: it finds words, and does at command what an analysis should never do.

`BAD` is an error with a fix to `GOOD` and one to `MAYBE` that may change results; `EXTRA` is a hint without fixes.
`HANG` never returns; `DIE` ends the process; `RAISE` raises; `SLOW` takes half a second; `PRINT` writes to standard
output.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator

from gradsense.lsp.messages import (
    Analyse,
    Analysis,
    DescribeTensor,
    Done,
    Edits,
    EditView,
    Explain,
    FindFixes,
    FindingView,
    FindRewrites,
    FixAll,
    Fixes,
    FixView,
    Page,
    Place,
    RelatedView,
    Reply,
    Request,
    Rewrites,
    RuleView,
    Stale,
)
from gradsense.syntax.columns import encode_column

WORD = re.compile("BAD|EXTRA")


class FakeEngine:
    """See the module."""

    def __init__(self) -> None:
        self._held: dict[str, Analyse] = {}

    def prepare(self) -> None:
        """There is nothing to do."""

    def answer(self, request: Request, waiting: Callable[[], bool]) -> Reply:
        """Answers as the real engine would."""
        if isinstance(request, Analyse):
            return self._analyse(request)
        if isinstance(request, Explain):
            return Page(RuleView(request.code, "fake-rule", "Explained **at length**.", "https://e.org/R"))
        if isinstance(request, DescribeTensor):
            return Stale()
        if isinstance(request, FindRewrites):
            return Rewrites(())
        if isinstance(request, FindFixes | FixAll):
            held = self._held.get(request.path)
            if held is None or held.revision != request.revision:
                return Stale()
            findings = list(_findings(held))
            if isinstance(request, FixAll):
                return Edits(tuple(EditView(f.path, f.place, "GOOD") for f in findings if f.code == "GS201"))
            chosen = [f for f in findings if f.index in request.findings]
            bad = [f for f in chosen if f.code == "GS201"]
            fixes = tuple(fix for f in bad for fix in _fixes(held, f))
            return Fixes(fixes, tuple(_suppression(held, f) for f in chosen))
        return Done()

    def _analyse(self, request: Analyse) -> Reply:
        text = request.text + "".join(cell.text for cell in request.cells or ())
        if "HANG" in text:
            while True:
                time.sleep(1)
        if "DIE" in text:
            os._exit(3)
        if "RAISE" in text:
            raise ValueError("as told")
        if "SLOW" in text:
            time.sleep(0.5)
        if "PRINT" in text:
            print("a stray line", flush=True)
        self._held[request.path] = request
        return Analysis(request.path, request.revision, tuple(_findings(request)), ("a note",), (), 0.0)


def _findings(request: Analyse) -> Iterator[FindingView]:
    index = 0
    shows_hints = request.overrides.get("show-hints", True)
    for name, number, line in _lines(request):
        for match in WORD.finditer(line):
            start, end = (encode_column(line, column, request.encoding) for column in match.span())
            place = Place(number, start, number, end)
            bad = match.group() == "BAD"
            if not bad and not shows_hints:
                continue
            yield FindingView(
                index=index,
                path=name,
                code="GS201" if bad else "GS210",
                name="inplace-on-saved" if bad else "inplace-allowed",
                severity="error" if bad else "hint",
                message=f"raises: `{match.group()}` on line {number + 1}",
                place=place,
                related=(RelatedView(name, place, "saved here", line.strip(), f"line {number + 1}"),) if bad else (),
                expected="one of the variables needed for gradient computation" if bad else None,
                tags=() if bad else ("unnecessary",),
                url="https://example.org/GS201" if bad else None,
            )
            index += 1


def _lines(request: Analyse) -> Iterator[tuple[str, int, str]]:
    texts = [(request.path, request.text)]
    if request.cells is not None:
        texts = [(cell.name, cell.text) for cell in request.cells]
    for name, text in texts:
        for number, line in enumerate(re.split("\r\n|\r|\n", text)):
            yield name, number, line


def _fixes(held: Analyse, finding: FindingView) -> Iterator[FixView]:
    for title, safe, word in (("Make it good", True, "GOOD"), ("Make it maybe", False, "MAYBE")):
        yield FixView(finding.index, title, safe, safe, (EditView(finding.path, finding.place, word),))


def _suppression(held: Analyse, finding: FindingView) -> FixView:
    line = finding.place.line
    text = next(text for name, number, text in _lines(held) if (name, number) == (finding.path, line))
    width = encode_column(text, 10_000, held.encoding)
    edit = EditView(finding.path, Place(line, width, line, width), f"  # gradsense: ignore[{finding.code}]")
    return FixView(finding.index, f"Ignore {finding.code} on this line", True, False, (edit,))
