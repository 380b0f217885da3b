"""Writing files back: whole or not at all, and otherwise as they were."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from gradsense.cli.saving import save


def test_content_is_replaced_and_permissions_stay(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_bytes(b"old")
    path.chmod(0o754)
    save(str(path), b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o754
    assert os.listdir(tmp_path) == ["train.py"]


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_a_link_goes_on_pointing_at_the_mended_file(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "train.py"
    target.write_bytes(b"old")
    link = tmp_path / "link.py"
    link.symlink_to(target)
    save(str(link), b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_file_that_cannot_be_replaced_is_left_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "train.py"
    path.write_bytes(b"old")

    def full(source: str, target: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        save(str(path), b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["train.py"]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="for the administrator nothing is write-protected")
def test_a_write_protected_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(PermissionError):
        save(str(path), b"new")
    assert path.read_bytes() == b"old"
