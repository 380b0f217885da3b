"""Wrong gradients that torch does not notice, NaN, and gradients that are stepped on twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Probed = Callable[..., dict[str, Any]]


def test_write_to_data_is_seen(probed: Probed) -> None:
    report = probed(
        """
        import torch
        x = torch.rand(3, requires_grad=True)
        y = x.exp()
        y.data.mul_(100)
        y.sum().backward()
        """
    )
    assert report["outcome"] == "clean"
    (fault,) = report["silent"]
    assert (fault["line"], fault["written"]["line"], fault["walk"]["line"]) == (4, 5, 6)
    assert "`exp` saved" in fault["what"] and "`mul_` on line 5" in fault["what"]


def test_fused_step_before_a_walk_is_seen(probed: Probed) -> None:
    report = probed(
        """
        import torch
        net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1, fused=True)
        loss = net(torch.ones(1, 2)).sum()
        loss.backward(retain_graph=True)
        opt.step()
        loss.backward()
        """
    )
    assert report["outcome"] == "clean"
    assert [(fault["line"], fault["written"]["line"]) for fault in report["silent"]] == [(5, 7)]


def test_function_that_writes_what_it_has_saved(probed: Probed) -> None:
    text = """
        import torch

        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                {first}
                {second}
                ctx.mark_dirty(x)
                return x

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                return grad * x

        w = torch.ones(2, requires_grad=True)
        Double.apply(w * 1).sum().backward()
        """
    save, write = "ctx.save_for_backward(x)", "x.mul_(2)"
    assert len(probed(text.format(first=save, second=write))["silent"]) == 1
    assert probed(text.format(first=write, second=save))["silent"] == []


@pytest.mark.parametrize(
    "write",
    [
        "y.data.mul_(1)",  # the values stay
        "k.data.zero_()",  # nobody has saved it
        "y.detach().clone().zero_()",
    ],
)
def test_what_changes_nothing_is_no_fault(probed: Probed, write: str) -> None:
    report = probed(
        f"""
        import torch
        x = torch.rand(3, requires_grad=True)
        y, k = x.exp(), x + 1
        {write}
        (y + k).sum().backward()
        """
    )
    assert report["outcome"] == "clean" and report["silent"] == []


def test_gradients_that_nobody_zeroes(probed: Probed) -> None:
    text = """
        import torch
        net = torch.nn.Linear(2, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            {zero}
            net(torch.ones(1, 2)).sum().backward()
            opt.step()
        """
    (fault,) = probed(text.format(zero="pass"))["silent"]
    assert fault["line"] == 7 and "step on line 8" in fault["what"]
    for zero in (
        "opt.zero_grad()",
        "opt.zero_grad(set_to_none=False)",
        "[p.grad.data.zero_() for p in net.parameters() if p.grad is not None]",
        "net.weight.grad = net.bias.grad = None",
    ):
        assert probed(text.format(zero=zero))["silent"] == [], zero


def test_other_players_gradients_may_pile_up_until_they_are_zeroed(probed: Probed) -> None:
    report = probed(
        """
        import torch
        G, D = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
        opt_g = torch.optim.Adam(G.parameters())
        opt_d = torch.optim.Adam(D.parameters())
        for step in range(3):
            fake = G(torch.randn(4, 2))
            opt_d.zero_grad()
            D(fake.detach()).mean().backward()
            opt_d.step()
            opt_g.zero_grad()
            D(fake).mean().neg().backward()
            opt_g.step()
        """
    )
    assert report["outcome"] == "clean" and report["silent"] == []


def test_nan_is_told_at_its_forward_operation(probed: Probed) -> None:
    report = probed(
        """
        import torch
        w = torch.zeros(2, requires_grad=True)
        length = (w * w).sum().sqrt()
        loss = length * 0
        loss.backward()
        """
    )
    assert report["outcome"] == "nan"
    assert report["error"] == {
        "type": "RuntimeError",
        "message": "Function 'SqrtBackward0' returned nan values in its 0th output.",
    }
    assert (report["walk"]["line"], report["saved"]["line"], report["saved"]["op"]) == (6, 4, "sqrt")


def test_nan_that_a_mask_keeps_from_all_leaves_is_none(probed: Probed) -> None:
    report = probed(
        """
        import torch
        w = torch.tensor([0.0, 4.0], requires_grad=True)
        root = (w[:1].detach() + w[1:] * torch.tensor([0.0, 1.0])).sqrt()
        root[1].backward()
        """
    )
    assert report["outcome"] == "nan"  # 0 * inf reaches `w`
    report = probed(
        """
        import torch
        w = torch.tensor([4.0], requires_grad=True)
        root = torch.cat([torch.zeros(1), w]).sqrt()
        root[1].backward()
        """
    )
    assert report["outcome"] == "clean"


def test_nan_may_be_left_alone(probed: Probed) -> None:
    text = "import torch\nw = torch.zeros(1, requires_grad=True)\n(w.sqrt() * 0).backward()\n"
    assert probed(text, check_nan=False)["outcome"] == "clean"
