"""The worker's program: `python start.py PACKAGE ENTRY [RANKS]`, run by path in the user's interpreter.

It imports torch, waits for a spec on standard input, and hands it to the probe. What it has to say goes to one pipe,
whatever the user's code prints to another. It ends, with all that it started, when the host is gone.

PACKAGE is the folder of GradSense, which is no more on the import path than anything else of its environment; ENTRY is
`module:function`, what runs a spec; RANKS, of a distributed run, is the folder through which each rank talks.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import queue
import signal
import sys
import threading
import time
import traceback
import types
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Event = dict[str, Any]


class Channel:
    """The private way to the host: orders come in, events go out."""

    def __init__(self, orders: IO[bytes] | None, events: IO[bytes]) -> None:
        self._orders = orders
        self._events = events
        self._lock = threading.Lock()
        self.specs: queue.SimpleQueue[Event] = queue.SimpleQueue()

    def send(self, event: Event) -> None:
        """Tells the host something. Safe from any thread."""
        data = json.dumps(event, default=str).encode("utf-8", "replace") + b"\n"
        try:
            with self._lock:
                self._events.write(data)
                self._events.flush()
        except OSError:
            end_group()

    def listen(self, main_thread: int) -> None:
        """Takes orders until the host is gone, and ends everything then."""
        assert self._orders is not None
        for line in self._orders:
            order = json.loads(line)
            if "run" in order:
                self.specs.put(order["run"])
            elif "where" in order:
                self.send({"event": "where", "frames": stack_of(main_thread)})
        end_group()


def main(package: str, entry: str, ranks: str | None) -> None:
    """Gets ready, runs one spec, and says so at each turn."""
    channel = rank_channel(ranks) if ranks else pipe_channel()
    channel.send({"event": "hello", "pid": os.getpid(), "python": sys.version.split()[0], "executable": sys.executable})
    try:
        torch = importlib.import_module("torch")
    except BaseException as error:
        channel.send({"event": "no-torch", "error": type(error).__name__, "message": str(error)})
        return
    module_name, _, function = entry.partition(":")
    open_package(package)
    run: Callable[[Event, Callable[[Event], None]], None] = getattr(importlib.import_module(module_name), function)
    package_name = module_name.rpartition(".")[0]
    with contextlib.suppress(ImportError):
        # What the probe imports only when it has a spec: a worker that is kept ready has it at hand.
        importlib.import_module(f"{package_name}.session" if package_name else module_name)
    channel.send({"event": "ready", "torch": str(torch.__version__), "files": loaded_files()})
    spec = channel.specs.get()
    prepare(spec, torch, ranks is not None)
    try:
        run(spec, channel.send)
    except BaseException as error:
        channel.send({"event": "fault", "error": repr(error), "traceback": traceback.format_exc()})
    leave(channel)


def leave(channel: Channel) -> None:
    """Does what the user's code wants done at exit, and ends without taking torch apart, which takes a second."""
    run_exit_functions: Callable[[], None] = getattr(atexit, "_run_exitfuncs", lambda: None)
    try:
        run_exit_functions()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        channel.send({"event": "end"})
        os._exit(0)


def pipe_channel() -> Channel:
    """Takes standard input and output for the channel, so that a stray `print` cannot break it.

    The user's code reads nothing, and writes to what was standard error.
    """
    orders = os.fdopen(os.dup(0), "rb")
    events = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    channel = Channel(orders, events)
    threading.Thread(target=channel.listen, args=(threading.get_ident(),), daemon=True).start()
    return channel


def rank_channel(folder: str) -> Channel:
    """The channel of one rank of a distributed run: a spec that lies ready, and a file that the host reads."""
    path = os.path.join(folder, f"events-{os.environ['RANK']}")
    channel = Channel(None, os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb", buffering=0))
    with open(os.path.join(folder, "spec.json"), "rb") as spec:
        channel.specs.put(json.load(spec))
    host = int(os.environ["GRADSENSE_HOST_PID"])
    threading.Thread(target=outlive_nobody, args=(host,), daemon=True).start()
    return channel


def outlive_nobody(host: int) -> None:
    """Ends this rank when the host is gone: `torchrun` starts each rank in a session of its own."""
    while True:
        time.sleep(0.5)
        try:
            os.kill(host, 0)
        except ProcessLookupError:
            end_group()
        except OSError:
            pass


def open_package(package: str) -> None:
    """Makes `gradsense.run` importable without putting the environment that it is installed in on the path."""
    for full, folder in (("gradsense", package), ("gradsense.run", os.path.join(package, "run"))):
        module = types.ModuleType(full)
        module.__path__ = [folder]
        sys.modules[full] = module


def prepare(spec: Event, torch: Any, distributed: bool) -> None:
    """Puts in force what the spec says of the interpreter as a whole."""
    os.environ.update(spec.get("env") or {})
    if spec.get("seed") is not None:
        import random

        # The ranks of a distributed run are to differ.
        seed = spec["seed"] + (int(os.environ["RANK"]) if distributed else 0)
        random.seed(seed)
        torch.manual_seed(seed)
    if spec.get("overlays"):
        importlib.import_module("gradsense.run.guest.unsaved").install(spec["overlays"])
    if distributed:
        importlib.import_module("gradsense.run.guest.ranks").install(torch, spec.get("device") or "auto")


def loaded_files() -> list[str]:
    """The files that have been loaded so far: where one changes, this interpreter is out of date."""
    files = set()
    for module in list(sys.modules.values()):
        name = getattr(module, "__file__", None)
        if isinstance(name, str):
            files.add(name)
    return sorted(files)


def stack_of(thread: int) -> list[Event]:
    """Where a thread is, outermost first."""
    frames = []
    frame = sys._current_frames().get(thread)
    while frame is not None:
        frames.append({"path": frame.f_code.co_filename, "line": frame.f_lineno, "name": frame.f_code.co_name})
        frame = frame.f_back
    return frames[::-1]


def end_group() -> None:
    """Ends this process and all that it started, at once."""
    if hasattr(os, "killpg"):
        os.killpg(os.getpgid(0), signal.SIGKILL)
    os._exit(1)


def settle_in() -> None:
    """Puts the interpreter in the state that a user's program would find."""
    here = os.path.dirname(os.path.abspath(__file__))
    if sys.path and os.path.abspath(sys.path[0]) == here:
        # The folder of this file, which Python put there.
        del sys.path[0]
    for stream in (sys.stdout, sys.stderr):
        # What is printed must not be lost where the process is ended or crashes.
        stream.reconfigure(line_buffering=True, errors="replace")  # type: ignore[union-attr]
    try:
        import faulthandler

        faulthandler.enable()
    except Exception:
        sys.stderr.write("gradsense: a crash of the interpreter cannot be traced here\n")


if __name__ == "__main__":
    settle_in()
    main(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None)
