"""Putting what is new into a tree that stays: nodes that say the same as before are kept, and moved to their lines."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

Definition = ast.FunctionDef | ast.AsyncFunctionDef
_BLOCKS = ("body", "orelse", "finalbody")
_POSITION = ("lineno", "end_lineno", "col_offset", "end_col_offset")


@dataclass(frozen=True, slots=True)
class Stretch:
    """The lines between those that two texts begin and end with alike.

    Args:
        start: how many lines come before.
        old_end: how many lines of the old text come before what follows.
        new_end: the same of the new text.
    """

    start: int
    old_end: int
    new_end: int

    @classmethod
    def between(cls, old: Sequence[str], new: Sequence[str]) -> Stretch:
        """What differs between two texts, given as lines."""
        shorter = min(len(old), len(new))
        start = _alike(shorter, lambda begin, end: old[begin:end] == new[begin:end])
        both = (len(old), len(new))
        tail = _alike(
            shorter - start,
            lambda begin, end: old[both[0] - end : both[0] - begin] == new[both[1] - end : both[1] - begin],
        )
        return cls(start, len(old) - tail, len(new) - tail)

    @property
    def is_empty(self) -> bool:
        """Whether both texts are the same."""
        return self.start == self.old_end == self.new_end

    @property
    def delta(self) -> int:
        """How many lines what follows moves down."""
        return self.new_end - self.old_end

    def moved(self, line: int) -> int:
        """Where a line of the old text is in the new one, from 1; for one that is gone, where it was."""
        if line <= self.start:
            return line
        if line > self.old_end:
            return line + self.delta
        return max(1, min(line, self.new_end))


def _alike(most: int, same_between: Callable[[int, int], bool]) -> int:
    """How many of two rows of things are the same, from the first on; long stretches are compared at once."""
    done, step = 0, 64
    while done < most:
        step = min(step, most - done)
        if same_between(done, done + step):
            done += step
            step *= 2
        elif step == 1:
            break
        else:
            step //= 2
    return done


@dataclass
class Grafting:
    """Makes an old tree say what a new one says.

    Args:
        old_lines, new_lines: the texts of the two trees.
        stretch: what differs between them.
        old_unsure, new_unsure: lines whose text does not say what is in the tree, since something was left out there.

    Attributes:
        functions: the outermost functions and methods whose bodies changed; they keep their nodes.
        outside: whether something outside of functions changed.
        gone: old statements that are in the tree no more.
    """

    old_lines: Sequence[str]
    new_lines: Sequence[str]
    stretch: Stretch
    old_unsure: frozenset[int] = frozenset()
    new_unsure: frozenset[int] = frozenset()
    functions: set[Definition] = field(default_factory=set)
    outside: bool = False
    gone: list[ast.stmt] = field(default_factory=list)
    _inside: Definition | None = None
    _within: int = 0

    def merge(self, old: list[ast.stmt], new: list[ast.stmt]) -> list[ast.stmt]:
        """The statements of a new block, with those of the old one in place of what is the same."""
        shorter = min(len(old), len(new))
        start = 0
        while start < shorter and self._is_same_text(old[start], new[start]):
            start += 1
        tail = 0
        while tail < shorter - start and self._is_same_text(old[-1 - tail], new[-1 - tail]):
            tail += 1
        head = [self._kept(a, b) for a, b in zip(old[:start], new[:start], strict=True)]
        end = [self._kept(a, b) for a, b in zip(old[len(old) - tail :], new[len(new) - tail :], strict=True)]
        return head + self._middle(old[start : len(old) - tail], new[start : len(new) - tail]) + end

    def _middle(self, old: list[ast.stmt], new: list[ast.stmt]) -> list[ast.stmt]:
        """What stands for statements whose text changed: those at the same place and of the same kind are compared."""
        if len(old) != len(new):
            self._note()
        used = 0
        merged: list[ast.stmt] = []
        for statement in new:
            partner = self._partner(old, used, statement)
            if partner is None:
                self._note()
                merged.append(statement)
                continue
            self.gone += old[used:partner]
            used = partner + 1
            merged.append(self._merged(old[partner], statement))
        self.gone += old[used:]
        return merged

    def _partner(self, old: list[ast.stmt], used: int, new: ast.stmt) -> int | None:
        """Which of the old statements from `used` on a new one goes on from."""
        name = getattr(new, "name", None)
        for index in range(used, len(old)):
            other = old[index]
            alike = type(other) is type(new) and getattr(other, "name", None) == name
            if alike and (name is not None or index == used or self._is_same_text(other, new)):
                return index
        return None

    def _merged(self, old: ast.stmt, new: ast.stmt) -> ast.stmt:
        if self._is_same_text(old, new):
            return self._kept(old, new)
        if any(getattr(new, name, None) for name in _BLOCKS) or isinstance(new, ast.Try | ast.Match):
            return self._merged_block(old, new)
        layout = _Layout()
        if not same(old, new, layout):
            if self._within and _is_text(old) and _is_text(new):
                # A docstring: nothing comes of it.
                _take_text(old, new)
                return old
            self._replaced(old)
            return new
        if not layout.is_kept:
            self._note()
        _take_positions(old, new)
        return old

    def _merged_block(self, old: ast.stmt, new: ast.stmt) -> ast.stmt:
        """A statement with blocks is kept where only what is in the blocks changed."""
        layout = _Layout()
        if isinstance(new, ast.Match) or not _same_header(old, new, layout):
            if isinstance(new, ast.Match) and same(old, new, whole := _Layout()) and whole.is_kept:
                _take_positions(old, new)
                return old
            self._replaced(old)
            return new
        outer = self._inside
        self._within += 1
        if isinstance(old, Definition) and outer is None:
            self._inside = old
        if not layout.is_kept:
            self._note()
        _take_header_positions(old, new)
        for name in _BLOCKS:
            block = getattr(old, name, None)
            if isinstance(block, list):
                block[:] = self.merge(list(block), getattr(new, name))
        for one, other in zip(getattr(old, "handlers", ()), getattr(new, "handlers", ()), strict=True):
            one.body[:] = self.merge(list(one.body), other.body)
        self._inside = outer
        self._within -= 1
        return old

    def _replaced(self, old: ast.stmt) -> None:
        self.gone.append(old)
        self._note()

    def _note(self) -> None:
        if self._inside is None:
            self.outside = True
        else:
            self.functions.add(self._inside)

    def _is_same_text(self, old: ast.stmt, new: ast.stmt) -> bool:
        first, last = first_line_of(old), last_line_of(old)
        new_first, new_last = first_line_of(new), last_line_of(new)
        if last - first != new_last - new_first or type(old) is not type(new):
            return False
        if old.col_offset != new.col_offset or old.end_col_offset != new.end_col_offset:
            return False
        if self.old_unsure and not self.old_unsure.isdisjoint(range(first, last + 1)):
            return False
        if self.new_unsure and not self.new_unsure.isdisjoint(range(new_first, new_last + 1)):
            return False
        return self.old_lines[first - 1 : last] == self.new_lines[new_first - 1 : new_last]

    def _kept(self, old: ast.stmt, new: ast.stmt) -> ast.stmt:
        shift(old, first_line_of(new) - first_line_of(old))
        return old


def first_line_of(statement: ast.stmt) -> int:
    """The line that a statement starts on, its decorators included."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(d.lineno for d in decorators)])


