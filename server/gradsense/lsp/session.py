"""The state of one client's session: its documents, its settings, and the way to the analysis."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from lsprotocol import types

from gradsense.lsp.backend import Backend, WorkerDied
from gradsense.lsp.client import Client
from gradsense.lsp.documents import Documents
from gradsense.lsp.lookups import LookUps
from gradsense.lsp.messages import Failed, Reply, Request, RuleView, Stale
from gradsense.lsp.program import Program, path_of
from gradsense.lsp.run_view import ShownRun
from gradsense.lsp.settings import EditorSettings
from gradsense.lsp.workspace import WorkspaceFiles

SETTLE_SECONDS = 10.0
"""How long a request that needs the findings of the newest text waits for them."""

log = logging.getLogger(__name__)

R = TypeVar("R")


class Session:
    """What the features share.

    Args:
        backend: the analysis.
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.client = Client()
        self.documents = Documents()
        self.shut_down = False
        self.settings = EditorSettings()
        self.folder_settings: dict[str, EditorSettings] = {}
        self.rules: dict[str, RuleView] = {}
        self.attached: dict[str, tuple[types.Diagnostic, ...]] = {}
        """What else than findings is shown in open text documents, by their URIs."""
        self.runs: dict[str, ShownRun] = {}
        """The runs that are shown, by the URI of their program."""
        self.when_lost: Callable[[], None] = lambda: None
        """Called when the worker was replaced by one that knows nothing."""
        self.when_learnt: Callable[[str], None] = lambda root: None
        """Called with a folder when the analysis knows more of packages that its programs use."""
        self.lookups = LookUps(self, lambda root: self.when_learnt(root))
        self.workspace = WorkspaceFiles(self)
        self._folders: dict[str, str] = {}
        self._told: set[str] = set()

    @property
    def folders(self) -> tuple[str, ...]:
        """The URIs of the workspace's folders."""
        return tuple(self._folders)

    @property
    def roots(self) -> tuple[str, ...]:
        """The paths of the workspace's folders."""
        return tuple(self._folders.values())

    def change_folders(self, added: Sequence[str], removed: Sequence[str]) -> None:
        """Adds and removes workspace folders, named by their URIs."""
        for uri in removed:
            self._folders.pop(uri, None)
            self.folder_settings.pop(uri, None)
        self._folders.update((uri, path_of(uri).rstrip("/\\")) for uri in added)

    @property
    def folder_paths(self) -> dict[str, str]:
        """The paths of the workspace's folders, by their URIs."""
        return dict(self._folders)

    def settings_of(self, program: Program) -> EditorSettings:
        """The editor's settings for a program: those of its folder, where the editor told them apart."""
        return self.settings_at(program.path)

    def settings_at(self, path: str) -> EditorSettings:
        """The editor's settings for a file."""
        folder = self._folder_of(path)
        return self.settings if folder is None else self.folder_settings.get(folder, self.settings)

    def root_of(self, program: Program) -> str | None:
        """The path of the workspace folder that holds a program."""
        return self.root_at(program.path)

    def root_at(self, path: str) -> str | None:
        """The path of the workspace folder that holds a file."""
        folder = self._folder_of(path)
        return None if folder is None else self._folders[folder]

    def news(self, messages: Sequence[str]) -> list[str]:
        """Those of some messages that the person has not been shown yet."""
        fresh = [message for message in dict.fromkeys(messages) if message not in self._told]
        self._told.update(fresh)
        return fresh

    def close(self) -> None:
        """Ends the analysis."""
        self.backend.close()
        self.workspace.close()
        self.lookups.close()

    async def ask(
        self, request: Request, kind: type[R] | tuple[type[R], ...], backend: Backend | None = None
    ) -> R | None:
        """Has the analysis answer; None where it cannot, which the log then explains.

        Args:
            kind: the type of the reply to this request, or several.
            backend: whom to ask, if not the one that the open documents have.
        """
        try:
            reply: Reply = await (backend or self.backend).ask(request)
        except WorkerDied as death:
            if not self.shut_down:
                log.error("the analysis was started again: %s (%s)", death, _subject(request))
                if backend is None:
                    self.when_lost()
            return None
        if isinstance(reply, kind):
            return reply
        if isinstance(reply, Failed):
            log.error("%s failed: %s\n%s", _subject(request), reply.error, reply.traceback)
        elif not isinstance(reply, Stale):
            log.error("%s was answered by %s", _subject(request), type(reply).__name__)
        return None

    def _folder_of(self, path: str) -> str | None:
        holding = [uri for uri, root in self._folders.items() if _holds(root, path)]
        return max(holding, key=len, default=None)


def _holds(root: str, path: str) -> bool:
    return path.startswith(root) and path[len(root) : len(root) + 1] in ("/", "\\")


def _subject(request: Any) -> str:
    return f"{type(request).__name__} {getattr(request, 'path', '')}".rstrip()
