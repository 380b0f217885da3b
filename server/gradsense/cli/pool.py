"""Runs jobs: in this process where there is little to do, in several where there is much, with a bar in a terminal."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace

from gradsense.cli.jobs import Job, run_job
from gradsense.cli.result import Message, Result

Work = Callable[[Job], Result]

# Starting a process and importing the analysis in it takes about as long as checking this much.
WORTH_A_PROCESS = 200_000
_PATIENCE = 0.6


def run_jobs(jobs: Sequence[Job], most: int, work: Work = run_job) -> Iterator[Result]:
    """Runs all jobs and gives their results in the order of the jobs.

    Args:
        jobs: what to do.
        most: the most processes.
        work: does one job.
    """
    workers = min(most, len(jobs), 1 + sum(job.size for job in jobs) // WORTH_A_PROCESS)
    with _progress(sum(len(job.files) for job in jobs)) as advance:
        if workers > 1:
            yield from _in_processes(jobs, workers, advance, work)
            return
        for job in jobs:
            yield work(job)
            advance(len(job.files))


def _in_processes(jobs: Sequence[Job], workers: int, advance: _Advance, work: Work) -> Iterator[Result]:
    results = _run_in_pool(jobs, workers, advance, work)
    for job, result in zip(jobs, results, strict=True):
        yield _rescued(job, advance, work) if result is None else result


def _rescued(job: Job, advance: _Advance, work: Work) -> Result:
    """Runs a job again whose process died, or that waited when another's did, and narrows down whose fault it was."""
    [result] = _run_in_pool([job], 1, advance, work)
    if result is not None:
        return result
    if job.together or len(job.files) == 1:
        advance(len(job.files))
        files = job.files[0] if len(job.files) == 1 else f"{os.path.commonpath(job.files)} ({len(job.files)} files)"
        text = f"{files} could not be checked: the process died, perhaps for want of memory"
        return Result(failures=[Message(job.files[0], None, text)], checked=len(job.files))
    half = len(job.files) // 2
    both = _rescued(replace(job, files=job.files[:half]), advance, work)
    both.add(_rescued(replace(job, files=job.files[half:]), advance, work))
    return both


def _run_in_pool(jobs: Sequence[Job], workers: int, advance: _Advance, work: Work) -> list[Result | None]:
    """The results of the jobs; None for each that has none, since a process died."""
    # A forked process would inherit whatever threads and locks are about; a spawned one is the same on every system.
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(workers, mp_context=context, initializer=_settle_in)
    results: dict[Job, Result] = {}
    try:
        running = {executor.submit(work, job): job for job in jobs}
        for future in as_completed(running):
            with contextlib.suppress(BrokenProcessPool):
                results[running[future]] = future.result()
                advance(len(running[future].files))
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    executor.shutdown()
    return [results.get(job) for job in jobs]


def _settle_in() -> None:
    """A worker ends at once on Ctrl+C, without a traceback, and does not outlive the process that wants its results."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: multiprocessing.process.BaseProcess) -> None:
    parent.join()
    os._exit(1)


class _Advance:
    """Counts files that are done; draws a bar if it takes long and a person watches."""

    def __init__(self, total: int) -> None:
        self._timer: threading.Timer | None = None
        if total > 1 and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

            terminal = Console(stderr=True)
            columns = (TextColumn("checking"), BarColumn(), MofNCompleteColumn(), TextColumn("files"))
            self._progress = Progress(*columns, console=terminal, transient=True)
            self._task = self._progress.add_task("", total=total)
            self._timer = threading.Timer(_PATIENCE, self._progress.start)
            self._timer.daemon = True
            self._timer.start()

    def __call__(self, files: int) -> None:
        if self._timer is not None:
            self._progress.advance(self._task, files)

    def close(self) -> None:
        """Takes the bar away."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
            self._progress.stop()


@contextlib.contextmanager
def _progress(total: int) -> Iterator[_Advance]:
    advance = _Advance(total)
    try:
        yield advance
    finally:
        advance.close()
