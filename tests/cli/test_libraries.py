"""The libraries that the extension carries: which wheels are chosen for a platform, and that wrong ones are noticed."""

from __future__ import annotations

import importlib.util
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
TARGETS = (
    *("linux-x64", "linux-arm64", "alpine-x64", "alpine-arm64"),
    *("darwin-x64", "darwin-arm64", "win32-x64", "win32-arm64"),
)
ELF = b"\x7fELF" + bytes(14)
HEADS = {
    "linux-x64": ELF + b"\x3e\0 libc\0libc.so.6\0",
    "linux-arm64": ELF + b"\xb7\0 libc\0libc.so.6\0",
    "alpine-x64": ELF + b"\x3e\0\0libc.musl-x86_64.so.1\0",
    "alpine-arm64": ELF + b"\xb7\0\0libc.so\0",
    "darwin-x64": b"\xcf\xfa\xed\xfe\7\0\0\1",
    "darwin-arm64": b"\xcf\xfa\xed\xfe\x0c\0\0\1",
    "win32-x64": bytes(60) + b"\x40\0\0\0PE\0\0\x64\x86",
    "win32-arm64": bytes(60) + b"\x40\0\0\0PE\0\0\x64\xaa",
}


@pytest.fixture(scope="module")
def libraries() -> ModuleType:
    spec = importlib.util.spec_from_file_location("libraries", ROOT / "scripts" / "libraries.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def carried(libraries: ModuleType, folder: Path, target: str, head: bytes) -> None:
    """Puts a native module for each Python of the target where the real ones are."""
    for python in libraries.pythons_of(target):
        suffix = libraries.suffix_of(python, target)
        for path in (
            folder / "libcst" / f"native{suffix}",
            folder / "py{}{}".format(*python) / "rpds" / f"rpds{suffix}",
        ):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(head)


@pytest.mark.parametrize("target", TARGETS)
def test_all_that_is_needed_passes(libraries: ModuleType, tmp_path: Path, target: str) -> None:
    assert set(TARGETS) == set(libraries.PLATFORMS)
    carried(libraries, tmp_path, target, HEADS[target])
    libraries.check(tmp_path, target)


@pytest.mark.parametrize("target", TARGETS)
def test_modules_of_every_other_system_are_noticed(libraries: ModuleType, tmp_path: Path, target: str) -> None:
    for other in set(TARGETS) - {target}:
        carried(libraries, tmp_path, target, HEADS[other])
        with pytest.raises(SystemExit, match="is for another system"):
            libraries.check(tmp_path, target)


def test_a_module_that_a_python_would_not_find_is_noticed(libraries: ModuleType, tmp_path: Path) -> None:
    carried(libraries, tmp_path, "alpine-x64", HEADS["alpine-x64"])
    (tmp_path / "libcst" / "native.cpython-312-x86_64-linux-musl.so").unlink()
    with pytest.raises(SystemExit, match=r"Python 3\.12 finds no native\.cpython-312-x86_64-linux-musl\.so"):
        libraries.check(tmp_path, "alpine-x64")


def test_a_python_of_alpine_older_than_3_11_calls_its_modules_gnu(libraries: ModuleType) -> None:
    assert libraries.suffix_of((3, 10), "alpine-x64") == ".cpython-310-x86_64-linux-gnu.so"
    assert libraries.suffix_of((3, 11), "alpine-x64") == ".cpython-311-x86_64-linux-musl.so"


def test_the_ending_is_that_of_this_python(libraries: ModuleType) -> None:
    systems = {"linux": "linux", "darwin": "darwin", "win32": "win32"}
    machine = sysconfig.get_platform().rpartition("-")[2].removeprefix("linux_")
    machines = {"x86_64": "x64", "amd64": "x64", "arm64": "arm64", "aarch64": "arm64"}
    if sys.platform not in systems or machine not in machines or sys.version_info < (3, 11):
        pytest.skip("nothing is carried for this platform, or its name does not tell the C library")
    system = "alpine" if "musl" in sysconfig.get_config_var("EXT_SUFFIX") else systems[sys.platform]
    suffix = libraries.suffix_of(sys.version_info[:2], f"{system}-{machines[machine]}")
    assert suffix == sysconfig.get_config_var("EXT_SUFFIX")


@pytest.mark.parametrize("target", TARGETS)
def test_each_python_of_a_target_has_one_version_of_each_library(libraries: ModuleType, target: str) -> None:
    for python in libraries.pythons_of(target):
        found = libraries.locked(python, target)
        assert len({one.name for one in found}) == len(found)
        assert all(len(one.specifier) == 1 for one in found)
        assert not {"pyyaml", "pyyaml-ft"} & {one.name for one in found}


def test_what_nothing_is_carried_for_is_said(libraries: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="There are no libraries for linux-armhf; there are for linux-x64, "):
        libraries.main(tmp_path / "libs", "linux-armhf")
