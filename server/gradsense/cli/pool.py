"""Runs jobs, in this process where there is little to do and in several where there is much."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gradsense.cli.jobs import Job, run_job
from gradsense.cli.progress import Progress
from gradsense.cli.result import Result

Work = Callable[[Job], Result]

# Bytes of source. Starting a process and importing the analysis in it takes about as long as checking this much.
WORTH_A_PROCESS = 200_000


def run_jobs(jobs: Sequence[Job], most: int, work: Work = run_job) -> Iterator[Result]:
    """Runs all jobs and gives their results in the order of the jobs.

    Args:
        jobs: what to do.
        most: the most processes.
        work: does one job.
    """
    workers = min(most, len(jobs), 1 + sum(job.size for job in jobs) // WORTH_A_PROCESS)
    with Progress(sum(len(job.files) for job in jobs)) as progress:
        if workers > 1:
            from gradsense.cli.processes import Processes

            yield from Processes(workers, work, progress).results(jobs)
        else:
            for job in jobs:
                yield work(job)
                progress.advance(len(job.files))
