"""Takes the graph out of a running total: the terms become numbers, or are detached."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gradsense.fixes.detach import detach
from gradsense.fixes.fix import Applicability, Edits, Fix
from gradsense.fixes.insert import detach_after
from gradsense.fixes.keywords import callee_name
from gradsense.fixes.methods import call_method
from gradsense.fixes.scalarise import stored_parts
from gradsense.fixes.torch_names import meaning
from gradsense.fixes.tree import mentions, same_expression, scope_of
from gradsense.fixes.values import is_cut, is_number
from gradsense.machine.events import GraphGrows
from gradsense.rules.editing import Code, code_of, safe, unsafe
from gradsense.rules.repairs.carriers import names_below
from gradsense.rules.repairs.handing import as_given
from gradsense.rules.repairs.keeping import as_numbers, detached, listed
from gradsense.rules.repairs.readers import used_as_tensor
from gradsense.rules.repairs.spot import Spot
from gradsense.rules.wording import quoted

# Functions of torch whose result has no graph, whatever they are given.
_MAKERS = frozenset(
    f"torch.{name}"
    for name in ("empty", "empty_like", "full", "full_like", "ones", "ones_like", "tensor", "zeros", "zeros_like")
)
Assigning = ast.Assign | ast.AugAssign | ast.AnnAssign


def fixes_of_total(event: GraphGrows) -> Iterator[Fix]:
    """The fixes for a total that keeps every pass's graph; unsafe where a caller that is not seen may walk it."""
    for fix in _fixes(event):
        yield replace(fix, applicability=Applicability.UNSAFE) if event.short else fix


def _fixes(event: GraphGrows) -> Iterator[Fix]:
    code = code_of(event.store.place)
    statement = code.statement(event.store.place.node)
    if statement is None:
        return
    added = _added_in_place(statement)
    if added is not None:
        yield from safe(f"Add {quoted(code.text(added))} without its graph: `.detach()`", _detach(code, [added]))
        return
    if not isinstance(statement, Assigning):
        return
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    own = code.expression(event.store.place.node)
    if isinstance(target, ast.Tuple | ast.List) and own is not None:
        edits = detach_after(code.source, code.tree, statement, own)
        yield from safe(f"Detach {quoted(code.text(own))} in each pass", edits)
        return
    if _is_walked(event):
        yield from _cut_old(code, statement, target)
        return
    if isinstance(statement, ast.Assign) and not event.walked and not _adds_up(statement.value, target):
        yield from _whole(code, statement, target)
        return
    found = _summands(event, code, statement, target)
    if isinstance(statement, ast.Assign) and _starts_with_graph(code, statement, target):
        yield from _whole(code, statement, target)
    summed = event.kept or ((event.value,) if event.value is not None else ())
    if summed and all(tensor.number_of_elements == 1 for tensor in summed) and not used_as_tensor(code, target):
        yield from safe(f"Accumulate {listed(found)} as a number: `.item()`", as_numbers(found))
    yield from safe(f"Accumulate {listed(found)} without its graph: `.detach()`", detached(found))


def summands(event: GraphGrows) -> list[Spot]:
    """What brings a graph into a total, each where it is given to the function that adds it up."""
    code = code_of(event.store.place)
    statement = code.statement(event.store.place.node)
    if not isinstance(statement, Assigning):
        return []
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    return _summands(event, code, statement, target) if not isinstance(target, ast.Tuple | ast.List) else []


def _summands(event: GraphGrows, code: Code, statement: Assigning, target: ast.expr) -> list[Spot]:
    names = names_below(event.value) if event.value is not None else set()
    return [
        as_given(Spot(code, part), event.store.place, names)
        for store in _stores(code, statement, target)
        for part in _with_graph(_terms(code, store, target), names)
    ]


def _whole(code: Code, statement: ast.Assign, target: ast.expr) -> Iterator[Fix]:
    """Detaches all that is assigned; it stays a leaf that requires grad where gradients are asked for it."""
    name = quoted(code.text(target))
    asked = any(
        isinstance(node, ast.Call)
        and callee_name(node) == "grad"
        and any(mentions(one, target) for one in node.args[1:])
        for node in ast.walk(_region(code, statement))
    )
    if asked:
        edits = call_method(code.source, code.tree, statement.value, "detach", "requires_grad_")
        yield from safe(f"Make {name} a new leaf in each pass: `.detach().requires_grad_()`", edits)
    else:
        yield from safe(f"Detach {name} in each pass: `.detach()`", _detach(code, [statement.value]))


