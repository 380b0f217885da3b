"""Which program is analysed next, and how far: the one just edited before all others, and always its newest text."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from gradsense.lsp.documents import Documents
from gradsense.lsp.messages import Stage
from gradsense.lsp.program import Program

IDLE_SECONDS = 0.3
"""How long nobody types before everything is looked at: all paths, and the other open documents."""

log = logging.getLogger(__name__)

Analyse = Callable[[Program, Stage], Awaitable[Stage | None]]


class Scheduler:
    """Runs analyses.

    A document that was opened is peeked into, an edited one is glanced at, as soon as the worker is free; edits that
    arrive meanwhile are answered together, by one glance at the newest text. What that leaves to be done follows: one
    path of everything that may have changed right away, the rest when typing pauses, and then the other open documents,
    which may depend on it. The next edit comes before all that, and interrupts it.

    Args:
        documents: the open documents.
        analyse: analyses the program's text as it is when called, to a stage; says which stage was reached, or None
            where it was interrupted or broke down.
    """

    def __init__(self, documents: Documents, analyse: Analyse) -> None:
        self._documents = documents
        self._analyse = analyse
        self._edited: dict[str, None] = {}
        self._opened: dict[str, None] = {}
        self._unseen: dict[str, None] = {}
        self._unsettled: dict[str, None] = {}
        self._paused = False
        self._wake = asyncio.Event()
        self._background: asyncio.Task[None] | None = None

    def edited(self, program: Program) -> None:
        """Asks for an analysis of a document that was opened or changed, and later of those that may depend on it.

        One whose analysis broke down waits for a pause as well, lest it break down at every keystroke.
        """
        uri = program.uri
        for waiting in (self._edited, self._opened, self._unseen):
            waiting.pop(uri, None)
        if program.failures:
            self._unsettled[uri] = None
        elif program.analysis is None:
            self._opened[uri] = None
        else:
            self._edited[uri] = None
        for other in self._documents:
            if other.uri not in self._edited and other.uri not in self._opened:
                self._unsettled[other.uri] = None
        self._start()

    def all_changed(self) -> None:
        """Asks for an analysis of every open document, such as after a change of settings."""
        self._opened.update((program.uri, None) for program in self._documents)
        self._start()

    def forgotten(self) -> None:
        """Asks for a new analysis of every document whose analysis did not break down before, when typing pauses."""
        self._unsettled.update((program.uri, None) for program in self._documents if not program.failures)
        self._start()

    async def run(self) -> None:
        """Works for as long as the server runs."""
        try:
            while True:
                self._wake.clear()
                if self._edited or self._opened:
                    # The last one edited is the one that the person is looking at.
                    uri, stage = self._next_edited()
                    await self._run_one(uri, stage)
                elif self._background is not None and not self._background.done():
                    await self._woken_or(self._background)
                elif self._unseen:
                    uri, _ = self._unseen.popitem()
                    self._background = asyncio.ensure_future(self._run_one(uri, Stage.LOOK))
                elif self._unsettled and self._paused:
                    uri = next(iter(self._unsettled))
                    del self._unsettled[uri]
                    self._background = asyncio.ensure_future(self._run_one(uri, Stage.WHOLE))
                elif self._unsettled:
                    self._paused = await self._idle()
                else:
                    await self._wake.wait()
        finally:
            if self._background is not None:
                self._background.cancel()

    def _next_edited(self) -> tuple[str, Stage]:
        if self._edited:
            return self._edited.popitem()[0], Stage.GLANCE
        return self._opened.popitem()[0], Stage.PEEK

    def _start(self) -> None:
        self._paused = False
        self._wake.set()

    async def _woken_or(self, task: asyncio.Task[None]) -> None:
        waking = asyncio.ensure_future(self._wake.wait())
        await asyncio.wait((waking, task), return_when=asyncio.FIRST_COMPLETED)
        waking.cancel()

    async def _idle(self) -> bool:
        """Waits for a pause; False if something was edited meanwhile."""
        try:
            await asyncio.wait_for(self._wake.wait(), IDLE_SECONDS)
        except asyncio.TimeoutError:
            return True
        return False

    async def _run_one(self, uri: str, stage: Stage) -> None:
        program = self._documents.program(uri)
        if program is None:
            return
        revision = program.revision
        reached: Stage | None = None
        try:
            reached = await self._analyse(program, stage)
        except Exception:
            log.exception("analysing %s failed", program.path)
        self._go_on(program, stage, reached)
        if program.failures:
            program.settled(revision)
        elif reached is not None:
            program.settled(revision, reached)

    def _go_on(self, program: Program, stage: Stage, reached: Stage | None) -> None:
        """Notes what is left to be done after an analysis."""
        uri = program.uri
        if uri in self._edited or uri in self._opened or program.failures:
            return
        if reached is Stage.WHOLE:
            self._unsettled.pop(uri, None)
            return
        if reached is None:
            # Something else was wanted more.
            (self._unsettled if stage is Stage.WHOLE else self._unseen)[uri] = None
            return
        self._unsettled[uri] = None
        if reached <= Stage.GLANCE:
            self._unseen[uri] = None
