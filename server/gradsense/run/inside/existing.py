"""Functions that exist before the probe is entered: they are run as if they had been defined under it."""

from __future__ import annotations

import ast
import contextlib
import gc
import linecache
import sys
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType
from typing import NamedTuple

from .cutting import Sites, instrument
from .places import Places


class Text(NamedTuple):
    """The text that functions were compiled from.

    Args:
        name: what their code objects call its file.
        text: the text.
        path: what the report is to call it.
        first: the line of `path` that the text begins with.
        flags: the `__future__` features that were on.
    """

    name: str
    text: str
    path: str
    first: int = 1
    flags: int = 0


@contextlib.contextmanager
def watched(texts: Iterable[Text], sites: Sites) -> Iterator[None]:
    """Has functions run with their loops and lines seen, while it is entered.

    Only those are touched whose code is what the text compiles to: a text that was edited since is passed over.
    """
    pairs: dict[tuple[str, int, str], list[tuple[CodeType, CodeType]]] = {}
    for text in texts:
        for plain, rewritten in _compiled(text, sites):
            pairs.setdefault((text.name, plain.co_firstlineno, plain.co_name), []).append((plain, rewritten))
    swapped: list[tuple[FunctionType, CodeType]] = []
    for item in gc.get_objects() if pairs else ():
        if type(item) is not FunctionType:
            continue
        code = item.__code__
        found = pairs.get((code.co_filename, code.co_firstlineno, code.co_name), ())
        fitting = [rewritten for plain, rewritten in found if plain == code]
        if len(fitting) == 1 and fitting[0].co_freevars == code.co_freevars:
            item.__code__ = fitting[0]
            swapped.append((item, code))
    try:
        yield
    finally:
        for function, code in swapped:
            function.__code__ = code


def modules(places: Places) -> Iterator[Text]:
    """The texts of the user's modules that are imported already."""
    for module in list(sys.modules.values()):
        name = getattr(module, "__file__", None)
        if isinstance(name, str) and name.endswith(".py") and places.is_user(name):
            yield Text(name, "".join(linecache.getlines(name)), name)


def _compiled(text: Text, sites: Sites) -> Iterator[tuple[CodeType, CodeType]]:
    """The code objects of a text, each as it is and rewritten."""
    try:
        plain = compile(text.text, text.name, "exec", text.flags, dont_inherit=True)
        tree = ast.increment_lineno(ast.parse(text.text, text.path), text.first - 1)
        rewritten = compile(instrument(tree, text.path, sites), text.path, "exec", text.flags, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    yield from _matched(plain, rewritten, text.first - 1)


def _matched(plain: CodeType, rewritten: CodeType, shift: int) -> Iterator[tuple[CodeType, CodeType]]:
    """Code objects that stand for the same function: those of the same name and line that come in the same order."""
    theirs: dict[tuple[str, int], list[CodeType]] = {}
    for code in rewritten.co_consts:
        if isinstance(code, CodeType):
            theirs.setdefault((code.co_name, code.co_firstlineno - shift), []).append(code)
    for code in plain.co_consts:
        if not isinstance(code, CodeType):
            continue
        others = theirs.get((code.co_name, code.co_firstlineno), [])
        if others:
            other = others.pop(0)
            yield code, other
            yield from _matched(code, other, shift)
