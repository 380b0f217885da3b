"""Cuts a value that is carried from one pass into the next: where it is put, behind the walk, or at its use."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from gradsense.fixes.detach import detach
from gradsense.fixes.fix import Edits, Fix
from gradsense.fixes.tree import loaded_names, mentions, stored_names
from gradsense.machine.graph import Node, Store, Tensor, Walk
from gradsense.machine.graph_search import reachable
from gradsense.machine.place import carried_from
from gradsense.machine.values import DictValue, ListValue
from gradsense.rules.editing import Loop, code_of, safe, unsafe
from gradsense.rules.repairs.copies import named_operands
from gradsense.rules.repairs.cutting import cuts_off, still_learns
from gradsense.rules.repairs.detaching import at_store, behind_walk, behind_walk_of_owner
from gradsense.rules.repairs.emptying import make_anew, start_anew
from gradsense.rules.repairs.passes import in_function_of, parsed, read_later, spelling, windowed
from gradsense.rules.wording import quoted


def cut_carried(held: Tensor | None, stores: Sequence[Store], walk: Walk, entry: Node | None) -> Iterator[Fix]:
    """The fixes for a carried value, the best first.

    Args:
        held: the tensor of an earlier pass.
        stores: where it was put.
        walk: the walk that came upon it.
        entry: the operation of this pass that took it in, where that is known.
    """
    carried = _Carried(held, stores, walk, entry)
    for store in carried.carriers():
        found = list(_of_container(carried, store) if store.kind == "item" else _of_variable(carried, store))
        yield from found
        if found:
            return
    if still_learns(walk, held):
        yield from _at_entry(entry, {spelling(store) for store in carried.carriers()}, safe)


def detach_where_read(held: Tensor | None, entry: Node | None, walk: Walk, target: Node) -> Iterator[Fix]:
    """Takes a tensor as a constant where a newer graph takes it in.

    None is offered where the walk comes to `target` on other ways as well, or nothing would be left to learn.
    """
    if held is None or entry is None or not cuts_off(walk, entry, held, target):
        return
    if still_learns(walk, held):
        yield from _at_entry(entry, set(held.names()), unsafe)


@dataclass(eq=False)
class _Carried:
    held: Tensor | None
    stores: Sequence[Store]
    walk: Walk
    entry: Node | None

    def carriers(self) -> list[Store]:
        """The stores that outlived their pass, the likeliest first: what is read, containers, attributes, names."""
        lasting = [store for store in reversed(self.stores) if not _is_passing(store) and self._is_older(store)]
        kinds = ("item", "attribute", "name", "capture")
        lasting.sort(key=lambda store: kinds.index(store.kind) if store.kind in kinds else len(kinds))
        read = self._read_names({store.name for store in lasting})
        return sorted(lasting, key=lambda store: store.name not in read)

    def _is_older(self, store: Store) -> bool:
        """Whether it was made in an earlier pass, and the name did not get the old value from elsewhere in this one."""
        now = self.walk.epoch
        if not now:
            return True
        if not carried_from(store.epoch, now):
            return False
        own = [s for s in self.stores if s.kind == store.kind == "name" and s.name == store.name]
        return not any(_is_from_elsewhere(s) for s in own if not carried_from(s.epoch, now))

    def _read_names(self, names: set[str]) -> set[str]:
        """Those of some names that the operation reads through which the old value comes in."""
        if self.entry is None:
            return set()
        code = code_of(self.entry.place)
        expression = code.expression(self.entry.place.node)
        if expression is None:
            return set()
        return {name for name in names if name and named_operands(code, expression, {name})}


def _of_variable(carried: _Carried, store: Store) -> Iterator[Fix]:
    code = code_of(store.place)
    statement = code.statement(store.place.node)
    if statement is None:
        return
    walk = in_function_of(store, carried.walk.place)
    inside = code.loops(statement)
    shared = [loop for loop in code.loops(walk) if loop in inside] if walk is not None else []
    if walk is not None and not shared and (inside or code.loops(walk)):
        return
    name = spelling(store)
    target = parsed(name)
    if walk is not None and shared and store.kind == "name" and _is_set_anew(shared[0], walk, name):
        return
    read = target is None or windowed(store, carried.walk) or read_later(code, statement, target, shared[:1])
    read = read or _recurs(carried, store)
    behind = walk is not None and walk.lineno < statement.lineno
    if walk is not None and store.kind == "name":
        yield from start_anew(store, carried.walk, walk, shared)
    if (not read or behind) and still_learns(carried.walk, carried.held):
        yield from at_store(carried.held, store)
    if walk is not None and target is not None and not behind:
        yield from behind_walk(code, walk, name, store.what)
    if walk is None and store.kind == "attribute":
        yield from behind_walk_of_owner(store, carried.walk, name, store.what)


def _recurs(carried: _Carried, store: Store) -> bool:
    """Whether the walk takes in several values that one object was given in the pass: an inner loop over time."""
    held, root, now = carried.held, carried.walk.root, carried.walk.epoch
    if held is None or held.node is None or root is None or store.kind != "attribute":
        return False
    alike = [
        node
        for node in reachable([root.node])
        if node.place.key == held.node.place.key and not carried_from(node.epoch, now) and node.output is not None
    ]
    return sum(any(s.container is store.container for s in node.output.stores) for node in alike if node.output) > 1


def _is_set_anew(loop: Loop, walk: ast.stmt, name: str) -> bool:
    """Whether a pass gives a name a value that has nothing to do with its old one, before it comes to the walk."""
    inner = [one for one in ast.walk(ast.Module(loop.body, [])) if isinstance(one, ast.stmt)]
    for statement in sorted(inner, key=lambda one: one.lineno):
        if statement.lineno >= walk.lineno:
            return False
        if isinstance(statement, ast.Assign) and name in stored_names(statement) - loaded_names(statement):
            return True
        if isinstance(statement, ast.Assign | ast.AugAssign | ast.Expr | ast.Return) and name in loaded_names(
            statement
        ):
            return False
    return False


def _of_container(carried: _Carried, store: Store) -> Iterator[Fix]:
    container = store.container
    if not isinstance(container, ListValue | DictValue):
        return
    if isinstance(container, ListValue) and carried.held is not None and carried.held.number_of_elements == 1:
        yield from make_anew(container, carried.walk)
        return
    name = container.stores[-1].name if container.stores else store.name
    code = code_of(store.place)
    statement = code.statement(store.place.node)
    target = parsed(name)
    free = target is None or statement is None or not read_later(code, statement, target)
    if free and not windowed(store, carried.walk):
        yield from at_store(carried.held, store)
    for known in reversed(container.stores):
        walk = in_function_of(known, carried.walk.place)
        if walk is not None and known.name and known.kind == "name":
            yield from behind_walk(code_of(known.place), walk, known.name, container)
            break
    yield from behind_walk_of_owner(store, carried.walk, name, container)
    if still_learns(carried.walk, carried.held, alike=True):
        for fix in at_store(carried.held, store):
            yield from unsafe(fix.title, fix.edits)


def _at_entry(
    entry: Node | None, names: set[str], offer: Callable[[str, Edits | None], Iterator[Fix]]
) -> Iterator[Fix]:
    """Detaches the operand through which the operation of this pass takes the old value in."""
    if entry is None:
        return
    for place in (entry.place, *reversed(entry.place.stack)):
        code = code_of(place)
        expression = code.expression(place.node)
        parts = named_operands(code, expression, names) if expression is not None else []
        if expression is not None and parts:
            text = quoted(code.text(expression))
            yield from offer(f"Detach `{code.text(parts[0])}` in {text}", detach(code.source, code.tree, *parts))
            return


def _is_from_elsewhere(store: Store) -> bool:
    """Whether a name was set from something else than itself."""
    code = code_of(store.place)
    statement, name = code.statement(store.place.node), parsed(store.name)
    return not isinstance(statement, ast.AugAssign) and not (
        isinstance(statement, ast.Assign) and name is not None and mentions(statement.value, name)
    )


def _is_passing(store: Store) -> bool:
    """Whether something was put into a display that has no name, such as the list in `cat([x, h])`."""
    container = store.container
    if store.kind != "item" or (isinstance(container, ListValue | DictValue) and container.stores):
        return False
    node = store.place.node
    return not (
        isinstance(node, ast.Subscript) or (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute))
    )
