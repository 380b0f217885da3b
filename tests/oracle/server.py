"""The fork server: imports torch once, then runs each program in a child of its own.

Reads one JSON request a line on standard input, writes one JSON answer a line on standard output.
"""

from __future__ import annotations

import builtins
import contextlib
import gc
import importlib.machinery
import json
import os
import random
import select
import shutil
import signal
import sys
import tempfile
import traceback
import types
import warnings
from pathlib import Path
from typing import Any

import numpy
import torch
import torch._dynamo  # optimizers and checkpoints import it at their first call, which takes a second
import torch.nn.functional
import torch.utils.checkpoint
import torch.utils.data

from oracle.probe import Probe


def serve() -> None:
    """Answers requests until standard input ends."""
    torch.set_num_threads(1)
    gc.collect()
    gc.freeze()  # the probe in a child looks through the program's own objects only
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Forks a child for one program and waits for it."""
    folder = Path(tempfile.mkdtemp(prefix="oracle-"))
    try:
        for name, text in {**request["files"], request["main"]: request["text"]}.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            run_in_child(folder, request["main"], writer)
        os.close(writer)
        return await_child(child, reader, request["timeout"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def await_child(child: int, reader: int, timeout: float) -> dict[str, Any]:
    """Reads the child's answer, or ends its process group when the time is up."""
    with os.fdopen(reader, "rb") as pipe:
        ready, _, _ = select.select([pipe], [], [], timeout)
        text = pipe.readline() if ready else b""
    if not ready:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # processes of its own, say a data loader's workers
    if not ready:
        return {"kind": "timeout"}
    if not text:
        return {"kind": "raises", "error_type": "ProcessDied", "message": f"wait status {status}"}
    answer: dict[str, Any] = json.loads(text)
    return answer


def run_in_child(folder: Path, main: str, writer: int) -> None:
    """Runs the program, writes the answer to the pipe and ends the process."""
    os.setpgid(0, 0)
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)
    try:
        report = execute(folder, main)
    except BaseException as error:
        report = {"kind": "raises", "error_type": "OracleFailed", "message": repr(error)}
    with os.fdopen(writer, "w") as pipe:
        pipe.write(json.dumps(report) + "\n")
    os._exit(0)


def execute(folder: Path, main: str) -> dict[str, Any]:
    """Runs a program as `__main__` in this process, with the probe in every file of its folder."""
    probe = Probe()
    root = f"{folder.resolve()}{os.sep}"
    compile_module = importlib.machinery.SourceFileLoader.source_to_code

    def source_to_code(self: Any, data: Any, path: Any, **options: Any) -> Any:
        name = str(path)
        if not name.startswith(root):
            return compile_module(self, data, path, **options)
        return probe.compile(data, name, name.removeprefix(root))

    importlib.machinery.SourceFileLoader.source_to_code = source_to_code  # type: ignore[method-assign]
    vars(builtins).update(probe.names())
    warnings.simplefilter("ignore")
    sys.dont_write_bytecode = True
    os.chdir(root)
    sys.path.insert(0, root)
    sys.argv = [main]
    module = types.ModuleType("__main__")
    module.__file__ = path = root + main
    sys.modules["__main__"] = module
    random.seed(0)
    numpy.random.seed(0)
    torch.manual_seed(0)
    probe.watch_walks()
    report: dict[str, Any] = {"kind": "clean"}
    try:
        exec(probe.compile(Path(path).read_text(encoding="utf-8"), path, main), module.__dict__)
    except SystemExit:
        pass
    except BaseException as error:
        report = describe(error, root)
    report["loops"] = probe.report()
    return report


def describe(error: BaseException, root: str) -> dict[str, Any]:
    """The exception and the program's own lines of its traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    stack = [(f.filename.removeprefix(root), f.lineno) for f in frames if f.filename.startswith(root)]
    if isinstance(error, SyntaxError) and error.filename and error.filename.startswith(root):
        stack.append((error.filename.removeprefix(root), error.lineno))
    file, line = stack[-1] if stack else (None, None)
    return {
        "kind": "raises",
        "error_type": type(error).__name__,
        "message": str(error),
        "file": file,
        "line": line,
        "stack": stack,
    }


if __name__ == "__main__":
    serve()
