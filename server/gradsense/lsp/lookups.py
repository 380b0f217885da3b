"""Has names of other packages looked up, and the analysis go on with what was found out.

Nothing waits for it: findings are published without, and once more when there is an answer that changes them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from gradsense.lsp.backend import Backend, WorkerDied
from gradsense.lsp.messages import Done, Learn
from gradsense.lsp.program import Program
from gradsense.machine.outside import Kind, Known
from gradsense.types.messages import LookedUp, LookUp, Where

if TYPE_CHECKING:
    from gradsense.lsp.session import Session

ENGINE = "gradsense.lsp.type_engine:TypeEngine"
TIME_LIMIT = 6.0
"""Seconds that one question may take; jedi needs minutes for some packages."""

MOST_FAILURES = 8
"""So many names may end the worker before no more are asked about."""

IDLE_SECONDS = 60.0
"""How long a worker without questions is kept."""

_SETTLE_SECONDS = 0.5

log = logging.getLogger(__name__)


class LookUps:
    """Asks the worker for types, one question after another, while nobody waits.

    Args:
        session: the session whose analysis is told.
        learnt: called when the analysis knows more about programs in a folder.
        make: starts the worker; it is called at the first question, and closed with the session.
    """

    def __init__(
        self,
        session: Session,
        learnt: Callable[[str], None],
        make: Callable[[], Backend] = lambda: Backend(ENGINE, TIME_LIMIT),
    ) -> None:
        self._session = session
        self._learnt = learnt
        self._make = make
        self._backend: Backend | None = None
        self._watch: asyncio.Task[None] | None = None
        self._known: dict[Where, dict[str, Known | None]] = {}
        """What was asked about, and the answers as far as they are in."""
        self._queue: dict[tuple[Where, str], None] = {}
        self._untold: dict[Where, None] = {}
        self._where: dict[str, Where] = {}
        self._news = asyncio.Event()
        self._failures = 0

    def ask(self, program: Program, names: Iterable[str]) -> None:
        """Notes questions of the analysis of a program; each is looked up once."""
        root = self._session.root_of(program)
        if root is None:
            return
        where = self._workspace(root, program)
        known = self._known.setdefault(where, {})
        for name in names:
            if name not in known:
                known[name] = None
                self._queue[where, name] = None
            elif known[name] is not None:
                # The analysis was started anew, and knows nothing.
                self._untold[where] = None
        if self._queue or self._untold:
            self._news.set()

    async def run(self) -> None:
        """Works for as long as the server runs."""
        while True:
            try:
                await asyncio.wait_for(self._news.wait(), IDLE_SECONDS)
            except asyncio.TimeoutError:
                self.close()
                continue
            self._news.clear()
            # The analysis that asks has not asked for everything yet.
            await asyncio.sleep(_SETTLE_SECONDS)
            await self._work()

    def close(self) -> None:
        """Ends the worker; the next question starts another."""
        if self._watch is not None:
            self._watch.cancel()
        if self._backend is not None:
            self._backend.close()
        self._backend = self._watch = None

    @property
    def pid(self) -> int | None:
        """The process number of the worker of the moment."""
        return None if self._backend is None else self._backend.pid

    def _workspace(self, root: str, program: Program) -> Where:
        settings = self._session.settings_of(program)
        interpreter = settings.run.get("interpreter")
        where = Where(root, interpreter if isinstance(interpreter, str) else None, settings.trusted)
        if self._where.get(root, where) != where:
            # Another interpreter has other packages.
            self._untold[where] = None
        self._where[root] = where
        return where

    async def _work(self) -> None:
        while self._queue:
            where, name = next(iter(self._queue))
            del self._queue[where, name]
            if self._where.get(where.root) != where:
                continue
            known = await self._look_up(where, name)
            self._known[where][name] = known
            if known.kind is not Kind.OTHER:
                self._untold[where] = None
        for where in list(self._untold):
            del self._untold[where]
            found = {name: one for name, one in self._known.get(where, {}).items() if one is not None}
            if await self._session.ask(Learn(where.root, found), Done) is not None:
                self._learnt(where.root)

    async def _look_up(self, where: Where, name: str) -> Known:
        if self._failures >= MOST_FAILURES:
            return Known(Kind.OTHER)
        try:
            reply = await self._started().ask(LookUp(name, where))
        except WorkerDied as death:
            if not self._session.shut_down:
                self._failures += 1
                log.info("nothing is known of %s: %s", name, death)
            return Known(Kind.OTHER)
        return reply.known if isinstance(reply, LookedUp) else Known(Kind.OTHER)

    def _started(self) -> Backend:
        if self._backend is None:
            self._backend = self._make()
            self._watch = asyncio.get_running_loop().create_task(self._backend.watch())
        return self._backend
