"""A program while it is typed: its tree is brought up to date in place, and what did not change stays the same object.

Whoever holds on to a node of the tree can go on using it: it moves with its line, and it is only replaced where the
program says something else now.
"""

from __future__ import annotations

import ast
import weakref
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from gradsense.syntax.depth import limit_depth
from gradsense.syntax.draft import attempt
from gradsense.syntax.grafting import (
    Grafting,
    Stretch,
    fields_of,
    first_line_of,
    last_line_of,
    move,
    placed_nodes,
    shift,
    shift_all,
)
from gradsense.syntax.parse import ParsedModule, parse
from gradsense.syntax.source import Cell, Source
from gradsense.syntax.spans import Problem

Definition = ast.FunctionDef | ast.AsyncFunctionDef
# A longer text is read as a whole.
MOST = 5_000_000


@dataclass
class Edit:
    """What a change of the text means to the tree.

    Attributes:
        functions: the outermost functions and methods whose bodies changed; they are the same objects as before.
        outside: whether anything outside of functions changed: definitions, classes, the module level.
        stretch: the lines that changed.
        again: nothing was kept; the module is another object.
        first_cell: the position of the first cell of a notebook that may say something else; None for a file.
    """

    stretch: Stretch
    functions: set[Definition] = field(default_factory=set)
    outside: bool = False
    again: bool = False
    first_cell: int | None = None

    @property
    def nothing(self) -> bool:
        """Whether the program still says the same."""
        return not (self.functions or self.outside or self.again)

    def join(self, other: Edit) -> None:
        """Adds what reading the same text once more has shown."""
        self.functions |= other.functions
        self.outside = self.outside or other.outside
        self.again = self.again or other.again


