"""Which program is analysed next: the one just edited before all others, and always its newest text."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from gradsense.lsp.documents import Documents
from gradsense.lsp.program import Program

IDLE_SECONDS = 0.3
"""How long nobody types before the other open documents are looked at again."""

log = logging.getLogger(__name__)


class Scheduler:
    """Runs analyses one after another.

    An edited document is analysed as soon as the worker is free; edits that arrive meanwhile are answered together, by
    one analysis of the newest text. The other open documents may depend on it, so they follow when typing pauses.

    Args:
        documents: the open documents.
        analyse: analyses the program's text as it is when called.
    """

    def __init__(self, documents: Documents, analyse: Callable[[Program], Awaitable[None]]) -> None:
        self._documents = documents
        self._analyse = analyse
        self._edited: dict[str, None] = {}
        self._others: dict[str, None] = {}
        self._paused = False
        self._wake = asyncio.Event()

    def edited(self, program: Program) -> None:
        """Asks for an analysis of a document that was opened or changed, and later of those that may depend on it.

        One whose analysis broke down waits for a pause as well, lest it break down at every keystroke.
        """
        self._edited.pop(program.uri, None)
        if not program.failures:
            self._edited[program.uri] = None
        self._others.update((other.uri, None) for other in self._documents if other.uri not in self._edited)
        self._start()

    def all_changed(self) -> None:
        """Asks for an analysis of every open document, such as after a change of settings."""
        self._edited.update((program.uri, None) for program in self._documents)
        self._start()

    def forgotten(self) -> None:
        """Asks for a new analysis of every document whose analysis did not break down before, when typing pauses."""
        self._others.update((program.uri, None) for program in self._documents if not program.failures)
        self._start()

    async def run(self) -> None:
        """Works for as long as the server runs."""
        while True:
            self._wake.clear()
            if self._edited:
                # The last one edited is the one that the person is looking at.
                uri, _ = self._edited.popitem()
                self._others.pop(uri, None)
            elif self._others and self._paused:
                uri = next(iter(self._others))
                del self._others[uri]
            elif self._others:
                self._paused = await self._idle()
                continue
            else:
                await self._wake.wait()
                continue
            program = self._documents.program(uri)
            if program is not None:
                await self._run_one(program)

    def _start(self) -> None:
        self._paused = False
        self._wake.set()

    async def _idle(self) -> bool:
        """Waits for a pause; False if something was edited meanwhile."""
        try:
            await asyncio.wait_for(self._wake.wait(), IDLE_SECONDS)
        except asyncio.TimeoutError:
            return True
        return False

    async def _run_one(self, program: Program) -> None:
        revision = program.revision
        try:
            await self._analyse(program)
        except Exception:
            log.exception("analysing %s failed", program.path)
        program.settled(revision)
