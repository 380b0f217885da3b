"""Which files of a folder are checked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gradsense.config import Settings
from gradsense.discovery import find_files


def tree(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def found(root: Path, settings: Settings | None = None) -> list[str]:
    settings = settings or Settings()
    return [Path(path).relative_to(root).as_posix() for path in find_files(str(root), settings)]


def test_programs_and_notebooks_are_found_and_nothing_else(tmp_path: Path) -> None:
    tree(tmp_path, "b.py", "a.ipynb", "data.csv", "notes.md", "deep/er/c.py", "stub.pyi")
    assert found(tmp_path) == ["a.ipynb", "b.py", "deep/er/c.py"]


def test_environments_caches_and_builds_are_passed_by(tmp_path: Path) -> None:
    tree(
        tmp_path,
        "train.py",
        ".venv/lib/x.py",
        "venv/x.py",
        "env/lib/python3.12/site-packages/torch/nn.py",
        "__pycache__/x.py",
        "node_modules/x.py",
        ".git/hooks/x.py",
        "build/lib/x.py",
        "dist/x.py",
        "sub/.ipynb_checkpoints/a.ipynb",
    )
    assert found(tmp_path) == ["train.py"]


def test_paths_are_named_as_the_folder_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, "src/a.py", "src/pkg/b.py")
    monkeypatch.chdir(tmp_path)
    inner = str(Path("src/pkg/b.py"))
    assert find_files(".", Settings()) == [str(Path("src/a.py")), inner]
    assert find_files("src", Settings()) == [str(Path("src/a.py")), inner]
    assert find_files(str(tmp_path / "src"), Settings()) == [
        str(tmp_path / "src" / "a.py"),
        str(tmp_path / "src/pkg/b.py"),
    ]
    monkeypatch.chdir(tmp_path / "src")
    assert find_files(os.pardir, Settings())[0] == os.path.join(os.pardir, "src", "a.py")


def test_patterns_are_relative_to_the_settings_file(tmp_path: Path) -> None:
    tree(tmp_path, "a/old/x.py", "old/x.py", "a/x.py", "a/generated_y.py")
    settings = Settings(extend_exclude=("/old", "generated_*.py"), root=tmp_path)
    assert found(tmp_path, settings) == ["a/old/x.py", "a/x.py"]
    assert found(tmp_path / "a", settings) == ["old/x.py", "x.py"]


def test_include_names_other_files(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", "tool", "job.pyw")
    assert found(tmp_path, Settings(include=("*.pyw", "/tool"), root=tmp_path)) == ["job.pyw", "tool"]


def test_gitignore_is_honoured_with_nested_files_and_exceptions(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    tree(tmp_path, "a.py", "runs/x.py", "sub/b.py", "sub/c.py", "sub/runs/keep.py")
    (tmp_path / ".gitignore").write_text("runs/\n*b.py\n")
    (tmp_path / "sub" / ".gitignore").write_text("!b.py\nc.py\n!runs/\n")
    assert found(tmp_path) == ["a.py", "sub/b.py", "sub/runs/keep.py"]
    assert found(tmp_path / "sub") == ["b.py", "runs/keep.py"]
    everything = found(tmp_path, Settings(respect_gitignore=False))
    assert everything == ["a.py", "runs/x.py", "sub/b.py", "sub/c.py", "sub/runs/keep.py"]


def test_a_folder_that_is_named_is_searched_though_ignored(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("runs/\n")
    tree(tmp_path, "runs/x.py", "build/y.py", "build/build/z.py")
    assert found(tmp_path / "runs") == ["x.py"]
    assert found(tmp_path / "build", Settings(root=tmp_path)) == ["y.py"]


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_a_circle_of_links_ends(tmp_path: Path) -> None:
    tree(tmp_path, "a/x.py")
    (tmp_path / "a" / "again").symlink_to(tmp_path, target_is_directory=True)
    assert found(tmp_path) == ["a/x.py"]
