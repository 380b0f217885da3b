"""Which files a folder holds for us: included, not excluded, not ignored by git."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pathspec import GitIgnoreSpec

from gradsense.config import Settings

GITIGNORE = ".gitignore"


def find_files(folder: str, settings: Settings) -> list[str]:
    """Lists the files under a folder that the settings ask for, sorted, each named from `folder` as it was given.

    A folder that a person names is searched even where a pattern excludes it. Links to folders are not followed, so a
    circle of links ends; a folder that cannot be listed is passed by, and so is what is no file, such as a link to
    nowhere, an editor's lock or a pipe.
    """
    return sorted(_Search(folder, settings).files())


class _Search:
    def __init__(self, folder: str, settings: Settings) -> None:
        self._folder = folder
        self._root = Path(os.path.abspath(folder))
        self._base = settings.root or Path.cwd()
        self._include = GitIgnoreSpec.from_lines(settings.include)
        self._exclude = GitIgnoreSpec.from_lines(settings.excluded)
        if not self._root.is_relative_to(self._base) or self._exclude.match_file(self._from_base(self._root) + "/"):
            self._base = self._root
        self._ignores: dict[Path, GitIgnoreSpec] = {}
        if settings.respect_gitignore:
            self._read_outer_ignores()
        self._respect_gitignore = settings.respect_gitignore

    def files(self) -> Iterator[str]:
        for place, folders, names in os.walk(self._root):
            here = Path(place)
            if self._respect_gitignore:
                self._read_ignore(here)
            folders[:] = sorted(name for name in folders if not self._passed_by(here / name, is_folder=True))
            for name in names:
                path = here / name
                wanted = self._include.match_file(self._from_base(path)) and not self._passed_by(path, is_folder=False)
                if wanted and os.path.isfile(path):
                    yield self._as_given(path)

    def _passed_by(self, path: Path, is_folder: bool) -> bool:
        end = "/" if is_folder else ""
        return self._exclude.match_file(self._from_base(path) + end) or self._git_ignores(path, end)

    def _git_ignores(self, path: Path, end: str) -> bool:
        """The nearest `.gitignore` that has a word on the path decides."""
        for parent in path.parents:
            spec = self._ignores.get(parent)
            if spec is not None:
                verdict = spec.check_file(path.relative_to(parent).as_posix() + end).include
                if verdict is not None:
                    return verdict
        return False

    def _read_outer_ignores(self) -> None:
        """Reads the `.gitignore` of every folder from the repository's root down to where the search starts.

        A person who names a folder that git ignores wants it checked all the same, so then none of them counts.
        """
        outer = []
        for parent in (self._root, *self._root.parents):
            outer.append(parent)
            if (parent / ".git").exists():
                break
        else:
            return
        for parent in outer:
            self._read_ignore(parent)
        if any(self._git_ignores(folder, "/") for folder in outer[:-1]):
            self._ignores.clear()

    def _read_ignore(self, folder: Path) -> None:
        if folder in self._ignores:
            return
        try:
            text = (folder / GITIGNORE).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return
        self._ignores[folder] = GitIgnoreSpec.from_lines(text.splitlines())

    def _from_base(self, path: Path) -> str:
        return path.relative_to(self._base).as_posix()

    def _as_given(self, path: Path) -> str:
        return os.path.normpath(os.path.join(self._folder, os.path.relpath(path, self._root)))
