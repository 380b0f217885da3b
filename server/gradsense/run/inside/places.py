"""Which files are the user's own, and the lines of a stack."""

from __future__ import annotations

import dis
import linecache
import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from types import CodeType, FrameType, TracebackType
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))

Captured = tuple[Any, ...]  # code, offset, code, offset, ... with the innermost frame first


def capture(frame: FrameType | None, base: FrameType | None = None) -> Captured:
    """The stack from `frame` out to `base`, in a form that costs little to make and holds no local variable."""
    flat: list[Any] = []
    add = flat.append
    while frame is not base and frame is not None:
        add(frame.f_code)
        add(frame.f_lasti)
        frame = frame.f_back
    return tuple(flat)


class Place:
    """A line of a file, with the function it stands in."""

    __slots__ = ("line", "name", "path", "user")

    def __init__(self, path: str, line: int, name: str, user: bool) -> None:
        self.path, self.line, self.name, self.user = path, line, name, user

    def spot(self) -> dict[str, Any]:
        """Path and line, as the report has them."""
        return {"path": self.path, "line": self.line}

    def frame(self) -> dict[str, Any]:
        """All of it, as a traceback of the report has it."""
        text = linecache.getline(self.path, self.line).strip()
        return {"path": self.path, "line": self.line, "name": self.name, "text": text, "user": self.user}


class Places:
    """Tells the user's own files from the libraries'.

    Args:
        files: files that are the user's whatever they are called, such as the script itself.
        roots: folders whose Python files are the user's, unless they are installed there.
    """

    def __init__(self, files: Iterable[str] = (), roots: Iterable[str] = ()) -> None:
        self._known: dict[str, bool] = dict.fromkeys(files, True)
        self._roots = tuple({_folder(root) for root in roots if root})
        self._libraries = tuple(_library_folders())
        self._ours: tuple[str, ...] = (_folder(HERE),)

    def add(self, name: str) -> None:
        """Counts one more file as the user's."""
        self._known[name] = True

    def leave_out(self, folder: str) -> None:
        """Counts the files of a folder as GradSense's own, which no traceback shows."""
        self._ours += (_folder(folder),)

    def knows_no_roots(self) -> bool:
        """Whether there are no folders of the user's."""
        return not self._roots

    def is_user(self, name: str) -> bool:
        """Whether a code object's file is the user's own."""
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self._judge(name)
        return known

    def innermost(self, stack: Captured) -> Place | None:
        """The user's line that is nearest to the end of the stack."""
        for index in range(0, len(stack), 2):
            code = stack[index]
            if self.is_user(code.co_filename):
                return Place(code.co_filename, line_of(code, stack[index + 1]), code.co_name, True)
        return None

    def unfold(self, stack: Captured) -> list[Place]:
        """All lines of the stack, outermost first, without GradSense's own."""
        pairs = [(stack[index], stack[index + 1]) for index in range(0, len(stack), 2)]
        return list(self._clean((code, line_of(code, offset)) for code, offset in reversed(pairs)))

    def of_traceback(self, traceback: TracebackType | None) -> list[Place]:
        """All lines of an exception's traceback, outermost first, without GradSense's own."""
        found: list[tuple[CodeType, int]] = []
        while traceback is not None:
            found.append((traceback.tb_frame.f_code, traceback.tb_lineno or 0))
            traceback = traceback.tb_next
        return list(self._clean(found))

    def _clean(self, found: Iterable[tuple[CodeType, int]]) -> Iterator[Place]:
        """What lies outside the user's program, before its first line, is of no interest to anyone."""
        begun = False
        for code, line in found:
            user = self.is_user(code.co_filename)
            begun = begun or user
            if begun and not code.co_filename.startswith(self._ours):
                yield Place(code.co_filename, line, code.co_name, user)

    def _judge(self, name: str) -> bool:
        if name.startswith("<") or not name:
            return False
        others = (*self._ours, *self._libraries)
        if name.startswith(others):  # most are, and links take long to follow
            return False
        full = os.path.realpath(name)
        if full.startswith(others):
            return False
        inside = [root for root in self._roots if full.startswith(root)]
        if not inside:
            return False
        rest = full[max(map(len, inside)) :].split(os.sep)
        return "site-packages" not in rest and "dist-packages" not in rest


def line_of(code: CodeType, offset: int) -> int:
    """The line of an instruction."""
    if sys.version_info >= (3, 10):
        for start, end, line in code.co_lines():
            if start <= offset < end and line is not None:
                return line
        return code.co_firstlineno
    last = code.co_firstlineno
    for start, line in dis.findlinestarts(code):
        if start > offset:
            break
        last = line or last
    return last


def _folder(name: str) -> str:
    return os.path.realpath(name).rstrip(os.sep) + os.sep


def _library_folders() -> Iterator[str]:
    names = [sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")]
    names += site.getsitepackages() if hasattr(site, "getsitepackages") else []
    torch = sys.modules.get("torch")
    if torch is not None and torch.__file__:
        names.append(os.path.dirname(torch.__file__))
    for name in names:
        yield os.path.abspath(name).rstrip(os.sep) + os.sep
        yield _folder(name)
