"""Files of the workspace that nobody has open: which there are, and what the imports of one are."""

from __future__ import annotations

from gradsense.check import Project, imports_of
from gradsense.config import load_settings, settings_from
from gradsense.discovery import find_files
from gradsense.lsp.messages import FileList, ListFiles
from gradsense.syntax import Source, SourceError, parse


def list_files(request: ListFiles) -> FileList:
    """The Python files under a folder that its settings ask for; notebooks are shown when they are opened."""
    loaded = load_settings(request.root)
    settings, _ = settings_from(request.overrides, loaded.settings, "the editor's settings")
    return FileList(tuple(path for path in find_files(request.root, settings) if path.endswith(".py")))


def imported_by(path: str, project: Project) -> tuple[str, ...]:
    """The files of the workspace that a file imports, by their real paths."""
    try:
        return tuple(sorted(imports_of(parse(Source.from_path(path)), project.workspace)))
    except (SourceError, OSError):
        return ()
