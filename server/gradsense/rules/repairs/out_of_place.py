"""Moves a write to a place of its own: out of place, on a copy, or with the operation's own copy kept safe."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.fix import Fix
from gradsense.fixes.inplace_calls import written_tensor
from gradsense.fixes.insert import clone_before
from gradsense.fixes.out_of_place import out_of_place
from gradsense.machine.graph import Node, Saved, Store, Tensor, Walk, Write
from gradsense.machine.place import Place
from gradsense.machine.tri import YES
from gradsense.machine.values import DictValue, ListValue
from gradsense.rules.editing import Code, code_of, safe, unsafe
from gradsense.rules.repairs.aliases import is_item, seen_elsewhere
from gradsense.rules.repairs.copies import save_copies
from gradsense.rules.wording import quoted
from gradsense.syntax.edits import TextEdit


def separate(write: Write, saved: Saved, saver: Node, walk: Walk) -> Iterator[Fix]:
    """The fixes for a write that reaches what an operation saved.

    Args:
        write: the write.
        saved: what the operation keeps.
        saver: the operation.
        walk: the walk that needs it.
    """
    shared, moved = moving(write.place, write.tensor, saved.tensor, saver=saver.place, order=write.order)
    if not shared:
        yield from moved
    yield from save_copies(saver, saved, write, walk)
    if shared:
        yield from moved


def moving(
    place: Place,
    written: Tensor | None,
    *aliases: Tensor,
    saver: Place | None = None,
    order: int | None = None,
) -> tuple[bool, list[Fix]]:
    """The fixes that move a write away from the tensor it was made to.

    Args:
        place: the write.
        written: the tensor written to.
        aliases: other tensors of the same memory.
        saver: the operation that saved it, if any: a copy made before the statement does not help one within it.
        order: when it was written.

    Returns:
        Whether others would see the difference, which makes the fixes unsafe; and the fixes.
    """
    code = code_of(place)
    node = write_at(code, place)
    if node is None:
        return False, []
    target = written_tensor(code.tree, node)
    if isinstance(target, ast.Name) and not code.rebinds(node, target.id):
        return False, []
    name = code.text(target) if target is not None else ""
    shared = seen_elsewhere(place, name, (written, *aliases), order) or _is_leaf(written)
    offer = unsafe if shared else safe
    shown = quoted(name) if name else "the result"
    items = _is_item(code, node, (written, *aliases))
    fixes = list(offer(f"Write {shown} out of place", out_of_place(code.source, code.tree, node, items=items)))
    statement = code.statement(node)
    stores = [store for tensor in (written, *aliases) if tensor is not None for store in tensor.stores]
    held = any(_holds(store) for store in stores if store.name == name)
    own = saver is not None and saver.source is code.source and code.statement(saver.node) is statement
    if target is not None and statement is not None and not fixes and not items and not held and not own:
        edits = clone_before(code.source, code.tree, statement, target)
        fixes += offer(f"Write to a copy: `{name} = {name}.clone()` first", edits)
    return shared, fixes


def detach_instead(place: Place) -> Iterator[Fix]:
    """Detaches all of `h` where a loop over its rows, `for layer in h`, calls `layer.detach_()`."""
    code = code_of(place)
    statement = code.statement(place.node)
    block = code.block(statement) if statement is not None else None
    loop = block.owner if block is not None and len(block.statements) == 1 else None
    if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Name) and code.rebinds(loop, loop.iter.id):
        name = loop.iter.id
        edit = TextEdit(code.source.path, code.source.span_of(loop), f"{name} = {name}.detach()")
        yield from safe(f"Detach `{name}` as a whole", (edit,))


def write_at(code: Code, place: Place) -> ast.stmt | ast.expr | None:
    """The statement or call that writes at a place: for `x[0] = 1` the whole assignment."""
    found = code.twin(place.node)
    if isinstance(found, ast.Call):
        return found
    statement = code.statement(place.node)
    if isinstance(statement, ast.AugAssign | ast.Assign | ast.Expr):
        return statement
    return None


def _is_item(code: Code, node: ast.stmt | ast.expr, tensors: tuple[Tensor | None, ...]) -> bool:
    target: ast.expr | None = None
    if isinstance(node, ast.AugAssign):
        target = node.target
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        target = node.func.value
    if not isinstance(target, ast.Subscript):
        return False
    container = code.text(target.value)
    return any(is_item(tensor, container) for tensor in tensors)


def _holds(store: Store) -> bool:
    """Whether what was stored is a container of the tensor and not the tensor."""
    return isinstance(store.what, tuple | ListValue | DictValue)


def _is_leaf(tensor: Tensor | None) -> bool:
    """Whether it is, or is a view of, a tensor that an optimizer or `.grad` may know."""
    base = tensor.base if tensor is not None and tensor.base is not None else tensor
    return base is not None and base.leaf and base.needs is YES
