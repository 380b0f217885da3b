"""Rewrites a program so that its loops and lines are seen; lines, columns and names stay what they are."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from types import CodeType
from typing import Any, Union

FOR, ENTER, WHILE, SEEN = "for", "enter", "while", "seen"  # what the rewritten program calls
FORWARD_METHODS = frozenset({"forward", "setup_context", "backward", "vjp", "jvp"})
COMPILED = ("jit", "triton", "script", "njit", "cuda")  # decorators whose functions are compiled from their bytecode

Loop = Union[ast.For, ast.While]


class LoopSite:
    """A loop of the program.

    Attributes:
        path, line, last: where it stands.
        in_forward: whether in the forward of a module or function, where a pass builds a part of one graph.
        steps: whether an optimizer's step is written in it.
        foreign: whether the loop itself is a library's, and the line only the one that called it.
        passes: how many of its passes are measured at least.
    """

    def __init__(self, path: str, line: int, last: int, in_forward: bool = False) -> None:
        self.path, self.line, self.last, self.in_forward = path, line, last, in_forward
        self.steps = self.foreign = False
        self.passes = 0

    def spot(self) -> dict[str, Any]:
        """Path and line."""
        return {"path": self.path, "line": self.line}

    @classmethod
    def of(cls, path: str, node: Loop, in_forward: bool) -> LoopSite:
        """The site of a loop in a program's text."""
        site = cls(path, node.lineno, node.end_lineno or node.lineno, in_forward)
        called = {call.func.attr for call in _calls(node) if isinstance(call.func, ast.Attribute)}
        site.steps = "step" in called
        return site


class Sites:
    """The loops and the lines of everything that was rewritten.

    Attributes:
        loops: the loops, by the number that the rewritten program calls them.
        lines: the statements, likewise: path, first and last line.
        seen: for each statement, whether it was begun.
        functions: the functions: path, first and last line.
        originals: the code as it was written, by the rewritten one; only where it is kept.

        keep_originals: whether it is.
    """

    _serial = itertools.count()

    def __init__(self) -> None:
        self._number = next(self._serial)
        self.keep_originals = False
        self.loops: list[LoopSite] = []
        self.lines: list[tuple[str, int, int]] = []
        self.seen = bytearray()
        self.functions: list[tuple[str, int, int]] = []
        self.originals: dict[CodeType, CodeType] = {}

    def name(self, what: str) -> str:
        """The built-in name by which the rewritten program calls something; that of another probe differs."""
        return f"__gradsense_{what}_{self._number}__"

    def reached(self, path: str, line: int) -> bool:
        """Whether the statement on a line was begun, or nobody can tell because its file was not rewritten."""
        return not self.knows(path) or any(self.seen[number] for number in self._at(path, line))

    def knows(self, path: str) -> bool:
        """Whether a file was rewritten."""
        return any(name == path for name, _, _ in self.lines)

    def statement(self, path: str, line: int) -> tuple[str, int]:
        """The file and the first line of the statement on a line, or the line itself where none is known."""
        numbers = self._at(path, line)
        return (path, self.lines[numbers[0]][1]) if numbers else (path, line)

    def loop_covers(self, loop: tuple[str, int], path: str, line: int) -> bool:
        """Whether a line is in a loop, which is told by file and first line, or in a function that it may call."""
        for site in self.loops:
            if (site.path, site.line) == loop:
                return site.path != path or site.line <= line <= site.last or self._in_function(path, line)
        return False

    def _in_function(self, path: str, line: int) -> bool:
        return any(name == path and first <= line <= last for name, first, last in self.functions)

    def _at(self, path: str, line: int) -> list[int]:
        """The smallest statements that cover a line."""
        covering = [
            (last - first, number)
            for number, (name, first, last) in enumerate(self.lines)
            if name == path and first <= line <= last
        ]
        smallest = min((size for size, _ in covering), default=0)
        return [number for size, number in covering if size == smallest]


def compiled(tree: ast.Module, path: str, sites: Sites, flags: int = 0) -> CodeType:
    """Compiles a program with the probe's calls in it, which change the tree.

    Raises:
        SyntaxError: the tree is not Python as this interpreter understands it.
    """
    original = compile(tree, path, "exec", flags, dont_inherit=True) if sites.keep_originals else None
    code: CodeType = compile(instrument(tree, path, sites), path, "exec", flags, dont_inherit=True)
    if original is not None:
        sites.originals[code] = original
        sites.originals.update((other, plain) for plain, other in pairs(original, code))
    return code


def instrument(tree: ast.Module, path: str, sites: Sites) -> ast.Module:
    """Puts the probe's calls in a tree."""
    _Rewriter(path, sites).module(tree)
    return ast.fix_missing_locations(tree)


