"""A machine that notes what tensors were at places of the program: for questions about one, not for every run."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gradsense.machine.graph import Node, Saved, Store, Tensor
from gradsense.machine.interpreter import Machine
from gradsense.machine.level import ModuleLevel
from gradsense.machine.limits import Limits
from gradsense.machine.modules import Workspace
from gradsense.machine.place import Epoch, Place
from gradsense.machine.state import BranchKey, Knowledge
from gradsense.machine.trees import nodes_of
from gradsense.machine.tri import Tri
from gradsense.machine.units import Unit, runner, units_of
from gradsense.machine.values import Value
from gradsense.syntax.parse import ParsedModule

Spot = tuple[int, int, int | None, int | None]
# A fact that is learnt starts the run anew, at most so often.
LEARNING_ROUNDS = 3


@dataclass(frozen=True)
class Seen:
    """A tensor as it was when the program last came to a place.

    Args:
        needs: whether it needed grad.
        node: its node.
        version: how often its storage had been written to.
        epoch: the passes of the loops around, then.
    """

    tensor: Tensor
    needs: Tri
    node: Node | None
    version: int
    epoch: Epoch


class Recorder(Machine):
    """Runs one path, and notes the tensors at some places of the file that it runs.

    Args:
        wanted: the places.
    """

    def __init__(self, *args: Any, wanted: frozenset[Spot], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.seen: dict[Spot, Seen] = {}
        self.values: dict[Spot, Value] = {}
        self.recorded: list[Node] = []
        self._wanted = wanted

    def evaluate(self, node: ast.expr) -> Value:
        value = super().evaluate(node)
        self._note_at(node, value)
        return value

    def note_store(
        self, value: Value, kind: str, name: str, target: ast.AST, value_node: ast.expr | None, container: Value
    ) -> Store:
        store = super().note_store(value, kind, name, target, value_node, container)
        self._note_at(target, value)
        return store

    def record_node(
        self,
        op: str,
        parents: Iterable[Node | None],
        saved: list[Saved],
        private: bool,
        sure: bool,
        place: Place | None = None,
    ) -> Node:
        node = super().record_node(op, parents, saved, private, sure, place)
        self.recorded.append(node)
        return node

    def savers(self, tensor: Tensor) -> list[tuple[Node, Saved]]:
        """The nodes that keep a tensor's storage for backward, with what they keep."""
        return [(node, saved) for node in self.recorded for saved in node.saved if saved.storage is tensor.storage]

    def _note_at(self, node: ast.AST, value: Value) -> None:
        spot = spot_of(node)
        if spot in self._wanted and self.source is self.program.source:
            self.values[spot] = value
            if isinstance(value, Tensor):
                needs, graph = self.needs_grad(value), self.graph_of(value)
                self.seen[spot] = Seen(value, needs, graph, value.storage.version, self.epoch)


def spot_of(node: ast.AST) -> Spot:
    """Identifies an expression within its file."""
    return (
        getattr(node, "lineno", 0),
        getattr(node, "col_offset", 0),
        getattr(node, "end_lineno", None),
        getattr(node, "end_col_offset", None),
    )


def record(
    program: ParsedModule, workspace: Workspace, wanted: Iterable[ast.AST], limits: Limits, deadline: float
) -> list[Recorder]:
    """Runs a file, and of its functions those that hold a wanted place which nothing reached.

    Args:
        wanted: expressions of the program's tree.
        deadline: when to stop, on the clock of this thread.

    Returns:
        The machines that ran, one for the module level and one for each function that was run by itself.
    """
    nodes = list(wanted)
    spots = frozenset(spot_of(node) for node in nodes)
    forced = _branches_to(program, nodes)
    machines = [_run(program, workspace, None, spots, forced, limits, deadline)]
    for unit in units_of(program.tree):
        first, last = unit.node.lineno, unit.node.end_lineno or unit.node.lineno
        left = [s for s in spots if first <= s[0] <= last and not any(s in m.values for m in machines)]
        if left and unit.node not in machines[0].called:
            machines.append(_run(program, workspace, unit, spots, forced, limits, deadline))
    return machines


def _run(
    program: ParsedModule,
    workspace: Workspace,
    unit: Unit | None,
    spots: frozenset[Spot],
    forced: dict[BranchKey, bool],
    limits: Limits,
    deadline: float,
) -> Recorder:
    knowledge = Knowledge()
    for _ in range(LEARNING_ROUNDS):
        machine = Recorder(program, workspace, forced, knowledge, limits, deadline, wanted=spots)
        machine.run_program()
        if unit is not None:
            machine.forget_module_level()
            run = runner(machine, unit, ModuleLevel())
            if run is not None:
                machine.run_unit(run)
        if not machine.new_facts:
            break
    return machine


def _branches_to(program: ParsedModule, nodes: list[ast.AST]) -> dict[BranchKey, bool]:
    """The way to the wanted places, where there is only one: which branch of the `if` statements around them."""
    if len(nodes) != 1:
        return {}
    line = getattr(nodes[0], "lineno", 0)
    forced: dict[BranchKey, bool] = {}
    for node in nodes_of(program.tree):
        if isinstance(node, ast.If) and node.lineno <= line <= (node.end_lineno or node.lineno):
            key = (program.source.path, node.lineno, node.col_offset)
            if _within(node.body, line):
                forced[key] = True
            elif _within(node.orelse, line):
                forced[key] = False
    return forced


def _within(body: list[ast.stmt], line: int) -> bool:
    return any(statement.lineno <= line <= (statement.end_lineno or statement.lineno) for statement in body)
