"""How a run ended that did not end well, in words that say what can be done."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping, Sequence
from typing import Any

from gradsense.run.report import Fault
from gradsense.run.spec import Spec

_TRACED = re.compile(r"Fatal Python error: (?P<what>[^\n]+)\n")
_FRAME = re.compile(r'^  File "(?P<path>[^"\n]+)", line (?P<line>\d+) in (?P<name>[^\n]+)$', re.M)
_LIBRARY = re.compile(r"[/\\](?:site-packages|dist-packages|lib[/\\]python3[.\d]*)[/\\]|[/\\]gradsense[/\\]run[/\\]|^<")
_QUOTED = 400

_SIGNALS = {
    "SIGSEGV": "with a segmentation fault: native code, of an extension or of torch itself, touched memory that is "
    "not its own",
    "SIGABRT": "by aborting: native code found its state broken and said so above",
    "SIGBUS": "with a bus error; in a container, shared memory that is too small does that (--shm-size, or fewer "
    "loader workers)",
    "SIGFPE": "with an arithmetic error in native code",
    "SIGILL": "at an instruction that this processor lacks: this build of torch is for another one",
    "SIGKILL": "since the system killed it, most likely because memory ran out; try smaller batches",
    "SIGTERM": "since something terminated it",
    "SIGXCPU": "since its limit of processor time was reached",
}


def no_torch(python: str, error: str, message: str) -> str:
    """Why an interpreter is of no use whose `import torch` raised."""
    if error == "ModuleNotFoundError" and "'torch'" in message:
        return f"torch is not installed in {python}; choose another with --python"
    return f"torch cannot be imported in {python} ({error}: {message}); mend it, or choose another with --python"


def unfit(python: str, output: str) -> str:
    """Why an interpreter is of no use that ended before it had imported torch."""
    said = output.strip()[-_QUOTED:]
    tail = f"; it said: {said}" if said else ""
    return f"{python} ended before it had imported torch{tail}"


def out_of_time(spec: Spec, seconds: float, frames: Sequence[Mapping[str, Any]]) -> Fault:
    """What is said of a run that was ended at its time limit.

    Args:
        frames: where it was, outermost first; empty where it did not say.
    """
    where = ""
    own = [frame for frame in frames if not _LIBRARY.search(str(frame["path"]))]
    if own:
        at = next((frame for frame in reversed(own) if frame["path"] == spec.path), own[-1])
        where = f" It was at {os.path.basename(str(at['path']))}, line {at['line']}."
    return Fault(
        "TimeLimit",
        f"the step was not over after {seconds:g} s and was ended.{where} "
        "A higher --time-limit gives it longer; fewer --passes or --batches make it shorter.",
    )


def probe_fault(error: str, traceback: str) -> Fault:
    """What is said where the probe itself failed: our fault, not that of the step."""
    return Fault("Probe", f"GradSense's probe failed: {error}. Please report it, with this:\n{traceback}")


def crash(status: int | None, output: str) -> Fault:
    """What is said of an interpreter that ended before it had reported.

    Args:
        status: its exit status, as `subprocess` has it.
        output: what it printed, which has Python's own last words.
    """
    if status is not None and status < 0:
        name = _signal_name(-status)
        how = _SIGNALS.get(name, f"by signal {name}")
        return Fault("Crash", f"the interpreter ended {how}{_last_place(output)}")
    if status is not None and status >= 0xC000_0000:
        return Fault("Crash", f"the interpreter crashed with Windows' status {status:#x}{_last_place(output)}")
    code = "" if status is None else f" with status {status}"
    return Fault(
        "Exit",
        f"the program ended the interpreter{code} before the step was over, as os._exit or a fault in native code does",
    )


def _last_place(output: str) -> str:
    traced = list(_TRACED.finditer(output))
    if not traced:
        return ""
    for frame in _FRAME.finditer(output, traced[-1].end()):
        if not _LIBRARY.search(frame["path"]):
            return f"; it was at {os.path.basename(frame['path'])}, line {frame['line']}"
    return ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
