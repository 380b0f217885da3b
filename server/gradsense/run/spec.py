"""What a worker is told to run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from gradsense.run.jsonable import from_json

DEFAULT_PASSES = 3
DEFAULT_BATCHES = 3
DEFAULT_SEED = 0


@dataclass(frozen=True)
class Predicted:
    """A finding of the static check, which the run is to confirm or refute.

    Args:
        code: the rule's code.
        line: the line that it is on, from 1.
        path: its file.
        related: the other lines of its story in that file.
        rerun: whether it happens only when a notebook's cell is run again.
        behind: whether an error comes before it, which has to be mended first.
    """

    code: str
    line: int
    path: str
    related: tuple[int, ...] = ()
    rerun: bool = False
    behind: bool = False


@dataclass(frozen=True)
class Spec:
    """One run, as JSON tells it to the worker.

    Args:
        path: the file that the program calls itself, in tracebacks and as `__file__`.
        text: the whole program as typed; of a notebook, its code cells with what is not Python blanked.
        until_line: the last line to execute, from 1; None for all.
        call: an expression that is evaluated after the definitions; None for none.
        cells: first and last line of each cell of a notebook, in order; None for a script.
        module: the name that it is run under, as by `python -m`; None for a file that is run by its path.
        argv: what the program finds in `sys.argv` behind its own name.
        cwd: its working folder.
        env: what its environment has besides that of GradSense.
        passes: to how many passes a loop that trains is cut.
        batches: to how many batches a loader is cut.
        device: `auto` for what the program asks for, or `cpu`, `cuda`, `cuda:1`.
        anomaly: whether torch's anomaly mode is on.
        check_nan: whether gradients that are not a number end the run.
        measure_cost: whether plain passes, those under anomaly mode and those under the probe are timed.
        roots: folders that imports start from, besides those of the interpreter.
        predictions: the findings of the static check.
        overlays: the unsaved text of other files, by path.
        seed: what random numbers start from, so that two runs can be compared; None to leave that to chance.
    """

    path: str
    text: str
    until_line: int | None = None
    call: str | None = None
    cells: tuple[tuple[int, int], ...] | None = None
    module: str | None = None
    argv: tuple[str, ...] = ()
    cwd: str = "."
    env: Mapping[str, str] = field(default_factory=dict)
    passes: int = DEFAULT_PASSES
    batches: int = DEFAULT_BATCHES
    device: str = "auto"
    anomaly: bool = True
    check_nan: bool = True
    measure_cost: bool = False
    roots: tuple[str, ...] = ()
    predictions: tuple[Predicted, ...] = ()
    overlays: Mapping[str, str] = field(default_factory=dict)
    seed: int | None = DEFAULT_SEED

    def to_json(self) -> dict[str, Any]:
        """The object that goes to the worker."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Spec:
        """Reads what `to_json` made.

        Raises:
            ValueError: it does not fit.
        """
        return from_json(value, cls)