class LiveModule:
    """A source whose text changes.

    Args:
        source: the text at first.

    Attributes:
        module: the tree as it is; its source is changed in place as well.
        broken: the functions that hold something which could not be read.
        broken_outside: whether something outside of functions could not be read.
    """

    def __init__(self, source: Source) -> None:
        self._take(source)

    @property
    def source(self) -> Source:
        """The text as it is."""
        return self.module.source

    @property
    def is_broken(self) -> bool:
        """Whether a part of the text could not be read."""
        return bool(self.broken or self.broken_outside)

    @property
    def is_unread(self) -> bool:
        """Whether something was left out that only a look at the whole text can judge."""
        return bool(self._unread)

    def update(self, source: Source, *, thorough: bool = False) -> Edit:
        """Takes the text as it is now.

        Args:
            source: the new text of the same file.
            thorough: where the text is broken, see whether all of it together is not.
        """
        before = self.source
        stretch = Stretch.between(before.lines, source.lines)
        if self._rigid or not _is_plain(source):
            if stretch.is_empty and before.cells == source.cells:
                return Edit(stretch)
            edit = self._update_cells(source, stretch)
            if edit is None:
                self._take(source)
            return edit or Edit(stretch, again=True)
        edit = Edit(stretch)
        if not stretch.is_empty:
            part = self._update_part(source, stretch) if self._exact else None
            edit = part or self._update_all(source, stretch)
        if thorough and self._unread and self._exact and isinstance(attempt(source.text), ast.Module):
            # Two broken places can mend each other, such as the two ends of one long string.
            edit.join(self._update_all(source, Stretch.between(source.lines, source.lines)))
        return edit

    # ------------------------------------------------------------------ ways to read

    def _take(self, source: Source) -> None:
        """Reads everything, and keeps nothing."""
        self.module = parse(source)
        # Nodes that are in the tree no more, while findings hold on to them.
        self._gone: list[weakref.ref[ast.AST]] = []
        self._places: dict[ast.stmt, list[dict[str, int]]] = {}
        # What can be changed in part: a text without cells, read as Python reads it.
        whole = _is_plain(source) and isinstance(attempt(source.text), ast.Module) if self.module.problems else True
        self._rigid = not _is_plain(source) or (whole and bool(self.module.problems))
        # Whether all outside of `_unread` is what reading the whole text would give.
        self._exact = whole
        self._unread: list[tuple[int, int]] = []
        self._find_broken()

    def _update_cells(self, source: Source, stretch: Stretch) -> Edit | None:
        """Reads a notebook, and keeps the nodes of what says the same; None where it has to begin anew.

        What is half written keeps its findings only in the cell that is being edited: one that was broken before may
        stay so for ever.
        """
        before = self.source.cells
        if not (before and source.cells):
            return None
        fresh = parse(source)
        cell = source.cell_of(min(stretch.start + 1, len(source.lines)))
        for problem, line in ((p, p.line) for p in fresh.problems):
            if cell is None or source.cell_of(line) != cell or problem.last_line > cell.last_line:
                return None
        for old in self.module.problems:
            if cell is None or source.cell_of(stretch.moved(old.line)) != cell:
                return None
        unsure = frozenset(self.source.rewrites) | _lines_of(self.module.problems)
        fresh_unsure = frozenset(source.rewrites) | _lines_of(fresh.problems)
        grafting = Grafting(self.source.lines, source.lines, stretch, unsure, fresh_unsure)
        body = self.module.tree.body
        body[:] = grafting.merge(list(body), fresh.tree.body)
        edit = self._settle(grafting, source, fresh.problems)
        if _are_moved(before, source.cells, stretch):
            edit.first_cell = 0 if cell is None else source.cells.index(cell)
        else:
            # Which cell a statement is in counts as well.
            edit.outside, edit.first_cell = True, 0
        return edit

    def _update_all(self, source: Source, stretch: Stretch) -> Edit:
        """Reads everything, and keeps the nodes of what says the same."""
        fresh = parse(source)
        tree = attempt(source.text) if fresh.problems else fresh.tree
        self._exact = isinstance(tree, ast.Module)
        if self._exact and fresh.problems:
            self._take(source)
            return Edit(stretch, again=True)
        unsure = _lines_in(self._unread) | _lines_of(self.module.problems)
        grafting = Grafting(self.source.lines, source.lines, stretch, unsure, _lines_of(fresh.problems))
        body = self.module.tree.body
        body[:] = grafting.merge(list(body), fresh.tree.body)
        self._unread = []
        self._places.clear()
        return self._settle(grafting, source, fresh.problems)

    def _update_part(self, source: Source, stretch: Stretch) -> Edit | None:
        """Reads the statements around a change; None where it takes the whole text to be certain."""
        first, end = self._around(stretch)
        count = len(self.module.tree.body)
        # What is new may belong to what comes next, such as a decorator.
        for part in [_Part(first, end), _Part(first, end + 1)] if end < count else [_Part(first, end)]:
            lines = self._place(part, source, stretch)
            if lines is None:
                return None
            tree = attempt("\n".join(lines))
            if isinstance(tree, ast.Module):
                shift(tree, part.start - 1)
                return None if limit_depth(tree, source.lines) else self._graft(source, stretch, part, tree, ())
        part = _Part(first, end)
        lines = self._place(part, source, stretch) or []
        read = parse(Source(source.path, "\n".join(lines)))
        shift(read.tree, part.start - 1)
        return self._graft(source, stretch, part, read.tree, _down(read.problems, part.start - 1))

    def _around(self, stretch: Stretch) -> tuple[int, int]:
        """Which statements of the module to read again: the one before a change as well, which may go on there."""
        body = self.module.tree.body
        starts = [first_line_of(statement) for statement in body]
        low, high = stretch.start, stretch.old_end
        while True:
            first = max(bisect_right(starts, low) - 1, 0)
            end = max(bisect_right(starts, high), min(first + 1, len(body)))
            while first > 0 and last_line_of(body[first - 1]) >= starts[first]:
                first -= 1
            while 0 < end < len(body) and last_line_of(body[end - 1]) >= starts[end]:
                end += 1
            above = starts[first] if first else 1
            below = starts[end] - 1 if end < len(body) else len(self.source.lines)
            near = [(a, b) for a, b in self._unread if a <= below + 1 and b >= above - 1]
            wider = min([low, *(a for a, _ in near)]), max([high, *(b for _, b in near)])
            if wider == (low, high):
                return first, end
            low, high = wider

    def _place(self, part: _Part, source: Source, stretch: Stretch) -> list[str] | None:
        """The new lines of some statements and what is between them; None where a line before or in it goes on."""
        body, lines = self.module.tree.body, source.lines
        part.start = first_line_of(body[part.first]) if part.first else 1
        old_last = first_line_of(body[part.end]) - 1 if part.end < len(body) else len(self.source.lines)
        part.last = old_last + stretch.delta
        goes_on = (lines[part.start - 2] if part.start > 1 else "", lines[part.last - 1] if part.last else "")
        if any(line.rstrip().endswith("\\") for line in goes_on):
            return None
        return lines[part.start - 1 : part.last]

    def _graft(
        self, source: Source, stretch: Stretch, part: _Part, tree: ast.Module, problems: Sequence[Problem]
    ) -> Edit:
        unsure = _lines_in(self._unread) | _lines_of(self.module.problems)
        grafting = Grafting(self.source.lines, source.lines, stretch, unsure, _lines_of(problems))
        body = self.module.tree.body
        kept = body[part.end :]
        merged = grafting.merge(body[part.first : part.end], tree.body)
        self._shift(kept, stretch.delta)
        for statement in body[part.first : part.end]:
            self._places.pop(statement, None)
        body[part.first :] = merged + kept
        old_last = part.last - stretch.delta
        outside = [(a, b) for a, b in self._unread if b < part.start or a > old_last]
        self._unread = [(stretch.moved(a), stretch.moved(b)) for a, b in outside]
        if problems:
            self._unread.append((part.start, part.last))
        others = [p for p in self.module.problems if p.last_line < part.start or p.line > old_last]
        moved_ones = [replace(p, line=stretch.moved(p.line), end_line=stretch.moved(p.last_line)) for p in others]
        return self._settle(grafting, source, tuple(sorted([*moved_ones, *problems], key=lambda p: p.line)))

    def _shift(self, statements: Sequence[ast.stmt], delta: int) -> None:
        """Moves whole statements; where their nodes are is looked up once."""
        if not delta:
            return
        for statement in statements:
            places = self._places.get(statement)
            if places is None:
                places = [fields for fields in fields_of(statement) if "lineno" in fields]
                self._places[statement] = places
            shift_all(places, delta)

    def _settle(self, grafting: Grafting, source: Source, problems: tuple[Problem, ...]) -> Edit:
        self._gone += [weakref.ref(node) for statement in grafting.gone for node in placed_nodes(statement)]
        grafting.gone.clear()
        held = [(ref, node) for ref in self._gone if (node := ref()) is not None]
        for _, node in held:
            move(node, grafting.stretch)
        self._gone = [ref for ref, _ in held]
        before = (self.broken, self.broken_outside)
        self.source.become(source)
        self.module = ParsedModule(self.source, self.module.tree, problems)
        self._find_broken()
        edit = Edit(grafting.stretch, grafting.functions, grafting.outside)
        # What was broken and is not any more says something else now, if only that it can be believed.
        edit.functions |= before[0] ^ self.broken
        edit.outside = edit.outside or before[1] != self.broken_outside
        return edit

    def forget_gone(self) -> None:
        """Stops moving nodes that are in the tree no more: nobody holds on to one."""
        self._gone.clear()

    def _find_broken(self) -> None:
        self.broken: set[Definition] = set()
        self.broken_outside = False
        if (self._rigid and not self.source.cells) or not self.module.problems:
            return
        functions = list(outermost_functions(self.module.tree.body))
        for problem in self.module.problems:
            around = [f for f in functions if first_line_of(f) <= problem.last_line and last_line_of(f) >= problem.line]
            self.broken.update(around)
            self.broken_outside = self.broken_outside or not around


