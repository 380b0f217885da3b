"""What a run of a program carries along: scopes, decisions, budgets, and where values were put."""

from __future__ import annotations

import ast
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from gradsense.machine.devices import ChosenDevice
from gradsense.machine.events import SyncEachStep
from gradsense.machine.frames import Frame
from gradsense.machine.graph import Cut, Forward, Node, Store, Tensor, Walk
from gradsense.machine.limits import STEPS, TIME, Interrupted, Limits, OutOfBudget
from gradsense.machine.modules import Workspace
from gradsense.machine.place import Epoch, Place, PlaceKey
from gradsense.machine.tri import MAYBE, NO, YES
from gradsense.machine.values import (
    SCALARS,
    BoundMethod,
    ClassValue,
    DictValue,
    External,
    Function,
    Instance,
    LibraryMethod,
    ListValue,
    Optimizer,
    Partial,
    Site,
    Unknown,
    Value,
    parts_of,
)
from gradsense.machine.walking import Walking
from gradsense.syntax.parse import ParsedModule

if TYPE_CHECKING:
    from gradsense.machine.interpreter import Machine
    from gradsense.machine.passes import Measure, Tracker


class ReturnSignal(Exception):
    """A `return`."""

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


class BreakSignal(Exception):
    """A `break`."""


class ContinueSignal(Exception):
    """A `continue`."""


class ProgramRaises(Exception):
    """The program raises an exception of its own, or ends."""

    def __init__(self, name: str = "") -> None:
        super().__init__(name)
        self.name = name


CONTROL = (ReturnSignal, BreakSignal, ContinueSignal, ProgramRaises, OutOfBudget)


# A number this small may count the passes of a loop.
FEW = 8


def may_count(value: Value) -> bool:
    """Whether it is a number that a few passes of a loop could count to."""
    return type(value) is int and -FEW <= value <= FEW


BranchKey = tuple[str, int, int]
# After so many evaluations the clock is looked at again, and whether somebody waits.
LOOK_EVERY = 64


@dataclass
class Knowledge:
    """What earlier runs of the same program found out about its unknowns.

    Args:
        facts: call site → `tensor` (it was walked, so it yields a graph) or `maybe` (it went into such a call).
    """

    facts: dict[Site, str] = field(default_factory=dict)


class NoneGradient:
    """Remembers a `.grad` that was read as None, for the error that computing with it will raise.

    Attributes:
        unfilled: the tensor is a leaf that needs grad, which no walk has reached.
        names: the variables that got the None, each with its scope.
    """

    __slots__ = ("names", "order", "read", "sure", "tensor", "unfilled")

    def __init__(self, tensor: Tensor, read: Place, order: int, sure: bool, unfilled: bool = False) -> None:
        self.tensor = tensor
        self.read = read
        self.order = order
        self.sure = sure
        self.unfilled = unfilled
        self.names: set[tuple[int, str]] = set()


