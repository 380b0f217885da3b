"""What to do about an exception that says more about how the program was run than about its gradients."""

from __future__ import annotations

import re

from gradsense.run.report import Report
from gradsense.run.step import Step

_MODULE = re.compile(r"No module named '([^']+)'")


def advice(report: Report, step: Step) -> str | None:
    """A sentence on what would make the program run, or None where the error speaks for itself."""
    if report.error is None or report.outcome not in ("failed", "raises"):
        return None
    kind, message = report.error.type, report.error.message
    if kind == "ModuleNotFoundError" and (found := _MODULE.search(message)):
        return (
            f"`{found[1]}` is not installed in {step.interpreter.path} ({step.interpreter.reason}), and not found from "
            f"{listed_roots(step)}; install it there, or choose another interpreter with --python"
        )
    if kind in ("FileNotFoundError", "NotADirectoryError"):
        return f"the working folder is {step.spec.cwd}; choose another with --cwd"
    if kind == "SystemExit" and message == "2":
        return "the program did not like its arguments; those behind -- are passed on to it"
    if "no NVIDIA driver" in message or "not compiled with CUDA" in message or "No CUDA GPUs" in message:
        return "there is no GPU that torch can use here; --device cpu runs the step on the CPU"
    if kind == "OutOfMemoryError" or "out of memory" in message:
        return "the GPU has not enough free memory; smaller batches, or --device cpu, make the step fit"
    if "start a new process before the current process has finished its bootstrapping" in message:
        return 'what starts processes belongs under `if __name__ == "__main__":`'
    return None


def listed_roots(step: Step) -> str:
    """The folders that imports start from."""
    return ", ".join(step.spec.roots)
