"""What looks as if it gave gradients to something, and does not: told when the path is over."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gradsense.machine.books import ZERO_GRADIENT
from gradsense.machine.events import SampleCut, UselessMutation
from gradsense.machine.graph import Cut, Walk
from gradsense.machine.graph_search import reachable_without
from gradsense.machine.place import Place, PlaceKey
from gradsense.machine.trees import nodes_of

if TYPE_CHECKING:
    from gradsense.machine.interpreter import Machine

# A call of a `backward` that hands it a gradient.
CALLS_BACKWARD = re.compile(r"\.backward\(\s*(?!\)|self\b)")


def conclude(machine: Machine) -> None:
    """Reports modules with a `backward` of their own, and samples that should have been reparameterized."""
    if machine.ended_early or machine.is_unit or not machine.walks:
        return
    _own_backwards(machine)
    _samples(machine)


def _own_backwards(machine: Machine) -> None:
    """A module's method `backward` that returns a gradient, which nobody calls."""
    for method in machine.own_backwards:
        body = method.node
        if body in machine.called or isinstance(body, ast.Lambda) or len(body.args.args) != 2:
            continue
        texts = {method.source.text, machine.program.source.text}
        returned = [part for part in nodes_of(body) if isinstance(part, ast.Return) and part.value is not None]
        if not returned or any(CALLS_BACKWARD.search(text) for text in texts):
            continue
        what = "torch calls the `backward` of an `autograd.Function`, and never that of a module"
        machine.report(UselessMutation(place=Place(method.source, returned[0]), what=what))


def _samples(machine: Machine) -> None:
    """Samples of a distribution whose parameters are trained by another term of the same loss, and not by them."""
    seen: set[PlaceKey] = set()
    for walk in machine.walks:
        if walk.kind != "backward" or walk.root is None:
            continue
        drawn = [cut for cut in walk.cuts if id(cut) in machine.samples or cut.how == "normal"]
        for cut in drawn:
            if cut.place.key not in seen and id(cut) not in machine.scored and _is_trained_beside(machine, cut, walk):
                seen.add(cut.place.key)
                machine.events.append(SampleCut(place=walk.place, cut=cut, walk=walk))


def _is_trained_beside(machine: Machine, cut: Cut, walk: Walk) -> bool:
    """Whether the walk comes on another way to what a sample was drawn from, and to all parameters behind that."""
    flows = set(reachable_without([machine.edge(walk.root)] if walk.root is not None else [], ZERO_GRADIENT))
    edges = [machine.edge(tensor) for tensor in cut.lost]
    leaves = [node for node in machine.below(edges) if node.accumulates is not None]
    return any(edge in flows for edge in edges) and all(leaf in flows for leaf in leaves)
