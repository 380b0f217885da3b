"""Several processes: order, crashes, interruption, and no process left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli.work import job, work
from gradsense.cli.pool import run_jobs

PROGRAM = Path(__file__).with_name("work.py")
TESTS = Path(__file__).parents[1]
SECONDS = 120  # much less than the work takes


def test_results_come_in_the_order_of_the_jobs_and_from_other_processes() -> None:
    jobs = [job(f"{number}.py") for number in range(6)]
    results = list(run_jobs(jobs, 2, work))
    assert [result.notes[0].path for result in results] == [f"{number}.py" for number in range(6)]
    processes = {result.notes[0].text for result in results}
    assert len(processes) <= 2
    assert str(os.getpid()) not in processes


def test_little_work_is_done_in_this_process() -> None:
    small = [job("a.py", size=100), job("b.py", size=100)]
    assert [r.notes[0].text for r in run_jobs(small, 2, work)] == [str(os.getpid())] * 2


def test_a_crash_costs_its_file_and_no_other() -> None:
    jobs = [job("a.py", "b.py", "crash.py", "c.py"), job("d.py"), job("e.py", "crash_too.py", folder="package")]
    first, second, third = run_jobs(jobs, 2, work)
    assert [note.path for note in first.notes] == ["a.py", "b.py", "c.py"]
    assert [failure.path for failure in first.failures] == ["crash.py"]
    assert first.checked == 4
    assert [note.path for note in second.notes] == ["d.py"]
    assert "package (2 files)" in third.failures[0].text


def test_a_fault_of_the_analysis_is_passed_on() -> None:
    with pytest.raises(ValueError, match="a fault of the analysis"):
        list(run_jobs([job("raise.py"), job("a.py")], 2, work))


@pytest.mark.skipif(os.name == "nt", reason="signals are different there")
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_no_process_outlives_the_command(end: signal.Signals) -> None:
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    command = [sys.executable, str(PROGRAM), "slow1.py", "slow2.py"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True) as main:
        assert main.stdout is not None
        workers = [int(main.stdout.readline()) for _ in range(2)]
        os.kill(main.pid, end)
        try:
            # Both pipes end when the last process is gone that could write to them.
            main.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            for process in (main.pid, *workers):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            pytest.fail("some process lived on")
