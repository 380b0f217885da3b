"""Parts a folder into programs that share no file, so that several processes can check them."""

from __future__ import annotations

import os
from collections.abc import Sequence

from gradsense.check import Project, imports_of
from gradsense.files import File
from gradsense.syntax import SourceError, parse


def programs(folder: str, files: Sequence[str]) -> list[list[str]]:
    """Groups files so that any two that are connected by imports, over however many others, are together.

    Checked apart, the groups give what the folder gives as a whole: no call leads from one into another.
    """
    workspace = Project.for_paths([folder]).workspace
    real = {os.path.realpath(path): path for path in files}
    leaders = {path: path for path in real}

    def leader(path: str) -> str:
        while leaders[path] != path:
            leaders[path] = leaders[leaders[path]]
            path = leaders[path]
        return path

    for path, name in real.items():
        try:
            module = parse(File.read(name).source)
        except SourceError:
            continue
        for imported in imports_of(module, workspace):
            if imported in leaders:
                leaders[leader(imported)] = leader(path)
    groups: dict[str, list[str]] = {}
    for path, name in real.items():
        groups.setdefault(leader(path), []).append(name)
    return list(groups.values())
