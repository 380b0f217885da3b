"""Which Python runs the step."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gradsense.run import interpreters
from gradsense.run.interpreters import NoInterpreter, activated, choose, clean_environment

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="makes environments as POSIX has them")

Maker = Callable[..., Path]


@pytest.fixture
def environment() -> Maker:
    """Makes virtual environments that have, as far as their metadata tell, a torch of some version."""

    def make(folder: Path, torch: str | None = "2.9.0") -> Path:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        if torch is not None:
            [packages] = folder.glob("lib/python*/site-packages")
            metadata = packages / f"torch-{torch}.dist-info"
            metadata.mkdir()
            (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {torch}\n")
        return folder

    return make


@pytest.fixture(autouse=True)
def no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hides the environment that the tests run in."""
    monkeypatch.setattr(interpreters, "find_spec", lambda name: None)


def env(**more: str) -> dict[str, str]:
    return {"PATH": "/nonexistent", **more}


def test_the_order_of_the_search(tmp_path: Path, environment: Maker) -> None:
    active = environment(tmp_path / "active")
    conda = environment(tmp_path / "conda")
    above = environment(tmp_path / "project" / ".venv")
    beside = environment(tmp_path / "project" / "src" / ".venv")
    last = environment(tmp_path / "last")
    script = str(tmp_path / "project" / "src" / "train.py")
    everything = env(VIRTUAL_ENV=str(active), CONDA_PREFIX=str(conda), PATH=str(last / "bin"))
    found = []
    for gone in (active, conda, beside, above, last):
        chosen = choose(None, script, everything)
        found.append(Path(chosen.path).parent.parent)
        assert chosen.torch == "2.9.0"
        gone.rename(tmp_path / f"gone-{len(found)}")
    assert found == [active, conda, beside, above, last]
    with pytest.raises(NoInterpreter, match="no Python was found; choose another with --python"):
        choose(None, script, everything)


def test_one_without_torch_is_passed_over(tmp_path: Path, environment: Maker) -> None:
    active = environment(tmp_path / "active", torch=None)
    beside = environment(tmp_path / ".venv")
    chosen = choose(None, str(tmp_path / "train.py"), env(VIRTUAL_ENV=str(active)))
    assert chosen.path == str(beside / "bin" / "python")
    assert chosen.reason == f".venv in {tmp_path}"


def test_one_that_was_asked_for_is_taken_or_refused(tmp_path: Path, environment: Maker) -> None:
    environment(tmp_path / ".venv")
    other = environment(tmp_path / "other", torch="2.1.0+cu118")
    script = str(tmp_path / "train.py")
    python = str(other / "bin" / "python")
    assert choose(python, script, env()).path == choose(str(other), script, env()).path == python
    assert choose("python3", script, env(PATH=str(other / "bin"))).path == str(other / "bin" / "python3")
    bare = environment(tmp_path / "bare", torch=None)
    old = environment(tmp_path / "old", torch="2.0.1")
    (tmp_path / "no-python").write_text("#!/bin/sh\necho 3\n")
    (tmp_path / "no-python").chmod(0o755)
    for wanted, words in [
        (bare, "torch is not installed in .*bare"),
        (old, "has torch 2.0.1, and 2.1 is needed"),
        (tmp_path, "is a folder without a Python"),
        (tmp_path / "nothing", "is no program that can be started"),
        (tmp_path / "no-python", "is not a Python that works"),
    ]:
        with pytest.raises(NoInterpreter, match=f"{words}.*choose another with --python"):
            choose(str(wanted), script, env())


def test_all_that_were_looked_at_are_named(tmp_path: Path, environment: Maker) -> None:
    active = environment(tmp_path / "active", torch=None)
    environment(tmp_path / ".venv", torch="1.13.1")
    with pytest.raises(NoInterpreter) as caught:
        choose(None, str(tmp_path / "train.py"), env(VIRTUAL_ENV=str(active)))
    assert "torch is not installed" in str(caught.value) and "has torch 1.13.1" in str(caught.value)
    assert str(caught.value).count("--python") == 1


def test_a_torch_installed_meanwhile_is_seen(tmp_path: Path, environment: Maker) -> None:
    folder = environment(tmp_path / ".venv", torch=None)
    script = str(tmp_path / "train.py")
    with pytest.raises(NoInterpreter):
        choose(None, script, env())
    [packages] = folder.glob("lib/python*/site-packages")
    os.utime(packages, (1, 1))
    metadata = packages / "torch-2.9.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.9.0\n")
    assert choose(None, script, env()).torch == "2.9.0"


def test_the_environment_is_the_users_and_not_ours(tmp_path: Path, environment: Maker) -> None:
    own = Path(interpreters.__file__).parents[2]
    mixed = os.pathsep.join([str(own), "/theirs"])
    assert clean_environment({"PYTHONPATH": str(own), "PYTHONHOME": "/ours", "A": "1"}) == {"A": "1"}
    assert clean_environment({"PYTHONPATH": mixed}) == {"PYTHONPATH": "/theirs"}
    python = environment(tmp_path / ".venv") / "bin" / "python"
    made = activated({"PATH": "/usr/bin"}, str(python))
    assert made == {"PATH": f"{python.parent}{os.pathsep}/usr/bin", "VIRTUAL_ENV": str(tmp_path / ".venv")}
    assert activated({"PATH": "/usr/bin"}, "/usr/bin/python3") == {"PATH": "/usr/bin"}
