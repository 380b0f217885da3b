"""Reading what people paste: wordings of older torch, older notebooks, launchers, and what is no traceback at all."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from gradsense.cli.main import main
from gradsense.explain.explaining import Explanation, explain
from gradsense.explain.pasted import Pasted
from gradsense.explain.places import Places
from gradsense.explain.reading import operation
from gradsense.syntax import Source

TRAIN = """\
import torch
from torch import nn

net = nn.Linear(3, 3)
x = torch.randn(4, 3)
h = torch.sigmoid(net(x))
h += 1
loss = h.sum()
loss.backward()
"""
FREED = "RuntimeError: Trying to backward through the graph a second time"
OLD_FREED = (
    f"{FREED}, but the buffers have already been freed. Specify retain_graph=True when calling backward the first"
)
OLD_MODIFIED = (
    "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: "
    "[torch.FloatTensor [4, 3]], which is output 0 of SigmoidBackward, is at version 1; expected version 0 instead. "
    "Hint: enable anomaly detection to find the operation that failed to compute its gradient"
)


def explained(text: str, program: Path | None = None, findings: Any = ()) -> Explanation:
    """Explains a text without a check."""
    folders = [str(program.parent)] if program else []
    places = Places(folders, str(program) if program else None, Source.from_path)
    found = explain(text, places, lambda paths: findings)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        (f"{OLD_FREED} time.", "backward-twice"),
        (f"{FREED}, but the saved intermediate results have already been freed.", "backward-twice"),
        (
            "RuntimeError: Trying to backward through the graph second time, but the buffers have already been freed.",
            "backward-twice",
        ),
        (OLD_MODIFIED, "modified-in-place"),
        ("RuntimeError: cannot register a hook on a variable that doesn't require gradient", "hook-without-grad"),
        (
            "RuntimeError: Checkpointing is not compatible with .grad() or when an `inputs` parameter is passed to "
            ".backward(). Please use .backward() and do not pass its `inputs` argument.",
            "reentrant-checkpoint",
        ),
        (
            "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace "
            "operation",
            "modified-in-place",
        ),
        ("RuntimeError: a leaf Variable that requires grad has been used in an in-place operation.", "write-to-leaf"),
        ("RuntimeError: leaf variable has been moved into the graph interior", "write-to-leaf"),
        (
            "RuntimeError: Output 0 of UnbindBackward is a view and is being modified inplace. This view is the output "
            "of a function that returns multiple views.",
            "write-to-view",
        ),
        ("RuntimeError: element 0 of variables does not require grad and does not have a grad_fn", "no-graph"),
        ("RuntimeError: element 0 of variables tuple is volatile", "no-graph"),
        ("RuntimeError: there are no graph nodes that require computing gradients", "no-graph"),
        ("RuntimeError: Can't call numpy() on Variable that requires grad. Use var.detach().numpy()", "numpy-of-graph"),
        (
            "RuntimeError: Only Variables created explicitly by the user (graph leaves) support the deepcopy protocol "
            "at the moment",
            "deepcopy-of-graph",
        ),
        (
            "RuntimeError: One of the differentiated Tensors appears to not have been used in the graph. Set "
            "allow_unused=True if this is the desired behavior.",
            "input-not-in-graph",
        ),
        ("RuntimeError: Function 'MulBackward0' returned nan values in its 0th output.", "nan-in-backward"),
        (
            "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 10.76 GiB total)",
            "out-of-memory",
        ),
        ("RuntimeError: CUDA error: out of memory", "out-of-memory"),
    ],
)
def test_wordings(message: str, cause: str) -> None:
    text = f'Traceback (most recent call last):\n  File "/a/train.py", line 9, in <module>\n    go()\n{message}\n'
    found = explained(text)
    assert found.cause.name == cause
    assert f"{found.kind}: {found.message}" == message
    assert [(frame.path, frame.line, frame.text) for frame in found.frames] == [("/a/train.py", 9, "go()")]


@pytest.mark.parametrize(
    "text",
    [
        # IPython until 7, Colab's links, ipykernel 6, IPython 8.
        "<ipython-input-3-0f5a> in <module>\n      1 loss = h.sum()\n----> 2 loss.backward()\n\n"
        "/usr/lib/python3.8/site-packages/torch/tensor.py in backward(self)\n    220   x\n--> 221   x()\n",
        "[<ipython-input-3-0f5a>](https://localhost:8080/#) in <cell line: 2>()\n      1 loss = h.sum()\n"
        "----> 2 loss.backward()\n\n"
        "[/usr/local/lib/python3.10/dist-packages/torch/_tensor.py](https://localhost:8080/#) in backward(self)\n"
        "--> 492   torch.autograd.backward()\n",
        "Input In [3], in <cell line: 2>()\n      1 loss = h.sum()\n----> 2 loss.backward()\n\n"
        "File ~/env/lib/python3.9/site-packages/torch/_tensor.py:396, in Tensor.backward(self)\n--> 396 x()\n",
        "Cell In[3], line 2\n      1 loss = h.sum()\n----> 2 loss.backward()\n\n"
        "File ~/env/lib/python3.11/site-packages/torch/_tensor.py:525, in Tensor.backward(self)\n--> 525 x()\n",
    ],
)
def test_notebooks_of_all_ages(text: str, tmp_path: Path) -> None:
    notebook = tmp_path / "a.ipynb"
    sources = ["import torch", "h = torch.zeros(2)\n# not this\n", "loss = h.sum()\nloss.backward()"]
    cells = [{"cell_type": "code", "source": source, "metadata": {}, "outputs": []} for source in sources]
    notebook.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    head = "-" * 75 + "\nRuntimeError                              Traceback (most recent call last)\n"
    found = explained(f"{head}{text}\n{OLD_FREED} time.\n", notebook)
    assert [(frame.cell, frame.line, frame.text) for frame in found.frames] == [(3, 2, "loss.backward()")]
    source = Source.from_path(notebook)
    assert source.cell_at(found.trace[-1].line) == (2, 2)


def test_what_a_message_tells_of_the_tensor() -> None:
    found = explained(OLD_MODIFIED)
    assert "The result of `sigmoid`, of shape [4, 3], was written once after it was saved." in found.facts
    assert found.codes[0] == "GS201"
    weight = OLD_MODIFIED.replace("SigmoidBackward", "TBackward").replace("version 1", "version 3")
    found = explained(weight)
    assert found.codes[0] == "GS205"
    assert any("was written 3 times" in fact and "optimizer.step()" in fact for fact in found.facts)


@pytest.mark.parametrize(
    ("node", "op"),
    [
        ("ExpBackward0", "exp"),
        ("ExpBackward", "exp"),
        ("Exp", "exp"),
        ("AsStridedBackward0", "as_strided"),
        ("LogSoftmaxBackward0", "log_softmax"),
    ],
)
def test_names_of_nodes(node: str, op: str) -> None:
    assert operation(node) == op


def test_the_last_of_several_tracebacks_counts() -> None:
    one = 'Traceback (most recent call last):\n  File "/a/{0}.py", line 1, in <module>\n    go()\n{1}\n'
    text = one.format("first", OLD_FREED) + "\nDuring handling of the above exception, another exception occurred:\n\n"
    found = explained(text + one.format("second", OLD_MODIFIED))
    assert found.cause.name == "modified-in-place"
    assert [frame.path for frame in found.frames] == ["/a/second.py"]


def test_frames_of_libraries_are_not_the_persons() -> None:
    named = [
        "/home/u/proj/.venv/lib/python3.11/site-packages/torch/_tensor.py",
        "C:\\Python311\\Lib\\site-packages\\torch\\_tensor.py",
        "/opt/conda/lib/python3.9/runpy.py",
        "/build/pytorch/torch/autograd/__init__.py",
        "<frozen runpy>",
        "<string>",
    ]
    frames = Pasted("".join(f'  File "{path}", line 1, in f\n    x\n' for path in named)).frames_before(10**6)
    assert len(frames) == len(named)
    assert not any(frame.is_users for frame in frames)


def test_a_windows_path_is_found_by_its_end(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text(TRAIN)
    text = f'  File "C:\\Users\\me\\proj\\src\\train.py", line 9, in <module>\n    loss.backward()\n{OLD_MODIFIED}'
    places = Places([str(tmp_path)], None, Source.from_path)
    found = explain(text, places, lambda paths: ())
    assert found is not None
    assert [(Path(spot.path).relative_to(tmp_path).as_posix(), spot.line) for spot in found.trace] == [
        ("src/train.py", 9)
    ]


def test_a_file_above_the_folder_is_never_opened(tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("loss.backward()\n")
    (tmp_path / "work").mkdir()
    text = f'  File "../secret.py", line 1, in <module>\n    loss.backward()\n{OLD_MODIFIED}'
    places = Places([str(tmp_path / "work")], None, Source.from_path)
    found = explain(text, places, lambda paths: ())
    assert found is not None and found.trace == ()


def run(text: str, *arguments: str, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> tuple[int, str, str]:
    """Runs the command on a pasted text."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8"))
    code = main(["explain", *arguments])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_a_message_alone_with_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    code, out, _ = run(OLD_MODIFIED, "--program", str(tmp_path / "train.py"), monkeypatch=monkeypatch, capsys=capsys)
    assert code == 0
    assert "of the same kind" in out and "train.py:7:1" in out and "GS201" in out


