"""Cuts a value that one pass of a loop hands to the next: where it is put, after the walk, or where it is read."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from gradsense.fixes.detach import detach, detached_code
from gradsense.fixes.fix import Edits, Fix
from gradsense.fixes.insert import insert_after
from gradsense.fixes.move import move_into_loop
from gradsense.fixes.tree import FunctionNode, may_not_repeat, mentions, same_expression, stored_names
from gradsense.machine.graph import Node, Store, Tensor, Walk
from gradsense.machine.place import Place
from gradsense.machine.values import DictValue, ListValue, NamedTuple
from gradsense.rules.editing import Code, Loop, code_of, safe, unsafe
from gradsense.rules.repairs.aliases import frame_of
from gradsense.rules.repairs.carriers import carriers, structure
from gradsense.rules.repairs.copies import named_operands
from gradsense.rules.repairs.cutting import still_learns
from gradsense.rules.repairs.rewalking import meet
from gradsense.rules.repairs.spot import Spot
from gradsense.rules.wording import quoted

# What follows a walk within a step.
_AFTER_WALK = frozenset({"step", "zero_grad", "update", "unscale_", "clip_grad_norm_", "clip_grad_value_"})
_HELPERS = ("repackage_hidden", "repackage", "detach_hidden", "detach_state", "detach_states")


@dataclass(eq=False)
class Carried:
    """What is carried, and how.

    Args:
        held: the tensor of an earlier pass.
        stores: where it was put.
        walk: the walk that came upon it.
        entry: the operation of this pass that took it in, where that is known.
        order: when the earlier pass was walked; what was stored later is of this pass.
    """

    held: Tensor | None
    stores: Sequence[Store]
    walk: Walk
    entry: Node | None

    def carriers(self) -> Iterator[Store]:
        """The stores that outlived their pass, the likeliest first: containers, attributes, names."""
        lasting = [store for store in self.stores if not _is_passing(store)]
        for kind in ("item", "attribute", "name"):
            yield from reversed([store for store in lasting if store.kind == kind])


def cut_carried(held: Tensor | None, stores: Sequence[Store], walk: Walk, entry: Node | None) -> Iterator[Fix]:
    """The fixes for a carried value, the best first."""
    carried = Carried(held, stores, walk, entry)
    for store in carried.carriers():
        found = list(_of_container(carried, store) if store.kind == "item" else _of_variable(carried, store))
        yield from found
        if found:
            return
    names = {store.name for store in carried.carriers()}
    if still_learns(walk, held):
        yield from _at_entry(entry, names, safe)


def detach_where_read(held: Tensor | None, entry: Node | None, walk: Walk) -> Iterator[Fix]:
    """Takes a tensor as a constant where a newer graph takes it in, if something else is left to learn."""
    if held is not None and still_learns(walk, held):
        yield from _at_entry(entry, set(held.names()), unsafe)


# ---------------------------------------------------------------------- variables and attributes


def _of_variable(carried: Carried, store: Store) -> Iterator[Fix]:
    code = code_of(store.place)
    statement = code.statement(store.place.node)
    if statement is None:
        return
    walk = _in_function_of(store, carried.walk.place)
    inside = code.loops(statement)
    shared = [loop for loop in code.loops(walk) if loop in inside] if walk is not None else []
    if walk is not None and not shared and (inside or code.loops(walk)):
        return
    target = _parsed(store.name)
    read = target is None or _windowed(store, carried.walk) or _read_later(code, statement, target, shared[:1])
    behind = walk is not None and walk.lineno < statement.lineno
    if walk is not None and statement is not None and store.kind == "name":
        yield from _started_anew(carried, store, code, walk, shared)
    if (not read or behind) and still_learns(carried.walk, carried.held):
        yield from _at_store(carried, store, code)
    if walk is not None and target is not None:
        yield from _behind_walk(code, walk, store.name, store.what)
    if walk is None and store.kind == "attribute":
        yield from _behind_walk_by_owner(carried, store, store.name, store.what)


def _started_anew(carried: Carried, store: Store, code: Code, walk: ast.stmt, loops: Sequence[Loop]) -> Iterator[Fix]:
    """A total that is itself walked starts at its first number again behind the walk."""
    root = carried.walk.root
    if root is None or store.name not in root.names() or not loops or root.number_of_elements not in (1, None):
        return
    for loop in loops:
        block = code.block(loop)
        for statement in reversed(block.statements[: block.index]) if block is not None else ():
            if isinstance(statement, ast.Assign) and store.name in stored_names(statement):
                value, targets = statement.value, statement.targets
                number = isinstance(value, ast.Constant) and isinstance(value.value, int | float)
                if number and len(targets) == 1 and isinstance(targets[0], ast.Name):
                    edits = insert_after(code.source, code.tree, _end_of_step(code, walk), code.text(statement))
                    yield from safe(f"Start `{store.name}` anew after the walk on line {walk.lineno}", edits)
                return


def _at_store(carried: Carried, store: Store, code: Code) -> Iterator[Fix]:
    """`previous = z` becomes `previous = z.detach()`; after an unpacking, a statement of its own is needed."""
    value = code.expression(store.value)
    statement = code.statement(store.place.node)
    if carried.held is None or statement is None:
        return
    if value is None:
        yield from _as_field(carried.held, store, code)
        return
    if isinstance(statement, ast.Assign | ast.AnnAssign) and not _is_unpacked(statement):
        for part in carriers(code, value, carried.held):
            spot = Spot(code, part, structure(store.what) if part is value else ())
            keeper = quoted(store.name or store.place.text)
            yield from safe(f"Detach {spot.text} where {keeper} keeps it", spot.detached())
        return
    if isinstance(statement, ast.Expr):
        for part in carriers(code, value, carried.held):
            yield from safe(f"Detach {quoted(code.text(part))} where it is kept", Spot(code, part).detached())
        return
    if _parsed(store.name) is not None:
        edits = insert_after(code.source, code.tree, statement, _detaching(code, store.name, store.what))
        yield from safe(f"Detach `{store.name}` once it is set", edits)


def _as_field(held: Tensor, store: Store, code: Code) -> Iterator[Fix]:
    """The argument that becomes a field of a named tuple or a dataclass."""
    call = code.expression(store.place.node)
    if not isinstance(call, ast.Call):
        return
    names = set(held.names())
    for argument in [*call.args, *(keyword.value for keyword in call.keywords)]:
        text = code.text(argument)
        if text in names or (store.name.startswith(".") and text.endswith(store.name)):
            yield from safe(f"Detach `{text}` where it is kept", detach(code.source, code.tree, argument))
            return


def _is_unpacked(statement: ast.Assign | ast.AnnAssign) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    if isinstance(statement.value, ast.Tuple | ast.List):
        return False
    return any(isinstance(target, ast.Tuple | ast.List) for target in targets)


def _behind_walk(code: Code, walk: ast.stmt, name: str, what: object) -> Iterator[Fix]:
    anchor = _end_of_step(code, walk)
    edits = insert_after(code.source, code.tree, anchor, _detaching(code, name, what))
    yield from safe(f"Detach `{name}` after the walk on line {walk.lineno}", edits)


def _behind_walk_by_owner(carried: Carried, store: Store, name: str, what: object) -> Iterator[Fix]:
    """`model.hidden = model.hidden.detach()` behind the walk, where that function calls the object by a name."""
    place, walk = store.place, carried.walk.place
    shared = sum(1 for one, other in zip(place.stack, walk.stack, strict=False) if one.node is other.node)
    if len(place.stack) <= shared or not name.startswith("self."):
        return
    inner, code = code_of(place), code_of(place.stack[shared])
    own = inner.twin(place.node)
    method = inner.function(own) if own is not None else None
    if method is None or not all(_is_in(inner, deeper, method) for deeper in place.stack[shared + 1 :]):
        return
    call = code.expression(place.stack[shared].node)
    owner = _owner(call, method.name) if isinstance(call, ast.Call) else None
    frame = walk.stack[shared] if len(walk.stack) > shared else walk
    statement = code.statement(frame.node)
    if owner is None or may_not_repeat(owner) or statement is None or frame.source is not code.source:
        return
    yield from _behind_walk(code, statement, f"{code.text(owner)}.{name.removeprefix('self.')}", what)


def _is_in(code: Code, place: Place, method: FunctionNode) -> bool:
    """Whether a call was made by a method, which so called itself."""
    node = code.twin(place.node) if place.source is code.source else None
    return node is not None and code.function(node) is method


def _owner(call: ast.Call, method: str) -> ast.expr | None:
    """The object that a call enters `method` of: `model` for `model(x)` and for `model.step(x)`."""
    if method in ("forward", "__call__"):
        return call.func
    return call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr == method else None


def _detaching(code: Code, name: str, what: object) -> str:
    """The statement that detaches all that a name holds."""
    if isinstance(what, NamedTuple):
        return f"{name} = {name}._make(s.detach() for s in {name})"
    if isinstance(what, ListValue) and what.kind == "deque":
        made = code.expression(what.made.node) if what.made is not None and what.made.source is code.source else None
        kind = code.text(made.func) if isinstance(made, ast.Call) else f"type({name})"
        return f"{name} = {kind}((s.detach() for s in {name}), maxlen={name}.maxlen)"
    kinds = structure(what)
    helper = next((known for known in _HELPERS if _defines(code.tree, known)), None) if kinds else None
    return f"{name} = {detached_code(name, kinds, helper)}"


def _defines(tree: ast.Module, name: str) -> bool:
    return any(isinstance(node, ast.FunctionDef) and node.name == name for node in tree.body)


# ---------------------------------------------------------------------- containers


def _of_container(carried: Carried, store: Store) -> Iterator[Fix]:
    container = store.container
    if not isinstance(container, ListValue | DictValue):
        return
    name = container.stores[-1].name if container.stores else store.name
    code = code_of(store.place)
    statement = code.statement(store.place.node)
    losses = container if carried.held is not None and carried.held.number_of_elements == 1 else None
    summed = isinstance(losses, ListValue)
    if isinstance(losses, ListValue):
        yield from _emptied(carried, losses)
    target = _parsed(name)
    if statement is not None and (
        target is None or not (_windowed(store, carried.walk) or _read_later(code, statement, target, []))
    ):
        yield from _at_store(carried, store, code)
    for known in reversed(container.stores):
        walk = _in_function_of(known, carried.walk.place)
        if walk is not None and known.name and known.kind == "name":
            yield from _behind_walk(code_of(known.place), walk, known.name, container)
            break
    if name.startswith("self.") and not summed:
        yield from _behind_walk_by_owner(carried, store, name, container)
    if statement is not None and not summed and still_learns(carried.walk, carried.held, alike=True):
        for fix in _at_store(carried, store, code):
            yield from unsafe(fix.title, fix.edits)


def _emptied(carried: Carried, container: ListValue) -> Iterator[Fix]:
    """A list of losses that is never emptied: made anew in each pass, or emptied behind the walk."""
    known = container.stores[0]
    code = code_of(known.place)
    statement = code.statement(known.place.node)
    walk = _in_function_of(known, carried.walk.place)
    if walk is not None and statement is not None and known.kind == "name":
        around = [loop for loop in code.loops(walk) if loop not in code.loops(statement)]
        if around:
            edits = move_into_loop(code.source, code.tree, [statement], _loop_of(carried, code, around))
            yield from unsafe(f"Make `{known.name}` anew in each pass", edits)
    place = carried.walk.place
    while True:
        yield from _cleared(place, container)
        if not place.stack:
            return
        place = place.stack[-1]


def _loop_of(carried: Carried, code: Code, around: Sequence[Loop]) -> Loop:
    """The outermost loop below the list's creation; the walk belongs to one of its passes."""
    return around[-1]


