"""Runs jobs in several processes, of which one may crash and all end when they are no longer wanted."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace

from gradsense.cli.jobs import Job
from gradsense.cli.progress import Progress
from gradsense.cli.result import Message, Result
from gradsense.garbage import MANY, collect_seldom


@dataclass(frozen=True)
class Processes:
    """Some processes.

    Args:
        workers: how many.
        work: what they do with a job; a function that can be imported.
        progress: what is told of the files that are done.
    """

    workers: int
    work: Callable[[Job], Result]
    progress: Progress

    def results(self, jobs: Sequence[Job]) -> Iterator[Result]:
        """Runs all jobs and gives their results in the order of the jobs."""
        for job, result in zip(jobs, self._run(jobs, self.workers), strict=True):
            yield self._rescued(job) if result is None else result

    def _rescued(self, job: Job) -> Result:
        """Runs a job again whose process died, or that was lost with it, and narrows down whose fault it was."""
        [result] = self._run([job], 1)
        if result is not None:
            return result
        if job.folder is not None or len(job.files) == 1:
            self.progress.advance(len(job.files))
            files = job.files[0] if len(job.files) == 1 else f"{job.folder} ({len(job.files)} files)"
            text = f"{files} could not be checked: the process died, perhaps for want of memory"
            return Result(failures=[Message(job.files[0], None, text)], checked=len(job.files))
        half = len(job.files) // 2
        both = self._rescued(replace(job, files=job.files[:half]))
        both.add(self._rescued(replace(job, files=job.files[half:])))
        return both

    def _run(self, jobs: Sequence[Job], workers: int) -> list[Result | None]:
        """The results of the jobs; None for each that has none, since a process died."""
        # A forked process inherits whatever threads and locks are about; a spawned one is the same on every system.
        context = multiprocessing.get_context("spawn")
        executor = ProcessPoolExecutor(workers, mp_context=context, initializer=_settle_in)
        results: dict[Job, Result] = {}
        try:
            running = {executor.submit(self.work, job): job for job in jobs}
            for future in as_completed(running):
                with contextlib.suppress(BrokenProcessPool):
                    results[running[future]] = future.result()
                    self.progress.advance(len(running[future].files))
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
    collect_seldom(MANY)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: multiprocessing.process.BaseProcess) -> None:
    parent.join()
    os._exit(1)
