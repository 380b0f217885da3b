"""What autograd's books say of the tensor under the cursor."""

from __future__ import annotations

import ast
import time
from collections.abc import Iterator
from dataclasses import replace

from gradsense.check import WORDS
from gradsense.lsp.held import Held, source_of
from gradsense.lsp.messages import DescribeTensor, TensorBooks
from gradsense.machine.graph import Node, Tensor
from gradsense.machine.limits import Limits
from gradsense.machine.place import Epoch, Place
from gradsense.machine.recorder import Recorder, Seen, record, spot_of
from gradsense.machine.tri import NO, YES
from gradsense.rules.wording import line_of, op_name
from gradsense.syntax import ParsedModule, Source, Span, parse

SECONDS = 1.5
"""How long a person waits for a hover."""

_MOST_LINES = 4


def describe(held: Held, request: DescribeTensor, limits: Limits) -> TensorBooks | None:
    """The books of the tensor at a place; None where there is none, or nothing is known of it."""
    # A source of its own: the run must not see the text change.
    source = source_of(held.request)
    if not any(word in source.text for word in WORDS):
        return None
    line, column = held.place_in(request.name, request.line, request.character)
    program = parse(source)
    node = _named_at(program, line, column)
    if node is None:
        return None
    wanted = _uses_of(program, node) if isinstance(node, ast.arg) else [node]
    deadline = time.thread_time() + SECONDS
    workspace = held.check.project.workspace
    for machine in reversed(record(program, workspace, wanted, replace(limits, seconds=SECONDS), deadline)):
        for one in wanted:
            seen = machine.seen.get(spot_of(one))
            if seen is not None:
                here = Place(source, node)
                return _books(held, source, here, machine, seen)
    return None


def _books(held: Held, source: Source, here: Place, machine: Recorder, seen: Seen) -> TensorBooks:
    span = _own_span(source, here.node)
    name = source.slice(span)
    return TensorBooks(
        name, held.views.spot(source.path, span).place, _kind(seen.tensor), tuple(_facts(here, machine, seen))
    )


def _kind(tensor: Tensor) -> str:
    kind = "parameter" if tensor.parameter else "tensor"
    shape = "" if tensor.shape is None else f" [{', '.join('?' if n is None else str(n) for n in tensor.shape)}]"
    dtype = "" if tensor.dtype is None or tensor.origin == "unknown" else f" {tensor.dtype}"
    return f"{kind}{shape}{dtype}"


def _facts(here: Place, machine: Recorder, seen: Seen) -> Iterator[str]:
    tensor = seen.tensor
    yield f"needs grad: {_needs(here, seen)}"
    node = seen.node
    if node is not None:
        carried = _carried(node.epoch, seen.epoch)
        if carried:
            yield f"carried over from {carried}"
        yield f"graph: {_count(node.ancestry.bit_count(), 'node')} from here to the leaves"
    if tensor.base is not None:
        yield f"a view: it shares its memory with {_name(tensor.base)}"
    elif tensor.through is not None:
        yield f"shares its memory with what it was taken from (`{tensor.through}`)"
    yield _version(here, seen)
    savers = machine.savers(tensor)
    if savers:
        by = [f"{op_name(saver)} on {line_of(saver.place, here)}" for saver, _ in savers]
        yield f"saved for backward by {_listed(by)}"
        stale = [saver for saver, saved in savers if saved.version != saved.storage.version and saver.freed is None]
        if stale and any(saved.sure for _, saved in savers):
            yield f"changed since {op_name(stale[0])} saved it"
    elif node is not None or tensor.needs is not NO:
        yield "saved for backward by nothing"
    walks = [walk for saver, _ in savers if (walk := saver.freed) is not None]
    if node is not None and node.freed is not None and node.raises_when_walked_twice:
        walks.append(node.freed)
    if walks:
        places = [f"the walk on {line_of(walk.place, here)}" for walk in walks]
        yield f"freed by {_listed(places)}"
    elif node is not None and node.walked is not None:
        yield f"walked on {line_of(node.walked.place, here)}"
    if tensor.contributions:
        places = [f"the walk on {line_of(one.walk.place, here)}" for one in tensor.contributions]
        yield f"`.grad` holds what was added by {_listed(places)}"


def _needs(here: Place, seen: Seen) -> str:
    tensor, node = seen.tensor, seen.node
    made = f"made on {line_of(tensor.made, here)}"
    if seen.needs is YES:
        return f"yes, {_by(node, here)}" if node is not None else f"yes, a leaf {made}"
    if seen.needs is NO:
        if tensor.cuts:
            cut = tensor.cuts[-1]
            if tensor.gradient_of is not None:
                return f"no, a gradient that the walk on {line_of(cut.place, here)} made"
            return f"no, `{cut.how}` on {line_of(cut.place, here)} cut it off"
        return f"no, {made}"
    return f"not known, {_by(node, here)}" if node is not None else f"not known, {made}"


def _by(node: Node, here: Place) -> str:
    return f"made by {op_name(node)} on {line_of(node.place, here)}"


def _version(here: Place, seen: Seen) -> str:
    writes = seen.tensor.storage.writes
    if not writes:
        return "version 0: never written in place"
    lines = list(dict.fromkeys(line_of(write.place, here) for write in writes))
    later = len(writes) - seen.version
    text = f"version {seen.version}: written in place on {_listed(lines)}"
    return f"{text} ({_count(later, 'time')} after this)" if later else text


def _carried(made: Epoch, now: Epoch) -> str:
    for (loop, number), (own, current) in zip(made, now, strict=False):
        if loop == own and number != current:
            return "an earlier pass of the loop"
        if loop != own:
            break
    return "outside of the loop" if len(made) < len(now) and made == now[: len(made)] else ""


def _name(tensor: Tensor) -> str:
    names = tensor.names()
    return f"`{names[-1].lstrip('.')}`" if names else "another tensor"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _listed(parts: list[str]) -> str:
    parts = list(dict.fromkeys(parts))
    left = len(parts) - _MOST_LINES
    if left > 0:
        parts = [*parts[:_MOST_LINES], f"{left} more"]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _named_at(program: ParsedModule, line: int, column: int) -> ast.AST | None:
    """The name, attribute or parameter under the cursor."""
    found: ast.AST | None = None
    best: tuple[int, int] | None = None
    at = Span(line, column, line, column)
    for node in ast.walk(program.tree):
        if not isinstance(node, ast.Name | ast.Attribute | ast.arg):
            continue
        span = _own_span(program.source, node)
        if not span.start <= at.start <= span.end:
            continue
        size = (0, span.end_column - span.column)
        if best is None or size < best:
            found, best = node, size
    return found


def _own_span(source: Source, node: ast.AST) -> Span:
    """The part of an expression that names it: `h` of `self.h`, and of a parameter its name without the annotation."""
    span = source.span_of(node)
    if isinstance(node, ast.Attribute):
        return Span(span.end_line, span.end_column - len(node.attr), span.end_line, span.end_column)
    if isinstance(node, ast.arg):
        return Span(span.line, span.column, span.line, span.column + len(node.arg))
    return span


def _uses_of(program: ParsedModule, parameter: ast.arg) -> list[ast.AST]:
    """Where a function reads its parameter, in the order of the text."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    for function in ast.walk(program.tree):
        if isinstance(function, functions) and any(part is parameter for part in ast.walk(function.args)):
            names = [n for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
            uses = [name for name in names if name.id == parameter.arg]
            return [*sorted(uses, key=lambda name: (name.lineno, name.col_offset))]
    return []