def test_a_message_alone(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run("it said " + OLD_FREED, "--output-format", "json", monkeypatch=monkeypatch, capsys=capsys)
    told = json.loads(out)
    assert code == 0
    assert (told["cause"], told["code"], told["finding"], told["fails"]) == ("backward-twice", None, None, None)
    assert told["codes"][:2] == ["GS101", "GS102"] and "retain_graph" in told["advice"]


def test_no_error_of_ours(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    text = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    x\nNameError: name x\n'
    code, out, err = run(text, monkeypatch=monkeypatch, capsys=capsys)
    assert (code, out) == (1, "") and "no error about gradients" in err


def test_a_none_that_is_no_gradient(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    text = "  File \"a.py\", line 1, in <module>\n    x.shape\nAttributeError: 'NoneType' object has no attribute"
    assert run(text, monkeypatch=monkeypatch, capsys=capsys)[0] == 1


def test_nothing_pasted(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(" \n", monkeypatch=monkeypatch, capsys=capsys)
    assert code == 2 and "no traceback" in err


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "no-such-log.txt"]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_a_notebook_that_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = [
        {
            "output_type": "error",
            "ename": "RuntimeError",
            "evalue": "x",
            "traceback": ["\x1b[0;31m---\x1b[0m", "Cell In[7], line 5\n----> 5 loss.backward()", OLD_MODIFIED],
        }
    ]
    lines = TRAIN.splitlines(keepends=True)
    cells = [
        {"cell_type": "code", "source": lines[:4], "metadata": {}, "outputs": []},
        {"cell_type": "markdown", "source": "# here", "metadata": {}},
        {"cell_type": "code", "source": lines[4:], "metadata": {}, "outputs": outputs},
    ]
    notebook = tmp_path / "a.ipynb"
    notebook.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    assert main(["explain", str(notebook), "--output-format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["fails"]["cell"], told["fails"]["line"]) == (2, 5)
    assert (told["code"], told["finding"]["cell"], told["finding"]["line"]) == ("GS201", 2, 3)
    assert told["named"]


def test_escape_sequences_of_a_paste_do_not_reach_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f'  File "/a/\x1b]0;evil\x07t.py", line 1, in f\n    x\x9b2J()\n{OLD_MODIFIED}\x1b[2J \x9b2J'
    code, out, _ = run(text, monkeypatch=monkeypatch, capsys=capsys)
    assert code == 0 and "\x1b" not in out and "\x9b" not in out and "\x07" not in out
