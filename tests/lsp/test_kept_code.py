"""Code that attrs and dataclasses compile is kept from one start to the next, and can never be wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import dataclasses, sys
sys.pycache_prefix = {folder!r}
sys.dont_write_bytecode = {frozen}
from gradsense.lsp import kept_code
with kept_code.kept_code("tests", also="attr._make"):
    import attrs
    @dataclasses.dataclass(frozen=True, slots=True)
    class Plain:
        one: int
        other: str = {default!r}
    @attrs.frozen
    class Frozen:
        one: int
    @attrs.define
    class Defined:
        one: int
        other: str = {default!r}
print(Plain(1), Defined(2), Plain(1) == Plain(1), Plain(1) == Plain(2), hash(Plain(1)) == hash(Plain(1)))
print("exec" in vars(dataclasses), "compile" in vars(attrs))
"""


def start(folder: Path, default: str = "a", frozen: bool = False) -> str:
    """What a start prints whose kept code is in a folder."""
    program = PROGRAM.format(folder=str(folder), default=default, frozen=frozen)
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout


def kept(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and "opt-tests" in path.name]


def expected(default: str) -> str:
    return f"Plain(one=1, other={default!r}) Defined(one=2, other={default!r}) True False True\nFalse False\n"


def test_classes_are_the_same_from_kept_code(tmp_path: Path) -> None:
    assert start(tmp_path) == expected("a")
    (file,) = kept(tmp_path)
    before = file.stat().st_mtime_ns
    assert start(tmp_path) == expected("a")
    assert kept(tmp_path) == [file]
    assert file.stat().st_mtime_ns == before, "what is known is not written again"


def test_another_class_of_the_same_name(tmp_path: Path) -> None:
    assert start(tmp_path, "a") == expected("a")
    assert start(tmp_path, "b") == expected("b")
    assert start(tmp_path, "a") == expected("a")


@pytest.mark.parametrize("damage", [b"", b"nonsense", None])
def test_a_damaged_file_is_made_anew(tmp_path: Path, damage: bytes | None) -> None:
    start(tmp_path)
    (file,) = kept(tmp_path)
    whole = file.read_bytes()
    # Cut off in the middle, such as on a full disk.
    file.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    assert start(tmp_path) == expected("a")
    assert len(file.read_bytes()) == len(whole)


def test_nothing_is_written_where_python_must_not(tmp_path: Path) -> None:
    assert start(tmp_path, frozen=True) == expected("a")
    assert kept(tmp_path) == []


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert start(tmp_path / "file") == expected("a")
