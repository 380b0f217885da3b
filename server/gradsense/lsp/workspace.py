"""What is found in files of the workspace that nobody has open: worked out in the background, and remembered."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gradsense.lsp.messages import Analysis, CheckedFile, CheckFile, FileList, FilesChanged, ListFiles

if TYPE_CHECKING:
    from gradsense.lsp.backend import Backend
    from gradsense.lsp.session import Session

Stamp = tuple[int, int]


@dataclass(frozen=True)
class _Known:
    """What was found in a file, and the state of all the files that this depends on."""

    analysis: Analysis
    imports: tuple[str, ...]
    stamps: Mapping[str, Stamp | None]
    asked: object


class WorkspaceFiles:
    """Analyses the files of the workspace's folders, in a worker of its own that lives from the first question on.

    A file is looked at again when it, or one that it imports, has changed on disk, or the settings have.

    Args:
        session: says which folders there are, and their settings.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._backend: Backend | None = None
        self._watch: asyncio.Task[None] | None = None
        self._known: dict[str, _Known] = {}
        self._changed = asyncio.Event()
        self.published: dict[str, str] = {}
        """What a client that waits to be told was told last of each file, by the name of the result."""

    def close(self) -> None:
        """Ends the worker."""
        if self._watch is not None:
            self._watch.cancel()
        if self._backend is not None:
            self._backend.close()

    def changed(self) -> None:
        """Something changed on which findings may depend."""
        self._changed.set()

    async def change(self) -> None:
        """Waits until something changes."""
        await self._changed.wait()

    async def files(self) -> list[str]:
        """The files of all folders for which the person wants this, none that is open."""
        self._changed.clear()
        found: dict[str, None] = {}
        for uri, root in self._session.folder_paths.items():
            settings = self._session.folder_settings.get(uri, self._session.settings)
            if not settings.enable or settings.diagnostic_mode != "workspace":
                continue
            listed = await self._ask(ListFiles(root, settings.overrides), FileList)
            found.update(dict.fromkeys(() if listed is None else listed.paths))
        return [path for path in found if not self._session.documents.is_open(path)]

    async def check(self, paths: list[str]) -> AsyncIterator[tuple[str, Analysis]]:
        """Analyses files, in order; those that have not changed cost nothing."""
        for path in paths:
            analysis = await self._check(path)
            if analysis is not None and not self._session.documents.is_open(path):
                yield path, analysis

    async def _check(self, path: str) -> Analysis | None:
        settings = self._session.settings_at(path)
        asked = (self._session.client.encoding, repr(settings))
        known = self._known.get(path)
        if known is not None and known.asked == asked:
            names = self._closure(path)
            if await asyncio.to_thread(_stamps, names) == known.stamps:
                return known.analysis
        changed = (path,) if known is None else tuple(known.stamps)
        await self._ask(FilesChanged(changed), object)
        root = self._session.root_at(path)
        request = CheckFile(path, self._session.client.encoding, root, settings.overrides, settings.max_file_size)
        checked: CheckedFile | None = await self._ask(request, CheckedFile)
        if checked is None:
            self._known.pop(path, None)
            return None
        self._known[path] = _Known(checked.analysis, checked.imports, {}, asked)
        names = self._closure(path)
        stamps = await asyncio.to_thread(_stamps, names)
        self._known[path] = _Known(checked.analysis, checked.imports, stamps, asked)
        return checked.analysis

    def _closure(self, path: str) -> list[str]:
        """A file with all that it imports, directly or not, as far as is known."""
        found = {path: None}
        todo = [path]
        while todo:
            known = self._known.get(todo.pop())
            for name in () if known is None else known.imports:
                if name not in found:
                    found[name] = None
                    todo.append(name)
        return list(found)

    async def _ask(self, request: Any, kind: type[Any]) -> Any:
        if self._backend is None:
            self._backend = self._session.backend.another()
            self._watch = asyncio.create_task(self._backend.watch())
        return await self._session.ask(request, kind, self._backend)


def _stamps(paths: list[str]) -> dict[str, Stamp | None]:
    found: dict[str, Stamp | None] = {}
    for path in paths:
        try:
            status = os.stat(path)
            found[path] = (status.st_mtime_ns, status.st_size)
        except OSError:
            found[path] = None
    return found
