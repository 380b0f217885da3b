"""`gradsense check` as a user meets it: what is printed, what is written, and how it exits."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gradsense.cli.main import main

FAULT = """\
import torch

x = torch.ones(3, requires_grad=True)
y = torch.exp(x)
y += 1
y.sum().backward()
"""
CLEAN = FAULT.replace("y += 1", "y = y + 1")
ALLOWED = FAULT.replace("torch.exp(x)", "2 * x")
IDLE = CLEAN.replace("y = y + 1", "y = y + 1  # gradsense: ignore[GS201]")


class Outcome(NamedTuple):
    """What a run of the command came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The findings, of a run that writes JSON."""
        return json.loads(self.out)


Run = Callable[..., Outcome]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Runs `gradsense` in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        try:
            code = main(arguments)
        except SystemExit as end:
            code = int(end.code or 0)
        out, err = capsysbinary.readouterr()
        return Outcome(code, out.decode(errors="surrogateescape"), err.decode())

    return run


def notebook(*cells: str) -> str:
    made = [
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": text.splitlines(True)}
        for text in cells
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}, indent=1) + "\n"


def test_a_fault_is_shown_with_its_story(tmp_path: Path, run: Run) -> None:
    Path("train.py").write_text(FAULT)
    code, out, err = run("check", "train.py")
    assert code == 1
    assert err == ""
    lines = out.splitlines()
    assert lines[0] == "train.py:5:1 error GS201 inplace-on-saved"
    assert "`y`" in lines[1]
    start = lines.index("  4 | y = torch.exp(x)")
    assert lines[start + 1].startswith("    |     ------------ ")
    assert lines[start + 2 : start + 4] == ["  5 | y += 1", "    | ^^^^^^"]
    assert "  torch RuntimeError: one of the variables needed for gradient computation has been modified" in out
    assert "  help  gradsense rule GS201" in lines
    assert "Found 1 error in 1 of 1 file." in lines


def test_a_clean_program_exits_with_0(run: Run) -> None:
    Path("train.py").write_text(CLEAN)
    assert run("check", "train.py") == (0, "No findings in 1 file.\n", "")


def test_exit_zero(run: Run) -> None:
    Path("train.py").write_text(FAULT)
    code, out, _ = run("check", "--exit-zero", "train.py")
    assert code == 0
    assert "GS201" in out


def test_hints_do_not_fail_and_are_shown_on_request(run: Run) -> None:
    Path("train.py").write_text(ALLOWED)
    assert run("check", "train.py") == (0, "No findings in 1 file.\n", "")
    code, out, _ = run("check", "--show-hints", "--output-format", "concise", "train.py")
    assert code == 0
    assert out.startswith("train.py:5:1: hint: ")
    assert out.endswith(" [GS210]\n")


def test_a_folder_is_the_default_and_one_program(run: Run) -> None:
    Path("model.py").write_text("import torch\n\n\ndef activate(x):\n    y = torch.exp(x)\n    y += 1\n    return y\n")
    Path("train.py").write_text(
        "import torch\n\nfrom model import activate\n\nx = torch.ones(3, requires_grad=True)\n"
        "activate(x).sum().backward()\n"
    )
    code, out, _ = run("check", "--output-format", "json")
    assert code == 1
    [finding] = json.loads(out)
    assert (finding["path"], finding["line"], finding["severity"]) == ("model.py", 6, "error")
    assert "train.py" in {other["path"] for other in finding["related"]}


def test_a_file_that_trains_when_it_is_imported_blurs_no_line_of_the_one_that_imports_it(run: Run) -> None:
    warm_up = "import torch\n\nlayer = torch.nn.Linear(2, 2)\n\nlayer(torch.ones(1, 2)).sum().backward()\n"
    program = """\
import warm_up
import torch

net = torch.nn.Linear(2, 2)
hidden = net(torch.ones(1, 2)).exp()
optimizer = torch.optim.SGD(net.parameters())


def train():
    hidden.sum().backward()
    hidden.sum().backward()
