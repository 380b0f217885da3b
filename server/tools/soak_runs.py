"""Cancels many runs of a step at random moments, and counts what stays behind.

usage: python server/tools/soak_runs.py [--runs N] [--seconds S] [--seed N]

The step has what steps have that start processes: a loader with workers, a child of its own, one in another session.
Every run is cancelled after a random time of up to S seconds: while the interpreter starts, while it imports torch,
in the middle of the step, or after it. Exits with 1 if a process of any of them is left, or a dead one unreaped.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from gradsense.run import killing
from gradsense.run.process import Cancelled, Launch
from gradsense.run.spec import Spec
from gradsense.run.warm import WarmWorker

STEP = """\
import subprocess, sys, time
import torch

for apart in (False, True):
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(900)"], start_new_session=apart)


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 1000

    def __getitem__(self, index):
        time.sleep(0.01)
        return torch.ones(4) * index


if __name__ == "__main__":
    model = torch.nn.Linear(4, 4)
    loader = torch.utils.data.DataLoader(Numbers(), batch_size=4, num_workers=2)
    while True:
        for batch in loader:
            model(batch).pow(2).mean().backward()
"""


def main() -> int:
    """Runs the soak and says what it found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    launch = Launch(sys.executable, dict(os.environ), os.getcwd())
    spec = Spec(str(Path.cwd() / "soaked.py"), STEP, cwd=os.getcwd(), passes=1_000_000, batches=1_000_000)
    warm = WarmWorker()
    marks: list[str] = []
    endings: Counter[str] = Counter()
    for number in range(arguments.runs):
        worker = warm.take(launch)
        marks.append(worker.mark)
        warm.prepare(launch)
        stage = ["starting"]
        timer = threading.Timer(chance.uniform(0, arguments.seconds), worker.cancel)
        timer.start()
        try:
            worker.run(spec, 60, lambda event, stage=stage: stage.append(event["event"]))
        except Cancelled:
            endings[stage[-1]] += 1
        else:
            endings["over"] += 1
        timer.join()
        left = [pid for mark in marks for pid in killing.marked(mark)]
        if left:
            print(f"run {number}: {left} still live", file=sys.stderr)
            return 1
    warm.close()
    time.sleep(0.1)
    dead = _unreaped()
    print(f"{arguments.runs} runs cancelled, by how far they were: {dict(endings)}; 0 processes left, {dead} unreaped")
    return 1 if dead else 0


def _unreaped() -> int:
    """The children of this process that have ended and were not waited for."""
    count = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        count += fields[0] == "Z" and int(fields[1]) == os.getpid()
    return count


if __name__ == "__main__":
    sys.exit(main())
