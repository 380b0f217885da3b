"""Runs a cell in the kernel that it belongs to, under the probe, and shows the report."""

from __future__ import annotations
import __future__

import argparse
import ast
import contextlib
import importlib
import inspect
import linecache
import os
import re
import sys
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from gradsense.cli.formats.run_full import Surroundings
from gradsense.cli.formats.run_texts import Texts
from gradsense.integrations.shown import Shown
from gradsense.integrations.watching import Unusable, report_of, watched, without_ours
from gradsense.syntax import Source

if TYPE_CHECKING:
    from gradsense.run.inside.existing import Text
    from gradsense.run.inside.probe import Probe

FEATURES = sum({getattr(__future__, name).compiler_flag for name in __future__.all_feature_names})
OF_CELLS = re.compile(r"ipykernel_|<ipython-input-(?P<number>\d+)")
RESTORED = "models, optimizers and random numbers are again as they were before the cell"


class CellRun:
    """One run of a cell.

    Args:
        shell: IPython's; half of it has no types.
        magic: the line that asked for the run.
        cell: what stands below it.
    """

    def __init__(self, shell: Any, magic: str, cell: str) -> None:
        self.shell = shell
        # Lines count as the person sees them: from that of the magic, and IPython drops blank ones at the beginning.
        blank = len(cell) - len(cell.lstrip("\n"))
        self.text = "\n" * (1 + blank) + shell.transform_cell(cell)
        self.path: str = shell.compile.cache(self.text, shell.execution_count, raw_code=f"{magic}\n{cell}")
        self.flags: int = shell.compile.flags & FEATURES
        self.value: Any = None

    def run(self, options: argparse.Namespace) -> Any:
        """Runs it and shows the report.

        Args:
            options: `passes`, `batches`, `restore`, `check_nan`, `traceback`, `name`, as the magic has them.

        Returns:
            The value of the last line, if that is an expression.

        Raises:
            Unusable: the probe cannot be used here.
            Exception: the cell is no Python.
            BaseException: what the cell raises.
        """
        tree = self._parse()
        with self._restoring(options.restore):
            failure, probe = self._watch(tree, options)
        report = report_of(probe)
        notes = (RESTORED,) if options.restore else ()
        around = Surroundings(notes=notes, unfolding="--traceback")
        display: Any = importlib.import_module("IPython.display").display
        display(Shown(report, Texts(Source.from_text(self.path, self.text), self._cells()), around, options.traceback))
        if options.name is not None:
            self.shell.user_ns[options.name] = report
        if failure is not None:
            _show_without_us(self.shell, failure)
            raise failure
        return self.value

    def _parse(self) -> ast.Module:
        try:
            tree: ast.Module = self.shell.transform_ast(self.shell.compile.ast_parse(self.text, self.path))
        except (SyntaxError, ValueError, OverflowError) as error:
            raise _no_python(self.shell, error) from None
        with contextlib.suppress(SyntaxError):
            code = compile(tree, self.path, "exec", self.flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
            if code.co_flags & inspect.CO_COROUTINE:
                raise UsageError("%%gradsense cannot await in the cell itself; put that into a function and run it")
        try:
            compile(tree, self.path, "exec", self.flags, dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            raise _no_python(self.shell, error) from None
        return tree

    @contextlib.contextmanager
    def _restoring(self, wanted: bool) -> Iterator[None]:
        if not wanted or "torch" not in sys.modules:
            yield
            return
        from gradsense.run.inside.restoring import Snapshot

        snapshot = Snapshot(self.shell.user_ns)
        try:
            yield
        finally:
            snapshot.restore()

    def _watch(self, tree: ast.Module, options: argparse.Namespace) -> tuple[BaseException | None, Probe]:
        folder = os.getcwd()
        probe: Probe | None = None
        try:
            with watched(
                files=[self.path, *self._cells()],
                roots=[folder],
                texts=self._texts(),
                passes=options.passes,
                batches=options.batches,
                check_nan=options.check_nan,
            ) as probe:
                probe.more_walks_follow = True  # in a later cell, for all we know
                self._execute(tree, probe)
        except Unusable:
            raise
        except BaseException as error:
            if probe is None:
                raise
            return error, probe
        return None, probe

    def _execute(self, tree: ast.Module, probe: Probe) -> None:
        last = tree.body[-1] if tree.body else None
        if isinstance(last, ast.Expr) and self.shell.ast_node_interactivity != "none":
            tree.body.pop()
        namespace = self.shell.user_ns
        probe.books.base = sys._getframe()
        try:
            # Statement by statement, as IPython does, so that a later run finds what is defined here.
            pieces = [ast.Module([statement], []) for statement in tree.body]
            for code in [probe.compile_tree(piece, self.path, self.flags) for piece in pieces]:
                exec(code, namespace)
            if isinstance(last, ast.Expr) and last not in tree.body:
                expression = ast.Expression(last.value)
                self.value = eval(compile(expression, self.path, "eval", self.flags, dont_inherit=True), namespace)
        finally:
            probe.books.base = None

    def _texts(self) -> list[Text]:
        """The cells that ran before."""
        from gradsense.run.inside.existing import Text

        return [
            Text(path, source.text, path, flags=self.flags, parted=True)
            for path, (_, source) in self._cells().items()
            if path != self.path
        ]

    def _cells(self) -> dict[str, tuple[str, Source]]:
        """All cells that ran, by the file that their code calls its own, with the name that IPython gives them."""
        named: Callable[[str], tuple[str, str] | None] = getattr(self.shell.compile, "format_code_name", _older_name)
        found = {}
        for path in list(linecache.cache):
            name = named(path)
            if name is not None:
                found[path] = (" ".join(name), Source.from_text(path, "".join(linecache.getlines(path))))
        return found


def _older_name(path: str) -> tuple[str, str] | None:
    """What IPython before 8.0 would have called a cell."""
    found = OF_CELLS.search(path)
    if found is None:
        return None
    return ("Cell", f"In[{found['number']}]" if found["number"] else os.path.basename(path))


def _no_python(shell: Any, error: Exception) -> Exception:
    """An error that IPython shows as it shows one of syntax, without the way that leads here."""
    kind = type(error)
    shown: list[str] = shell.SyntaxTB.structured_traceback(kind, error, [])
    twin: Exception = type(kind.__name__, (Exception,), {"_render_traceback_": lambda self: shown})(str(error))
    return twin


def _show_without_us(shell: Any, error: BaseException) -> None:
    """Has IPython show an exception as if the cell had run without the magic."""
    traceback: TracebackType | None = without_ours(error.__traceback__)

    def render() -> list[str]:
        with contextlib.suppress(AttributeError):
            del error._render_traceback_  # type: ignore[attr-defined]
        lines: list[str] = shell.InteractiveTB.structured_traceback(type(error), error, traceback, tb_offset=0)
        return lines

    with contextlib.suppress(AttributeError):
        error._render_traceback_ = render  # type: ignore[attr-defined]
