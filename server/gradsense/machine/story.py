"""Reading a proof: which way a fault came about, and where a person should edit."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gradsense.machine.events import SavedModified, WalkedTwice
from gradsense.machine.graph import Node, Saved, Storage, Store, Tensor, Walk, Write
from gradsense.machine.place import Epoch, Place, carried_from
from gradsense.machine.trees import nodes_of
from gradsense.machine.tri import YES
from gradsense.machine.values import DictValue, Instance, ListValue

if TYPE_CHECKING:
    from gradsense.machine.walking import Walking

UNSEEN_CALL = "unknown call"


def walked_twice(books: Walking, node: Node, walk: Walk, roots: list[Tensor], surely: bool) -> WalkedTwice | None:
    """The event for a walk that meets a freed node, or None where only unseen code links the two."""
    first = node.freed
    assert first is not None
    edges = [books.edge(t) for t in roots]
    meeting, entry = _meeting(edges, first, node)
    crossing = _crossing(edges, node, books.epoch, first.order)
    if crossing is not None and not carried_from(crossing[0].epoch, crossing[1].epoch):
        crossing = _crossing(edges, node, books.epoch)
    if crossing is not None and entry is not None and crossing[1].order > first.order:
        meeting, entry = crossing
    if entry is not None and entry.op == UNSEEN_CALL:
        return None
    if meeting.op == UNSEEN_CALL and entry is not None and entry.order > first.order:
        return None
    held = _held(books, meeting, entry)
    stores = list(held.stores) if held is not None else []
    now = books.epoch
    use: Place | None = None
    again = False
    older = carried_from(meeting.epoch, now) and bool(now)
    again = meeting.output is first.root or (first.root is not None and books.graph_of(first.root) is meeting)
    if older and not _moved_since(books, first, meeting):
        # Nothing was trained between the walks: they belong to one step, whatever loop they stand in.
        older = False
    if older and carried_from(meeting.epoch, entry.epoch if entry is not None else now):
        manner = "carried" if entry is not None and _in_this_loop(meeting.epoch, now) else "outside_loop"
        spot = holder(meeting, stores, now) if manner == "carried" else made_before(meeting, stores, now)
        if not stores:
            spot = _handed_out(books, walk.place, spot)
        if entry is not None and (use := _other_player(books, first, meeting)) is not None:
            manner, spot = "player", use
    elif entry is None or again:
        manner = "same"
        spot = first.place if first.kind == "grad" and entry is None else walk.place
    elif (use := _other_player(books, first, meeting)) is not None:
        manner, spot = "player", use
    elif (use := _second_player(books, edges, first, meeting, entry, stores)) is not None:
        manner, spot, again = "player", use, True
    elif entry.order > first.order and _is_whole_network(books, first, meeting) and _adds_leaves(books, edges, first):
        # What the first loss was made of is taken up again in another network's loss: it should be detached there.
        manner, spot = "shared", in_frame_of(entry.place, stores)
    else:
        manner, spot = "shared", walk.place
    event = WalkedTwice(
        place=walk.place,
        sure=surely,
        manner=manner,
        node=node,
        first=first,
        walk=walk,
        meeting=meeting,
        entry=entry,
        held=held,
        stores=stores,
        spot=spot,
        use=use,
        again=again,
        stepped=_stepped_under(books, first, meeting),
    )
    event.also = _lines(stores, [meeting.place] + ([entry.place] if entry else []))
    return event


def saved_modified(books: Walking, node: Node, saved: Saved, write: Write, walk: Walk, sure: bool) -> SavedModified:
    """The event for a walk that meets a saved tensor at another version."""
    manner, spot = "inplace", write.place
    held: Tensor | None = None
    stores: list[Store] = []
    also: list[Place] = []
    if write.kind in ("step", "fused"):
        manner = "step"
        if books.epoch and carried_from(node.epoch, books.epoch) and walk.root is not None:
            carried = [
                n
                for n in books.below([books.edge(walk.root)])
                if carried_from(n.epoch, books.epoch) and n.output is not None and n.accumulates is None
            ]
            carried.sort(key=lambda n: -n.order)
            for other in carried[:3]:
                also.append(other.place)
                if other.output is not None:
                    also += [s.place for s in other.output.stores]
            if carried:
                held = carried[0].output
                stores = list(held.stores) if held is not None else []
                manner = "carried"
                apart = not {id(p.node) for p in node.place.stack} & {id(p.node) for p in walk.place.stack}
                if node.epoch == () and node.place.stack and apart:
                    manner, spot = "outside_loop", made_before(carried[0], stores, books.epoch)
                    if not stores:
                        spot = _handed_out(books, walk.place, spot)
    elif write.module is not None and write.module.options.get("inplace") is True:
        manner, spot = "module", write.module.made
    elif write.kind == "activation":
        manner = "module"
    elif write.through is not None:
        manner = "detach"
    elif _is_parameter(saved.tensor):
        manner = "update"
    crossing = _link(books, node, walk, manner)
    if crossing is not None and (held is None or manner == "carried"):
        held = _held(books, *crossing)
        stores = list(held.stores) if held is not None else []
    event = SavedModified(
        place=walk.place,
        sure=sure,
        manner=manner,
        node=node,
        saved=saved,
        write=write,
        walk=walk,
        spot=spot,
        held=held,
        stores=stores,
        entry=crossing[1] if crossing is not None else None,
        version=_version(books, saved.storage, walk),
    )
    kept = list(saved.tensor.stores) + (list(node.output.stores) if node.output is not None else [])
    event.also = _lines(kept, [*also, saved.tensor.made])
    return event


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# Views follow the parameter that they look at.
FOLLOWING = frozenset(
    "view t transpose permute select slice narrow reshape unbind chunk split squeeze unsqueeze expand T mT".split()
)


def made_in_earlier_pass(epoch: Epoch, now: Epoch) -> bool:
    """Whether something was made in an earlier pass of a loop that is running now."""
    return bool(now) and carried_from(epoch, now) and _in_this_loop(epoch, now)


def made_outside(epoch: Epoch, now: Epoch) -> bool:
    """Whether something was made before a loop that is running now."""
    return carried_from(epoch, now) and not _in_this_loop(epoch, now)


def _held(books: Walking, meeting: Node, entry: Node | None) -> Tensor | None:
    """The tensor through which the new graph hangs on the old one: of several outputs, the one that was used."""
    if entry is not None:
        for tensor in entry.inputs:
            if tensor.node is meeting:
                return tensor
    return meeting.output


def _link(books: Walking, target: Node, walk: Walk, manner: str) -> tuple[Node, Node] | None:
    """The edge from what is new to this walk to an older graph, on a path to the target.

    What is older was made in an earlier pass where the value is carried, else it was walked before.
    """
    if walk.root is None or manner not in ("step", "carried", "update"):
        return None
    edges = [books.edge(walk.root)]
    if manner == "carried":
        return _crossing(edges, target, books.epoch)
    for child in sorted(books.below(edges), key=lambda n: -n.order):
        if child.walked is not None or target.ancestry & child.ancestry != target.ancestry:
            continue
        for parent in child.parents:
            if parent.walked is not None and target.ancestry & parent.ancestry == target.ancestry:
                return parent, child
    return None


def _version(books: Walking, storage: Storage, walk: Walk) -> int | None:
    """The version that a walk finds, None where a loop that is over wrote, of which only the first passes were run."""
    running = {loop for loop, _ in walk.epoch}
    left_short = books.shortened - running
    if left_short and any(loop in left_short for write in storage.writes for loop, _ in write.epoch):
        return None
    return storage.version


def _stepped_under(books: Walking, first: Walk, meeting: Node) -> bool:
    """Whether an optimizer has moved a parameter under the shared part since the first walk."""
    below = {n.accumulates for n in books.below([meeting]) if n.accumulates is not None}
    if any(w.order > first.order for leaf in below if leaf.parameter for w in leaf.storage.writes):
        return True
    return any(order > first.order and below & set(optimizer.parameters) for optimizer, _, order in books.steps)


def _is_whole_network(books: Walking, first: Walk, meeting: Node) -> bool:
    """Whether all parameters that the first walk reached lie under the meeting point."""
    if first.root is None:
        return False
    whole = {n.accumulates for n in books.below([books.edge(first.root)]) if n.accumulates is not None}
    return whole <= {n.accumulates for n in books.below([meeting]) if n.accumulates is not None}


def _adds_leaves(books: Walking, edges: list[Node | None], first: Walk) -> bool:
    """Whether a walk from these nodes reaches leaves that the first one did not."""
    known = books.below([books.edge(first.root)]) if first.root is not None else ()
    return any(n.accumulates is not None and n not in known for n in books.below(edges))


def _in_this_loop(epoch: Epoch, now: Epoch) -> bool:
    """Whether something was made in an earlier pass of a loop that is still running, and not before that loop."""
    for made, current in zip(epoch, now, strict=False):
        if made != current:
            return made[0] == current[0]
    return False


def _moved_since(books: Walking, first: Walk, meeting: Node) -> bool:
    """Whether an optimizer stepped, or a leaf that the first walk reached was written, since then."""
    if any(order > first.order for _, _, order in books.steps):
        return True
    if any(n.accumulates is not None and n.accumulates.phantom for n in books.below([meeting])):
        return True
    whole = books.edge(first.root) if first.root is not None else None
    leaves = [n.accumulates for n in books.below([meeting, whole]) if n.accumulates is not None]
    return any(w.order > first.order for leaf in leaves for w in (*leaf.storage.writes, *leaf.storage.silent))


def _is_parameter(tensor: Tensor) -> bool:
    """Whether it is, or is a view of, a parameter or another leaf that needs grad."""
    own = tensor.base if tensor.base is not None else tensor
    return own.leaf and own.needs is YES and own.base is None


def vector_made(books: Walking, root: Tensor) -> Place:
    """Where a loss of several elements came from: the loss module's constructor, the loss's own line, or the walk."""
    node = books.graph_of(root)
    if node is None:
        return books.here()
    if node.module is not None and node.module.options.get("reduction") == "none":
        return node.module.made
    return books.here()


def holder(node: Node, stores: list[Store], now: Epoch) -> Place:
    """Where an old graph was put, so that it outlived its pass.

    A list of losses that a plain name holds was made in the wrong place: its creation is named. Else the write to a
    container or to an attribute of an object that outlives the pass, else the assignment in the outermost frame.
    """
    for store in stores:
        # A list that this pass makes of it, for `cat` say, is a use: it had outlived its own pass before. Nor does one
        # that an earlier pass made for that, and put nowhere.
        container = store.container
        if isinstance(container, ListValue) and not store.name and not container.stores:
            continue
        if store.kind == "item" and (carried_from(store.epoch, now) or not carried_from(node.epoch, now)):
            scalar = node.output is not None and node.output.shape == ()
            if (
                isinstance(container, ListValue)
                and container.stores
                and container.made is not None
                and container.stores[-1].kind == "name"
                and (scalar or (container.maximum is None and store.value is None))
            ):
                return container.made
            return _where_kept(store)
    attributes = [s for s in stores if s.kind == "attribute" and _outlives(s.container, node.epoch)]
    names = [s for s in stores if s.kind == "name"]
    if attributes:
        return attributes[-1].place
    if names:
        shallow = min(len(s.place.stack) for s in names)
        return next(s for s in reversed(names) if len(s.place.stack) == shallow).place
    return stores[-1].place if stores else node.place


def made_before(node: Node, stores: list[Store], now: Epoch) -> Place:
    """Where what was computed before a loop was named first, though it was handed to an object later."""
    place = holder(node, stores, now)
    kept = next((s for s in stores if s.place is place), None)
    if kept is None or kept.kind != "attribute":
        return place
    named = [s for s in stores if s.kind == "name" and s.order < kept.order]
    shallower = [s for s in named if len(s.place.stack) < len(kept.place.stack)]
    # What was handed to a constructor was made where that is called; what it computed itself, in there.
    return shallower[0].place if shallower else _seen_from(node.place, place)


def _where_kept(store: Store) -> Place:
    """The variable of the caller that a container was given to which a function filled and returned, or the write."""
    held = store.container.stores if isinstance(store.container, ListValue | DictValue) else []
    if any(s.kind == "attribute" and s.order < store.order for s in held):
        # An object keeps it, whoever gets to see it.
        return store.place
    depth = len(store.place.stack)
    given = [s for s in held if s.kind == "name" and s.order > store.order and len(s.place.stack) < depth]
    return given[0].place if given else store.place


def _outlives(owner: object, own: Epoch) -> bool:
    """Whether an object was made before the pass that made what it holds."""
    return not isinstance(owner, Instance) or not own or carried_from(owner.epoch, own)


def in_frame_of(place: Place, stores: list[Store]) -> Place:
    """The call through which the newest stored value was passed on, where `place` lies deeper than its store."""
    for store in reversed(stores):
        if store.kind == "item" and not store.name:
            # A list that was written on the way, as `cat([a, b])` has.
            continue
        depth = len(store.place.stack)
        own = place.stack
        if len(own) > depth and all(a.node is b.node for a, b in zip(own, store.place.stack, strict=False)):
            return own[depth]
        if len(own) == depth:
            return place
    return place


def _seen_from(place: Place, other: Place) -> Place:
    """The call through which `other` came about, in the deepest function that `place` lies in as well."""
    depth = sum(1 for a, b in zip(place.stack, other.stack, strict=False) if a.node is b.node)
    return (*other.stack, other)[depth]


def _handed_out(books: Walking, walk: Place, made: Place) -> Place:
    """The call that a value without a name came out of, in the function that walks; what a constructor made stays."""
    parts = (*made.stack, made)
    depth = sum(1 for a, b in zip(walk.stack, made.stack, strict=False) if a.node is b.node)
    last = len(made.stack)
    while last > depth and not _is_in_constructor(books, parts[last]):
        last -= 1
    return parts[last]


def _is_in_constructor(books: Walking, place: Place) -> bool:
    """Whether the innermost function around an expression is an `__init__`."""
    around = [
        definition
        for definition in books.called
        if isinstance(definition, FUNCTIONS)
        and definition.lineno <= place.line <= (definition.end_lineno or place.line)
        and any(part is place.node for part in nodes_of(definition))
    ]
    innermost = max(around, key=lambda definition: definition.lineno, default=None)
    return innermost is not None and innermost.name == "__init__"


def _meeting(edges: list[Node | None], first: Walk, target: Node) -> tuple[Node, Node | None]:
    """The first nodes from the new root that the earlier walk had freed, with what was built on them."""
    found: list[tuple[Node, Node | None]] = []
    seen: set[Node] = set()
    todo: list[tuple[Node | None, Node | None]] = [(e, None) for e in edges]
    while todo:
        node, child = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if node.freed is first and (node is target or target.ancestry & node.ancestry == target.ancestry):
            found.append((node, child))
            continue
        todo.extend((p, node) for p in node.parents)
    if not found:
        return target, None
    for meeting, child in found:
        if child is not None and child.order > first.order:
            return meeting, child
    return found[0]


def _crossing(
    edges: list[Node | None], target: Node, now: Epoch, before: int | None = None
) -> tuple[Node, Node] | None:
    """The newest edge from this pass to an earlier one, on a path to the target.

    With `before`, what an earlier pass made after that moment counts as new: passes may share one walk.
    """
    if not now:
        return None
    best: tuple[Node, Node] | None = None
    seen: set[Node] = set()
    todo: list[tuple[Node | None, Node | None]] = [(e, None) for e in edges]
    while todo:
        node, child = todo.pop()
        if node is None or node in seen or target.ancestry & node.ancestry != target.ancestry:
            continue
        seen.add(node)
        if carried_from(node.epoch, now) and (before is None or node.order < before):
            if child is not None and (best is None or node.order > best[0].order):
                best = (node, child)
            continue
        todo.extend((p, node) for p in node.parents)
    return best


def _other_player(books: Walking, first: Walk, meeting: Node) -> Place | None:
    """The call in the first walk's graph that took another network's output undetached, if this is such a case.

    It is when an optimizer stepped after the first walk, holds parameters that this walk reached, and none of those
    under the shared part, although that part has parameters of its own that the first walk did not train.
    """
    below = {n.accumulates for n in books.below([meeting]) if n.accumulates is not None and n.accumulates.parameter}
    if not below or first.root is None:
        return None
    root_edge = books.edge(first.root)
    whole = books.below([root_edge])
    above = {n.accumulates for n in whole if n.accumulates is not None and n.accumulates.parameter} - below
    if not above:
        return None
    if not any(set(o.parameters) & below for o in books.optimizers):
        return None
    between = [o for o, _, order in books.steps if order > first.order]
    if not any(set(o.parameters) & above and not set(o.parameters) & below for o in between):
        return None
    if carried_from(meeting.epoch, books.epoch) and any(set(o.parameters) & below for o in between):
        # The first walk trained the shared part as well: it was made too early, not passed on undetached.
        return None
    users = [n for n in whole if meeting in n.parents and n.order < first.order]
    if not users:
        return None
    user = min(users, key=lambda n: n.order)
    stores = list(meeting.output.stores) if meeting.output is not None else []
    return _taken_in(user.place, stores, first.place)


def _second_player(
    books: Walking, edges: list[Node | None], first: Walk, meeting: Node, entry: Node, stores: list[Store]
) -> Place | None:
    """The call that took another network's output undetached after that network was trained, if this is such a case.

    It is when what stepped since the first walk holds parameters under the shared part, and what this walk reaches
    beside it belongs to an optimizer that holds none of those.
    """
    if entry.order < first.order:
        return None
    below = {n.accumulates for n in books.below([meeting]) if n.accumulates is not None and n.accumulates.parameter}
    reached = {n.accumulates for n in books.below(edges) if n.accumulates is not None and n.accumulates.parameter}
    trained = [o for o, _, order in books.steps if order > first.order and set(o.parameters) & below]
    above = reached - below
    if not trained or not above or any(set(o.parameters) & above for o in trained):
        return None
    if not any(set(o.parameters) & above and not set(o.parameters) & below for o in books.optimizers):
        return None
    return _taken_in(entry.place, stores, books.here())


def _taken_in(use: Place, stores: list[Store], walk: Place) -> Place:
    """Where a loss of one player took in what the other made: what the losses of both go through stays as it is."""
    place = in_frame_of(use, stores)
    return _seen_from(walk, use) if place is use else place


def _lines(stores: list[Store], places: list[Place]) -> list[tuple[Place, str]]:
    out = [(s.place, f"`{s.name}` stored here" if s.name else "stored here") for s in stores[-6:]]
    for place in places:
        out.append((place, "made here"))
        out += [(p, "called here") for p in place.stack[-3:]]
    return out
