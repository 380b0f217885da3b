"""What the step prints: passed on as it comes, kept up to a bound, and never lost without a word."""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Callable
from typing import Any

Send = Callable[[dict[str, Any]], None]


class Output:
    """Collects the text of all streams.

    Args:
        send: is given an `output` event for each piece of text.
    """

    KEPT, PASSED = 200_000, 2_000_000  # characters in the report; characters passed on as events

    def __init__(self, send: Send) -> None:
        self.send = send
        self._head: list[str] = []
        self._tail = ""
        self._size = self._dropped = self._passed = 0

    def write(self, stream: str, text: str) -> None:
        """Takes a piece of text."""
        if self._passed < self.PASSED:
            self._passed += len(text)
            self.send({"event": "output", "stream": stream, "text": text})
            if self._passed >= self.PASSED:
                self.send({"event": "output", "stream": stream, "text": "\n... (more output follows, not shown)\n"})
        room = self.KEPT // 2 - self._size
        if room > 0:
            self._head.append(text[:room])
            self._size += len(text[:room])
            text = text[room:]
        tail = self._tail + text
        self._dropped += max(0, len(tail) - self.KEPT // 2)
        self._tail = tail[-(self.KEPT // 2) :]

    def text(self) -> str:
        """All that was kept."""
        gap = f"\n... ({self._dropped} characters left out)\n" if self._dropped else ""
        return "".join(self._head) + gap + self._tail


class _Pipe(io.RawIOBase):
    """The bytes of one stream, decoded and handed on."""

    def __init__(self, name: str, output: Output, real: Any) -> None:
        self.stream, self.output, self.real = name, output, real
        self.pid = os.getpid()
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        raw = bytes(data)
        if os.getpid() != self.pid:  # in a process that the program has forked
            return os.write(self.fileno(), raw)
        text = self.decoder.decode(raw)
        if text:
            self.output.write(self.stream, text)
        return len(raw)

    def fileno(self) -> int:
        number: int = self.real.fileno()
        return number


class _Silence(io.TextIOBase):
    """Standard input: nobody is there to answer."""

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> str:
        return ""

    def readline(self, size: int = -1) -> str:  # type: ignore[override]
        raise EOFError("the program asks for input, and in a run of a step there is nobody to answer")


class Streams:
    """Stands in for `sys.stdin`, `sys.stdout` and `sys.stderr` while it is entered."""

    def __init__(self, output: Output) -> None:
        self.output = output

    def __enter__(self) -> Streams:
        self._real = sys.stdin, sys.stdout, sys.stderr
        sys.stdin = _Silence()
        sys.stdout = self._stream("stdout", sys.stdout)
        sys.stderr = self._stream("stderr", sys.stderr)
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (ValueError, OSError, AttributeError):  # the program has closed or replaced it
                continue
        sys.stdin, sys.stdout, sys.stderr = self._real

    def _stream(self, name: str, real: Any) -> io.TextIOWrapper:
        buffered = io.BufferedWriter(_Pipe(name, self.output, real), 1 << 13)
        return io.TextIOWrapper(buffered, encoding="utf-8", errors="backslashreplace", line_buffering=True)
