"""Settings: where they are looked for, and what happens to those that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradsense.config import ConfigError, Settings, load_file, load_settings, selected


def project(folder: Path, text: str) -> Path:
    path = folder / "pyproject.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_key_is_read(tmp_path: Path) -> None:
    path = project(
        tmp_path,
        """
        [tool.gradsense]
        select = ["gs2", "GS301"]
        ignore = ["GS210"]
        include = ["*.py"]
        exclude = ["old"]
        extend-exclude = ["vendored"]
        respect-gitignore = false
        show-hints = true
        unsafe-fixes = true
        [tool.gradsense.per-file-ignores]
        "tests/*" = ["GS4"]
        """,
    )
    loaded = load_settings(tmp_path)
    assert loaded.path == path
    assert loaded.problems == ()
    assert loaded.settings == Settings(
        select=("GS2", "GS301"),
        ignore=("GS210",),
        per_file_ignores={"tests/*": ("GS4",)},
        include=("*.py",),
        exclude=("old",),
        extend_exclude=("vendored",),
        respect_gitignore=False,
        show_hints=True,
        unsafe_fixes=True,
        root=tmp_path,
    )
    assert loaded.settings.excluded == ("old", "vendored")


def test_the_nearest_table_holds_and_files_without_one_are_passed_by(tmp_path: Path) -> None:
    project(tmp_path, "[tool.gradsense]\nshow-hints = true\n")
    inner = tmp_path / "package" / "sub"
    inner.mkdir(parents=True)
    project(inner, "[tool.other]\nkey = 1\n")
    program = inner / "train.py"
    program.touch()
    assert load_settings(program).settings.show_hints
    project(inner, "[tool.gradsense]\nshow-hints = false\n")
    assert not load_settings(program).settings.show_hints


def test_no_file_at_all_gives_the_defaults(tmp_path: Path) -> None:
    assert load_settings(tmp_path / "nowhere").settings == Settings()


@pytest.mark.parametrize(
    ("line", "named", "why"),
    [
        ("selekt = ['GS2']", "selekt", "did you mean `select`?"),
        ("colour = 1", "colour", "unknown setting"),
        ("select = 'GS2'", "select", "must be a list of strings"),
        ("select = ['E501']", "select", "has `E501`, which is no code"),
        ("select = ['GS2', 3]", "select", "must be a list of strings"),
        ("show-hints = 'yes'", "show-hints", "must be true or false"),
        ("unsafe-fixes = 1", "unsafe-fixes", "must be true or false"),
        ("per-file-ignores = ['GS1']", "per-file-ignores", "must be a table"),
        ("per-file-ignores = {'a.py' = 'GS1'}", "per-file-ignores", "must be a list of strings"),
    ],
)
def test_a_bad_setting_is_named_with_its_file_and_the_others_hold(
    tmp_path: Path, line: str, named: str, why: str
) -> None:
    path = project(tmp_path, f"[tool.gradsense]\n{line}\nignore = ['GS5']\n")
    loaded = load_settings(tmp_path)
    assert loaded.settings == Settings(ignore=("GS5",), root=tmp_path)
    [problem] = map(str, loaded.problems)
    assert str(path) in problem
    assert f"`{named}`" in problem
    assert why in problem


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"[tool.gradsense\n", "not valid TOML"),
        (b"\xff\xfe", "not UTF-8"),
        (b"tool = 3\n", "[tool.gradsense] is not a table"),
        (b"[tool]\ngradsense = 3\n", "[tool.gradsense] is not a table"),
    ],
)
def test_a_file_that_cannot_be_used_is_reported_and_the_defaults_hold(tmp_path: Path, data: bytes, why: str) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_bytes(data)
    loaded = load_settings(tmp_path)
    assert loaded.settings == Settings()
    [problem] = map(str, loaded.problems)
    assert str(path) in problem
    assert why in problem
    with pytest.raises(ConfigError) as raised:
        load_file(path)
    assert why in str(raised.value)


def test_a_file_named_by_the_user_must_exist_and_have_the_table(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_file(tmp_path / "missing.toml")
    with pytest.raises(ConfigError, match="has no"):
        load_file(project(tmp_path, "[tool.other]\n"))


@pytest.mark.parametrize(
    ("select", "ignore", "reported"),
    [
        (("ALL",), (), True),
        (("ALL",), ("GS201",), False),
        (("ALL",), ("GS2",), False),
        (("ALL",), ("ALL",), False),
        (("GS2",), (), True),
        (("GS3",), (), False),
        (("GS2",), ("GS20",), False),
        (("GS201",), ("GS2",), True),
        (("GS201",), ("GS201",), False),
        (("GS201",), ("ALL",), True),
        ((), (), False),
    ],
)
def test_the_longer_selector_decides(select: tuple[str, ...], ignore: tuple[str, ...], reported: bool) -> None:
    assert selected("GS201", select, ignore) is reported
