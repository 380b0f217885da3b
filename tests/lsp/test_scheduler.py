"""The order in which documents are analysed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from lsprotocol import types

from gradsense.lsp.documents import Document, Documents
from gradsense.lsp.scheduler import IDLE_SECONDS, Scheduler

pytestmark = pytest.mark.asyncio


class Desk:
    """A scheduler over documents `a`, `b` and `c`, and a record of what it did."""

    def __init__(self) -> None:
        self.documents = Documents()
        self.done: list[str] = []
        self.scheduler = Scheduler(self.documents, self.analyse)
        for name in "abc":
            self.documents.open(types.TextDocumentItem(name, "python", 1, ""))

    async def analyse(self, document: Document) -> None:
        self.done.append(document.uri)
        if "BREAK" in document.text:
            document.failures += 1
            raise ValueError("broke")
        document.failures = 0

    def __getitem__(self, name: str) -> Document:
        document = self.documents.get(name)
        assert document is not None
        return document


@pytest.fixture
def desk() -> Iterator[Desk]:
    yield Desk()


async def run(desk: Desk, pauses: float = 0) -> list[str]:
    """Lets the scheduler work for as many typing pauses; what it did."""
    desk.done.clear()
    task = asyncio.ensure_future(desk.scheduler.run())
    await asyncio.sleep(IDLE_SECONDS * pauses + 0.1)
    task.cancel()
    return list(desk.done)


async def test_the_last_one_edited_comes_first_and_each_once(desk: Desk) -> None:
    for name in "abbab":
        desk.scheduler.edited(desk[name])
    assert await run(desk) == ["b", "a"]


async def test_the_others_follow_in_the_pause(desk: Desk) -> None:
    desk.scheduler.edited(desk["b"])
    assert await run(desk) == ["b"]
    assert await run(desk, pauses=1) == ["a", "c"]
    assert await run(desk, pauses=1) == []


async def test_one_that_broke_waits_for_the_pause(desk: Desk) -> None:
    desk["a"].change([types.TextDocumentContentChangeWholeDocument("BREAK")], 2, "utf-16")
    desk.scheduler.edited(desk["a"])
    assert await run(desk) == ["a"]
    desk.scheduler.edited(desk["a"])
    assert await run(desk) == []
    assert "a" in await run(desk, pauses=1)


async def test_after_a_restart_all_are_done_again_but_those_that_broke(desk: Desk) -> None:
    desk["a"].failures = 1
    desk.scheduler.forgotten()
    assert await run(desk, pauses=1) == ["b", "c"]


async def test_those_who_wait_are_told(desk: Desk) -> None:
    waiting = asyncio.ensure_future(desk["a"].settle(5))
    late = asyncio.ensure_future(desk["b"].settle(0.05))
    desk.scheduler.edited(desk["a"])
    await run(desk)
    assert waiting.done() and late.done()
    assert await late is None


async def test_a_closed_document_is_passed_over(desk: Desk) -> None:
    desk.scheduler.edited(desk["a"])
    desk.documents.close("a")
    assert await run(desk) == []
