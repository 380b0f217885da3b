"""jedi, fenced in: it reads source, and imports and starts nothing.

jedi usually starts the person's interpreter and has it import compiled modules, to inspect them. Here it runs in our
own interpreter with the path of theirs, and a compiled module is a module of which nothing is known. (`import torch` in
our process would take seconds and a gigabyte, and that of a package in the workspace would run its code.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jedi  # type: ignore[import-untyped]
from jedi.api.environment import InterpreterEnvironment  # type: ignore[import-untyped]
from jedi.inference.compiled.subprocess import InferenceStateSameProcess  # type: ignore[import-untyped]

# Looked into as objects, not as source; they are loaded in every Python.
_LOADED = frozenset(("builtins",))


class _Reader(InferenceStateSameProcess):  # type: ignore[misc]
    """What jedi asks of an interpreter, without the part that imports."""

    def load_module(self, *, dotted_name: str, sys_path: Sequence[str]) -> Any:
        """The module as an object; None, as for one that cannot be imported, unless it is there anyway."""
        if dotted_name not in _LOADED:
            return None
        return self.__getattr__("load_module")(dotted_name=dotted_name, sys_path=list(sys_path))


class ReadingEnvironment(InterpreterEnvironment):  # type: ignore[misc]
    """Our own Python, for the grammar, without the right to import."""

    def get_inference_state_subprocess(self, inference_state: Any) -> _Reader:
        """What stands for the process that other environments start."""
        return _Reader(inference_state)


class Reading:
    """jedi over some folders.

    Args:
        root: the folder of the workspace.
        path: the folders that imports are found in, in order.
    """

    def __init__(self, root: str, path: Sequence[str]) -> None:
        settle()
        self._environment = ReadingEnvironment()
        self._project = jedi.Project(root, sys_path=list(path), smart_sys_path=False, load_unsafe_extensions=False)

    def named(self, dotted: str) -> list[Any]:
        """The definition of a dotted name, as jedi's names."""
        parts = dotted.split(".")
        imports = [f"import {'.'.join(parts[:count])}" for count in range(1, len(parts))] or [f"import {dotted}"]
        code = "\n".join([*imports, dotted])
        script = self._script(code)
        return list(script.goto(len(imports) + 1, len(dotted), follow_imports=True))

    def at(self, path: str, line: int, column: int) -> list[Any]:
        """The definition of the name at a place in a file; lines count from 1, columns from 0 in code points.

        The definition and not what it evaluates to: decorators of a large package can take jedi minutes.
        """
        script = self._script(path=path)
        return list(script.goto(line, column, follow_imports=True))

    def _script(self, code: str | None = None, path: str | None = None) -> Any:
        """A program for jedi, which parses others for it and keeps them in memory alone.

        It would pickle what it parsed into a folder: files that nobody removes when the process is killed, and that
        another user may have put there before they are unpickled.
        """
        script = jedi.Script(code, path=path, environment=self._environment, project=self._project)
        state = script._inference_state
        parse = state.parse_and_get_code
        state.parse_and_get_code = lambda *args, **options: parse(*args, **{**options, "cache": False})
        return script


def settle() -> None:
    """jedi's settings: nothing is imported to be understood."""
    jedi.settings.auto_import_modules = []
    jedi.settings.allow_unsafe_interpreter_executable = False
