"""From the arguments of `gradsense check` to jobs: which settings hold where, which files there are, in which parts."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gradsense.cli.commands.check import STDIN
from gradsense.cli.jobs import Job
from gradsense.cli.pages import unknown
from gradsense.cli.pool import WORTH_A_PROCESS
from gradsense.cli.report import tell
from gradsense.config import Loaded, Settings, load_file, load_settings

# As many parts as keep every process busy to the end, and no more: each reads the modules that its files share anew.
_PARTS_A_PROCESS = 3


def plan(arguments: argparse.Namespace, processes: int) -> list[Job]:
    """Makes jobs of all paths; a file that was named twice, or lies in a folder that was, is checked once.

    Raises:
        ConfigError: the settings file that the user named cannot be used.
    """
    settings = _SettingsFor(arguments)
    if arguments.paths == [STDIN]:
        name = arguments.stdin_filename or STDIN
        data = sys.stdin.buffer.read()
        return [Job((name,), settings.at(os.path.dirname(name) or "."), data=data, fix=_fixes(arguments))]
    taken: set[str] = set()
    jobs: list[Job] = []
    singles: dict[Path | None, tuple[Settings, list[str]]] = {}
    for path in sorted(arguments.paths, key=lambda path: not os.path.isdir(path)):
        if not os.path.isdir(path):
            held = settings.at(os.path.dirname(path) or ".")
            singles.setdefault(held.root, (held, []))[1].extend(_new([path], taken))
            continue
        from gradsense.discovery import find_files

        held = settings.at(path)
        files = _new(find_files(path, held), taken)
        if files:
            jobs += [_job(part, held, arguments, path) for part in _programs(path, files, processes)]
        else:
            tell(f"{path}: no Python files or notebooks to check")
    for held, files in singles.values():
        jobs += [_job(part, held, arguments, None) for part in _parts(files, processes)]
    return jobs


class _SettingsFor:
    """The settings of a folder, with the options of the command line on top; each file is read once."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._arguments = arguments
        self._known: dict[str, Settings] = {}
        self._told: set[str] = set()

    def at(self, folder: str) -> Settings:
        """What holds for files in a folder."""
        if folder not in self._known:
            loaded = self._load(folder)
            self._tell(loaded)
            self._known[folder] = self._with_options(loaded.settings)
        return self._known[folder]

    def _load(self, folder: str) -> Loaded:
        if self._arguments.no_config:
            return Loaded(Settings())
        if self._arguments.config:
            return load_file(self._arguments.config)
        return load_settings(folder)

    def _tell(self, loaded: Loaded) -> None:
        problems = [str(problem) for problem in loaded.problems]
        for codes in (loaded.settings.select, loaded.settings.ignore, *loaded.settings.per_file_ignores.values()):
            problems += [f"{loaded.path}: there is no rule {code}" for code in unknown(codes)]
        for problem in problems:
            if problem not in self._told:
                self._told.add(problem)
                tell(problem)

    def _with_options(self, settings: Settings) -> Settings:
        arguments = self._arguments
        changes: dict[str, object] = {}
        if arguments.select is not None:
            changes["select"] = tuple(code for codes in arguments.select for code in codes)
        if arguments.ignore is not None:
            changes["ignore"] = tuple(code for codes in arguments.ignore for code in codes)
        if arguments.show_hints is not None:
            changes["show_hints"] = arguments.show_hints
        if arguments.unsafe_fixes is not None:
            changes["unsafe_fixes"] = arguments.unsafe_fixes
        return replace(settings, **changes)  # type: ignore[arg-type]


def _fixes(arguments: argparse.Namespace) -> bool:
    return bool(arguments.fix or arguments.diff)


def _job(files: Sequence[str], settings: Settings, arguments: argparse.Namespace, folder: str | None) -> Job:
    return Job(
        files=tuple(files),
        settings=settings,
        folder=folder,
        fix=_fixes(arguments),
        want_fixes=arguments.output_format not in ("concise", "github") and not arguments.statistics,
        size=sum(map(_size, files)),
    )


def _new(paths: Sequence[str], taken: set[str]) -> list[str]:
    new = []
    for path in paths:
        real = os.path.realpath(path)
        if real not in taken:
            taken.add(real)
            new.append(path)
    return new


def _programs(folder: str, files: list[str], processes: int) -> list[list[str]]:
    """The folder as one program, or as several where that is worth finding out."""
    if processes == 1 or sum(map(_size, files)) < WORTH_A_PROCESS:
        return [files]
    from gradsense.cli.programs import programs

    return programs(folder, files)


def _parts(files: list[str], processes: int) -> list[list[str]]:
    count = min(len(files), processes * _PARTS_A_PROCESS) if processes > 1 else 1
    return [files[number::count] for number in range(count) if files]


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0
