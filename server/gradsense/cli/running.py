"""From the arguments of `gradsense run` to its report and exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from gradsense.cli.exits import FOUND, TROUBLE
from gradsense.cli.fixing import mended
from gradsense.cli.jobs import Job, run_job
from gradsense.cli.report import tell
from gradsense.cli.run_progress import RunProgress
from gradsense.cli.targets import Target, Unusable, target_of
from gradsense.config import ConfigError, Settings, load_file, load_settings
from gradsense.rules.finding import Severity
from gradsense.run.interpreters import NoInterpreter
from gradsense.run.process import WontStart, Worker
from gradsense.run.program import NothingToRun, program
from gradsense.run.report import FAULTS, Fault, Report
from gradsense.run.settings import RunSettings
from gradsense.run.spec import Predicted
from gradsense.run.step import Step, plan_step
from gradsense.run.trying import compared
from gradsense.syntax import SourceError

_OPTIONS = ("device", "passes", "batches", "time_limit", "cwd")


def execute(arguments: argparse.Namespace) -> int:
    """Runs what was asked for and shows the report.

    Returns:
        The exit code.
    """
    from gradsense.cli.formats.run_full import write_report

    try:
        target, settings = _target(arguments)
        tried = mended(target, arguments.with_fix, settings) if arguments.with_fix else None
        step = _step(arguments, target, settings)
        report = _run(arguments, target, step, settings)
        if tried is not None:
            before, target = report, tried.target
            step = _step(arguments, target, settings, tried.overlays)
            report = compared(_run(arguments, target, step, settings), before, tried.code, tried.title)
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


def _target(arguments: argparse.Namespace) -> tuple[Target, Settings]:
    """What is to run, and the settings that hold for it."""
    if arguments.module is None:
        target = target_of(arguments, os.getcwd(), None)
        return target, _settings(arguments, os.path.dirname(target.path))
    settings = _settings(arguments, os.getcwd())
    table = _table(arguments, settings)
    folder = os.path.abspath(os.path.expanduser(table.get("cwd") or "."))
    return target_of(arguments, folder, table.get("interpreter")), settings


def _settings(arguments: argparse.Namespace, folder: str) -> Settings:
    if arguments.no_config:
        return Settings()
    loaded = load_file(arguments.config) if arguments.config else load_settings(folder)
    for problem in loaded.problems:
        tell(str(problem))
    return loaded.settings


def _table(arguments: argparse.Namespace, settings: Settings) -> dict[str, Any]:
    """How it is run: by the settings, and by what the command line says, which wins."""
    table: dict[str, Any] = dict(settings.run)
    # A folder or interpreter in the file is relative to the file, one on the command line to the current folder.
    if settings.root is not None and "cwd" in table:
        table["cwd"] = os.path.join(settings.root, os.path.expanduser(table["cwd"]))
    if settings.root is not None and os.path.dirname(table.get("interpreter") or ""):
        table["interpreter"] = os.path.join(settings.root, os.path.expanduser(table["interpreter"]))
    if arguments.python:
        table["interpreter"] = arguments.python
    for name in _OPTIONS:
        if getattr(arguments, name) is not None:
            table[name] = getattr(arguments, name)
    if arguments.program_arguments:
        table["args"] = tuple(arguments.program_arguments)
    table["env"] = {**table.get("env", {}), **dict(arguments.env or ())}
    return table


def _step(
    arguments: argparse.Namespace, target: Target, settings: Settings, overlays: Mapping[str, str] | None = None
) -> Step:
    known = {item.name for item in fields(RunSettings)}
    table = _table(arguments, settings)
    return plan_step(
        program(target.file.source, target.line, arguments.call),
        RunSettings(**{name: value for name, value in table.items() if name in known}),
        folder=os.getcwd(),
        roots=_roots(target),
        reason="--python" if arguments.python else "the setting",
        module=target.module,
        anomaly=not arguments.no_anomaly,
        check_nan=not arguments.no_check_nan,
        measure_cost=arguments.measure_cost,
        overlays=dict(overlays or {}),
    )


def _roots(target: Target) -> list[str]:
    from gradsense.check import Project

    roots = list(Project.for_paths([target.path]).roots)
    return roots if target.root is None else [target.root, *roots]


def _run(arguments: argparse.Namespace, target: Target, step: Step, settings: Settings) -> Report:
    """Starts the interpreter, and checks the program while that imports torch."""
    if arguments.nproc_per_node:
        from gradsense.run.ranks import run_ranks

        with RunProgress(_label(target)) as listen:
            return run_ranks(step.with_predictions(_predictions(target, settings)), arguments.nproc_per_node, listen)
    with RunProgress(_label(target)) as listen:
        worker = Worker(step.launch)
        try:
            step = step.with_predictions(_predictions(target, settings))
            return worker.run(step.spec, step.time_limit, listen)
        finally:
            worker.close()


def _label(target: Target) -> str:
    return target.module or os.path.basename(target.path)


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
            finding.behind,
        )
        for finding in checked.findings
        if finding.severity in (Severity.ERROR, Severity.WARNING)
    ]


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
            tell("error: no loop came to three passes that could be compared, so nothing is known about growth")
            return TROUBLE
        return 0
    if report.outcome in FAULTS or report.silent or report.verdict == "grows":
        return FOUND
    return 0 if report.outcome == "clean" else TROUBLE