@dataclass
class _Part:
    """Some statements of a module, and their lines in the new text."""

    first: int
    end: int
    start: int = 0
    last: int = 0


def outermost_functions(body: Iterable[ast.stmt]) -> Iterator[Definition]:
    """The functions of some statements, and the methods of their classes; not what is defined within them."""
    for statement in body:
        if isinstance(statement, Definition):
            yield statement
        else:
            for name in ("body", "orelse", "finalbody"):
                yield from outermost_functions(getattr(statement, name, None) or ())
            for handler in getattr(statement, "handlers", ()):
                yield from outermost_functions(handler.body)
            for case in getattr(statement, "cases", ()):
                yield from outermost_functions(case.body)


def _are_moved(before: Sequence[Cell], after: Sequence[Cell], stretch: Stretch) -> bool:
    """Whether cells begin where they began, moved by an edit."""
    return len(before) == len(after) and all(
        stretch.moved(old.first_line) == new.first_line for old, new in zip(before, after, strict=True)
    )


def _is_plain(source: Source) -> bool:
    """Whether lines of the source can be read apart from others."""
    return not (source.cells or source.rewrites or source.problems or len(source.text) > MOST) and not (
        "\0" in source.text or "\ufeff" in source.text
    )


def _lines_in(stretches: Iterable[tuple[int, int]]) -> frozenset[int]:
    return frozenset(line for first, last in stretches for line in range(first, last + 1))


def _lines_of(problems: Iterable[Problem]) -> frozenset[int]:
    return _lines_in((problem.line, problem.last_line) for problem in problems)


def _down(problems: Iterable[Problem], lines: int) -> list[Problem]:
    return [replace(p, line=p.line + lines, end_line=p.last_line + lines) for p in problems]
