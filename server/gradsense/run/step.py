"""From a program and the settings to what a worker is started with and told."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gradsense.run.interpreters import Interpreter, activated, choose
from gradsense.run.process import ENTRY, Launch
from gradsense.run.program import Program
from gradsense.run.settings import RunSettings
from gradsense.run.spec import Predicted, Spec


@dataclass(frozen=True)
class Step:
    """A run that is ready to start."""

    launch: Launch
    spec: Spec
    time_limit: float
    interpreter: Interpreter
    notes: tuple[str, ...] = ()

    @property
    def target(self) -> tuple[object, ...]:
        """What two runs have in common that can be compared: the part that is run, where, and how much of it."""
        spec = self.spec
        return (spec.until_line, spec.call, spec.device, spec.passes, spec.batches, spec.argv, self.interpreter.path)

    def with_predictions(self, predictions: Sequence[Predicted]) -> Step:
        """The same, with what the static check found."""
        return replace(self, spec=replace(self.spec, predictions=tuple(predictions)))


def plan_step(
    program: Program,
    settings: RunSettings,
    *,
    folder: str,
    roots: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    reason: str = "--python",
    entry: str = ENTRY,
    **options: Any,
) -> Step:
    """Plans a run.

    Args:
        program: what runs.
        settings: how.
        folder: the working folder where the settings name none, and what theirs is relative to.
        roots: folders that imports start from besides the program's own.
        env: the environment; by default this process's.
        reason: how the interpreter was asked for, if it was.
        entry: what runs a spec in the worker.
        options: further fields of the spec, such as `anomaly`.

    Raises:
        NoInterpreter: no Python can run it.
    """
    surroundings = {**(os.environ if env is None else env), **settings.env}
    interpreter = choose(settings.interpreter, program.path, surroundings, reason=reason)
    cwd = os.path.abspath(os.path.join(folder, os.path.expanduser(settings.cwd or "")))
    own = os.path.dirname(program.path) if os.path.isabs(program.path) and not options.get("module") else cwd
    spec = Spec(
        path=program.path,
        text=program.text,
        until_line=program.until_line,
        call=program.call,
        cells=program.cells,
        argv=settings.args,
        cwd=cwd,
        env=settings.env,
        passes=settings.passes,
        batches=settings.batches,
        device=settings.device,
        roots=tuple(dict.fromkeys([own, *roots])),
        **options,
    )
    launch = Launch(interpreter.path, activated(surroundings, interpreter.path), cwd, entry)
    return Step(launch, spec, settings.time_limit, interpreter, program.notes)
