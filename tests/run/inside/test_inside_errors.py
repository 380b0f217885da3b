"""The three lines of an error of autograd's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

Probed = Callable[..., dict[str, Any]]
CASES = Path(__file__).parent / "cases"


def lines(report: dict[str, Any]) -> tuple[int | None, int | None, list[int]]:
    walk, saved = report["walk"], report["saved"]
    return walk and walk["line"], saved and saved["line"], [place["line"] for place in report["written"]]


def test_write_through_a_detached_alias(probed: Probed) -> None:
    report = probed((CASES / "i02_router_gate_detach_alias.py").read_text())
    assert report["outcome"] == "raises" and "modified by an inplace operation" in report["error"]["message"]
    assert lines(report) == (30, 18, [7])
    assert report["saved"]["op"] == "sigmoid" and report["written"][0]["op"] == "index_put_"
    users = [frame["line"] for frame in report["forward_traceback"] if frame["user"]]
    assert users == [27, 18]
    assert report["forward_traceback"][1]["user"] is False  # torch's own frames are there, and marked


def test_step_before_backward(probed: Probed) -> None:
    report = probed((CASES / "i56_maml_inner_update_no_grad.py").read_text())
    assert lines(report) == (26, 12, [15])


def test_second_walk_names_the_first(probed: Probed) -> None:
    report = probed((CASES / "g04_lstm_self_hidden.py").read_text())
    assert report["outcome"] == "raises" and "second time" in report["error"]["message"]
    assert lines(report) == (23, 14, [])
    assert report["freed"]["line"] == 23


def test_foreach_optimizer_is_caught_in_the_act(probed: Probed) -> None:
    report = probed(
        """
        import torch
        net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
        opt = torch.optim.Adam(net.parameters(), foreach=True)
        loss = net(torch.ones(1, 2)).sum()
        loss.backward(retain_graph=True)
        opt.step()
        loss.backward()
        """
    )
    assert lines(report) == (8, 5, [7])


def test_warnings_filter_of_the_program_does_not_hide_the_node(probed: Probed) -> None:
    report = probed(
        """
        import warnings
        import torch
        warnings.filterwarnings("ignore")
        x = torch.ones(2, requires_grad=True)
        y = x.sigmoid()
        y.mul_(2)
        warnings.simplefilter("ignore")
        y.sum().backward()
        """
    )
    assert lines(report) == (9, 6, [7])


def test_leaf_written_in_place(probed: Probed) -> None:
    report = probed("import torch\nw = torch.ones(2, requires_grad=True)\nw += 1\n")
    assert report["outcome"] == "raises" and lines(report) == (3, None, [3])


def test_gradient_of_a_tensor_that_is_no_leaf(probed: Probed) -> None:
    report = probed("import torch\nw = torch.ones(2, requires_grad=True) * 2\nw.sum().backward()\nv = 0.1 * w.grad\n")
    assert report["outcome"] == "raises" and report["error"]["type"] == "TypeError" and report["walk"]["line"] == 4


def test_growth_is_seen_and_steadiness_too(probed: Probed) -> None:
    text = (CASES / "g61_running_loss_train.py").read_text()
    report = probed(text)
    assert report["outcome"] == report["verdict"] == "grows"
    counts = [entry["nodes"] for entry in report["passes"]]
    assert counts[0] < counts[1] < counts[2] and {entry["line"] for entry in report["passes"]} == {10}
    mended = probed(text.replace("running_loss += loss", "running_loss += loss.item()"))
    assert mended["outcome"] == "clean" and mended["verdict"] == "steady"
    assert len({entry["nodes"] for entry in mended["passes"]}) == 1
    assert report["loss"] == mended["loss"]