def _cleared(place: Place, container: ListValue) -> Iterator[Fix]:
    """Empties a list behind the walk that used it, with the other lists that are read for the same loss."""
    code = code_of(place)
    walk = code.statement(place.node)
    function = code.function(walk) if walk is not None else None
    if walk is None:
        return
    attributes = {store.name.rpartition(".")[2] for store in container.stores if "." in store.name}
    names = {store.name for store in container.stores if store.kind == "name"}
    for node in ast.walk(function or code.tree):
        by_attribute = isinstance(node, ast.Attribute) and node.attr in attributes
        if by_attribute or (isinstance(node, ast.Name) and node.id in names):
            assert isinstance(node, ast.Attribute | ast.Name)
            lists = [code.text(node), *_siblings(code, function, node)]
            lines = "\n".join(f"{text}.clear()" for text in lists)
            edits = insert_after(code.source, code.tree, _end_of_step(code, walk), lines)
            shown = " and ".join(f"`{text}`" for text in lists)
            yield from unsafe(f"Clear {shown} after the walk on line {walk.lineno}", edits)
            return


def _siblings(code: Code, function: ast.AST | None, own: ast.Attribute | ast.Name) -> list[str]:
    """The other lists of the same object that a function reads and the program appends to."""
    if not isinstance(own, ast.Attribute) or function is None:
        return []
    grown = {
        node.func.value.attr
        for node in ast.walk(code.tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "append"
        and isinstance(node.func.value, ast.Attribute)
    }
    found = [
        code.text(node)
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute)
        and node.attr in grown - {own.attr}
        and same_expression(node.value, own.value)
    ]
    return list(dict.fromkeys(found))


