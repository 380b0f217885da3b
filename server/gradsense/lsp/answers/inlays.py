"""Short texts behind lines: which assigned tensors need grad, and what grows by how much."""

from __future__ import annotations

import ast
import time
from collections.abc import Iterator
from dataclasses import replace

from gradsense.check import WORDS
from gradsense.lsp.held import Held, source_of
from gradsense.lsp.messages import FindInlays, Inlays, InlayView
from gradsense.machine.limits import Limits
from gradsense.machine.recorder import record, spot_of
from gradsense.machine.tri import YES
from gradsense.syntax import ParsedModule, Span, parse

SECONDS = 1.0
"""How long the program may be run for it."""


def find_inlays(held: Held, request: FindInlays, limits: Limits) -> Inlays:
    """The texts for the lines that the client shows."""
    first, last = held.lines(request.name, request.first_line, request.last_line)
    found = [*_growing(held, first, last), *_needing(held, limits, first, last)]
    return Inlays(tuple(found))


def _growing(held: Held, first: int, last: int) -> Iterator[InlayView]:
    for finding in held.findings.values():
        if finding.growth is not None and first <= finding.span.line <= last:
            nodes = "1 graph node" if finding.growth == 1 else f"{finding.growth} graph nodes"
            place = held.views.spot(finding.path, finding.span).place
            yield InlayView(place.end_line, place.end_character, f"keeps {nodes} a step")


def _needing(held: Held, limits: Limits, first: int, last: int) -> Iterator[InlayView]:
    # A source of its own: the run must not see the text change.
    source = source_of(held.request)
    if not any(word in source.text for word in WORDS):
        return
    program = parse(source)
    targets = [target for target in _targets(program) if first <= target.lineno <= last]
    if not targets:
        return
    deadline = time.thread_time() + SECONDS
    machines = record(program, held.check.project.workspace, targets, replace(limits, seconds=SECONDS), deadline)
    for target in targets:
        seen = [machine.seen[spot] for machine in machines if (spot := spot_of(target)) in machine.seen]
        if seen and seen[-1].needs is YES:
            span = source.span_of(target)
            end = Span(span.end_line, span.end_column, span.end_line, span.end_column)
            place = held.views.spot(source.path, end).place
            yield InlayView(place.line, place.character, "needs grad")


def _targets(program: ParsedModule) -> Iterator[ast.Name | ast.Attribute]:
    """What is assigned to, one target a statement."""
    for node in ast.walk(program.tree):
        target: ast.expr | None = None
        if isinstance(node, ast.Assign):
            target = node.targets[0]
        elif isinstance(node, ast.AnnAssign):
            target = node.target
        if isinstance(target, ast.Name | ast.Attribute):
            yield target
