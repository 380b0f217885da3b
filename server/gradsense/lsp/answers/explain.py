"""What a pasted traceback means, in terms of what the client has open."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from gradsense.check import Project, check_program
from gradsense.explain.explaining import Explanation, explain
from gradsense.explain.places import Places
from gradsense.lsp.messages import Explained, ExplainText, TracebackView
from gradsense.lsp.views import Spot, Views
from gradsense.machine.limits import Limits
from gradsense.rules.finding import Finding
from gradsense.syntax import Source, Span


def explain_text(request: ExplainText, views: Views, read: Callable[[str], Source], limits: Limits) -> Explained:
    """Explains a traceback.

    Args:
        views: those of the program that it belongs to.
        read: reads a file's source; an open one's unsaved text.
        limits: bounds on the check of its files.
    """

    def check(paths: Sequence[str]) -> list[Finding]:
        project = Project(Project.for_paths([*request.roots, *paths]).roots, read)
        return check_program(project, paths, limits).findings

    folders = [os.path.dirname(request.path)] if request.path is not None else []
    explanation = explain(request.text, Places([*folders, *request.roots], request.path, read), check)
    return Explained(None if explanation is None else _view(explanation, views))


def _view(explanation: Explanation, views: Views) -> TracebackView:
    spot = _spot(explanation, views)
    finding = explanation.finding
    fixes = () if finding is None else tuple(view for fix in finding.fixes if (view := views.fix(0, finding, fix)))
    return TracebackView(
        cause=explanation.cause.name,
        code=explanation.code,
        title=explanation.cause.title,
        markdown="\n\n".join(_markdown(explanation, views)),
        path=spot.name if spot is not None else "",
        place=spot.place if spot is not None else None,
        fixes=fixes,
    )


def _spot(explanation: Explanation, views: Views) -> Spot | None:
    finding = explanation.finding
    if finding is not None:
        return views.spot(finding.path, finding.span)
    if not explanation.trace:
        return None
    failed = explanation.trace[-1]
    return views.spot(failed.path, Span(failed.line, 0, failed.line, 0))


def _markdown(explanation: Explanation, views: Views) -> Iterator[str]:
    finding = explanation.finding
    yield f"**{explanation.cause.title}**"
    yield " ".join((explanation.cause.meaning, *explanation.facts))
    for words, spots in (("Saved at", explanation.forward), ("Fails at", explanation.trace)):
        if spots:
            spot = views.spot(spots[-1].path, Span(spots[-1].line, 0, spots[-1].line, 0))
            yield f"{words} {_where(spot)}: {_code(spot.text)}"
    if finding is not None:
        words = "The cause" if explanation.named else "Of the same kind"
        spot = views.spot(finding.path, finding.span)
        yield f"{words}, {finding.code} {finding.name}, {_where(spot)}: {_code(spot.text)}"
        yield finding.message
    if finding is None or not explanation.named:
        yield explanation.cause.advice
    if explanation.rules:
        yield "Rules: " + ", ".join(explanation.rules)


def _where(spot: Spot) -> str:
    place = "cell" if spot.cell is not None else os.path.basename(spot.name)
    number = f" {spot.cell + 1}" if spot.cell is not None else ""
    return f"{place}{number} line {spot.place.line + 1}"


def _code(text: str) -> str:
    ticks = "``" if "`" in text else "`"
    return f"{ticks}{text}{ticks}" if text else ""
