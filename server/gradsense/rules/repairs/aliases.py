"""Who else would have seen a write: whether moving it out of place changes what others read."""

from __future__ import annotations

from collections.abc import Iterator

from gradsense.fixes.tree import read_after
from gradsense.machine.graph import Store, Tensor
from gradsense.machine.place import Place
from gradsense.machine.values import DictValue, ListValue
from gradsense.rules.editing import code_of


def seen_elsewhere(place: Place, target: str, tensors: tuple[Tensor | None, ...], order: int | None = None) -> bool:
    """Whether a tensor that is written at `place` is read afterwards under another name than `target`.

    Args:
        place: the write.
        target: the name or attribute that it is written by.
        tensors: the tensor, and what shares its storage.
        order: when it was written; names that it got later go with the result, wherever that is.
    """
    stores = [store for store in _stores(tensors) if store.name != target and not _held_by(store, target)]
    return any(_is_read(store, place) for store in stores if order is None or store.order < order)


def is_item(tensor: Tensor | None, container: str) -> bool:
    """Whether a tensor is an item of the list or dictionary of that name, so that the item may be assigned to."""
    return tensor is not None and any(_held_by(store, container) for store in tensor.stores)


def _held_by(store: Store, container: str) -> bool:
    holder = store.container
    if not isinstance(holder, ListValue | DictValue):
        return False
    return store.name == container or any(s.name == container for s in holder.stores)


def _stores(tensors: tuple[Tensor | None, ...]) -> Iterator[Store]:
    for tensor in tensors:
        while tensor is not None:
            yield from tensor.stores
            tensor = tensor.base


def _is_read(store: Store, place: Place) -> bool:
    if store.kind == "item":
        holder = store.container
        return not isinstance(holder, ListValue | DictValue) or bool(holder.stores)
    frame = frame_of(store.place, place)
    if frame is None:
        # The function that had this name is over.
        return store.kind != "name"
    if store.kind != "name":
        return True
    code = code_of(frame)
    statement = code.statement(frame.node)
    return statement is None or read_after(code.tree, statement, store.name)


def frame_of(place: Place, now: Place) -> Place | None:
    """What is running, at `now`, in the function that `place` is in: a call or `now` itself; None if it is over."""
    depth = len(place.stack)
    if len(now.stack) < depth or any(a.node is not b.node for a, b in zip(place.stack, now.stack, strict=False)):
        return None
    return now.stack[depth] if len(now.stack) > depth else now
