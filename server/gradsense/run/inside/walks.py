"""Stands in front of autograd's engine: reads each graph before it is walked, and says why a walk failed."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch.autograd.variable import Variable

from .books import MARK, Books, Note, note_of
from .graph import Graph, broken_fields, memory_of, read, roots_of
from .not_a_number import NanWatch
from .places import Captured, capture
from .silent import Silent
from .writes import Writes

ANOMALY = ".*(Error detected in|No forward pass information|Previous calculation was induced)"

_variable: Any = Variable
FAILURE = "__gradsense_failure__"  # an exception's attribute


class Walk:
    """A walk of the engine.

    Attributes:
        tick: when it began.
        stack: the program's stack.
        graph: what it could reach, until it ends.
        frees: whether it frees what it walks.
        adds: whether it puts gradients into `.grad`.
        create: whether it builds a graph of its own.
        partial: whether it goes to some inputs only.
        root: the value that it began from, where that is a single number.
        ids: the nodes that it could reach.
    """

    __slots__ = ("adds", "create", "frees", "graph", "ids", "partial", "root", "stack", "tick")

    def __init__(self, tick: int, stack: Captured, graph: Graph) -> None:
        self.tick, self.stack, self.graph = tick, stack, graph
        self.frees = self.adds = True
        self.partial = self.create = False
        self.root: float | None = None
        self.ids: frozenset[int] = frozenset(graph.nodes)


class Failure:
    """A walk that failed.

    Attributes:
        walk: the walk.
        node: the name of the node where it failed, if torch said which.
        note: that node's note.
        memory: the storages of what it had saved and was written since, with the versions they have now.
    """

    def __init__(self, walk: Walk, name: str, note: Note | None, memory: list[tuple[int, int]]) -> None:
        self.walk, self.name, self.note, self.memory = walk, name, note, memory


class Engine:
    """The engine, with a look before and after each walk. Everything else is the real one's."""

    def __init__(self, real: Any, books: Books, mode: Writes, notes: list[str]) -> None:
        self.real, self.books, self.mode, self.notes = real, books, mode, notes
        self.silent = Silent(books)
        self.began: Callable[[Walk], None] = lambda walk: None
        self.check_nan = True
        self.paused = False
        self.amp: dict[str, bool] = {}
        self.settle: Callable[[], None] = lambda: None
        self.ended: Callable[[Walk], None] = lambda walk: None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    def run_backward(self, tensors: Any, *rest: Any, **named: Any) -> Any:
        """Walks, as autograd asks."""
        if self.paused or _is_transformed():
            return self.real.run_backward(tensors, *rest, **named)
        walk = self._begin(tensors, rest, named)
        said: list[str] = []
        show = warnings.showwarning

        def listen(message: Any, category: Any, filename: str, lineno: int, *more: Any, **other: Any) -> None:
            text = str(message)
            if "Error detected in" in text or MARK.search(text) or "No forward pass information" in text:
                said.append(text)
            else:
                show(message, category, filename, lineno, *more, **other)

        off = self._leave_mode(walk.graph)
        _put_filter_first()
        warnings.showwarning = listen
        finished = False
        nan = NanWatch(walk.graph, walk.create) if self.check_nan and not self.amp.get("scaled") else None
        try:
            result = self.real.run_backward(tensors, *rest, **named)
            if nan is not None:
                self._refuse_nan(walk, nan, result)
            finished = True
            return result
        except BaseException as error:
            self._failed(walk, error, said)
            raise
        finally:
            warnings.showwarning = show
            if nan is not None:
                nan.close()
            if off:
                self.mode.on()
            if walk.frees and finished:
                self._freed(walk)
            self.ended(walk)
            walk.graph = Graph()

    def _begin(self, tensors: Any, rest: tuple[Any, ...], named: dict[str, Any]) -> Walk:
        self.settle()
        tensors = tensors if isinstance(tensors, (list, tuple)) else (tensors,)
        keep, create, goals = ((*rest, None, None, None, None)[1:4]) if rest else (None, None, None)
        goals = named.get("inputs", goals)
        try:
            graph = read(roots_of(tensors))
        except Exception as error:  # whatever a graph of some extension may answer, the program goes on
            self._note(f"a graph could not be read: {type(error).__name__}: {error}")
            graph = Graph()
        if graph.unread:
            self._note("what was saved under saved-tensor hooks (checkpoints, say) was not looked at")
        walk = Walk(self.books.tick(), capture(sys._getframe(2), self.books.base), graph)
        walk.create = bool(named.get("create_graph", create))
        walk.frees = not named.get("keep_graph", keep)
        walk.adds = bool(named.get("accumulate_grad", False))
        walk.partial = bool(goals)
        root = tensors[0] if len(tensors) == 1 else None
        if isinstance(root, torch.Tensor) and root.numel() == 1 and walk.adds and not root.is_complex():
            walk.root = float(root.detach())
        self.silent.look(walk.graph, goals, walk.stack)
        self.began(walk)
        return walk

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def _refuse_nan(self, walk: Walk, nan: NanWatch, result: Any) -> None:
        found = nan.find(result)
        if found is not None:
            node, message = found
            error = RuntimeError(message)
            setattr(error, FAILURE, Failure(walk, node.name(), note_of(node), []))
            raise error

    def _leave_mode(self, graph: Graph) -> bool:
        """Gradients are of no interest to the books, unless Python code of the user's runs amid the walk."""
        if graph.custom or graph.unread or not self.mode.is_on():
            return False
        self.mode.off()
        return True

    def _freed(self, walk: Walk) -> None:
        for note in walk.graph.notes:
            if note.freed_by is None or (note.partly and not walk.partial):
                note.freed_by, note.partly = walk.stack, walk.partial

    def _failed(self, walk: Walk, error: BaseException, said: list[str]) -> None:
        if hasattr(error, FAILURE):  # an inner walk has said what there is to say
            return
        ticks = [int(found.group(1)) for text in said if (found := MARK.search(text))]
        node = walk.graph.node_at(ticks[0]) if ticks else None
        name = next((text.split("Error detected in ")[1].split(".")[0] for text in said if "detected in" in text), "")
        memory: list[tuple[int, int]] = []
        if node is not None:
            for _, raw in broken_fields(node):
                where = memory_of(raw)
                if where is not None:
                    memory.append(where)
        note = note_of(node) if node is not None else None
        setattr(error, FAILURE, Failure(walk, name, note, memory))


