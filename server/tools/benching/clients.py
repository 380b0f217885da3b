"""A plain client of any language server, for measuring: what it sends and when answers come, and nothing else."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PATIENCE = 60.0


@dataclass
class Published:
    """Diagnostics as they came."""

    at: float
    version: int | None
    diagnostics: list[dict[str, Any]]


@dataclass
class Client:
    """One session with a server over its standard streams.

    Args:
        command: how the server is started.
        folder: the workspace.
    """

    command: Sequence[str]
    folder: Path
    start: float = 0.0
    start_on_processor: float | None = None
    _next: int = 0
    _version: int = 0
    _replies: dict[int, queue.SimpleQueue[dict[str, Any]]] = field(default_factory=dict)
    published: queue.SimpleQueue[Published] = field(default_factory=queue.SimpleQueue)

    def __post_init__(self) -> None:
        # As people have it: Python keeps what it compiled.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        began = time.perf_counter()
        self._server = subprocess.Popen(
            list(self.command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
            env=environment,
        )
        threading.Thread(target=self._read, daemon=True).start()
        uri = self.folder.as_uri()
        self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": uri,
                "workspaceFolders": [{"uri": uri, "name": "bench"}],
                "capabilities": {
                    "general": {"positionEncodings": ["utf-16"]},
                    "textDocument": {
                        "synchronization": {"didSave": True},
                        "publishDiagnostics": {"versionSupport": True, "relatedInformation": True, "dataSupport": True},
                    },
                    "workspace": {"configuration": True, "workspaceFolders": True},
                },
            },
        )
        self.start = time.perf_counter() - began
        self.start_on_processor = processor_seconds(self.pid)
        self.notify("initialized", {})

    @property
    def pid(self) -> int:
        """The server's process number."""
        return self._server.pid

    def request(self, method: str, params: Any) -> Any:
        """Sends a request and waits for its result."""
        self._next += 1
        number = self._next
        reply = self._replies[number] = queue.SimpleQueue()
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        result = reply.get(timeout=PATIENCE).get("result")
        del self._replies[number]
        return result

    def notify(self, method: str, params: Any) -> None:
        """Sends a notification."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def open(self, uri: str, text: str) -> None:
        """Opens a document."""
        self._version = 1
        item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})

    def change(self, uri: str, line: int, character: int, end_line: int, end_character: int, text: str) -> float:
        """Replaces a stretch of a document; returns when that was sent."""
        self._version += 1
        where = {
            "start": {"line": line, "character": character},
            "end": {"line": end_line, "character": end_character},
        }
        params = {
            "textDocument": {"uri": uri, "version": self._version},
            "contentChanges": [{"range": where, "text": text}],
        }
        sent = time.perf_counter()
        self.notify("textDocument/didChange", params)
        return sent

    def wait(self, fits: Callable[[Published], bool] = lambda _: True, seconds: float = PATIENCE) -> Published | None:
        """The next diagnostics that fit; None where none come in time."""
        deadline = time.perf_counter() + seconds
        while (left := deadline - time.perf_counter()) > 0:
            try:
                found = self.published.get(timeout=left)
            except queue.Empty:
                return None
            if fits(found):
                return found
        return None

    def wait_for_newest(self, seconds: float = PATIENCE) -> Published | None:
        """The first diagnostics of the newest text; a server that names no versions is taken at its word."""
        return self.wait(lambda found: found.version is None or found.version >= self._version, seconds)

    def calm(self, seconds: float) -> None:
        """Waits until nothing was published for some seconds."""
        while self.wait(seconds=seconds) is not None:
            pass

    def close(self) -> None:
        """Ends the session."""
        try:
            self.request("shutdown", None)
            self.notify("exit", None)
            self._server.wait(10)
        except (OSError, queue.Empty, subprocess.TimeoutExpired):
            self._server.kill()
            self._server.wait()

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps(message).encode()
        assert self._server.stdin is not None
        self._server.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._server.stdin.flush()

    def _read(self) -> None:
        stream = self._server.stdout
        assert stream is not None
        while True:
            length = 0
            while (header := stream.readline().strip()) != b"":
                name, _, value = header.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            body = stream.read(length) if length else b""
            if not body:
                return
            self._take(json.loads(body), time.perf_counter())

    def _take(self, message: dict[str, Any], now: float) -> None:
        method = message.get("method")
        if method == "textDocument/publishDiagnostics":
            params = message["params"]
            self.published.put(Published(now, params.get("version"), params["diagnostics"]))
        elif "id" in message and method is not None:
            # A request of the server: an empty answer for each setting it asks for.
            result = [None] * len(message["params"]["items"]) if method == "workspace/configuration" else None
            self._send({"jsonrpc": "2.0", "id": message["id"], "result": result})
        elif "id" in message and message["id"] in self._replies:
            self._replies[message["id"]].put(message)


def processor_seconds(pid: int) -> float | None:
    """How long a process and those that it started have been on a processor; None where `/proc` does not tell.

    On a busy machine the time that passes is many times as long.
    """
    total = 0.0
    for number in family(pid):
        for path in Path(f"/proc/{number}/task").glob("*/schedstat"):
            try:
                total += int(path.read_text().split()[0]) / 1e9
            except (OSError, IndexError, ValueError):
                continue
    return total or None


def megabytes(pid: int) -> list[float]:
    """The memory of a process and of those that it started, in MB; nothing where `/proc` does not tell."""
    found: list[float] = []
    for number in family(pid):
        try:
            status = Path(f"/proc/{number}/status").read_text()
        except OSError:
            continue
        fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        found.append(int(fields.get("VmRSS", "0 kB").split()[0]) / 1024)
    return found


def family(pid: int) -> list[int]:
    """A process, if it lives, and those that it started."""
    children: dict[int, list[int]] = {}
    alive: set[int] = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError, ValueError):
            continue
        number = int(stat.parent.name)
        alive.add(number)
        children.setdefault(parent, []).append(number)
    found: list[int] = []
    todo = [pid]
    while todo:
        number = todo.pop()
        if number in alive:
            found.append(number)
        todo += children.get(number, [])
    return found
