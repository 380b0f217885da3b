"""The order in which documents are analysed, and how far."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from lsprotocol import types

from gradsense.lsp.documents import Document, Documents
from gradsense.lsp.messages import Analysis, Stage
from gradsense.lsp.scheduler import IDLE_SECONDS, Scheduler

pytestmark = pytest.mark.asyncio


class Desk:
    """A scheduler over documents `a`, `b` and `c`, and a record of what it did.

    A document with the word `BREAK` breaks the analysis, one with `SLOW` can only be glanced at at first, and one with
    `LONG` takes for ever to be looked at as a whole.
    """

    def __init__(self) -> None:
        self.documents = Documents()
        self.done: list[str] = []
        self.scheduler = Scheduler(self.documents, self.analyse)
        for name in "abc":
            document = self.documents.open(types.TextDocumentItem(name, "python", 1, ""))
            document.analysis = Analysis(name, 0, (), (), (), 0.0)

    async def analyse(self, document: Document, stage: Stage) -> Stage | None:
        self.done.append(document.uri + ("" if stage is Stage.GLANCE else f" {stage.name.lower()}"))
        if "BREAK" in document.text:
            document.failures += 1
            raise ValueError("broke")
        document.failures = 0
        if "LONG" in document.text and stage is Stage.WHOLE:
            await asyncio.sleep(60)
        return stage if "SLOW" in document.text or "LONG" in document.text else Stage.WHOLE

    def write(self, name: str, text: str) -> None:
        self[name].change([types.TextDocumentContentChangeWholeDocument(text)], self[name].version + 1, "utf-16")

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
    assert await run(desk, pauses=1) == ["a whole", "c whole"]
    assert await run(desk, pauses=1) == []


async def test_one_that_was_just_opened_is_peeked_into_and_then_looked_at(desk: Desk) -> None:
    desk["a"].analysis = None
    desk.write("a", "SLOW")
    desk.scheduler.edited(desk["a"])
    assert await run(desk) == ["a peek", "a look"]
    assert "a whole" in await run(desk, pauses=1)


async def test_what_a_glance_leaves_follows_at_once_and_the_rest_in_the_pause(desk: Desk) -> None:
    desk.write("b", "SLOW")
    desk.scheduler.edited(desk["b"])
    assert await run(desk) == ["b", "b look"]
    assert sorted(await run(desk, pauses=1)) == ["a whole", "b whole", "c whole"]
    assert await run(desk, pauses=1) == []


async def test_an_edit_does_not_wait_for_what_runs_in_the_pause(desk: Desk) -> None:
    desk.write("b", "LONG")
    desk.scheduler.edited(desk["b"])
    task = asyncio.ensure_future(desk.scheduler.run())
    await asyncio.sleep(IDLE_SECONDS + 0.2)
    assert desk.done[-1].endswith(" whole")
    desk.done.clear()
    desk.scheduler.edited(desk["a"])
    await asyncio.sleep(0.05)
    assert desk.done == ["a"]
    task.cancel()


async def test_one_that_broke_waits_for_the_pause(desk: Desk) -> None:
    desk.write("a", "BREAK")
    desk.scheduler.edited(desk["a"])
    assert await run(desk) == ["a"]
    desk.scheduler.edited(desk["a"])
    assert await run(desk) == []
    assert "a whole" in await run(desk, pauses=1)


async def test_after_a_restart_all_are_done_again_but_those_that_broke(desk: Desk) -> None:
    desk["a"].failures = 1
    desk.scheduler.forgotten()
    assert await run(desk, pauses=1) == ["b whole", "c whole"]


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
