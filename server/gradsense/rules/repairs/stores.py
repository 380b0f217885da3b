"""Takes the graph out of what a container, an attribute or a variable keeps."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.fix import Edits, Fix
from gradsense.fixes.insert import insert_after
from gradsense.fixes.tree import mentions, scope_of
from gradsense.machine.events import GraphGrows
from gradsense.machine.graph import Store, Tensor
from gradsense.machine.values import ListValue
from gradsense.rules.editing import Code, code_of, safe, unsafe
from gradsense.rules.repairs.detaching import at_store
from gradsense.rules.repairs.grad_modes import without_decorator
from gradsense.rules.repairs.keeping import as_numbers, detached, listed, spots
from gradsense.rules.repairs.readers import items_used_as_tensors
from gradsense.rules.repairs.totals import fixes_of_total

_CACHES = frozenset({"cache", "lru_cache"})


def fixes_of_store(event: GraphGrows) -> Iterator[Fix]:
    """The fixes for a slot that keeps every pass's graph."""
    store = event.store
    code = code_of(store.place)
    statement = code.statement(store.place.node)
    if statement is None:
        return
    if store.kind == "name" and isinstance(store.what, Tensor):
        yield from fixes_of_total(event)
        return
    found = spots(event)
    where = f" where it is handed to `{found[0].callee}`" if len(found) == 1 and found[0].callee else ""
    title = f"Keep {listed(found)} without its graph: `.detach()`{where}"
    yield from uncached(code, store, statement)
    if _read_back(event, code, statement):
        yield from _cleared(event)
        yield from unsafe(title, detached(found))
        return
    offer = unsafe if event.short else safe
    edits = detached(found)
    yield from offer(title, edits)
    if edits is None and isinstance(store.what, Tensor):
        for fix in at_store(store.what, store):
            yield from offer(fix.title, fix.edits)
    if _are_numbers(event) and not _used_as_tensors(code, statement):
        yield from offer(f"Keep {listed(found)} as a number: `.item()`{where}", as_numbers(found))


def uncached(code: Code, store: Store, statement: ast.stmt) -> Iterator[Fix]:
    """Takes off the `@cache` whose results keep their graphs."""
    function = code.function(statement) if store.kind == "item" else None
    for decorator in function.decorator_list if function is not None else ():
        name = code.text(decorator.func if isinstance(decorator, ast.Call) else decorator)
        if name.rpartition(".")[2] in _CACHES and function is not None:
            edits = without_decorator(code, decorator)
            yield from unsafe(f"Compute `{function.name}` at each call: remove `@{name}`", edits)


def _read_back(event: GraphGrows, code: Code, statement: ast.stmt) -> bool:
    """Whether a walk went through what was computed for the store alone, so that it read it from the container."""
    own = set(ast.walk(statement))
    for tensor in event.kept:
        if tensor.node is None or tensor.node.walked is None:
            continue
        place = tensor.node.place
        made_for_it = place.source is code.source and code.twin(place.node) in own
        named = [store for store in tensor.stores if store.kind == "name"]
        if (named or made_for_it) and not any(_is_read(store, own) for store in named):
            return True
    return False


def _is_read(store: Store, storing: set[ast.AST]) -> bool:
    """Whether a variable is read anywhere but in the statement that stores its value in the container."""
    code = code_of(store.place)
    target = code.twin(store.place.node)
    if not isinstance(target, ast.Name):
        return True
    scope = scope_of(code.tree, target)
    return any(
        isinstance(node, ast.Name) and node.id == target.id and isinstance(node.ctx, ast.Load) and node not in storing
        for node in ast.walk(scope)
    )


def _cleared(event: GraphGrows) -> Iterator[Fix]:
    """Empties the container behind the walk that used it."""
    container = event.store.container
    walk = next((t.node.walked for t in event.kept if t.node is not None and t.node.walked is not None), None)
    if walk is None or not isinstance(container, ListValue) or not event.store.name:
        return
    code = code_of(walk.place)
    statement = code.statement(walk.place.node)
    function = code.function(statement) if statement is not None else None
    block = code.block(statement) if statement is not None else None
    if statement is None or block is None:
        return
    name = ast.parse(event.store.name, mode="eval").body
    if not mentions(function or code.tree, name):
        return
    readers = [one for one in block.statements[block.index :] if one is statement or mentions(one, name)]
    if isinstance(readers[-1], ast.Return):
        return
    edits: Edits | None = insert_after(code.source, code.tree, readers[-1], f"{event.store.name}.clear()")
    yield from unsafe(f"Clear `{event.store.name}` after the walk on line {statement.lineno}", edits)


def _are_numbers(event: GraphGrows) -> bool:
    return bool(event.kept) and all(tensor.number_of_elements == 1 for tensor in event.kept)


def _used_as_tensors(code: Code, statement: ast.stmt) -> bool:
    """Whether the container's items are used as tensors; taken for granted where the container has no plain name."""
    container: ast.expr | None = None
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        container = function.value if isinstance(function, ast.Attribute) else None
    elif isinstance(statement, ast.Assign):
        container = statement.targets[0]
    elif isinstance(statement, ast.AugAssign):
        container = statement.target
    while isinstance(container, ast.Subscript):
        container = container.value
    if not isinstance(container, ast.Name | ast.Attribute):
        return True
    return items_used_as_tensors(code, container, statement)
