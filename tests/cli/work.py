"""Work for the pool that can be told by a file's name to crash, to take long, or to say which process did it.

As a program it runs a pool of such work: `python work.py NAME...`.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from gradsense.cli.jobs import Job
from gradsense.cli.pool import WORTH_A_PROCESS, run_jobs
from gradsense.cli.result import Message, Result
from gradsense.config import Settings


def job(*files: str, folder: str | None = None, size: int = WORTH_A_PROCESS) -> Job:
    """A job that is large enough for a process of its own, unless told otherwise."""
    return Job(files, Settings(), folder=folder, size=size)


def work(job: Job) -> Result:
    """Does as the names say, and notes the process."""
    for name in job.files:
        if name.startswith("crash"):
            os._exit(3)
        if name.startswith("raise"):
            raise ValueError("a fault of the analysis")
        if name.startswith("slow"):
            sys.stdout.write(f"{os.getpid()}\n")
            sys.stdout.flush()
            time.sleep(600)
    notes = [Message(name, None, str(os.getpid())) for name in job.files]
    return Result(notes=notes, checked=len(job.files))


if __name__ == "__main__":
    # As on a terminal: what a shell starts in the background ignores it, and so would all that is started from there.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for _ in run_jobs([job(name) for name in sys.argv[1:]], 2, work):
        pass