def _is_walked(event: GraphGrows) -> bool:
    """Whether the total itself is part of a loss, so that its newest part needs its graph."""
    return event.value is not None and event.value.node is not None and event.value.node.walked is not None


def _adds_up(value: ast.expr, target: ast.expr) -> bool:
    return isinstance(value, ast.BinOp | ast.IfExp) and mentions(value, target)


def _cut_old(code: Code, statement: Assigning, target: ast.expr) -> Iterator[Fix]:
    """Cuts what a walked state brings along from the pass before; its gradient no longer goes back there."""
    name = quoted(code.text(target))
    inside = set(ast.walk(statement))
    others = [
        node.value
        for node in ast.walk(scope_of(code.tree, statement))
        if isinstance(node, ast.Assign)
        and node not in inside
        and any(same_expression(one, target) for one in node.targets)
    ]
    if isinstance(statement, ast.Assign) and not any(is_number(value) for value in others):
        old = [
            node
            for node in ast.walk(statement.value)
            if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and same_expression(node, target)
        ]
        yield from unsafe(f"Detach the old {name} where it is used: `.detach()`", _detach(code, old))
    loops = code.loops(statement)
    if loops:
        edits = detach_after(code.source, code.tree, loops[0].body[-1], target)
        yield from unsafe(f"Detach {name} at the end of each pass", edits)


def _added_in_place(statement: ast.stmt) -> ast.expr | None:
    """What `total.add_(loss)` adds."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr.endswith("_"):
        return call.args[0] if call.args else None
    return None


def _detach(code: Code, parts: Sequence[ast.expr]) -> Edits | None:
    return detach(code.source, code.tree, *parts)


def _stores(code: Code, statement: Assigning, target: ast.expr) -> list[Assigning]:
    """The statement, and others of its function or loop that give the total a value with a graph."""
    region = _region(code, statement)
    found: list[Assigning] = [statement]
    for node in ast.walk(region):
        if isinstance(node, Assigning) and node is not statement and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(same_expression(one, target) for one in targets) and not _is_plain(code, node.value):
                found.append(node)
    return sorted(found, key=lambda one: one.lineno)


def _region(code: Code, statement: ast.stmt) -> ast.AST:
    loops = code.loops(statement)
    return loops[-1] if loops else scope_of(code.tree, statement)


def _is_plain(code: Code, value: ast.expr) -> bool:
    """Whether a value plainly has no graph: a number, something detached, a new tensor of torch's own."""
    maker = value.func if isinstance(value, ast.Call) else None
    return is_cut(value) or (maker is not None and meaning(code.tree, maker) in _MAKERS)


def _terms(code: Code, store: Assigning, target: ast.expr) -> list[ast.expr]:
    """The parts of a store that bring a graph into the total."""
    parts = list(stored_parts(store))
    value = store.value
    if isinstance(value, ast.BinOp) and isinstance(store, ast.Assign) and parts == [value] and mentions(value, target):
        # A product such as `total * x`: all but the total itself.
        parts = [one for one in (value.left, value.right) if not mentions(one, target)] or parts
    return [part for part in parts if not is_cut(part)]


def _with_graph(parts: list[ast.expr], names: set[str]) -> list[ast.expr]:
    """The terms that a tensor of the graph is named in; all of them where none has a name."""
    named = [
        part
        for part in parts
        if any(isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) in names for node in ast.walk(part))
    ]
    return named or parts


def _starts_with_graph(code: Code, statement: Assigning, target: ast.expr) -> bool:
    """Whether the total may have a graph before the loop, so that cutting what is added is not enough."""
    inside = set(ast.walk(_region(code, statement)))
    return any(
        isinstance(node, ast.Assign)
        and node not in inside
        and any(same_expression(one, target) for one in node.targets)
        and not _is_plain(code, node.value)
        for node in ast.walk(scope_of(code.tree, statement))
    )