class State(Walking):
    """The running program, below the level of syntax."""

    def __init__(
        self,
        program: ParsedModule,
        workspace: Workspace,
        forced: dict[BranchKey, bool],
        knowledge: Knowledge,
        limits: Limits,
        deadline: float,
    ) -> None:
        super().__init__(program.source, program.tree)
        # This object as the library functions take it: every layer is a layer of one machine.
        self.machine = cast("Machine", self)
        self.program = program
        self.workspace = workspace
        self.forced = forced
        self.knowledge = knowledge
        self.limits = limits
        self.deadline = deadline
        self.new_facts = False
        self.branches: dict[BranchKey, bool] = {}
        # Where this path chose a device.
        self.devices: set[BranchKey] = set()
        # The names that were looked up in scopes of files.
        self.names_read: set[str] = set()
        # Those that were run and did nothing where nothing is in place of them, and those that did something.
        self.idle: set[BranchKey] = set()
        self.effective: set[BranchKey] = set()
        # Those that did what weighs; those that may do something else where values are others.
        self.weighty: set[BranchKey] = set()
        self.winding: set[BranchKey] = set()
        self.steps_taken = 0
        # All steps that were counted before counting began anew.
        self.work = 0
        # Those of them in files that the program imports.
        self.import_steps = 0
        self.visits_made = 0
        # When the clock is looked at again.
        self.next_step_look = 0
        self.next_visit_look = 0
        self.file_frame = Frame(program.source)
        self.frame = self.file_frame
        self.frames: list[Frame] = [self.file_frame]
        self.depth = 0
        self.active_calls: dict[ast.AST, int] = {}
        # Generator expressions that a loop draws from.
        self.drawn: set[int] = set()
        self.loop_count = 0
        # The loops around of which more passes would follow than are run.
        self.endless: set[int] = set()
        # The condition just read compares a count that gets there later than in the passes that are run.
        self.reached_later = False
        # How often the course of the program hung on a number that a count of passes may come to.
        self.number_looks = 0
        # How often it hung on the index of a loop of unknown length.
        self.index_looks = 0
        # How often an attribute of an object was set.
        self.attributes_set = 0
        # What was there when a loop inside another loop was left, by the run of the loop around.
        self.settled: dict[tuple[object, ...], Measure] = {}
        # The innermost loop that is being run.
        self.tracker: Tracker | None = None
        self.escaped: list[Node] = []
        # Calls of networks that built a graph.
        self.forwards: list[Forward] = []
        self.failures: list[str] = []
        # What bounds on work left out, as `limits` words it.
        self.left_out: set[str] = set()
        self.is_unit = False
        # Scalars with a graph that were given a name.
        self.losses: list[tuple[Store, Tensor]] = []
        # Functions handed to unseen code, which may call them.
        self.handed_over: set[ast.AST] = set()
        # Walks that kept their graph, with the call.
        self.retained: list[tuple[Walk, Place]] = []
        # For every backward or grad call: whether the graph it walked was fully known at least once.
        self.sites: dict[tuple[object, ...], bool] = {}
        # Why it was not, where it was not.
        self.doubts: dict[tuple[object, ...], str] = {}
        # Modules that hold others in a plain container, or may later: the holder, the attribute, and where it was set.
        self.plainly_held: list[tuple[Instance, str, Place]] = []
        # Leaves that need grad and are no parameters, as attributes of modules: the module, the attribute, where.
        self.plain_leaves: list[tuple[Instance, str, Place]] = []
        # Parameters that were made to require grad after an optimizer had its parameters, and where.
        self.thawed: list[tuple[Tensor, Place]] = []
        # Parameters that the program makes by themselves.
        self.loose: list[Tensor] = []
        # Modules that took another's place after an optimizer had its parameters: the new one, the optimizer, where,
        # and whether as an attribute (`replaced`) or as a variable (`rebound`).
        self.replaced: list[tuple[Instance, Optimizer, Place, str]] = []
        # Leaves that unseen code was given in a list or the like: it may be an optimizer of another library.
        self.given_away: set[Tensor] = set()
        # Parameters that a module got after an optimizer was made, and where.
        self.late: list[tuple[Tensor, Place]] = []
        # Tensors that `requires_grad_()` made leaves of a graph of their own, where one had ended.
        self.raised: list[Tensor] = []
        # Calls of `parameters()`, and what they gave.
        self.asked: list[tuple[Place, tuple[Tensor, ...]]] = []
        # Cuts by hooks that look at an output and give back another.
        self.watched: set[PlaceKey] = set()
        # What each `backward` of a Function returns if it is too few or too many, by how many gradients are wanted.
        self.returned: dict[tuple[ast.AST, int], tuple[ast.Return, int] | None] = {}
        # Methods `backward` of modules.
        self.own_backwards: list[Function] = []
        # Samples, by the ids of their cuts: of distributions that could have passed a gradient on.
        self.samples: dict[int, Cut] = {}
        # Those whose likelihood was computed with, by the ids of their cuts.
        self.scored: dict[int, Cut] = {}
        # Dictionaries that look like a group of parameters.
        self.groups: list[DictValue] = []
        # The last `.grad` that was read as None.
        self.none_gradient: NoneGradient | None = None
        # A cell of a notebook is being run for the second time.
        self.rerunning = False

    # ------------------------------------------------------------------ syntax, above this level
    def evaluate(self, node: ast.expr) -> Value:
        """The value of an expression."""
        raise NotImplementedError

    def run_block(self, body: list[ast.stmt]) -> None:
        """Runs statements."""
        raise NotImplementedError

    def call(self, function: Value, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
        """The result of a call."""
        raise NotImplementedError

    # ------------------------------------------------------------------ budget

    def step(self) -> None:
        """Counts one evaluation.

        Raises:
            OutOfBudget: when the path took too long.
        """
        self.steps_taken += 1
        if self.steps_taken >= self.next_step_look:
            self.look_at_budget()

    def look_at_budget(self) -> None:
        """Looks at the clock, and at the bound on steps.

        Raises:
            OutOfBudget: when the path took too long.
        """
        self.next_step_look = min(self.steps_taken + LOOK_EVERY, self.limits.steps + self.import_steps + 1)
        self._look(self.steps_taken - self.import_steps > self.limits.steps)

    def spend(self, visits: int) -> None:
        self.visits_made += visits
        if self.visits_made >= self.next_visit_look:
            self.next_visit_look = min(self.visits_made + 20_000, self.limits.visits + 1)
            self._look(self.visits_made > self.limits.visits)

    def _look(self, exhausted: bool) -> None:
        if exhausted or time.thread_time() > self.deadline:
            self.left_out.add(STEPS if exhausted else TIME)
            raise OutOfBudget
        if self.limits.interrupted is not None and self.limits.interrupted():
            raise Interrupted

    def renew_budget(self) -> None:
        """Begins to count anew."""
        self.work += self.steps_taken
        self.steps_taken = self.import_steps = self.visits_made = self.next_step_look = self.next_visit_look = 0

    def note_site(self, known: bool, doubt: str = "its root is not known") -> None:
        """Counts a walk towards coverage."""
        key = self.here().key
        self.sites[key] = self.sites.get(key, False) or known
        if not known:
            self.unseen_walks = True
            self.doubts.setdefault(key, doubt)

    # ------------------------------------------------------------------ decisions

    def goes_on(self, epoch: Epoch) -> bool:
        """Whether what happened in a pass happens again in many more of that loop than are run."""
        return bool(epoch) and epoch[-1][0] in self.endless

    def went_on(self, epoch: Epoch) -> bool:
        """Whether an earlier pass of a loop that is still running, and of which only a few passes are run, did it."""
        now = dict(self.epoch)
        return any(loop in self.endless and now.get(loop, number) != number for loop, number in epoch)

    def decide(self, node: ast.AST, default: bool) -> bool:
        """Which way a branch goes whose condition is not known."""
        key = self.branch_at(node)
        if key in self.forced:
            return self.forced[key]
        self.branches.setdefault(key, default)
        return default

    def branch_at(self, node: ast.AST) -> BranchKey:
        """What a branch is called."""
        return (self.source.path, getattr(node, "lineno", 0), getattr(node, "col_offset", 0))

    def look_at_device(self, value: Value) -> None:
        """The course of the program hangs on a value: if it is a device that was chosen, another may be."""
        if type(value) is ChosenDevice and value.branch in self.devices and value.branch not in self.forced:
            self.branches.setdefault(value.branch, value.chosen)

    def note_weight(self, branch: BranchKey, code: int, turns: int) -> None:
        """Notes what was done in a branch that is over, given what the trail was when it began."""
        if self.trail.code != code:
            self.weighty.add(branch)
        if self.trail.turns > turns:
            self.winding.add(branch)

    def offered(self) -> dict[BranchKey, bool]:
        """The branches that another path may take the other way, with the way they went."""
        return {key: default for key, default in self.branches.items() if key not in self.idle - self.effective}

    def truth(self, value: Value) -> bool | None:
        """The truth of a value, None if unknown."""
        if isinstance(value, SCALARS):
            self.number_looks += may_count(value)
            return bool(value)
        if isinstance(value, ListValue):
            return None if value.open or value.homogeneous else bool(value.items)
        if isinstance(value, DictValue):
            return None if value.open else bool(value.items)
        if isinstance(value, (tuple, range)):
            return len(value) > 0
        if isinstance(value, Instance) and value.children is not None:
            return self.truth(value.children)
        if (
            isinstance(value, Instance)
            and value.cls is not None
            and (value.cls.has("__bool__") or value.cls.has("__len__"))
        ):
            return None
        if isinstance(
            value, Function | ClassValue | BoundMethod | External | LibraryMethod | Instance | Optimizer | Partial
        ):
            return True
        return None

    # ------------------------------------------------------------------ names

    def scope_of(self, name: str) -> Frame:
        """The scope that an assignment to the name writes."""
        frame = self.frame
        if name in frame.global_names:
            return frame.file
        if name in frame.nonlocal_names:
            outer = frame.parent
            while outer is not None and name not in outer.variables:
                outer = outer.parent
            return outer or frame
        return frame

    def set_name(self, name: str, value: Value, target: ast.AST, value_node: ast.expr | None = None) -> None:
        """Binds a variable."""
        frame = self.scope_of(name)
        if self.trail.kept:
            self.trail.note_name(frame, name, value)
        if isinstance(value, SCALARS) or (type(value) is Unknown and value.number):
            # Nobody asks where a number came from.
            if value is None and self.none_gradient is not None:
                self.none_gradient.names.add((id(frame), name))
            frame.variables[name] = value
            frame.stores.pop(name, None)
            return
        if type(value) is Tensor and value.cuts and value.needs is NO:
            self._note_rebound(frame.variables.get(name), value, target)
        elif type(value) is Instance and value.is_module and self.optimizers and value_node is not None:
            # The variable of a loop holds one layer after another.
            self.note_successor(frame.variables.get(name), value, target, "rebound")
        frame.variables[name] = value
        store = frame.stores[name] = self.note_store(value, "name", name, target, value_node, None)
        if type(value) is Tensor and value.shape == () and value.node is not None:
            self.losses.append((store, value))

    def _note_rebound(self, before: Value, value: Tensor, target: ast.AST) -> None:
        """`w = w - lr * w.grad` under `no_grad`: the graph ends where the name loses its leaf."""
        cut = value.cuts[-1]
        if cut.how == "no_grad" and isinstance(before, Tensor) and before.leaf and before in cut.lost:
            value.cuts = (*value.cuts[:-1], replace(cut, place=self.here(target)))

    def get_name(self, name: str) -> tuple[bool, Value]:
        """Looks a variable up: whether it is bound, and its value."""
        frame: Frame | None = self.frame
        if name in self.frame.global_names:
            frame = self.frame.file
        first = frame
        while frame is not None:
            if frame.parent is None:
                self.names_read.add(name)
            # A class body's names are not seen from its methods.
            if name in frame.variables and (frame.cls is None or frame is first):
                return True, frame.variables[name]
            if name in frame.imported and (frame.cls is None or frame is first):
                return True, self.load_name(frame, name)
            if frame.lookup is not None:
                found, value = frame.lookup(name)
                if found:
                    frame.variables[name] = value
                    return True, value
            frame = frame.parent
        return False, None

    def note_successor(self, before: Value, new: Instance, target: ast.AST, how: str) -> None:
        """Notes a module that takes the place of one that an optimizer has."""
        raise NotImplementedError

    def load_name(self, frame: Frame, name: str) -> Value:
        """What a name was imported from that nobody has asked for so far."""
        raise NotImplementedError

    # ------------------------------------------------------------------ stores

    def note_store(
        self, value: Value, kind: str, name: str, target: ast.AST, value_node: ast.expr | None, container: Value
    ) -> Store:
        """Notes where a value was put, on the tensors in it as well."""
        store = Store(self.here(target), kind, name, value_node, container, self.epoch, self.tick(), value)
        self._note(value, store, 0)
        return store

    def _note(self, value: Value, store: Store, depth: int) -> None:
        if isinstance(value, Tensor):
            if self.trail.kept:
                self.trail.note_kept(value, store.kind, store.name)
            if len(value.stores) >= 8:
                del value.stores[1]
            value.stores.append(store)
        elif isinstance(value, (ListValue, DictValue)):
            if depth == 0 or store.kind == "item":
                if len(value.stores) >= 4:
                    del value.stores[1]
                value.stores.append(store)
                if value.made is None:
                    value.made = store.place
            if store.kind != "item" and depth < 2:
                parts = value.items[:8] if isinstance(value, ListValue) else list(value.items.values())[:8]
                for part in parts:
                    if isinstance(part, (Tensor, tuple)):
                        self._note(part, store, depth + 1)
        elif isinstance(value, tuple) and depth < 3:
            for part in value[:6]:
                self._note(part, store, depth + 1)
        elif isinstance(value, Instance) and depth < 3 and self._is_record(value, store.kind):
            for part in list(value.attributes.values())[:6]:
                if isinstance(part, (Tensor, tuple)):
                    self._note(part, store, depth + 1)

    def _is_record(self, value: Instance, kind: str) -> bool:
        """Whether the fields of an object are carried along with it: a dataclass, or what this pass made for a name."""
        if value.cls is None or value.is_module:
            return False
        return value.cls.fields is not None or (kind == "name" and bool(self.epoch) and value.epoch == self.epoch)

    def note_items(
        self, container: ListValue | DictValue, values: list[Value], value_node: ast.expr | None = None
    ) -> None:
        """Notes a store into a container, at what is being run."""
        name = container.stores[-1].name if container.stores else ""
        for value in values:
            store = self.note_store(value, "item", name, self.node, value_node, container)
            if not isinstance(value, SCALARS) and not (isinstance(value, Unknown) and value.number):
                container.last_store = store

    def note_sync(self, tensor: Tensor) -> None:
        """Notes a wait for the GPU, in the loop whose pass computed what is waited for."""
        node = tensor.node
        computed = tensor.stores[-1].epoch if tensor.stores else node.epoch if node is not None else self.epoch
        if tensor.device == "cuda" and self.epoch and computed == self.epoch:
            self.report(SyncEachStep(place=self.here(), tensor=tensor))

    def escape(self, value: Value) -> None:
        """Notes that unseen code got hold of the tensors in a value, to a depth of three: it may walk them."""
        seen: set[int] = set()
        todo: list[tuple[Value, int]] = [(value, 0)]
        while todo:
            value, depth = todo.pop()
            if isinstance(value, Tensor):
                node = self.graph_of(value)
                if node is not None:
                    self.trail.note("escaped", node.index)
                    self.escaped.append(node)
                elif value.needs is not NO:
                    self._hand_on()
                    if depth and value not in self.given_away:
                        self.trail.note("given away", id(value.made.node))
                        self.given_away.add(value)
            elif isinstance(value, (Function, BoundMethod, Optimizer)) or (
                isinstance(value, Instance) and (value.is_module or value.cls is not None)
            ):
                self._hand_on()
            elif depth <= 3 and id(value) not in seen and (parts := parts_of(value)):
                seen.add(id(value))
                todo += [(part, depth + 1) for part in parts if not isinstance(part, SCALARS)]
        self.spend(len(seen))

    def _hand_on(self) -> None:
        if not self.handed_on:
            self.trail.note("handed on")
            self.handed_on = True

    # ------------------------------------------------------------------ unknowns

    def as_tensor(self, value: Value) -> Tensor | None:
        """A value as an operand of a tensor op: a tensor, or a stand-in for an unknown that may be one."""
        if isinstance(value, Tensor):
            return value
        if isinstance(value, Unknown) and not value.number:
            may = not value.data and (value.parameter or any(self.needs_grad(t).value for t in value.sources))
            tensor = self.tensor(dtype=None)
            tensor.origin = "unknown"
            if may:
                tensor.needs = MAYBE
                if value.sources:
                    tensor.leaf = False
                    tensor.node = self.record_node(
                        "unknown call", [self.edge(t) for t in value.sources], [], True, False
                    )
                    tensor.node.output = tensor
            return tensor
        return None

    def result_of_unknown_call(self, site: Site | None, sources: tuple[Tensor, ...]) -> Tensor:
        """The result of an unseen call that a later use showed to be a tensor with a graph."""
        tensor = self.tensor(dtype=None)
        tensor.needs = YES if site is not None and self.knowledge.facts.get(site) == "tensor" else MAYBE
        tensor.leaf = False
        tensor.origin = "unknown"
        tensor.node = self.record_node("unknown call", [self.edge(t) for t in sources], [], True, False)
        tensor.node.output = tensor
        return tensor

    def learn_graph(self, value: Unknown) -> None:
        """A walk starts at this unknown: its call yields a graph, and what went in may carry one."""
        todo, count = [value], 0
        while todo and count < 40:
            unknown = todo.pop()
            count += 1
            if unknown.data:
                continue
            if unknown.phantom is not None or MODULE_MEMBERS & unknown.attributes.keys():
                continue
            if unknown.site is not None and unknown.site not in self.knowledge.facts:
                self.knowledge.facts[unknown.site] = "tensor" if count == 1 else "maybe"
                self.new_facts = True
                self.trail.note("learnt", unknown.site)
            todo.extend(unknown.arguments)

    # ------------------------------------------------------------------ scopes of calls

    @contextmanager
    def entered(self, frame: Frame) -> Iterator[None]:
        """Runs what is inside in another scope."""
        previous = self.frame
        self.frame = frame
        self.frames.append(frame)
        try:
            yield
        finally:
            self.frame = previous
            self.frames.pop()

    def call_site(self, node: ast.AST | None) -> Site | None:
        """Identifies a call in its calling context, for what is learnt about its result."""
        if node is None:
            return None
        return (
            self.source.path,
            getattr(node, "lineno", 0),
            getattr(node, "col_offset", 0),
            getattr(node, "end_col_offset", 0),
            tuple((p.source.path, p.line, getattr(p.node, "col_offset", 0)) for p in self.stack),
        )

    def caller(self) -> Place:
        """The call that led here, or here."""
        return self.stack[-1] if self.stack else self.here()


MODULE_MEMBERS = frozenset(
    "parameters train eval state_dict load_state_dict zero_grad named_parameters modules apply forward children".split()
)