def last_line_of(statement: ast.stmt) -> int:
    """The line that a statement ends on."""
    return statement.end_lineno or statement.lineno


def shift(tree: ast.AST, delta: int) -> None:
    """Moves a node and all in it down by some lines."""
    if delta:
        shift_all((fields for fields in fields_of(tree) if "lineno" in fields), delta)


def shift_all(places: Iterable[dict[str, int]], delta: int) -> None:
    """Moves nodes, given as what they hold, down by some lines."""
    for fields in places:
        fields["lineno"] += delta
        fields["end_lineno"] += delta


def move(node: ast.AST, stretch: Stretch) -> None:
    """Moves a node that is in the tree no more to where its lines are after an edit."""
    fields = vars(node)
    fields["lineno"] = stretch.moved(fields["lineno"])
    fields["end_lineno"] = stretch.moved(fields["end_lineno"])


def placed_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """A node and all in it that stand at places of their own."""
    return (node for node in ast.walk(tree) if hasattr(node, "lineno"))


def fields_of(tree: ast.AST) -> Iterator[dict[str, int]]:
    """What a node and all nodes below it hold."""
    todo: list[object] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.AST):
            fields = vars(node)
            yield fields
            for value in fields.values():
                if type(value) is list:
                    todo += value
                elif isinstance(value, ast.AST):
                    todo.append(value)


