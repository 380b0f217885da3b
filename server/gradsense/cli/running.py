"""From the arguments of `gradsense run` to its report and exit code."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from gradsense.cli.commands.run import STDIN
from gradsense.cli.exits import FOUND, TROUBLE
from gradsense.cli.jobs import Job, run_job
from gradsense.cli.report import tell
from gradsense.config import ConfigError, Settings, load_file, load_settings
from gradsense.files import NOTEBOOK, File
from gradsense.rules.finding import Severity
from gradsense.run.interpreters import NoInterpreter
from gradsense.run.process import Event, WontStart, Worker
from gradsense.run.program import NothingToRun, Program, program
from gradsense.run.report import FAULTS, Fault, Report
from gradsense.run.settings import RunSettings
from gradsense.run.spec import Predicted
from gradsense.run.step import Step, plan_step
from gradsense.syntax import SourceError

_PLACE = re.compile(r"(?P<path>.+):(?:cell )?(?P<number>[0-9]+)(?::[0-9]+)*")
_OPTIONS = ("device", "passes", "batches", "time_limit", "cwd")


@dataclass(frozen=True)
class Target:
    """What the person named.

    Args:
        file: the script or notebook.
        line: the program's line that was named, or that the cell begins with.
    """

    file: File
    line: int | None

    @property
    def path(self) -> str:
        """The file's name."""
        return self.file.source.path


class Unusable(Exception):
    """What was asked for cannot be run; the message says why, and what to do."""


def execute(arguments: argparse.Namespace) -> int:
    """Runs what was asked for and shows the report.

    Returns:
        The exit code.
    """
    from gradsense.cli.formats.run_full import write_report

    try:
        target = _target(arguments)
        settings = _settings(arguments, target)
        chosen = program(target.file.source, target.line, arguments.call)
        step = _step(arguments, target, chosen, settings)
        report = _run(arguments, target, step, settings)
    except (Unusable, ConfigError, SourceError, NothingToRun, NoInterpreter, WontStart) as error:
        if arguments.output_format == "json":
            report = Report("failed", Fault(type(error).__name__, str(error)))
            _write_json(report, None)
        tell(f"error: {error}")
        return TROUBLE
    if arguments.output_format == "json":
        _write_json(report, target)
    else:
        write_report(report, step, target.file.source, sys.stdout, whole=arguments.traceback)
    return _exit_code(arguments, report)


def _target(arguments: argparse.Namespace) -> Target:
    """Reads the file.

    Raises:
        Unusable: the place is none.
        SourceError: the file cannot be read.
    """
    named: str = arguments.target
    if named == STDIN:
        path = os.path.abspath(arguments.path) if arguments.path else os.path.join(os.getcwd(), "stdin.py")
        return Target(File.of(path, sys.stdin.buffer.read()), None)
    if arguments.path:
        raise Unusable("--path is for standard input (-)")
    number = None
    if not os.path.exists(named) and (found := _PLACE.fullmatch(named)):
        named, number = found["path"], int(found["number"])
    if os.path.isdir(named):
        raise Unusable(f"{named} is a folder; name the script or notebook that is to run")
    file = File.read(os.path.abspath(named))
    if number is not None and named.endswith(NOTEBOOK):
        line = file.source.line_in_program(number - 1, 1)
        if line is None:
            codes = ", ".join(str(cell.index + 1) for cell in file.source.cells)
            raise Unusable(f"{named} has no cell {number} with Python in it; those that have: {codes or 'none'}")
        return Target(file, line)
    return Target(file, number)


def _settings(arguments: argparse.Namespace, target: Target) -> Settings:
    if arguments.no_config:
        return Settings()
    loaded = load_file(arguments.config) if arguments.config else load_settings(os.path.dirname(target.path))
    for problem in loaded.problems:
        tell(str(problem))
    return loaded.settings


def _step(arguments: argparse.Namespace, target: Target, chosen: Program, settings: Settings) -> Step:
    table: dict[str, Any] = dict(settings.run)
    # A folder or interpreter in the file is relative to the file, one on the command line to the current folder.
    folder = os.getcwd()
    if settings.root is not None and "cwd" in table:
        table["cwd"] = os.path.join(settings.root, os.path.expanduser(table["cwd"]))
    if settings.root is not None and os.path.dirname(table.get("interpreter") or ""):
        table["interpreter"] = os.path.join(settings.root, os.path.expanduser(table["interpreter"]))
    reason = "the setting"
    if arguments.python:
        table["interpreter"], reason = arguments.python, "--python"
    for name in _OPTIONS:
        if getattr(arguments, name) is not None:
            table[name] = getattr(arguments, name)
    if arguments.program_arguments:
        table["args"] = tuple(arguments.program_arguments)
    table["env"] = {**table.get("env", {}), **dict(arguments.env or ())}
    known = {item.name for item in fields(RunSettings)}
    return plan_step(
        chosen,
        RunSettings(**{name: value for name, value in table.items() if name in known}),
        folder=folder,
        roots=_roots(target),
        reason=reason,
        anomaly=not arguments.no_anomaly,
        check_nan=not arguments.no_check_nan,
        measure_cost=arguments.measure_cost,
    )


def _roots(target: Target) -> list[str]:
    from gradsense.check import Project

    return list(Project.for_paths([target.path]).roots)


def _run(arguments: argparse.Namespace, target: Target, step: Step, settings: Settings) -> Report:
    """Starts the interpreter, and checks the program while that imports torch."""
    if arguments.nproc_per_node:
        from gradsense.run.ranks import run_ranks

        with _shown() as listen:
            return run_ranks(step.with_predictions(_predictions(target, settings)), arguments.nproc_per_node, listen)
    worker = Worker(step.launch)
    try:
        step = step.with_predictions(_predictions(target, settings))
        with _shown() as listen:
            return worker.run(step.spec, step.time_limit, listen)
    finally:
        worker.close()


def _predictions(target: Target, settings: Settings) -> list[Predicted]:
    """What the static check finds in the file; errors and warnings only, since hints predict nothing."""
    checked = run_job(Job((target.path,), settings, want_fixes=False, data=target.file.data))
    return [
        Predicted(
            finding.code,
            finding.span.line,
            finding.path,
            tuple(other.span.line for other in finding.related if other.path == finding.path),
            finding.rerun,
        )
        for finding in checked.findings
        if finding.severity in (Severity.ERROR, Severity.WARNING)
    ]


@contextlib.contextmanager
def _shown() -> Iterator[Any]:
    """What shows the step's own output as it comes, on standard error."""
    lock = threading.Lock()

    def listen(event: Event) -> None:
        if event["event"] == "output":
            with lock:
                sys.stderr.write(event["text"])
                sys.stderr.flush()

    yield listen


def _write_json(report: Report, target: Target | None) -> None:
    import json

    from gradsense.cli.formats.run_json import to_object

    json.dump(to_object(report, target.file.source if target else None), sys.stdout, indent=2)
    sys.stdout.write("\n")


def _exit_code(arguments: argparse.Namespace, report: Report) -> int:
    if arguments.assert_no_growth and not arguments.assert_clean:
        if report.outcome == "grows" or report.verdict == "grows":
            return FOUND
        if report.verdict == "none":
            tell("error: no loop came to two passes that could be compared, so nothing is known about growth")
            return TROUBLE
        return 0
    if report.outcome in FAULTS or report.silent or report.verdict == "grows":
        return FOUND
    return 0 if report.outcome == "clean" else TROUBLE
