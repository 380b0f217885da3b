"""Runs that are cancelled at random moments leave nothing behind."""

from __future__ import annotations

import os
import random
import sys
import threading
from pathlib import Path

import pytest

from gradsense.run import killing
from gradsense.run.process import Cancelled
from gradsense.run.warm import WarmWorker
from run.launching import quick, step

RUNS = 20
TEXT = """
import subprocess, sys, threading, time
sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
while True:
    subprocess.Popen(sleep)
    subprocess.Popen(sleep, start_new_session=True)
    send({"event": "pass", "line": 1})
    time.sleep(0.05)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_nothing_is_left_of_runs_that_were_cancelled_at_random_moments(tmp_path: Path) -> None:
    chance = random.Random(4)
    warm = WarmWorker()
    launch = quick(tmp_path)
    workers = []
    try:
        for _ in range(RUNS):
            worker = warm.take(launch)
            workers.append(worker)
            warm.prepare(launch)
            threading.Timer(chance.uniform(0, 0.4), worker.cancel).start()
            with pytest.raises(Cancelled):
                worker.run(step(tmp_path, TEXT), 60)
            assert [pid for other in workers for pid in killing.marked(other.mark)] == []
    finally:
        warm.close()
    for worker in workers:
        with pytest.raises(ChildProcessError):
            os.waitpid(worker.pid, os.WNOHANG)
