"""Starts the fork server and asks it."""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from oracle.outcome import Outcome


class Oracle:
    """One server process that has imported torch once and forks a child for each program.

    It may be used from several threads, one program at a time. Close it, or use it as a context manager.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: subprocess.Popen[str] | None = None

    def run(
        self, text: str, files: Mapping[str, str] | None = None, main: str = "main.py", timeout: float = 20
    ) -> Outcome:
        """Runs a program on real torch.

        Args:
            text: the program.
            files: the other files it imports, by path relative to it.
            main: the program's own file name.
            timeout: seconds after which its process is ended.

        Raises:
            RuntimeError: the server itself failed, say because torch is not installed.
        """
        request = json.dumps({"text": text, "files": dict(files or {}), "main": main, "timeout": timeout})
        with self._lock:
            server = self._started()
            assert server.stdin is not None and server.stdout is not None
            try:
                server.stdin.write(request + "\n")
                server.stdin.flush()
                answer = server.stdout.readline()
            except BrokenPipeError:
                answer = ""
            if not answer:
                self._server = None
                raise RuntimeError(f"the oracle's server ended (exit {server.wait()}): is torch installed?")
        return Outcome.from_json(json.loads(answer))

    def close(self) -> None:
        """Ends the server."""
        with self._lock:
            server, self._server = self._server, None
        if server is not None and server.stdin is not None and server.stdout is not None:
            server.stdin.close()
            server.stdout.close()
            server.wait()

    def _started(self) -> subprocess.Popen[str]:
        if self._server is None or self._server.poll() is not None:
            command = [sys.executable, "-m", "oracle.server"]
            home = Path(__file__).resolve().parents[1]
            self._server = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", cwd=home
            )
        return self._server

    def __enter__(self) -> Oracle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


_shared = Oracle()
atexit.register(_shared.close)


def run_program(
    text: str, files: Mapping[str, str] | None = None, main: str = "main.py", timeout: float = 20
) -> Outcome:
    """Runs a program on this process's own oracle, started at the first call. See `Oracle.run`."""
    return _shared.run(text, files, main, timeout)
