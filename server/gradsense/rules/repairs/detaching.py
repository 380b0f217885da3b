"""Detaches what outlives a pass: at its store, or behind the walk that used it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.detach import detach, detached_code
from gradsense.fixes.fix import Fix
from gradsense.fixes.insert import insert_after
from gradsense.fixes.keywords import callee_name
from gradsense.fixes.tree import FunctionNode, may_not_repeat
from gradsense.machine.graph import Store, Tensor, Walk
from gradsense.machine.place import Place
from gradsense.machine.values import Instance, ListValue, NamedTuple
from gradsense.rules.editing import Code, code_of, safe
from gradsense.rules.repairs.carriers import carriers, structure
from gradsense.rules.repairs.passes import end_of_step, parsed, spelling
from gradsense.rules.repairs.spot import Spot
from gradsense.rules.wording import quoted

# What programs call their own function for it.
_WRAPPERS = frozenset({"Sequential", "ModuleList", "DataParallel", "DistributedDataParallel"})
_HELPERS = ("repackage_hidden", "repackage", "detach_hidden", "detach_state", "detach_states")


def at_store(held: Tensor | None, store: Store) -> Iterator[Fix]:
    """`previous = z` becomes `previous = z.detach()`; after an unpacking, a statement of its own is needed."""
    code = code_of(store.place)
    value = code.expression(store.value)
    statement = code.statement(store.place.node)
    if held is None or statement is None:
        return
    if value is None and isinstance(store.place.node, ast.Call):
        yield from _as_field(code, held, store)
    elif isinstance(statement, ast.Assign | ast.AnnAssign) and (value is None or _is_unpacked(statement)):
        name = spelling(store)
        text = _detaching(code, name, store.what) if parsed(name) is not None else None
        edits = insert_after(code.source, code.tree, statement, text) if text is not None else None
        yield from safe(f"Detach `{name}` once it is set", edits)
    elif value is not None and isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr):
        keeper = "" if isinstance(statement, ast.Expr) else store.name or store.place.text
        where = f"where {quoted(keeper)} keeps it" if keeper else "where it is kept"
        for part in carriers(code, value, held):
            spot = Spot(code, part, structure(store.what) if part is value else ())
            yield from safe(f"Detach {spot.text} {where}", spot.detached())


def behind_walk(code: Code, walk: ast.stmt, name: str, what: object) -> Iterator[Fix]:
    """`h = h.detach()` behind the step of a walk.

    Args:
        code: the file of the walk.
        walk: the statement that walks.
        name: the variable or attribute.
        what: its value.
    """
    text = _detaching(code, name, what)
    edits = insert_after(code.source, code.tree, end_of_step(code, walk), text) if text is not None else None
    yield from safe(f"Detach `{name}` after the walk on line {walk.lineno}", edits)


def behind_walk_of_owner(store: Store, walk: Walk, name: str, what: object) -> Iterator[Fix]:
    """`model.hidden = model.hidden.detach()` behind a walk, where that function calls the object by a name.

    Args:
        store: a store within a method of the object.
        walk: the walk.
        name: the attribute as the method writes it, `self.hidden`.
        what: its value.
    """
    place, walked = store.place, walk.place
    shared = sum(1 for one, other in zip(place.stack, walked.stack, strict=False) if one.node is other.node)
    if len(place.stack) <= shared or not name.startswith("self."):
        return
    inner, code = code_of(place), code_of(place.stack[shared])
    own = inner.twin(place.node)
    method = inner.function(own) if own is not None else None
    if method is None or not all(_is_in(inner, deeper, method) for deeper in place.stack[shared + 1 :]):
        return
    call = code.expression(place.stack[shared].node)
    owner = _owner(call, method.name) if isinstance(call, ast.Call) else None
    frame = walked.stack[shared] if len(walked.stack) > shared else walked
    statement = code.statement(frame.node)
    if owner is None or may_not_repeat(owner) or statement is None or frame.source is not code.source:
        return
    if _is_wrapped(code, owner):
        return
    yield from behind_walk(code, statement, f"{code.text(owner)}.{name.removeprefix('self.')}", what)


def _is_wrapped(code: Code, owner: ast.expr) -> bool:
    """Whether what is called was made as a container of torch: the attribute is that of a module inside."""
    for node in ast.walk(code.tree):
        if not isinstance(node, ast.Assign) or not any(
            code.text(target) == code.text(owner) for target in node.targets
        ):
            continue
        made: ast.expr = node.value
        while (
            isinstance(made, ast.Call)
            and isinstance(made.func, ast.Attribute)
            and isinstance(made.func.value, ast.Call)
        ):
            made = made.func.value
        if isinstance(made, ast.Call) and callee_name(made) in _WRAPPERS:
            return True
    return False


def _as_field(code: Code, held: Tensor, store: Store) -> Iterator[Fix]:
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


def _is_in(code: Code, place: Place, method: FunctionNode) -> bool:
    """Whether a call was made by a method, which so called itself."""
    node = code.twin(place.node) if place.source is code.source else None
    return node is not None and code.function(node) is method


def _owner(call: ast.Call, method: str) -> ast.expr | None:
    """The object that a call enters `method` of: `model` for `model(x)` and for `model.step(x)`."""
    if method in ("forward", "__call__"):
        return call.func
    return call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr == method else None


def _detaching(code: Code, name: str, what: object) -> str | None:
    """The statements that detach all that a name holds; None for what has no such form."""
    if isinstance(what, Instance):
        return _of_record(name, what)
    if isinstance(what, NamedTuple):
        return f"{name} = {name}._make(s.detach() for s in {name})"
    if isinstance(what, ListValue) and what.kind == "deque":
        made = code.expression(what.made.node) if what.made is not None and what.made.source is code.source else None
        kind = code.text(made.func) if isinstance(made, ast.Call) else f"type({name})"
        return f"{name} = {kind}((s.detach() for s in {name}), maxlen={name}.maxlen)"
    kinds = structure(what)
    helper = next((known for known in _HELPERS if _defines(code.tree, known)), None) if kinds else None
    return f"{name} = {detached_code(name, kinds, helper)}"


def _of_record(name: str, record: Instance) -> str | None:
    """The fields of a named tuple or a dataclass, as far as they are tensors."""
    fields = [field for field, value in record.attributes.items() if isinstance(value, Tensor)]
    cls = record.cls
    if not fields or cls is None or record.is_module:
        return None
    if any(base.endswith("NamedTuple") for base in cls.library_bases()):
        return f"{name} = {name}._replace({', '.join(f'{field}={name}.{field}.detach()' for field in fields)})"
    if any("frozen" in ast.unparse(decorator) for decorator in cls.node.decorator_list):
        return None
    return "\n".join(f"{name}.{field} = {name}.{field}.detach()" for field in fields)


def _defines(tree: ast.Module, name: str) -> bool:
    return any(isinstance(node, ast.FunctionDef) and node.name == name for node in tree.body)
