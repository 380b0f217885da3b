"""What was predicted is held against what happened; and what a pass costs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

Probed = Callable[..., dict[str, Any]]

GROWING = """
import torch
w = torch.ones(3, requires_grad=True)
total = 0
for i in range(30):
    loss = (w * w).sum()
    loss.backward()
    total += {what}
"""


def predicted(tmp_path: Path, *pairs: tuple[str, int]) -> list[dict[str, Any]]:
    return [{"code": code, "line": line, "path": str(tmp_path / "program.py")} for code, line in pairs]


def verdicts(report: dict[str, Any]) -> list[str]:
    return [item["verdict"] for item in report["predictions"]]


def test_growth_is_confirmed_or_refuted(probed: Probed, tmp_path: Path) -> None:
    predictions = predicted(tmp_path, ("GS301", 8))
    assert verdicts(probed(GROWING.format(what="loss"), predictions=predictions)) == ["confirmed"]
    assert verdicts(probed(GROWING.format(what="loss.item()"), predictions=predictions)) == ["refuted"]


def test_error_is_confirmed_by_any_line_of_its_story(probed: Probed, tmp_path: Path) -> None:
    text = """
import torch
w = torch.ones(3, requires_grad=True)
y = w.exp()
y.add_(
    1)
y.sum().backward()
if False:
    y.sum().backward()
"""
    predictions = predicted(tmp_path, ("GS201", 6), ("GS101", 9), ("GS501", 3))
    report = probed(text, predictions=predictions)
    assert verdicts(report) == ["confirmed", "not-reached", "not-observed"]
    mended = probed(text.replace("y.add_", "y.add"), predictions=predictions)
    assert verdicts(mended) == ["refuted", "not-reached", "not-observed"]
    assert not any("not predicted" in note for note in report["notes"] + mended["notes"])


def test_what_is_behind_an_error_waits_for_that_to_be_mended(probed: Probed, tmp_path: Path) -> None:
    text = """
import torch
w = torch.ones(3, requires_grad=True)
total = 0
for step in range(4):
    y = w.exp()
    y += 1
    y.sum().backward()
    total += y.sum()
"""
    predictions = predicted(tmp_path, ("GS201", 7), ("GS102", 6), ("GS301", 9))
    for behind in predictions[1:]:
        behind["behind"] = True
    report = probed(text, predictions=predictions)
    assert verdicts(report) == ["confirmed", "not-reached", "not-reached"]
    mended = probed(text.replace("y += 1", "y = y + 1"), predictions=predictions)
    assert verdicts(mended) == ["refuted", "refuted", "confirmed"]


def test_fault_that_was_not_predicted_is_said(probed: Probed) -> None:
    text = GROWING.format(what="loss")
    assert any("not predicted" in note for note in probed(text, predictions=[])["notes"])
    assert not any("not predicted" in note for note in probed(text)["notes"])


def test_cost_of_a_pass_is_measured_when_asked(probed: Probed) -> None:
    text = GROWING.format(what="loss.item()")
    assert probed(text)["cost"] is None
    report = probed(text, measure_cost=True)
    assert set(report["cost"]) == {"plain", "anomaly", "probe"}
    assert all(seconds > 0 for seconds in report["cost"].values())
    assert len(report["passes"]) == 3 and report["outcome"] == "clean"


def test_part_of_a_program_runs(probed: Probed) -> None:
    text = "print(1)\nprint(2)\nprint(3)\n"
    assert probed(text, until_line=2)["output"] == "1\n2\n"


def test_function_is_called_after_the_definitions(probed: Probed) -> None:
    text = """
import torch
w = torch.ones(2, requires_grad=True)

def train(n):
    for i in range(n):
        y = w.exp()
        y.add_(1)
        y.sum().backward()

for i in range(10**9):
    pass
if __name__ == "__main__":
    print("not this")
"""
    report = probed(text, call="train(3)")
    assert report["output"] == "" and report["outcome"] == "raises"
    assert (report["walk"]["line"], report["saved"]["line"], report["written"][0]["line"]) == (9, 7, 8)


def test_numpy_writes_are_seen(probed: Probed) -> None:
    report = probed(
        """
        import torch
        import numpy
        x = torch.rand(3, requires_grad=True)
        y = x.exp()
        array = y.detach().numpy()
        data = numpy.zeros(3, dtype=numpy.float32)
        target = torch.from_numpy(data)
        data[:] = 1
        z = x * target
        array[0] = 100
        (y.sum() + z.sum()).backward()
        q = x * target
        data += 1
        q.sum().backward()
        """
    )
    faults = [(fault["line"], fault["written"]["line"], fault["walk"]["line"]) for fault in report["silent"]]
    assert report["outcome"] == "clean" and faults == [(5, 11, 12), (13, 14, 15)]
