"""Functions of a process that lives on: rewritten while the probe is on, and as they were written afterwards."""

from __future__ import annotations

import ast
import dis
import gc
import linecache
import re
import sys
from collections.abc import Iterable, Iterator
from types import AsyncGeneratorType, CodeType, CoroutineType, FrameType, FunctionType, GeneratorType
from typing import Any, NamedTuple

from .cutting import ENTER, FOR, SEEN, WHILE, Sites, instrument, pairs
from .places import Places

MOST_FILES = 200
WORTH_IT = re.compile(r"torch|\bbackward\b|\bstep\b")

Pair = tuple[CodeType, CodeType, int, int]  # as it was written, rewritten, and its statements: from, and before which


class Text(NamedTuple):
    """The text that functions were compiled from.

    Args:
        name: what their code objects call its file.
        text: the text.
        path: what the report is to call it.
        first: the line of `path` that the text begins with.
        flags: the `__future__` features that were on.
        parted: whether each of its statements was compiled by itself, as IPython does with a cell's. That makes other
            code: how a name is called depends on whether it was imported in the same piece.
    """

    name: str
    text: str
    path: str
    first: int = 1
    flags: int = 0
    parted: bool = False

    def pieces(self) -> Iterator[ast.Module]:
        """What was compiled at once."""
        tree = ast.parse(self.text, self.name)
        if not self.parted:
            yield tree
            return
        for statement in tree.body:
            yield ast.Module([statement], [])


class Existing:
    """Has functions run with their loops and lines seen, while it is entered.

    Only those are touched whose code is what the text compiles to: a text that was edited since is passed over. Those
    that are under way are left alone as well, and nobody can tell which of their lines ran. Afterwards all functions,
    those that were defined meanwhile too, have the code that they were written with.

    Args:
        texts: what they were compiled from.
        sites: where loops and lines are noted.

    Attributes:
        under_way: afterwards, whether rewritten code is still under way, in a generator or a thread.
    """

    def __init__(self, texts: Iterable[Text], sites: Sites) -> None:
        self.texts, self.sites = texts, sites
        self.under_way = False

    def __enter__(self) -> Existing:
        found: dict[tuple[str, int, str], list[Pair]] = {}
        for text in self.texts:
            for pair in self._compiled(text):
                found.setdefault((text.name, pair[0].co_firstlineno, pair[0].co_name), []).append(pair)
        if not found:
            return self
        functions, under_way = _functions()
        busy = set(map(id, under_way))
        for function in functions:
            code = function.__code__
            same = found.get((code.co_filename, code.co_firstlineno, code.co_name))
            if same and id(code) not in busy:
                fitting = [pair for pair in same if pair[0] == code]
                if len(fitting) == 1:
                    self._swap(function, *fitting[0])
        return self

    def __exit__(self, *_: object) -> None:
        originals = self.sites.originals
        files = {code.co_filename for code in originals}
        functions, under_way = _functions()
        for function in functions:
            code = function.__code__
            if code.co_filename in files and code in originals:
                function.__code__ = originals[code]
        self.under_way = any(code.co_filename in files and code in originals for code in under_way)

    def _swap(self, function: FunctionType, plain: CodeType, rewritten: CodeType, first: int, end: int) -> None:
        if plain.co_freevars != rewritten.co_freevars:
            return
        self.sites.originals[rewritten] = function.__code__  # the very same object
        function.__code__ = rewritten
        self.sites.seen[first:end] = bytes(end - first)

    def _compiled(self, text: Text) -> Iterator[Pair]:
        """The functions of a text, each as it is and rewritten."""
        sites, begin = self.sites, len(self.sites.lines)
        found: list[tuple[CodeType, CodeType]] = []
        try:
            for piece in text.pieces():
                plain = compile(piece, text.name, "exec", text.flags, dont_inherit=True)
                tree = instrument(ast.increment_lineno(piece, text.first - 1), text.path, sites)
                rewritten = compile(tree, text.path, "exec", text.flags, dont_inherit=True)
                found += pairs(plain, rewritten, text.first - 1)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        # Whether a line ran is known of functions that are swapped, and of no others.
        sites.seen[begin:] = b"\x01" * (len(sites.lines) - begin)
        for code, other in found:
            sites.originals[other] = code
            lines = [
                number
                for number in range(begin, len(sites.lines))
                if other.co_firstlineno <= sites.lines[number][1] <= last_line(other)
            ]
            yield code, other, *((lines[0], lines[-1] + 1) if lines else (0, 0))


class Inert:
    """What rewritten code calls that is still under way when the probe is off."""

    def __setitem__(self, number: int, value: int) -> None: ...

    @classmethod
    def names(cls, sites: Sites) -> dict[str, Any]:
        """By the names of the probe that has ended."""
        called: dict[str, Any] = {
            FOR: lambda number, items: iter(items),
            ENTER: lambda number: None,
            WHILE: lambda number: True,
            SEEN: cls(),
        }
        return {sites.name(what): value for what, value in called.items()}


def modules(places: Places) -> Iterator[Text]:
    """The texts of the user's modules that are imported already and may have to do with gradients."""
    count = 0
    for module in list(sys.modules.values()):
        name = getattr(module, "__file__", None)
        if count < MOST_FILES and isinstance(name, str) and name.endswith(".py") and places.is_user(name):
            text = "".join(linecache.getlines(name))
            if WORTH_IT.search(text):
                count += 1
                yield Text(name, text, name)


def last_line(code: CodeType) -> int:
    """The last line of a function, with all that is defined in it."""
    lines = [line for _, line in dis.findlinestarts(code) if line is not None]
    inner = [last_line(item) for item in code.co_consts if isinstance(item, CodeType)]
    return max([code.co_firstlineno, *lines, *inner])


def _functions() -> tuple[list[FunctionType], list[CodeType]]:
    """All functions that there are, and the code of those that are under way."""
    functions: list[FunctionType] = []
    under_way: list[CodeType] = []
    for frame in list(sys._current_frames().values()):
        current: FrameType | None = frame
        while current is not None:
            under_way.append(current.f_code)
            current = current.f_back
    for item in gc.get_objects():
        kind = type(item)
        if kind is FunctionType:
            functions.append(item)
        elif kind is GeneratorType:
            under_way.append(item.gi_code)
        elif kind is CoroutineType:
            under_way.append(item.cr_code)
        elif kind is AsyncGeneratorType:
            under_way.append(item.ag_code)
    return functions, under_way
