"""Imports torch once, and forks for each Python that is asked for: `python forkserver.py SOCKET`.

What is asked for comes through the socket, from the program that `run.forking` writes: standard streams, arguments,
environment and folder. Whoever asked is told how it ended, and when it is gone, so is what was run for it.
"""

from __future__ import annotations

import contextlib
import json
import os
import runpy
import signal
import socket
import sys
import threading
from typing import Any

import torch
import torch._dynamo  # optimizers import it at their first step
import torch.utils.data  # noqa: F401

OWN = [entry for entry in sys.path if entry != os.path.dirname(os.path.abspath(__file__))]


def main(path: str) -> None:
    """Serves until standard input ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen(64)
    print("ready", flush=True)
    threading.Thread(target=end_with_host, daemon=True).start()
    while True:
        connection, _ = server.accept()
        if os.fork() == 0:
            server.close()
            serve(connection)
        connection.close()


def end_with_host() -> None:
    """Ends when nobody is there any more who could ask."""
    while os.read(0, 4096):
        pass
    os._exit(0)


def serve(connection: socket.socket) -> None:
    """Runs one Python, and tells how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    size, streams, _, _ = socket.recv_fds(connection, 8, 3)
    with connection.makefile("rb") as file:
        asked = json.loads(file.read(int.from_bytes(size, "big")))
    child = os.fork()
    if child == 0:
        connection.close()
        become(asked, streams)
    for stream in streams:
        os.close(stream)

    def end_with_asker() -> None:
        with contextlib.suppress(OSError):
            connection.recv(1)
            os.killpg(child, signal.SIGKILL)

    threading.Thread(target=end_with_asker, daemon=True).start()
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(OSError):
        connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, "big", signed=True))
    os._exit(0)


def become(asked: dict[str, Any], streams: list[int]) -> None:
    """Makes this process look as if it had been started as was asked."""
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
    os.environ.clear()
    os.environ.update(asked["env"])
    os.chdir(asked["cwd"])
    sys.executable = asked["python"]
    sys.argv = asked["argv"]
    sys.path[:] = [*filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)), *OWN]
    code = 1
    try:
        if sys.argv[0] == "-c":
            exec(sys.argv.pop(1), {"__name__": "__main__"})
        else:
            sys.path.insert(0, os.path.dirname(sys.argv[0]))
            runpy.run_path(sys.argv[0], run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1])