# ---------------------------------------------------------------------- where it is read


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


# ---------------------------------------------------------------------- places in a pass


def _parsed(name: str) -> ast.expr | None:
    """A store's name as an expression; None where it is none, as `.field` of a named tuple."""
    try:
        return ast.parse(name, mode="eval").body
    except SyntaxError:
        return None


def _is_passing(store: Store) -> bool:
    """Whether something was put into a display that has no name, such as the list in `cat([x, h])`."""
    container = store.container
    if store.kind != "item" or (isinstance(container, ListValue | DictValue) and container.stores):
        return False
    node = store.place.node
    return not (
        isinstance(node, ast.Subscript) or (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute))
    )


def _in_function_of(store: Store, place: Place) -> ast.stmt | None:
    """The statement of the store's function in which a place was reached; None where the function was over."""
    frame = frame_of(store.place, place)
    return None if frame is None else code_of(frame).statement(frame.node)


def _windowed(store: Store, walk: Walk) -> bool:
    """Whether several stores of one place are walked at once, as where a walk follows an inner loop over time."""
    kept, walked = meet(store.place, walk.place)
    if kept.source is not walked.source:
        return True
    code = code_of(kept)
    statement, late = code.statement(kept.node), code.statement(walked.node)
    if statement is None or late is None:
        return True
    return bool(set(code.loops(statement)) - set(code.loops(late)))


def _end_of_step(code: Code, walk: ast.stmt) -> ast.stmt:
    """The walk, or the last of the optimizer's statements right behind it."""
    block = code.block(walk)
    if block is None:
        return walk
    last = walk
    for statement in block.statements[block.index + 1 :]:
        call = statement.value if isinstance(statement, ast.Expr) else None
        function = call.func if isinstance(call, ast.Call) else None
        if not (isinstance(function, ast.Attribute) and function.attr in _AFTER_WALK):
            break
        last = statement
    return last


def _read_later(code: Code, statement: ast.stmt, target: ast.expr, loops: Sequence[Loop]) -> bool:
    """Whether `target` is read after `statement`, within the same pass or the same function."""
    current: ast.AST = statement
    for owner in reversed(code.ancestors(statement)):
        for name in ("body", "orelse", "finalbody"):
            statements = getattr(owner, name, None)
            if isinstance(statements, list) and current in statements:
                later = statements[statements.index(current) + 1 :]
                if any(mentions(one, target) for one in later):
                    return True
        if owner in loops or isinstance(owner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return False
        current = owner
    return False