class _Rewriter(ast.NodeTransformer):
    def __init__(self, path: str, sites: Sites) -> None:
        self.path, self.sites = path, sites
        self.functions: list[str] = []

    def module(self, tree: ast.Module) -> None:
        self._body(tree, "body")

    def visit_FunctionDef(self, node: Any) -> Any:
        if any(_is_compiled(decorator) for decorator in node.decorator_list):
            return node
        self.sites.functions.append((self.path, node.lineno, node.end_lineno or node.lineno))
        self.functions.append(node.name)
        self._body(node, "body")
        self.functions.pop()
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_For(self, node: ast.For) -> Any:
        site = self._site(node)
        self._blocks(node)
        node.iter = self._call(FOR, node.iter, ast.Constant(site), node.iter)
        return node

    def visit_While(self, node: ast.While) -> Any:
        site = self._site(node)
        self._blocks(node)
        tick = self._call(WHILE, node.test, ast.Constant(site))
        node.test = ast.copy_location(ast.BoolOp(ast.And(), [tick, node.test]), node.test)
        enter = ast.copy_location(ast.Expr(self._call(ENTER, node, ast.Constant(site))), node)
        return [enter, node]

    def generic_visit(self, node: ast.AST) -> Any:
        self._blocks(node)
        return node

    def _blocks(self, node: ast.AST) -> None:
        """Rewrites the statements in a statement; expressions have none worth a look."""
        for name in ("body", "orelse", "finalbody"):
            if isinstance(getattr(node, name, None), list):
                self._body(node, name)
        for handler in getattr(node, "handlers", ()):
            self._body(handler, "body")
        for case in getattr(node, "cases", ()):
            self._body(case, "body")

    def _body(self, node: Any, name: str) -> None:
        body: list[ast.stmt] = []
        for index, statement in enumerate(getattr(node, name)):
            if not _must_be_first(statement, index):
                body.append(self._mark(statement))
            new = self.visit(statement)
            body.extend(new if isinstance(new, list) else [new])
        setattr(node, name, body)

    def _mark(self, statement: ast.stmt) -> ast.stmt:
        """A statement that notes that this one was begun."""
        sites = self.sites
        number = len(sites.lines)
        last = statement.end_lineno or statement.lineno
        body = getattr(statement, "body", None)
        if isinstance(body, list) and body:  # what counts is its head: its body has marks of its own
            last = max(statement.lineno, body[0].lineno - 1)
        sites.lines.append((self.path, statement.lineno, last))
        sites.seen.append(0)
        target = ast.Subscript(ast.Name(sites.name(SEEN), ast.Load()), ast.Constant(number), ast.Store())
        mark = ast.Assign([target], ast.Constant(1))
        for part in ast.walk(mark):
            ast.copy_location(part, statement)
            part.end_lineno, part.end_col_offset = statement.lineno, statement.col_offset  # type: ignore[attr-defined]
        return mark

    def _call(self, what: str, at: ast.expr | ast.stmt, *arguments: ast.expr) -> ast.Call:
        call = ast.Call(ast.Name(self.sites.name(what), ast.Load()), list(arguments), [])
        ast.copy_location(call, at)
        ast.copy_location(call.func, at)
        return call

    def _site(self, node: Loop) -> int:
        inside = bool(self.functions) and self.functions[-1] in FORWARD_METHODS
        self.sites.loops.append(LoopSite.of(self.path, node, inside))
        return len(self.sites.loops) - 1


def pairs(plain: CodeType, rewritten: CodeType, shift: int = 0) -> Iterator[tuple[CodeType, CodeType]]:
    """The functions in a code object, each as it is and rewritten: those of the same name and line that come in the
    same order.

    Args:
        plain: the code as it is.
        rewritten: the same, rewritten.
        shift: by how many lines it stands further down.
    """
    theirs: dict[tuple[str, int], list[CodeType]] = {}
    for code in rewritten.co_consts:
        if isinstance(code, CodeType):
            theirs.setdefault((code.co_name, code.co_firstlineno - shift), []).append(code)
    for code in plain.co_consts:
        if not isinstance(code, CodeType):
            continue
        others = theirs.get((code.co_name, code.co_firstlineno))
        if others:
            other = others.pop(0)
            yield code, other
            yield from pairs(code, other, shift)


def _calls(node: ast.AST) -> list[ast.Call]:
    return [item for item in ast.walk(node) if isinstance(item, ast.Call)]


def _must_be_first(statement: ast.stmt, index: int) -> bool:
    if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
        return True
    return index == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_compiled(decorator: ast.expr) -> bool:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    names = [part.id if isinstance(part, ast.Name) else getattr(part, "attr", "") for part in ast.walk(target)]
    return any(name in COMPILED for name in names)