"""
    Path("warm_up.py").write_text(warm_up)
    Path("train.py").write_text(program)
    [found] = run("check", "train.py", "--select", "GS103", "--output-format", "json").json
    # What the fifth line makes is known, though a walk is on the fifth line of the other file.
    assert (found["code"], found["line"], found["severity"]) == ("GS103", 11, "error")


def test_a_file_that_is_named_twice_is_checked_once(run: Run) -> None:
    Path("a").mkdir()
    Path("a/train.py").write_text(FAULT)
    code, out, _ = run("check", "a/train.py", "a", "./a/train.py")
    assert code == 1
    assert "Found 1 error in 1 of 1 file." in out


def test_files_that_cannot_be_checked_are_named_and_the_others_are_checked(run: Run) -> None:
    Path("good.py").write_text(FAULT)
    Path("image.py").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\xfe")
    Path("bad.ipynb").write_text("{not json")
    code, out, err = run("check", "--output-format", "concise", "missing.py", "good.py", "image.py", "bad.ipynb")
    assert code == 2
    assert out.startswith("good.py:5:1: error: ")
    assert "missing.py: no such file or folder" in err
    assert "image.py is not a text file" in err
    assert "bad.ipynb is not a Jupyter notebook" in err


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the administrator can read everything")
def test_a_file_that_may_not_be_read_is_named(run: Run) -> None:
    Path("secret.py").write_text(FAULT)
    Path("secret.py").chmod(0)
    code, _, err = run("check", "secret.py")
    assert code == 2
    assert "secret.py cannot be read: Permission denied" in err


def test_what_does_not_parse_is_said_and_the_rest_is_checked(run: Run) -> None:
    Path("train.py").write_text(FAULT + "\ndef broken(:\n")
    code, out, err = run("check", "--output-format", "concise", "train.py")
    assert code == 1
    assert "[GS201]" in out
    assert "gradsense: train.py:8: " in err


def test_a_folder_without_programs_is_named(run: Run) -> None:
    Path("data").mkdir()
    code, _, err = run("check", "data")
    assert code == 0
    assert "data: no Python files or notebooks to check" in err


def test_notebooks_are_one_program_and_counted_by_cell(run: Run) -> None:
    first = "%matplotlib inline\nimport torch\nx = torch.ones(3, requires_grad=True)\ny = torch.exp(x)"
    Path("a.ipynb").write_text(notebook(first, "y += 1\ny.sum().backward()"))
    code, out, _ = run("check", "--output-format", "json", "a.ipynb")
    assert code == 1
    [finding] = json.loads(out)
    assert (finding["cell"], finding["line"], finding["column"]) == (1, 1, 0)
    assert (0, 4) in {(other["cell"], other["line"]) for other in finding["related"]}


def test_standard_input(run: Run) -> None:
    code, out, _ = run("check", "-", "--output-format", "concise", stdin=FAULT.encode())
    assert code == 1
    assert out.startswith("-:5:1: error: ")
    code, out, _ = run(
        "check", "-", "--stdin-filename", "src/train.py", "--output-format", "concise", stdin=FAULT.encode()
    )
    assert out.startswith("src/train.py:5:1: error: ")
    assert run("check", "-", "--stdin-filename", "a.ipynb", stdin=notebook(FAULT).encode()).code == 1


def test_standard_input_is_checked_among_the_files_of_its_folder(run: Run) -> None:
    Path("model.py").write_text("import torch\n\n\ndef activate(x):\n    return torch.exp(x)\n")
    program = FAULT.replace("torch.exp", "activate").replace("import torch", "import torch\nfrom model import activate")
    code, out, _ = run("check", "-", "--stdin-filename", "train.py", "--output-format", "json", stdin=program.encode())
    assert code == 1
    assert [finding["code"] for finding in json.loads(out)] == ["GS201"]


def test_options_win_over_the_file_and_the_file_over_the_defaults(run: Run) -> None:
    Path("train.py").write_text(FAULT)
    Path("pyproject.toml").write_text("[tool.gradsense]\nignore = ['GS2']\n")
    assert run("check", "train.py").code == 0
    assert run("check", "--no-config", "train.py").code == 1
    assert run("check", "--ignore", "GS3", "train.py").code == 1
    assert run("check", "--select", "GS201", "train.py").code == 1
    Path("other.toml").write_text("[tool.gradsense]\nselect = ['GS3']\n")
    assert run("check", "--config", "other.toml", "train.py").code == 0
    assert run("check", "--config", "other.toml", "--select", "gs1,gs2", "train.py").code == 1


def test_settings_are_those_of_the_files_and_not_of_the_current_folder(run: Run) -> None:
    for name in ("strict", "lax"):
        Path(name).mkdir()
        Path(name, "train.py").write_text(FAULT)
    Path("lax/pyproject.toml").write_text("[tool.gradsense]\nselect = []\n")
    _, out, _ = run("check", "--output-format", "concise", "lax/train.py", "strict/train.py")
    assert [line.partition(":")[0] for line in out.splitlines()] == ["strict/train.py"]


def test_a_bad_setting_is_said_once_and_the_run_goes_on(run: Run) -> None:
    Path("a.py").write_text(FAULT)
    Path("b.py").write_text(FAULT)
    Path("pyproject.toml").write_text("[tool.gradsense]\nshow-hint = true\nignore = ['GS9']\n")
    code, _, err = run("check", "a.py", "b.py")
    assert code == 1
    assert err.count("pyproject.toml: there is no rule GS9\n") == 1
    assert err.count("unknown setting `show-hint` (did you mean `show-hints`?)") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "--select", "E501", "a.py"], "`E501`"),
        (["check", "--ignore", "GS2,GS9", "a.py"], "there is no rule GS9"),
        (["check", "--output-format", "xml", "a.py"], "invalid choice: 'xml'"),
        (["check", "--config", "gone.toml", "a.py"], "gone.toml"),
        (["check", "--config", "x", "--no-config", "a.py"], "not allowed with"),
        (["check", "-", "a.py"], "standard input (-) is checked alone"),
        (["check", "--stdin-filename", "b.py", "a.py"], "is for standard input"),
        (["check", "--unsafe-fixes", "a.py"], "needs --fix or --diff"),
        (["check", "--statistics", "--output-format", "json", "a.py"], "--statistics has no json form"),
        (["check", "--jobs", "0", "a.py"], "0 is no number of processes"),
        (["rule"], "name one rule"),
        (["rule", "GS999"], "there is no rule GS999"),
        ([], "required: COMMAND"),
        (["chekc"], "invalid choice"),
    ],
)
def test_wrong_usage_is_explained_and_exits_with_2(run: Run, arguments: list[str], said: str) -> None:
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert said in err


def test_statistics(run: Run) -> None:
    Path("train.py").write_text(FAULT + FAULT)
    code, out, _ = run("check", "--statistics", "train.py")
    assert code == 1
    assert "  GS201  inplace-on-saved\n" in out


def test_a_comment_silences_and_an_idle_one_is_information(run: Run) -> None:
    Path("train.py").write_text(FAULT.replace("y += 1", "y += 1  # gradsense: ignore[GS201]"))
    assert run("check", "train.py").code == 0
    Path("train.py").write_text(IDLE)
    code, out, _ = run("check", "--output-format", "concise", "train.py")
    assert code == 0
    assert out.startswith("train.py:5:12: information: GS201 is not found here")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_fix_writes_the_file_as_it_was_but_for_the_fix(run: Run, encoding: str, newline: str) -> None:
    text = f"# -*- coding: {encoding} -*-\n# größe\n{IDLE}"
    path = Path("train.py")
    path.write_bytes(text.replace("\n", newline).encode(encoding))
    path.chmod(0o755)
    code, out, err = run("check", "--fix", "train.py")
    assert code == 0
    assert out == "No findings in 1 file.\n"
    assert err == "gradsense: mended train.py:7:12: Remove the comment [GS001]\n"
    expected = text.replace("  # gradsense: ignore[GS201]", "").replace("\n", newline).encode(encoding)
    assert path.read_bytes() == expected
    assert path.stat().st_mode & 0o777 == 0o755 or os.name == "nt"


def test_fix_of_a_fault_mends_it(run: Run) -> None:
    path = Path("train.py")
    path.write_text(FAULT)
    run("check", "--fix", "--unsafe-fixes", "train.py")
    assert run("check", "train.py").code == 0
    assert path.read_text() == CLEAN


def test_fix_of_a_folder_goes_on_with_what_the_first_round_made(run: Run) -> None:
    """Both fixes are of one line, so the second is made for the line that the first has left."""
    Path("src").mkdir()
    Path("src/train.py").write_text(FAULT.replace("y += 1", "y += 1  # gradsense: ignore[GS301]"))
    assert run("check", "--fix", "--unsafe-fixes", "src").code == 0
    assert Path("src/train.py").read_text() == CLEAN


def test_fix_of_a_folder_and_of_notebooks(run: Run) -> None:
    Path("src").mkdir()
    Path("src/train.py").write_text(IDLE)
    Path("src/a.ipynb").write_text(notebook("%time 1", IDLE))
    assert run("check", "--fix", "src").code == 0
    assert Path("src/train.py").read_text() == CLEAN
    assert Path("src/a.ipynb").read_text() == notebook("%time 1", CLEAN)


def test_diff_shows_and_changes_nothing(run: Run) -> None:
    Path("train.py").write_text(IDLE)
    Path("a.ipynb").write_text(notebook("x = 1", IDLE))
    code, out, err = run("check", "--diff", "train.py", "a.ipynb")
    assert code == 1
    assert err == ""
    change = "@@ -2,5 +2,5 @@\n \n x = torch.ones(3, requires_grad=True)\n y = torch.exp(x)\n"
    change += "-y = y + 1  # gradsense: ignore[GS201]\n+y = y + 1\n y.sum().backward()\n"
    assert f"--- train.py\n+++ train.py\n{change}" in out
    assert "--- a.ipynb:cell 2\n+++ a.ipynb:cell 2\n" in out
    assert Path("train.py").read_text() == IDLE
    Path("train.py").write_text(CLEAN)
    assert run("check", "--diff", "train.py") == (0, "", "")


def test_diff_marks_a_missing_newline_as_diff_does(run: Run) -> None:
    Path("train.py").write_text("import torch\nx = 1  # gradsense: ignore")
    _, out, _ = run("check", "--diff", "train.py")
    no_newline = "\\ No newline at end of file\n"
    assert out.endswith(f"-x = 1  # gradsense: ignore\n{no_newline}+x = 1\n{no_newline}")


def test_fix_of_standard_input_goes_to_standard_output(run: Run) -> None:
    data = b"\xef\xbb\xbf" + IDLE.replace("\n", "\r\n").encode()
    code, out, err = run("check", "--fix", "-", stdin=data)
    assert code == 0
    assert out.encode() == b"\xef\xbb\xbf" + CLEAN.replace("\n", "\r\n").encode()
    assert "mended -:5:12: Remove the comment [GS001]" in err
    assert "No findings in 1 file." in err
    code, out, err = run("check", "--fix", "-", stdin=b"\x89PNG\0\xff")
    assert code == 2


def test_several_processes_find_what_one_finds(run: Run) -> None:
    filler = "# " + "x" * 98 + "\n"
    for folder in ("a", "b", "c"):
        Path(folder).mkdir()
        Path(folder, "__init__.py").touch()
        Path(folder, "model.py").write_text(
            "import torch\n\n\ndef activate(x):\n    y = torch.exp(x)\n    y += 1\n    return y\n" + filler * 1200
        )
        Path(folder, "train.py").write_text(
            f"import torch\n\nfrom {folder}.model import activate\n\nx = torch.ones(3, requires_grad=True)\n"
            "activate(x).sum().backward()\n"
        )
    one = run("check", "--jobs", "1", "--output-format", "json", ".")
    several = run("check", "--jobs", "3", "--output-format", "json", ".")
    assert len(one.json) == 3
    assert several == one


def test_a_fault_of_our_own_is_a_message_and_not_a_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("gradsense.cli.pool.run_jobs", fail)
    code, out, err = run("check", ".")
    assert code == 2
    assert out == ""
    assert "internal error: ZeroDivisionError: oh" in err
    assert "Traceback" not in err
    monkeypatch.setenv("GRADSENSE_TRACEBACK", "1")
    assert "Traceback" in run("check", ".").err


def gradsense(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Runs the command as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "gradsense", *arguments],
        capture_output=True,
        env={**os.environ, **environment},
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
@pytest.mark.parametrize("name", ["full", "concise", "json", "sarif", "github"])
def test_a_poor_encoding_of_the_terminal_is_no_trouble(tmp_path: Path, encoding: str, name: str) -> None:
    path = tmp_path / "größe.py"
    path.write_text(FAULT.replace("y", "größe").replace("+= 1", "+= len('😀')"), encoding="utf-8")
    done = gradsense("check", "--output-format", name, str(path), PYTHONIOENCODING=encoding)
    assert done.returncode == 1
    assert done.stderr == b""
    assert b"GS201" in done.stdout


def test_a_reader_that_leaves_early_is_no_trouble(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"train{number}.py").write_text(FAULT)
    command = [sys.executable, "-m", "gradsense", "check", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


def test_starting_up_imports_nothing_slow() -> None:
    slow = ["concurrent.futures", "jedi", "libcst", "nbformat", "pathspec", "pygls", "rich", "gradsense.check"]
    code = f"import sys, gradsense.cli.main; print([name for name in {slow} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert gradsense("--version").stdout.startswith(b"gradsense ")