class _Layout:
    """Whether the nodes of two trees stand to each other as before: all moved by the same number of lines."""

    def __init__(self) -> None:
        self.is_kept = True
        self._delta: int | None = None

    def compare(self, old: ast.AST, new: ast.AST, *, with_end: bool = True) -> None:
        """Takes the places of two nodes into account."""
        if not hasattr(new, "lineno") or not self.is_kept:
            return
        one, other = vars(old), vars(new)
        delta = other["lineno"] - one["lineno"]
        if self._delta is None:
            self._delta = delta
        same_end = not with_end or (
            other["end_lineno"] - one["end_lineno"] == delta and one["end_col_offset"] == other["end_col_offset"]
        )
        self.is_kept = self._delta == delta and one["col_offset"] == other["col_offset"] and same_end


def same(old: object, new: object, layout: _Layout) -> bool:
    """Whether two trees say the same, wherever they stand."""
    if type(old) is not type(new):
        return False
    if isinstance(old, ast.AST) and isinstance(new, ast.AST):
        layout.compare(old, new)
        return all(same(getattr(old, name, None), getattr(new, name, None), layout) for name in old._fields)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(same(a, b, layout) for a, b in zip(old, new, strict=True))
    return repr(old) == repr(new)


def _same_header(old: ast.AST, new: ast.AST, layout: _Layout) -> bool:
    """Whether two statements say the same apart from their blocks."""
    if type(old) is not type(new):
        return False
    layout.compare(old, new, with_end=False)
    for name in old._fields:
        one, other = getattr(old, name, None), getattr(new, name, None)
        if name in _BLOCKS and isinstance(one, list):
            continue
        if name == "handlers":
            ours, theirs = _nodes(one), _nodes(other)
            if len(ours) != len(theirs):
                return False
            if not all(_same_header(a, b, _Layout()) for a, b in zip(ours, theirs, strict=True)):
                return False
        elif not same(one, other, _Layout() if name == "decorator_list" else layout):
            return False
    return True


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _take_text(old: ast.stmt, new: ast.stmt) -> None:
    assert isinstance(old, ast.Expr) and isinstance(new, ast.Expr)
    _take_positions(old, new)
    assert isinstance(old.value, ast.Constant) and isinstance(new.value, ast.Constant)
    old.value.value = new.value.value


def _take_positions(old: ast.AST, new: ast.AST) -> None:
    for one, other in zip(fields_of(old), fields_of(new), strict=True):
        _take(one, other)


def _take_header_positions(old: ast.AST, new: ast.AST) -> None:
    _take(vars(old), vars(new))
    for name in old._fields:
        one, other = getattr(old, name, None), getattr(new, name, None)
        if name in _BLOCKS and isinstance(one, list):
            continue
        if name == "handlers":
            for a, b in zip(_nodes(one), _nodes(other), strict=True):
                _take_header_positions(a, b)
        else:
            for a, b in zip(_nodes(one), _nodes(other), strict=True):
                _take_positions(a, b)


def _nodes(value: object) -> list[ast.AST]:
    if isinstance(value, list):
        return [part for part in value if isinstance(part, ast.AST)]
    return [value] if isinstance(value, ast.AST) else []


def _take(old: dict[str, int], new: dict[str, int]) -> None:
    for name in _POSITION:
        if name in new:
            old[name] = new[name]
