"""Reading a program that Python's parser refuses: find the statements that are wrong and put stand-ins there."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from gradsense.syntax import dialects, headers
from gradsense.syntax.blocks import Clause, Statement, statements
from gradsense.syntax.draft import Draft, Failure, attempt
from gradsense.syntax.scanner import Unit, indent_width, scan, without_comment
from gradsense.syntax.source import UNKNOWN
from gradsense.syntax.spans import Problem

# CPython refuses indentation deeper than 100.
_MAX_DEPTH = 90
# Longer `elif` chains overflow CPython's parser or its tree.
_MAX_CLAUSES = 120
# How many errors are looked for by their line alone before each statement is tested.
_QUICK_ROUNDS = 3
_MAX_BROKEN = 30
_LAST_ROUNDS = 4
_FIRST_GROUP = 32

_PLAIN = "if 1:"
_MATCH = "match 1:"
_TARGETS = re.compile(
    r"(?P<targets>\(?[^\W\d][\w.]*(?:\[[\w'\".]*\])?(?:[ \t]*,[ \t]*\*?[^\W\d][\w.]*)*\)?)"
    r"[ \t]*(?::(?!=)[^=]*)?(?:[-+*/%@&|^]|//|\*\*|<<|>>)?=(?!=)"
)
_RETURN = re.compile(r"return\b")
_EARLIER_LINE = re.compile(r"on line (\d+)$")


def recover(draft: Draft, failure: Failure, stops: Collection[int] = ()) -> ast.Module:
    """The tree of what can be read of `draft`, whose lines the parser refused with `failure`.

    The draft gets stand-ins and problems for the rest. No statement crosses a line whose index is in `stops`. The
    number of characters parsed is bounded by a multiple of the text's length.
    """
    return _Recovery(draft, stops).run(failure)


class _Failed(NamedTuple):
    failure: Failure
    line: int


class _Recovery:
    def __init__(self, draft: Draft, stops: Collection[int]) -> None:
        self._draft = draft
        self._stops = sorted(stops)
        lines = draft.lines
        # No Python statement starts so, and what follows on the line may hold any quote or bracket.
        commands = {index: index for index, line in enumerate(lines) if line.lstrip(" \t")[:1] in ("%", "!", "?")}
        self._units = scan(lines, stops, commands).units
        self._firsts = [unit.first for unit in self._units]
        # Characters that may be parsed while descending into what is wrong, and as many again for testing the rest.
        self._allowance = 4_000_000 + 8 * sum(map(len, lines))
        self._budget = self._allowance
        self._python2: list[int] = []
        self._moved = False
        self._gave_up = False

    def run(self, failure: Failure) -> ast.Module:
        top = self._top_level()
        tree = self._quick(top, failure)
        if not isinstance(tree, ast.Module):
            wrong = min([_line_of(tree), *(unit.first for unit in self._units if unit.broken)])
            # The parser may only notice at the next statement.
            start = max(self._statement_at(top, wrong) - 1, 0)
            self._mend_all(top[start:], _PLAIN, 0)
            tree = self._parse()
        for _ in range(_LAST_ROUNDS):
            if isinstance(tree, ast.Module) or not top:
                break
            self._leave_out(top[self._statement_at(top, _line_of(tree))], tree)
            tree = self._parse()
        self._report_python2()
        if isinstance(tree, ast.Module):
            return tree
        self._problem(0, len(self._draft.lines) - 1, "nothing of this text could be read as Python")
        return ast.Module([], [])

    def _parse(self) -> ast.Module | Failure:
        return attempt("\n".join(self._draft.lines))

    def _quick(self, top: Sequence[Statement], failure: Failure) -> ast.Module | Failure:
        """Mend what the parser names, one error at a time, while errors are few; else return the latest failure."""
        broken = [unit.first for unit in self._units if unit.broken]
        if len(broken) > _MAX_BROKEN:
            return failure
        places = {*broken, _line_of(failure)}
        for _ in range(_QUICK_ROUNDS):
            changed = [self._mend_at(top, line) for line in sorted(places) if line >= 0]
            if not any(changed) and not self._moved:
                return failure
            self._moved = False
            result = self._parse()
            if isinstance(result, ast.Module):
                return result
            failure = result
            places = {_line_of(failure)}
        return failure

    def _top_level(self) -> list[Statement]:
        """The program's statements, those that stand too far right moved to the margin."""
        bounds = [0, *(bisect_right(self._firsts, stop - 1) for stop in self._stops), len(self._units)]
        result: list[Statement] = []
        for first, end in pairwise(bounds):
            if first >= end:
                continue
            region = statements(self._units, first, end, self._code)
            if self._units[first].indent:
                # IPython moves a cell whose first line is indented to the margin; Python takes it for an error.
                if not self._stops:
                    self._misplaced(region[0], 0)
                for statement in region:
                    self._indent(statement, "", 0)
                self._moved = True
            self._place(region, "", 0)
            result += region
        return result

    # -- statements -------------------------------------------------------------------------------------------------

    def _mend_at(self, block: Sequence[Statement], line: int) -> bool:
        """Mend the innermost statement at `line`, trusting all others; True if anything was changed."""
        wrapper = _PLAIN
        for depth in range(_MAX_DEPTH):
            if not block:
                return False
            statement = block[self._statement_at(block, line)]
            clause = next((c for c in statement.clauses if c.first < c.end and self._covers(c, line)), None)
            if clause is None:
                return self._mend(statement, wrapper, depth)
            block = statements(self._units, clause.first, clause.end, self._code)
            self._place(block, self._draft.prefix(self._units[clause.first].first), depth + 1)
            wrapper = _MATCH if clause.kind == "match" else _PLAIN
        return False

    def _covers(self, clause: Clause, line: int) -> bool:
        return self._units[clause.first].first <= line <= self._units[clause.end - 1].last

    def _mend_all(self, block: Sequence[Statement], wrapper: str, depth: int) -> None:
        """Test the statements of a block, many at a time, and mend those that are wrong."""
        index = 0
        size = _FIRST_GROUP
        while index < len(block):
            group = block[index : index + size]
            failure = self._test(group[0].first, group[-1].end, wrapper)
            if failure is None:
                index += len(group)
                size = min(2 * size, 4096)
                continue
            ahead = self._statement_at(group, failure.line)
            if ahead > 0 and self._test(group[0].first, group[ahead - 1].end, wrapper) is not None:
                size = max(ahead // 2, 1)
                continue
            self._mend(block[index + ahead], wrapper, depth, failure if len(group) == 1 else None)
            index += ahead + 1
            size = max(size // 2, 1)

    def _mend(self, statement: Statement, wrapper: str, depth: int, failed: _Failed | None = None) -> bool:
        """Make a statement parse by itself, keeping as much of it as possible; True if it was changed.

        `failed` is how it fails, where that is known.
        """
        failed = failed or self._test(statement.first, statement.end, wrapper)
        if failed is None:
            return False
        failure = failed.failure
        if statement.is_simple:
            self._stand_in(self._units[statement.first], failure, wrapper)
        elif not statement.clauses or depth >= _MAX_DEPTH or self._budget < 0:
            self._leave_out(statement, failure)
        else:
            self._mend_compound(statement, failure, wrapper, depth)
        return True

    def _mend_compound(self, statement: Statement, failure: Failure, wrapper: str, depth: int) -> None:
        if len(statement.clauses) > _MAX_CLAUSES:
            self._shorten(statement)
        for index in statement.decorators:
            text = self._code(index)
            wrong = self._attempt(headers.standalone(headers.DECORATOR, text))
            if wrong is not None:
                self._mend_decorator(self._units[index], text, wrong)
        for position, clause in enumerate(statement.clauses):
            self._mend_header(clause, orphan=position == 0 and clause.kind in headers.CLAUSES)
            if clause.first < clause.end:
                block = statements(self._units, clause.first, clause.end, self._code)
                self._place(block, self._draft.prefix(self._units[clause.first].first), depth + 1)
                self._mend_all(block, _MATCH if clause.kind == "match" else _PLAIN, depth + 1)
        opener = statement.clauses[0]
        if opener.kind == "try" and len(statement.clauses) == 1:
            unit = self._units[opener.head]
            self._put(unit, _PLAIN + ("" if opener.first < opener.end else " pass"))
            self._problem(unit.first, unit.last, "this `try` has no `except` or `finally` yet")
        if self._test(statement.first, statement.end, wrapper) is None:
            return
        prefix = self._draft.prefix(self._units[statement.first].first)
        self._indent(statement, prefix, depth)
        if self._test(statement.first, statement.end, wrapper) is None:
            if isinstance(failure, TabError):
                self._problem(self._units[statement.first].first, _last(self._units, statement), _tabs(failure))
            return
        self._leave_out(statement, failure)

    def _shorten(self, statement: Statement) -> None:
        for clause in statement.clauses[_MAX_CLAUSES:]:
            last = self._units[clause.end - 1].last
            for line in range(self._units[clause.head].first, last + 1):
                self._draft.lines[line] = ""
        cut = self._units[statement.clauses[_MAX_CLAUSES].head].first
        message = f"this statement has {len(statement.clauses)} clauses; those from here on are left out"
        self._problem(cut, _last(self._units, statement), message)
        del statement.clauses[_MAX_CLAUSES:]

    def _mend_decorator(self, unit: Unit, text: str, failure: Failure) -> None:
        self._put(unit, "")
        self._report(unit, text, failure, "this decorator is left out")

    def _mend_header(self, clause: Clause, orphan: bool) -> None:
        unit = self._units[clause.head]
        text = self._code(clause.head)
        has_suite = clause.first < clause.end
        failure = self._attempt(headers.standalone(clause.kind, text))
        if orphan:
            failure = failure or SyntaxError(f"`{clause.kind}` without the statement it belongs to")
            self._put(unit, f"if {UNKNOWN}:" + ("" if has_suite else " pass"))
            self._report(unit, text, failure, "what it holds is read as if it may run")
        elif failure is None:
            if not has_suite and text.endswith(":") and clause.kind != "match":
                self._put(unit, text + " pass")
                self._problem(unit.first, unit.last, f"the block of this `{clause.kind}` is empty")
            elif has_suite and not text.endswith(":"):
                last = self._units[clause.end - 1].last
                first = self._units[clause.first].first
                self._draft.lines[first : last + 1] = [""] * (last + 1 - first)
                self._problem(first, last, "unexpected indent; these lines are left out")
        else:
            self._replace_header(clause, unit, text, failure, has_suite)

    def _replace_header(self, clause: Clause, unit: Unit, text: str, failure: Failure, has_suite: bool) -> None:
        body = "" if has_suite else " pass"
        newer = dialects.newer_syntax(text, str(getattr(failure, "msg", "")))
        if newer is not None and newer.text is not None:
            fits = self._attempt(headers.standalone(clause.kind, newer.text)) is None
            if fits:
                self._put(unit, newer.text + (body if newer.text.endswith(":") else ""))
                self._problem(unit.first, unit.last, newer.message())
                return
        for candidate in headers.candidates(clause.kind, text):
            if self._attempt(headers.standalone(clause.kind, candidate)) is None:
                self._put(unit, candidate + body)
                break
        self._report(unit, text, failure, "this line is read in part")

    def _stand_in(self, unit: Unit, failure: Failure, wrapper: str) -> None:
        """Replace a simple statement by one that does as little, and leaves what it would have set unknown."""
        text = self._text_of(unit)
        newer = dialects.newer_syntax(text, str(getattr(failure, "msg", "")))
        if newer is not None and newer.text is not None and self._attempt(newer.text) is None:
            self._put(unit, newer.text)
            self._problem(unit.first, unit.last, newer.message())
            return
        stand_in = "pass" if wrapper == _PLAIN else ""
        if wrapper == _PLAIN and _RETURN.match(text):
            stand_in = f"return {UNKNOWN}"
        elif wrapper == _PLAIN and (found := _TARGETS.match(text)):
            assignment = f"{found['targets']} = {UNKNOWN}"
            if self._attempt(assignment) is None:
                stand_in = assignment
        self._put(unit, stand_in)
        self._report(unit, text, failure, "this statement is left out")

    def _leave_out(self, statement: Statement, failure: Failure) -> None:
        first = self._units[statement.first].first
        last = _last(self._units, statement)
        self._draft.replace(first, last, "pass")
        if self._budget >= 0:
            self._problem(first, last, f"{_reason(failure)}; this statement is left out")
        elif not self._gave_up:
            self._gave_up = True
            self._problem(first, last, "too much of this text is wrong; from here on, what is wrong is left out")

    # -- places -----------------------------------------------------------------------------------------------------

    def _place(self, block: Sequence[Statement], prefix: str, depth: int) -> None:
        """Move a block's misplaced statements to its indentation."""
        previous = False
        for statement in block:
            if statement.misplaced:
                if not previous:
                    self._misplaced(statement, self._units[block[0].first].indent)
                self._indent(statement, prefix, depth)
                self._moved = True
            previous = statement.misplaced
            statement.misplaced = False

    def _misplaced(self, statement: Statement, base: int) -> None:
        unit = self._units[statement.first]
        what = "unexpected indent" if unit.indent > base else "this unindent matches no block above"
        self._problem(unit.first, unit.last, f"{what}; read as if it stood in line with the block above")

    def _indent(self, statement: Statement, prefix: str, depth: int) -> None:
        """Give a statement the indentation `prefix`, and its suites one space more a level."""
        if depth > _MAX_DEPTH:
            self._draft.replace(self._units[statement.first].first, _last(self._units, statement), "pass")
            self._draft.indent(self._units[statement.first].first, prefix)
            return
        suites = [statements(self._units, clause.first, clause.end, self._code) for clause in statement.clauses]
        for index in (*statement.decorators, *(clause.head for clause in statement.clauses)):
            self._draft.indent(self._units[index].first, prefix)
            self._units[index].indent = indent_width(prefix)
        for inner in chain.from_iterable(suites):
            self._indent(inner, prefix + " ", depth + 1)

    def _statement_at(self, block: Sequence[Statement], line: int) -> int:
        """The index of the last statement of `block` that starts at or above `line`."""
        return max(bisect_right(block, line, key=lambda statement: self._units[statement.first].first) - 1, 0)

    # -- text -------------------------------------------------------------------------------------------------------

    def _text_of(self, unit: Unit) -> str:
        lines = self._draft.lines[unit.first : unit.last + 1]
        if unit.comment >= 0:
            lines[-1] = without_comment(lines[-1]) if unit.first == unit.last else lines[-1][: unit.comment]
        lines[0] = lines[0].lstrip(" \t\f")
        return "\n".join(lines).rstrip()

    def _code(self, index: int) -> str:
        return self._text_of(self._units[index])

    def _put(self, unit: Unit, text: str) -> None:
        first, *rest = text.split("\n")
        self._draft.replace(unit.first, unit.last, first)
        for number, line in enumerate(rest, unit.first + 1):
            self._draft.lines[number] = line
        unit.comment = -1

    def _test(self, first: int, end: int, wrapper: str) -> _Failed | None:
        """Parse units `first` up to `end` by themselves, below `wrapper` if they are indented."""
        start = self._units[first].first
        lines = self._draft.lines[start : self._units[end - 1].last + 1]
        if lines[0].lstrip("\f")[:1] in (" ", "\t"):
            lines.insert(0, wrapper)
            start -= 1
        failure = self._attempt("\n".join(lines))
        return None if failure is None else _Failed(failure, start + _line_of(failure))

    def _attempt(self, text: str) -> Failure | None:
        self._budget -= len(text) // 16 + 40
        if self._budget < -self._allowance:
            return ValueError("too much of this text is wrong")
        result = attempt(text)
        if isinstance(result, ast.Module):
            self._budget -= len(text)
            return None
        # The parser stops at the error, having gone over what stands before it twice.
        lines = text.count("\n") + 1
        reached = min(max(_line_of(result), 0) + 1, lines)
        self._budget -= 2 * len(text) * reached // lines
        return result

    # -- problems ---------------------------------------------------------------------------------------------------

    def _report(self, unit: Unit, text: str, failure: Failure, outcome: str) -> None:
        newer = dialects.newer_syntax(text, str(getattr(failure, "msg", "")))
        if newer is not None:
            self._problem(unit.first, unit.last, newer.message())
        elif dialects.is_python2(text):
            self._python2.append(unit.first)
        elif text[:1] in ("%", "!", "?"):
            self._problem(unit.first, unit.last, f"an IPython command, which is not Python; {outcome}")
        else:
            self._problem(unit.first, unit.last, f"{_reason(failure)}; {outcome}")

    def _report_python2(self) -> None:
        if self._python2:
            line = min(self._python2)
            count = len(self._python2)
            what = "one statement" if count == 1 else f"{count} statements"
            self._problem(
                line, line, f"this is Python 2 code; convert it to Python 3. Left out or read in part: {what}"
            )

    def _problem(self, first: int, last: int, message: str) -> None:
        self._draft.problems.append(Problem(first + 1, message, last + 1))


def _last(units: Sequence[Unit], statement: Statement) -> int:
    return units[statement.end - 1].last


def _line_of(failure: Failure) -> int:
    """The line that is wrong, from 0; -1 if the parser did not say."""
    line = getattr(failure, "lineno", None)
    earlier = _EARLIER_LINE.search(str(getattr(failure, "msg", "")))
    if earlier is not None:
        return int(earlier.group(1)) - 1
    return -1 if line is None else line - 1


def _reason(failure: Failure) -> str:
    if isinstance(failure, TabError):
        return _tabs(failure)
    if isinstance(failure, (RecursionError, MemoryError)):
        return "nested too deep to be read"
    message = getattr(failure, "msg", None) or str(failure)
    return f"syntax error: {message}"


def _tabs(failure: TabError) -> str:
    return f"syntax error: {failure.msg}; tabs were taken for eight columns"
