"""Keeps what attrs and dataclasses compile while classes are made, so that the next start need not do it again.

Both write the methods of each class as Python text and compile that at every import. For the classes of the language
server's protocol alone that is a fifth of its start. The compiled code is put beside the `.pyc` files, under the same
rules: not where Python was told to write none, nor where the folder cannot be written to, and elsewhere where
`PYTHONPYCACHEPREFIX` says so. It is found by the very text that it was made from, so it cannot be out of date.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import MAGIC_NUMBER, cache_from_source
from types import CodeType
from typing import Any

Known = dict[tuple[str, str], CodeType]
"""Compiled code by its text and the name that tracebacks show."""

# attrs writes into a method that hashes the hash of a name, which is another one in each process.
_OF_THIS_PROCESS = re.compile(r"hash\(\(\s*-?\d+")


@contextmanager
def kept_code(name: str, also: str = "") -> Iterator[None]:
    """Has attrs and dataclasses use kept code while something is imported, and keeps what was new.

    Args:
        name: what is imported goes by this name: letters only.
        also: a module besides `dataclasses` that compiles text by a plain `compile(text, filename, mode)`.
    """
    path = _path(name)
    code = _Code(_read(path) if path else {})
    with contextlib.ExitStack() as ends:
        ends.enter_context(_replaced("dataclasses", "exec", code.execute))
        if also:
            ends.enter_context(_replaced(also, "compile", code.compile))
        yield
    if path and code.is_new and not sys.dont_write_bytecode:
        _write(path, code.used)


class _Code:
    """Compiles what is not known."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self.used: Known = {}
        self.is_new = False

    def compile(self, text: Any, filename: Any, mode: str, *others: Any, **options: Any) -> Any:
        """As the builtin."""
        if mode != "exec" or others or options or not (isinstance(text, str) and isinstance(filename, str)):
            return compile(text, filename, mode, *others, **options)
        code = self._known.get((text, filename))
        if code is None and _OF_THIS_PROCESS.search(text):
            return compile(text, filename, mode)
        if code is None:
            code = compile(text, filename, mode)
            self.is_new = True
        self.used[text, filename] = code
        return code

    def execute(self, text: Any, names: dict[str, Any], places: Mapping[str, object] | None = None) -> None:
        """As the builtin with names given."""
        exec(self.compile(text, "<string>", "exec") if isinstance(text, str) else text, names, places)


@contextmanager
def _replaced(module: str, name: str, value: Callable[..., Any]) -> Iterator[None]:
    """Has a module find something else in place of a builtin."""
    names = vars(import_module(module))
    if name in names:
        yield
        return
    names[name] = value
    try:
        yield
    finally:
        del names[name]


def _path(name: str) -> str | None:
    try:
        return cache_from_source(__file__, optimization=name)
    except NotImplementedError:
        return None


def _read(path: str) -> Known:
    """What was kept; nothing where the file is not there, or is not one that this Python wrote whole."""
    try:
        with open(path, "rb") as file:
            header, check, body = file.read(len(MAGIC_NUMBER)), file.read(4), file.read()
        if header == MAGIC_NUMBER and check == _sum(body):
            known = marshal.loads(body)
            return known if isinstance(known, dict) else {}
    except (OSError, ValueError, EOFError, TypeError):
        pass
    return {}


def _write(path: str, known: Known) -> None:
    """Keeps code; if that cannot be done, the next start is as slow as this one."""
    body = marshal.dumps(known)
    beside = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(beside, "wb") as file:
            file.write(MAGIC_NUMBER + _sum(body) + body)
        os.replace(beside, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(beside)


def _sum(body: bytes) -> bytes:
    return zlib.crc32(body).to_bytes(4, "big")
