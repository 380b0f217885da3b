"""What the step printed, kept within bounds: the beginning and the end of it."""

from __future__ import annotations

from collections import deque

LIMIT = 256 * 1024
"""Characters that a report keeps."""

_HEAD = LIMIT // 2
_TAIL = LIMIT - _HEAD


class Output:
    """Collects text."""

    def __init__(self) -> None:
        self._head: list[str] = []
        self._tail: deque[str] = deque()
        self._room = _HEAD
        self._held = 0
        self._dropped = 0

    def add(self, text: str) -> None:
        """Takes a piece of text."""
        head, text = text[: self._room], text[self._room :]
        if head:
            self._head.append(head)
            self._room -= len(head)
        if text:
            self._tail.append(text)
            self._held += len(text)
        while self._held - len(self._tail[0] if self._tail else "") >= _TAIL:
            dropped = len(self._tail.popleft())
            self._held -= dropped
            self._dropped += dropped

    @property
    def text(self) -> str:
        """All of it, or its beginning and its end."""
        head, tail = "".join(self._head), "".join(self._tail)
        dropped = self._dropped + max(0, len(tail) - _TAIL)
        if not dropped:
            return head + tail
        return f"{head}\n[… {dropped} characters left out …]\n{tail[-_TAIL:]}"
