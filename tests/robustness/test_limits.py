"""The bounds on work: each is kept, and a note says what it left out."""

from __future__ import annotations

import pytest

from gradsense.check import check_source
from gradsense.machine import limits
from gradsense.machine.limits import Limits
from gradsense.syntax import Source

CHAIN = "import torch\n" + "".join(f"def f{i}(x): return f{i + 1}(x)\n" for i in range(40)) + "f0(1)\n"


def notes(text: str, bounds: Limits | None = None) -> str:
    """What is said about the check itself."""
    report = check_source(Source.from_text("train.py", text), limits=bounds)
    return " ".join(note.message for note in report.notes)


@pytest.mark.parametrize(
    ("text", "bounds", "said"),
    [
        ("import torch\n" + "y = 1\n" * 1000, Limits(steps=500), limits.STEPS),
        ("import torch\n" + "y = 1\n" * 1000, Limits(seconds=0), limits.TIME),
        (CHAIN, None, limits.DEPTH),
        (CHAIN, Limits(depth=5), limits.DEPTH),
        ("import torch\ny = [1]\n" + "y = y + y\n" * 20, None, limits.SIZE),
        ("import torch\ny = [" + "f(), " * 3000 + "]\n", None, limits.SIZE),
        (
            "import torch\nz = torch.ones(1, requires_grad=True)\n"
            + "z = z * 2\nz.sum().backward(retain_graph=True)\n" * 50,
            Limits(visits=500),
            limits.STEPS,
        ),
    ],
)
def test_what_was_left_out_is_said(text: str, bounds: Limits | None, said: str) -> None:
    assert said in notes(text, bounds)


def test_a_table_of_numbers_misses_nothing() -> None:
    assert (
        notes("import torch\ny = [" + "1, " * 3000 + "]\nz = {" + "".join(f"{i}: 'a', " for i in range(3000)) + "}\n")
        == ""
    )


def test_an_ordinary_program_is_followed_to_its_end() -> None:
    assert notes("import torch\ndef f(n): return f(n - 1)\nf(3)\nfor i in range(10): torch.ones(1)\n") == ""


def test_a_text_that_is_too_long_for_a_program_is_left_out() -> None:
    said = notes("import torch\n" + "#" * 10_000_000)
    assert "is left out" in said and "10,000,013 characters" in said


def test_findings_before_the_bound_are_kept() -> None:
    text = "import torch\nx = torch.ones(1, requires_grad=True).exp()\nx.sum().backward()\nx.sum().backward()\n" + CHAIN
    report = check_source(Source.from_text("train.py", text + "y = 1\n" * 1000), limits=Limits(steps=200))
    assert [finding.span.line for finding in report.findings] == [4]