def failure_of(error: BaseException | None) -> Failure | None:
    """The failed walk behind an exception, or behind one that it was raised from."""
    while error is not None:
        found: Failure | None = getattr(error, FAILURE, None)
        if found is not None:
            return found
        error = error.__cause__ or error.__context__
    return None


def install(engine: Engine) -> None:
    """Puts the engine in the real one's place."""
    _variable._execution_engine = engine


def remove(engine: Engine) -> None:
    """Puts the real engine back."""
    if _variable._execution_engine is engine:
        _variable._execution_engine = engine.real


def real_engine() -> Any:
    """The engine in use."""
    return _variable._execution_engine


def forget_filter() -> None:
    """Takes the filter of anomaly mode's warnings away again."""
    warnings.filters[:] = [item for item in warnings.filters if getattr(item[1], "pattern", item[1]) != ANOMALY]  # type: ignore[index]


def _is_transformed() -> bool:
    """Whether `torch.func` is at work: its tensors are no place to look at values, and each level has its own graph."""
    functorch: Any = torch._C._functorch
    return functorch.peek_interpreter_stack() is not None


def _put_filter_first() -> None:
    """Sees to it that anomaly mode's warning is not filtered, whatever filters the program has set."""
    first = warnings.filters[0] if warnings.filters else None
    pattern = first[1] if first else None
    if first is None or first[0] != "always" or getattr(pattern, "pattern", pattern) != ANOMALY:
        warnings.filterwarnings("always", message=ANOMALY, category=UserWarning)
