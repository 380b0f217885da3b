"""A worker's life: how it starts, what comes back, and that nothing of it stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from textwrap import dedent

import pytest

from gradsense.run import killing
from gradsense.run.output import LIMIT, Output
from gradsense.run.process import Cancelled, Launch, WontStart, Worker
from run.launching import QUICK, eventually, left_of, quick, run_quick, step

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals")
linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

CHILDREN = """
import subprocess, sys
sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
subprocess.Popen(sleep)
subprocess.Popen(sleep, start_new_session=True)
"""


def test_the_report_comes_back(tmp_path: Path) -> None:
    report = run_quick(tmp_path, "report(outcome='clean', loss=[0.5], walk={'path': spec['path'], 'line': 3})")
    assert report.outcome == "clean" and report.is_clean
    assert report.loss == (0.5,)
    assert report.torch == "2.9.9"


def test_what_the_step_prints_is_kept_in_order_and_apart_from_the_events(tmp_path: Path) -> None:
    text = """
        import os, sys
        print('{"event": "report", "report": {"outcome": "nan"}}')
        os.write(1, b"from below\\n")
        print("to the other stream", file=sys.stderr)
        os.system("echo from a child")
        print("unfinished", end="")
        report(outcome="clean")
    """
    heard: list[str] = []
    report = run_quick(
        tmp_path, text, listener=lambda event: heard.append(event["text"]) if event["event"] == "output" else None
    )
    assert report.outcome == "clean"
    expected = '{"event": "report", "report": {"outcome": "nan"}}\nfrom below\nto the other stream\nfrom a child\n'
    assert report.output == expected + "unfinished"
    assert "".join(heard) == report.output


def test_the_step_has_nothing_to_read(tmp_path: Path) -> None:
    report = run_quick(tmp_path, "import sys\nreport(outcome='clean', notes=[repr(sys.stdin.read())])")
    assert report.notes == ("''",)


def test_what_a_program_wants_done_at_exit_is_done(tmp_path: Path) -> None:
    report = run_quick(tmp_path, "import atexit\natexit.register(print, 'goodbye')\nreport(outcome='clean')")
    assert report.output == "goodbye\n"


def test_a_thread_that_never_ends_does_not_hold_up_the_report(tmp_path: Path) -> None:
    text = "import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()\nreport(outcome='clean')"
    assert run_quick(tmp_path, text).outcome == "clean"


def test_nothing_of_ours_is_on_the_import_path(tmp_path: Path) -> None:
    text = """
        import sys
        from importlib.util import find_spec
        names = "process", "spec", "start", "pygls", "libcst"
        report(outcome="clean", notes=[name for name in names if find_spec(name)])
    """
    worker = Worker(Launch(_bare_python(tmp_path), quick(tmp_path).env, str(tmp_path), "fake_inside:run"))
    assert worker.run(step(tmp_path, text), 20).notes == ()


def _bare_python(folder: Path) -> str:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "bare")], check=True)
    return str(folder / "bare" / "bin" / "python")


@posix
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import ctypes\nctypes.string_at(0)", ["segmentation fault", "step.py, line 3"]),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", ["memory ran out"]),
        ("import os\nos.abort()", ["aborting", "step.py, line 3"]),
        ("import os\nos._exit(3)", ["with status 3", "os._exit"]),
    ],
)
def test_a_crash_is_told_in_words(tmp_path: Path, text: str, words: list[str]) -> None:
    report = run_quick(tmp_path, "print('before')\n" + text)
    assert report.outcome == "failed" and report.error is not None
    assert all(word in report.error.message for word in words), report.error.message
    assert report.output.startswith("before\n")


def test_a_fault_of_the_probe_is_ours(tmp_path: Path) -> None:
    report = run_quick(tmp_path, "raise KeyError('lost')")
    assert report.outcome == "failed" and report.error is not None
    assert "Please report it" in report.error.message and "lost" in report.error.message


def test_a_report_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    report = run_quick(tmp_path, "report(outcome='clean', walk={'path': 'x'})")
    assert report.outcome == "failed" and report.error is not None
    assert "walk.line" in report.error.message


def test_the_time_limit_ends_it_and_says_where_it_was(tmp_path: Path) -> None:
    text = """
        import time
        send({"event": "pass", "line": 3, "nodes": 4})
        def endless():
            while True:
                time.sleep(0.01)
        endless()
    """
    worker = Worker(quick(tmp_path))
    report = worker.run(step(tmp_path, text), 0.5)
    assert report.outcome == "timeout" and report.error is not None
    assert "not over after 0.5 s" in report.error.message
    assert "step.py, line 6" in report.error.message
    assert [row.nodes for row in report.passes] == [4]
    assert not left_of(worker)


def test_time_spent_on_importing_torch_is_not_the_steps(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("import time\ntime.sleep(1.5)\n__version__ = '2.9.9'\nmanual_seed = id\n")
    slow = os.pathsep.join([str(tmp_path), str(QUICK)])
    report = Worker(quick(tmp_path, PYTHONPATH=slow)).run(step(tmp_path, "report(outcome='clean')"), 1.2)
    assert report.outcome == "clean"


def test_a_torch_that_is_missing_or_broken_is_told(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('libcudart.so.12: cannot open shared object file')\n")
    with pytest.raises(WontStart, match=r"torch cannot be imported in .*libcudart.*--python"):
        Worker(quick(tmp_path, PYTHONPATH=str(tmp_path))).run(step(tmp_path, ""), 20)
    with pytest.raises(WontStart, match=r"torch is not installed in .*--python"):
        Worker(Launch(_bare_python(tmp_path), dict(os.environ), str(tmp_path))).run(step(tmp_path, ""), 20)


def test_an_interpreter_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(WontStart, match=r"cannot be started: .*--python"):
        Worker(Launch(str(tmp_path / "python"), {}, str(tmp_path)))
    with pytest.raises(WontStart, match=r"working folder .* is not there"):
        Worker(Launch(sys.executable, {}, str(tmp_path / "gone")))


@linux
def test_what_the_step_started_ends_with_it(tmp_path: Path) -> None:
    worker = Worker(quick(tmp_path))
    assert worker.run(step(tmp_path, CHILDREN + "report(outcome='clean')"), 20).outcome == "clean"
    assert not left_of(worker)


@linux
def test_a_cancelled_run_ends_at_once_with_all_that_it_started(tmp_path: Path) -> None:
    worker = Worker(quick(tmp_path))
    started = threading.Event()

    def cancel() -> None:
        started.wait(20)
        worker.cancel()

    threading.Thread(target=cancel).start()
    text = CHILDREN + "send({'event': 'pass', 'line': 1})\nwhile True: pass"
    with pytest.raises(Cancelled):
        worker.run(step(tmp_path, text), 60, lambda event: started.set() if event["event"] == "pass" else None)
    assert not left_of(worker)
    with pytest.raises(ChildProcessError):
        os.waitpid(worker.pid, os.WNOHANG)


@linux
def test_a_step_that_ignores_signals_is_ended_too(tmp_path: Path) -> None:
    text = """
        import signal
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        while True: pass
    """
    worker = Worker(quick(tmp_path))
    assert worker.run(step(tmp_path, text), 0.3).outcome == "timeout"
    assert not left_of(worker)


HOST = """
import os, sys, threading
from pathlib import Path
sys.path[:0] = {path!r}
from run.launching import quick, step
from gradsense.run.process import Worker
worker = Worker(quick(Path({folder!r})))
print(worker.mark, flush=True)
worker.run(step(Path({folder!r}), {text!r}), 600, lambda event: print(event["event"], flush=True))
"""
HOLDS_THE_LOCK = "import re\nsend({'event': 'pass', 'line': 1})\nre.match(r'(a+)+$', 'a' * 64 + 'b')"


@linux
@pytest.mark.parametrize("text", ["send({'event': 'pass', 'line': 1})\nwhile True: pass", HOLDS_THE_LOCK])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_a_host_that_is_killed(tmp_path: Path, text: str, number: int) -> None:
    path = [str(QUICK.parents[1])]
    program = HOST.format(path=path, folder=str(tmp_path), text=CHILDREN + dedent(text))
    host = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert host.stdout is not None
    mark = host.stdout.readline().strip()
    while host.stdout.readline().strip() != "pass":
        assert host.poll() is None
    assert eventually(lambda: len(list(killing.marked(mark))) == 3)
    host.send_signal(number)
    host.wait(10)
    host.stdout.close()
    assert eventually(lambda: not list(killing.marked(mark)))


def test_unsaved_text_of_other_files_is_what_is_imported(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("value = 'saved'\n")
    text = """
        import sys
        sys.path.insert(0, spec["cwd"])
        import helper, inspect
        report(outcome="clean", notes=[helper.value, inspect.getsource(helper)])
    """
    report = run_quick(tmp_path, text, overlays={str(tmp_path / "helper.py"): "value = 'typed'\n"})
    assert report.notes == ("typed", "value = 'typed'\n")


def test_long_output_keeps_its_beginning_and_its_end() -> None:
    output = Output()
    for number in range(200_000):
        output.add(f"line {number}\n")
    text = output.text
    assert text.startswith("line 0\nline 1\n") and text.endswith("line 199999\n")
    assert "characters left out" in text and len(text) < LIMIT + 100
    short = Output()
    short.add("a" * LIMIT)
    assert short.text == "a" * LIMIT
