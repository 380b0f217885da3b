"""Graphs that are kept, or built for nobody."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from gradsense.machine.events.base import Event
from gradsense.machine.graph import Store, Tensor
from gradsense.machine.place import Place


@dataclass(eq=False, kw_only=True)
class GraphGrows(Event):
    """What one slot keeps alive grows with every pass of a loop.

    Attributes:
        store: the last store into the slot, in the loop.
        slot: `name`, `attribute`, `container`, `gradient`.
        loop: the loop.
        where: the loop, with its file and the calls that led to it.
        nodes_per_pass: how many nodes more each pass.
        walked: whether what is kept has been walked: then only nodes stay, else activations too.
        value: the newest tensor kept.
        kept: all tensors that the last pass added to the slot.
        short: the loop is a short one, whose end lets go of what was kept.
        evaluation: the call that built the graph, where no walk ever takes it.
        quiet: nothing is walked while the loop runs, and nothing that it makes is walked later.
    """

    store: Store
    slot: str
    loop: ast.AST
    where: Place
    nodes_per_pass: int
    walked: bool
    retained: bool
    value: Tensor | None
    kept: tuple[Tensor, ...] = ()
    short: bool = False
    evaluation: Place | None = None
    quiet: bool = False

    @property
    def culprit(self) -> Place:
        return self.store.place if self.walked or self.evaluation is None else self.evaluation


@dataclass(eq=False, kw_only=True)
class ForwardUnused(Event):
    """A network is called with grad mode on, and no walk ever takes what it returns.

    Attributes:
        needed: the lines, by file, on which something was made that is walked.
    """

    needed: set[tuple[str, int]] = field(default_factory=set)
