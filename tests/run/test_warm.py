"""A worker kept ready: taken when it fits, and when not, replaced."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gradsense.run.process import Launch
from gradsense.run.warm import WarmWorker
from run.launching import QUICK, eventually, quick, step


@pytest.fixture
def warm() -> Iterator[WarmWorker]:
    kept = WarmWorker()
    yield kept
    kept.close()


def prepared(warm: WarmWorker, launch: Launch) -> int:
    """Has a worker kept ready, and gives its process number when it is."""
    warm.prepare(launch)
    pid = warm.pid
    assert pid is not None and eventually(lambda: warm._stamp is not None)
    return pid


def test_the_worker_that_is_ready_is_taken_once(warm: WarmWorker, tmp_path: Path) -> None:
    launch = quick(tmp_path)
    pid = prepared(warm, launch)
    worker = warm.take(launch)
    assert worker.pid == pid and warm.pid is None
    assert worker.run(step(tmp_path, "print('x'); report(outcome='clean')"), 20).output == "x\n"
    other = warm.take(launch)
    assert other.pid != pid
    other.close()


@pytest.mark.parametrize("change", ["interpreter", "environment", "folder", "files", "death"])
def test_one_that_no_longer_fits_is_ended(warm: WarmWorker, tmp_path: Path, change: str) -> None:
    package = tmp_path / "packages"
    package.mkdir()
    for name in ("torch.py", "fake_inside.py"):
        (package / name).write_text((QUICK / name).read_text())
    launch = quick(tmp_path, PYTHONPATH=str(package))
    pid = prepared(warm, launch)
    if change == "interpreter":
        link = tmp_path / "python"
        link.symlink_to(launch.python)
        launch = replace(launch, python=str(link))
    elif change == "environment":
        launch = replace(launch, env={**launch.env, "CUDA_VISIBLE_DEVICES": "1"})
    elif change == "folder":
        launch = replace(launch, cwd="/")
    elif change == "files":
        (package / "torch.py").write_text("__version__ = '2.10.0'\nmanual_seed = id\n")
    else:
        os.kill(pid, 9)
        assert eventually(lambda: warm._kept is not None and not warm._kept.alive)
    worker = warm.take(launch)
    assert worker.pid != pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    if change == "files":
        assert worker.wait_ready().torch == "2.10.0"
    worker.close()


def test_one_that_is_not_ready_yet_is_waited_for(warm: WarmWorker, tmp_path: Path) -> None:
    launch = quick(tmp_path)
    warm.prepare(launch)
    pid = warm.pid
    worker = warm.take(launch)
    assert worker.pid == pid
    assert worker.run(step(tmp_path, "report(outcome='clean')"), 20).outcome == "clean"


def test_one_that_nobody_asks_for_goes(tmp_path: Path) -> None:
    warm = WarmWorker(idle_seconds=0.2)
    warm.prepare(quick(tmp_path))
    pid = warm.pid
    assert pid is not None
    assert eventually(lambda: warm.pid is None and not Path(f"/proc/{pid}").exists())
    warm.close()


def test_nothing_is_kept_after_the_end(tmp_path: Path) -> None:
    warm = WarmWorker()
    warm.close()
    warm.prepare(quick(tmp_path))
    assert warm.pid is None


def test_an_interpreter_that_cannot_start_is_no_matter_until_it_is_asked_for(warm: WarmWorker, tmp_path: Path) -> None:
    warm.prepare(Launch(str(tmp_path / "none"), {}, str(tmp_path)))
    assert warm.pid is None
