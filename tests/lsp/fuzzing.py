"""Random edits of whole programs: after each, the document holds what the person typed, and in a pause, what is found
is what a fresh analysis finds."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

from lsprotocol import types

from gradsense.lsp.documents import Document
from gradsense.lsp.engine import AnalysisEngine
from gradsense.lsp.messages import Analyse, Analysis, FindingView, Interrupted, Stage
from gradsense.syntax.columns import encode_column
from lsp.edits import Change, Typist, is_valid
from pairs.format import Program, read_all

ENCODING = "utf-16"
# Hints as well, so that there is more to compare.
SETTINGS = {"show-hints": True}


class Trial:
    """Some open files, a person who edits them, and an analysis that follows.

    Args:
        files: the program, by file name.
        folder: where its files are put, for a fresh analysis.
        seed: each gives other edits, the same every time.
        outer: how many of the edits are of what is outside of functions, about.
    """

    def __init__(self, files: Mapping[str, str], folder: Path, seed: int, outer: float = 0.1) -> None:
        self._folder = folder
        self._random = random.Random(seed)
        self._engine = AnalysisEngine()
        self._documents: dict[str, Document] = {}
        self._typists: dict[str, Typist] = {}
        for number, (name, text) in enumerate(files.items()):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            self._documents[name] = Document(types.TextDocumentItem(path.as_uri(), "python", 1, text))
            self._typists[name] = Typist(text, seed * 100 + number, outer=outer)
        for name in files:
            self._analyse(name, Stage.LOOK)
        self.compared = 0

    def step(self) -> None:
        """One edit, and what the server asks of the analysis then."""
        name = self._random.choice(list(self._documents))
        document, typist = self._documents[name], self._typists[name]
        before = typist.text
        change = next(typist.edits())
        document.change([event_of(before, change)], document.version + 1, ENCODING)
        assert document.text == typist.text, "the document is not what was typed"
        self._analyse(name, Stage.GLANCE)
        if self._random.random() < 0.4:
            self._analyse(name, Stage.LOOK, patience=self._random.choice((3, 1_000_000)))
        if self._random.random() < 0.1:
            self._analyse(name, Stage.WHOLE, patience=self._random.choice((1, 20, 200)))

    def pause(self) -> None:
        """Nobody types: everything is looked at, and compared if it can be read."""
        found = {name: self._analyse(name, Stage.WHOLE) for name in self._documents}
        if not all(is_valid(typist.text) for typist in self._typists.values()):
            return
        for name, typist in self._typists.items():
            (self._folder / name).write_text(typist.text, encoding="utf-8")
        anew = AnalysisEngine()
        for name in found:
            # All are open there too: what an open file has by itself is not shown in another one.
            self._ask(anew, name, Stage.LOOK)
        for name, analysis in found.items():
            assert analysis is not None
            assert analysis.reached is Stage.WHOLE
            fresh = self._ask(anew, name, Stage.WHOLE)
            assert isinstance(fresh, Analysis)
            assert _plain(analysis) == _plain(fresh), f"{name} is\n{self._typists[name].text}"
            self.compared += 1

    def _analyse(self, name: str, stage: Stage, patience: int = 1_000_000_000) -> Analysis | None:
        reply = self._ask(self._engine, name, stage, patience)
        return reply if isinstance(reply, Analysis) else None

    def _ask(
        self, engine: AnalysisEngine, name: str, stage: Stage, patience: int = 1_000_000_000
    ) -> Analysis | Interrupted:
        document = self._documents[name]
        looks = iter(range(patience))
        request = Analyse(
            document.path, document.text, document.revision, ENCODING, str(self._folder), SETTINGS, stage=stage
        )
        reply = engine.answer(request, lambda: next(looks, None) is None)
        assert isinstance(reply, Analysis | Interrupted)
        return reply


def gathered() -> list[Program]:
    """The programs to edit: all pairs of the project."""
    return [program for program in read_all() if all(map(is_valid, program.files.values()))]


def event_of(text: str, change: Change) -> types.TextDocumentContentChangePartial:
    """A change in the protocol's words."""
    start, end = _position(text, change.start), _position(text, change.end)
    return types.TextDocumentContentChangePartial(range=types.Range(start, end), text=change.text)


def _position(text: str, offset: int) -> types.Position:
    line = text.count("\n", 0, offset)
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", start)
    whole = text[start:] if end < 0 else text[start:end]
    return types.Position(line, encode_column(whole, offset - start, ENCODING))


def _plain(analysis: Analysis) -> list[tuple[object, ...]]:
    def plain(found: FindingView) -> tuple[object, ...]:
        return (found.code, found.severity, found.place, found.message, found.related, found.expected)

    return [plain(found) for found in analysis.findings]
