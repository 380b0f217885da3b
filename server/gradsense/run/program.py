"""What runs: of a script or notebook, the part that the person means."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from gradsense.syntax import Source
from gradsense.syntax.cells import marked_cells
from gradsense.syntax.edits import split_lines
from gradsense.syntax.source import UNKNOWN

_MOST_NOTES = 5
# Magics that only change how a notebook looks or loads; nobody misses them.
_HARMLESS = re.compile(
    r"\s*%{1,2}(?:matplotlib|config|load_ext|reload_ext|autoreload|time|timeit|capture|precision|gradsense)\b"
)


class NothingToRun(Exception):
    """There is nothing that could be run; the message says what to do."""


@dataclass(frozen=True)
class Program:
    """A part of a program that can be executed.

    Args:
        path: its file.
        text: all of it, as Python; what is not is blank.
        until_line: the last line of the part, from 1; None for the end.
        call: an expression to evaluate then.
        cells: first and last line of each cell of a notebook.
        notes: what the person should know about the choice.
    """

    path: str
    text: str
    until_line: int | None = None
    call: str | None = None
    cells: tuple[tuple[int, int], ...] | None = None
    notes: tuple[str, ...] = ()


def program(source: Source, line: int | None = None, call: str | None = None) -> Program:
    """Chooses what runs.

    In a notebook, and in a script with `# %%` marks, it is the cell of the line with those before it. In a script
    without, it is all of it; where the line is in a function that can be called without arguments, or a call is given,
    its definitions and then that call.

    Args:
        source: the script or notebook.
        line: the line the person is at, from 1, of a notebook the line of its joined cells; None for all.
        call: the call that the person gave.

    Raises:
        NothingToRun: the source is empty, or has no such line.
    """
    if not source.text.strip():
        raise NothingToRun(f"{source.path} has no Python in it")
    if line is not None and not 1 <= line <= len(source.lines):
        raise NothingToRun(f"{source.path} has no line {line}: it ends with line {len(source.lines)}")
    if source.cells:
        return _notebook(source, line, call)
    cells = marked_cells(source)
    until = next((cell.last_line for cell in cells if line is not None and line <= cell.last_line), None)
    notes: tuple[str, ...] = ()
    if call is None and line is not None:
        call, notes = _call_at(source.text, line, until)
    return Program(source.path, source.text, until, call, None, notes)


def _notebook(source: Source, line: int | None, call: str | None) -> Program:
    lines = list(source.lines)
    for number, rewrite in source.rewrites.items():
        lines[number - 1] = rewrite.text.replace(UNKNOWN, "None")
    cell = None if line is None else source.cell_of(line)
    return Program(
        source.path,
        "\n".join(lines),
        None if cell is None else cell.last_line,
        call,
        tuple((cell.first_line, cell.last_line) for cell in source.cells),
        tuple(_magic_notes(source, None if cell is None else cell.last_line)),
    )


def _magic_notes(source: Source, until: int | None) -> Iterator[str]:
    """Says which lines that are not Python are left out though they may matter."""
    found = []
    for cell in source.cells:
        if until is not None and cell.first_line > until:
            break
        for offset, text in enumerate(split_lines(cell.text)):
            number = cell.first_line + offset
            dropped = text.strip() and (not source.lines[number - 1].strip() or number in source.rewrites)
            if dropped and not _HARMLESS.match(text) and not text.lstrip().startswith("#"):
                found.append(f"cell {cell.index + 1}, line {offset + 1} was left out: `{text.strip()}`")
    yield from found[:_MOST_NOTES]
    if len(found) > _MOST_NOTES:
        yield f"{len(found) - _MOST_NOTES} more lines that are not Python were left out"


def _call_at(text: str, line: int, until: int | None) -> tuple[str | None, tuple[str, ...]]:
    """The call that runs the function around a line, and what is said where there is none."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # The run itself says so.
        return None, ()
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and _holds(node, line)]
    if not functions:
        return None, ()
    function = functions[0]
    if _is_called(tree, function.name, until):
        return None, ()
    if _needs_arguments(function):
        note = f"`{function.name}` takes arguments, so all of the script was run; --call runs it with those you give"
        return None, (note,)
    return f"{function.name}()", ()


def _holds(node: ast.FunctionDef, line: int) -> bool:
    first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
    return first <= line <= (node.end_lineno or node.lineno)


def _needs_arguments(function: ast.FunctionDef) -> bool:
    arguments = function.args
    positional = len(arguments.posonlyargs) + len(arguments.args)
    keyword = sum(default is None for default in arguments.kw_defaults)
    return positional > len(arguments.defaults) or keyword > 0


def _is_called(tree: ast.Module, name: str, until: int | None) -> bool:
    """Whether the module's own code calls a function, other than under `if __name__ == "__main__"`."""
    for statement in tree.body:
        if until is not None and statement.lineno > until:
            break
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or _is_main_guard(statement):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
                return True
    return False


def _is_main_guard(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.If):
        return False
    return any(isinstance(node, ast.Name) and node.id == "__name__" for node in ast.walk(statement.test))
