"""What is analysed as one: an open file, or an open notebook with all its cells."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from pygls.uris import to_fs_path

from gradsense.lsp.messages import Analysis, CellText, FindingView, Stage

if TYPE_CHECKING:
    from gradsense.lsp.documents import Document


class Program:
    """One open program, and what was last found in it.

    `revision` counts every change and is the server's own, so that nothing depends on how a client numbers versions.

    Args:
        uri: what the client calls it.
    """

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self.path = path_of(uri)
        self.revision = 0
        self.analysis: Analysis | None = None
        self.failures = 0
        """How many analyses in a row broke down."""
        self.notes_due = True
        """Whether the next analysis's notes are for the log; those of every keystroke would flood it."""
        self.asked_for = True
        """Whether a client that asks for diagnostics does so for this program."""
        self.published: dict[str, str] = {}
        """What the client was told last of each of its text documents, by the name of the result."""
        self.answered_revision = -1
        """The revision that a client which asks was told of last."""
        self._settled: dict[Stage, int] = {}
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def is_python(self) -> bool:
        """Whether the analysis can look at it."""
        raise NotImplementedError

    @property
    def text(self) -> str:
        """All of a file's text; empty for a notebook, whose text is in its cells."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """How many characters it has."""
        raise NotImplementedError

    @property
    def cells(self) -> tuple[CellText, ...] | None:
        """The Python cells of a notebook; None for a file."""
        raise NotImplementedError

    @property
    def parts(self) -> Iterable[Document]:
        """The text documents that it is made of: a file itself, or a notebook's Python cells."""
        raise NotImplementedError

    @property
    def current_analysis(self) -> Analysis | None:
        """The findings of the text as it is now, or None while they are not in."""
        return self.analysis if self.analysis is not None and self.analysis.revision == self.revision else None

    def findings_of(self, part: Document) -> tuple[FindingView, ...]:
        """What the last analysis found in one of its parts."""
        return () if self.analysis is None else tuple(f for f in self.analysis.findings if f.path == part.path)

    def settled(self, revision: int, reached: Stage = Stage.WHOLE) -> None:
        """Tells those who wait that the analysis of a revision came so far, or broke down."""
        for stage in Stage:
            if stage <= reached:
                self._settled[stage] = revision
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def settle(self, seconds: float, stage: Stage = Stage.LOOK) -> Analysis | None:
        """Waits for the findings of the text as it is; None if the analysis broke down or takes longer than that.

        Args:
            seconds: how long.
            stage: how far the analysis must have come. What it found by a mere glance can be out of date.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while self._settled.get(stage) != self.revision:
            future: asyncio.Future[None] = loop.create_future()
            self._waiting.append(future)
            try:
                await asyncio.wait_for(future, deadline - loop.time())
            except asyncio.TimeoutError:
                return None
        return self.current_analysis


def path_of(uri: str) -> str:
    """The name that a document goes by in the analysis: its path, or the URI itself where it has none."""
    return to_fs_path(uri) or uri


def scheme_of(uri: str) -> str:
    """What stands before the first colon of a URI."""
    return uri.partition(":")[0]
