"""What a path did, summed up: a branch after which all goes on as without it need not be tried with every other.

Everything that can matter to what comes later is a deed: a node, a write, a walk, a store, a call of what is not known
to be harmless. Printing, logging and reading numbers are none.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from gradsense.machine.graph import Tensor
from gradsense.machine.tri import NO
from gradsense.machine.values import (
    DictValue,
    External,
    Function,
    Growing,
    Instance,
    LibraryMethod,
    ListValue,
    Optimizer,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from gradsense.machine.frames import Frame

# Builtins that only look at what they are given, or make something new of it.
_BUILTINS = frozenset(
    f"builtins.{name}"
    for name in """print len range enumerate zip int float str bool round abs min max sum any all isinstance issubclass
    format repr type id hash chr ord hex bin oct list tuple dict set frozenset sorted reversed hasattr input open
    divmod pow callable slice complex bytes map filter""".split()
)
# Parts of torch that do nothing to tensors.
_QUIET = ("torch.cuda.", "torch.mps.", "torch.backends.", "torch.random.", "torch.version.", "torch.profiler.")
_MODES = frozenset(("torch.no_grad", "torch.enable_grad", "torch.inference_mode", "torch.manual_seed", "torch.save"))
# Methods that change their tensor, its gradient or its graph, though their names do not say so.
_OF_TENSORS = frozenset("backward retain_grad register_hook register_post_accumulate_grad_hook __setitem__".split())
_READING = frozenset(
    """items values keys get copy index count __len__ union intersection difference symmetric_difference
    state_dict parameters named_parameters buffers named_buffers children modules named_children
    named_modules get_parameter get_submodule""".split()
)
# Objects of libraries that keep nothing of what they are given.
_SINKS = frozenset(("logger", "scheduler", "DataLoader", "TensorDataset", "Dataset"))
# Texts on which the shape of a loss hangs.
_REDUCTIONS = frozenset(("none", "mean", "sum", "batchmean"))
# Of a tuple so many parts are looked at, and of those in it, so deep.
MOST_PARTS = 8
DEEPEST = 3


class Arm:
    """A branch while it is run.

    Attributes:
        began: when: scopes that are newer are gone when it is over.
        kept: whether a variable was bound that outlives it.
        turns: how often what was done before it hung on values.
    """

    __slots__ = ("began", "code", "deeds", "kept", "turns")

    def __init__(self, began: int, code: int, deeds: int, turns: int) -> None:
        self.began = began
        self.code = code
        self.deeds = deeds
        self.kept = False
        self.turns = turns


class Trail:
    """The deeds of a path.

    Attributes:
        kept: whether deeds are noted.
        code: stands for all of them: another path with the same code did the same, in the same order.
        turns: how often what was done hung on values: loops, conditions that are known, calls of functions, tensors
            that were put somewhere.
    """

    __slots__ = ("_arms", "_deeds", "code", "turns")
    kept = True

    def __init__(self) -> None:
        self.code = 0
        self.turns = 0
        self._deeds = 0
        self._arms: list[Arm] = []

    def note(self, *deed: Hashable) -> None:
        """Something was done that may matter later."""
        self.code = hash((self.code, deed))
        self._deeds += 1

    def note_name(self, frame: Frame, name: str, value: Value) -> None:
        """A variable is about to be bound, which is gone with its scope."""
        for arm in reversed(self._arms):
            if frame.started >= arm.began:
                continue
            arm.kept = True
        before = frame.variables.get(name, 0)
        self.turns += isinstance(value, (Tensor, tuple))
        if any(map(_is_more_than_data, (value, before))) or any(map(_is_setting, (value, before))):
            self.code = hash((self.code, name, gist(value)))

    def note_attribute(self, name: str, value: Value, before: Value = 0) -> None:
        """An attribute is about to be set."""
        self._deeds += 1
        self.turns += isinstance(value, (Tensor, tuple))
        if not (_is_any_number(value) and _is_any_number(before)):
            self.code = hash((self.code, name, gist(value)))

    def note_items(self, what: str, where: int, values: Sequence[Value], before: Value = 0) -> None:
        """Values are about to be put into a container."""
        self._deeds += 1
        self.turns += any(isinstance(value, (Tensor, tuple)) for value in values)
        if any(map(_is_more_than_data, values)) or _is_more_than_data(before):
            self.code = hash((self.code, what, where, *map(gist, values)))

    def note_kept(self, tensor: Tensor, kind: str, name: str) -> None:
        """A tensor is about to take note of where it was put."""
        self._deeds += 1
        if _is_more_than_data(tensor):
            self.code = hash((self.code, kind, name, gist(tensor)))

    # ------------------------------------------------------------------ branches

    def begin(self, now: int) -> Arm:
        """A branch begins."""
        arm = Arm(now + 1, self.code, self._deeds, self.turns)
        self._arms.append(arm)
        return arm

    def end(self, arm: Arm) -> bool:
        """The branch is over: whether it did anything."""
        self._arms.pop()
        if arm.kept or self._deeds > arm.deeds:
            return True
        self.code = arm.code
        return False

    def set_aside(self) -> tuple[list[Arm], int, int, int]:
        """Something else is run in between: what there is so far."""
        state = (self._arms, self.code, self._deeds, self.turns)
        self._arms = []
        return state

    def take_up(self, state: tuple[list[Arm], int, int, int], *, done: bool) -> None:
        """That is over; it is forgotten unless something was done that matters."""
        self._arms = state[0]
        if not done:
            _, self.code, self._deeds, self.turns = state

    def fold(self, code: int, done: int) -> None:
        """Takes what was done since a code as one deed, as those take it that find it done."""
        self.code = hash((code, "done", done))


class NoTrail(Trail):
    """That of a path which is the only one of its unit: there is no other to compare it with."""

    __slots__ = ()
    kept = False

    def note(self, *deed: Hashable) -> None:
        """Notes nothing."""

    def note_name(self, frame: Frame, name: str, value: Value) -> None:
        """Notes nothing."""

    def note_attribute(self, name: str, value: Value, before: Value = 0) -> None:
        """Notes nothing."""

    def note_items(self, what: str, where: int, values: Sequence[Value], before: Value = 0) -> None:
        """Notes nothing."""

    def note_kept(self, tensor: Tensor, kind: str, name: str) -> None:
        """Notes nothing."""

    def end(self, arm: Arm) -> bool:
        """The branch is over, and may have done something."""
        self._arms.pop()
        return True


def is_harmless(function: Value, arguments: Sequence[Value], keywords: dict[str, Value]) -> bool:
    """Whether a call of a library leaves everything as it was, apart from what is noted by itself: nodes and writes."""
    if isinstance(function, External):
        return _is_harmless_function(function.name, keywords)
    if not isinstance(function, LibraryMethod):
        return False
    name, receiver = function.name, function.receiver
    if isinstance(receiver, Tensor):
        return not name.endswith("_") and name not in _OF_TENSORS and "out" not in keywords
    if isinstance(receiver, (ListValue, DictValue, Optimizer)):
        return name in _READING
    if isinstance(receiver, Instance):
        return name in _READING if receiver.is_module else receiver.kind in _SINKS
    return isinstance(receiver, (str, int, float, tuple, Unknown))


def _is_harmless_function(name: str, keywords: dict[str, Value]) -> bool:
    if name.startswith("builtins."):
        return name in _BUILTINS
    if not name.startswith("torch."):
        # Functions that they are handed, tensors that they may keep and optimizers are noted where they are met.
        return True
    if name in _MODES or name.startswith(_QUIET):
        return True
    plain = name.count(".") == 1 or name.startswith("torch.nn.functional.")
    return plain and not name.endswith("_") and not name.startswith("torch.set_") and "out" not in keywords


def _is_any_number(value: Value) -> bool:
    """Whether it is a number of which nothing is known, or that such a one began or will begin with."""
    if isinstance(value, Unknown):
        return value.number
    return isinstance(value, (float, Growing)) or (type(value) is int and value == 0)


def _is_more_than_data(value: Value, depth: int = 0) -> bool:
    """Whether more can hang on it than a number, a text, or a tensor without a graph: a flag, a graph, an object."""
    if isinstance(value, Tensor):
        return value.node is not None or value.needs is not NO or value.parameter
    if isinstance(value, Unknown):
        return not value.data
    if isinstance(value, tuple):
        return depth >= DEEPEST or any(_is_more_than_data(part, depth + 1) for part in value[:MOST_PARTS])
    return value is None or isinstance(value, bool) or not isinstance(value, (int, float, str, range, slice))


def _is_setting(value: Value) -> bool:
    """Whether it is a number or a text that an operation may be told what to do with; counts begin with 0."""
    return (type(value) is int and value != 0) or (isinstance(value, str) and value in _REDUCTIONS)


def gist(value: Value, depth: int = 0) -> Hashable:
    """What of a value can matter to a path that has it in place of another."""
    kind = type(value)
    if isinstance(value, Tensor):
        node = value.node
        return (kind, node.index if node is not None else -1, value.needs, value.leaf, value.parameter)
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, (bool, int)):
        return (kind, value)
    if isinstance(value, (ListValue, DictValue)):
        return (kind, len(value.items))
    if isinstance(value, tuple):
        return (
            (kind, *(gist(part, depth + 1) for part in value[:MOST_PARTS])) if depth < DEEPEST else (kind, len(value))
        )
    if isinstance(value, Function):
        return id(value.node)
    if isinstance(value, Unknown):
        return (kind, value.number, value.data)
    if isinstance(value, Instance):
        return (kind, value.kind, id(value.cls.node) if value.cls is not None else 0)
    return (kind, getattr(value, "name", None))
