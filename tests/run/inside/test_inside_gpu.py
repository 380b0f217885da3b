"""The same on a GPU. Skipped where there is none."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import pytest

Probed = Callable[..., dict[str, Any]]

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="session", autouse=True)
def gpu() -> None:
    """Skips where torch sees no GPU. It is asked in a process of its own: CUDA cannot be used after a fork."""
    if find_spec("torch") is None:
        pytest.skip("torch is not installed")
    asked = [sys.executable, "-c", "import torch, sys; sys.exit(not torch.cuda.is_available())"]
    if subprocess.run(asked).returncode:
        pytest.skip("there is no GPU")


def test_three_lines_and_the_device(probed: Probed) -> None:
    report = probed(
        """
        import torch
        x = torch.rand(3, device="cuda", requires_grad=True)
        y = x.exp()
        y.add_(1)
        y.sum().backward()
        """
    )
    assert (report["walk"]["line"], report["saved"]["line"], report["written"][0]["line"]) == (6, 4, 5)
    assert report["device"].startswith("cuda:0 (") and "MiB free" in report["device"]


def test_memory_of_passes_is_what_torch_counts(probed: Probed) -> None:
    report = probed(
        """
        import torch
        net = torch.nn.Linear(1000, 1000).cuda()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        kept = []
        for i in range(3):
            opt.zero_grad()
            out = net(torch.rand(64, 1000, device="cuda"))
            out.sum().backward()
            opt.step()
            kept.append(out)
            print(torch.cuda.memory_allocated())
        """
    )
    assert report["outcome"] == "grows" and report["holders"][0]["name"] == "kept"
    allocated = [row["allocated"] for row in report["passes"]]
    assert allocated == [int(line) for line in report["output"].split()]
    assert allocated[2] - allocated[1] == 64 * 1000 * 4
    assert all(row["reserved"] >= row["allocated"] for row in report["passes"])


@pytest.mark.parametrize(
    "model, shape",
    [
        ("torch.nn.LSTM(8, 8, batch_first=True)", "4, 5, 8"),
        ("torch.nn.GRU(8, 8, batch_first=True)", "4, 5, 8"),
        ("torch.nn.BatchNorm1d(8)", "4, 8"),
        ("torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)", "4, 5, 8"),
    ],
)
def test_kernels_of_the_gpu_train_steadily(probed: Probed, model: str, shape: str) -> None:
    report = probed(
        f"""
        import torch
        net = {model}.cuda()
        opt = torch.optim.AdamW(net.parameters(), fused=True)
        for i in range(6):
            out = net(torch.rand({shape}, device="cuda"))
            out = out[0] if isinstance(out, tuple) else out
            opt.zero_grad()
            out.pow(2).mean().backward()
            opt.step()
        """
    )
    assert (report["outcome"], report["verdict"], report["silent"]) == ("clean", "steady", [])


def test_half_precision_with_a_scaler_is_no_alarm(probed: Probed) -> None:
    report = probed(
        """
        import torch
        net = torch.nn.Linear(8, 1).cuda()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        scaler = torch.cuda.amp.GradScaler(init_scale=2.0**40)
        for i in range(3):
            with torch.autocast("cuda", dtype=torch.float16):
                loss = net(torch.rand(4, 8, device="cuda")).pow(2).mean()
            opt.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
        """
    )
    assert report["outcome"] == "clean" and report["silent"] == []


def test_device_may_be_forced(probed: Probed) -> None:
    text = "import torch\nw = torch.ones(2, requires_grad=True)\nprint((w * 2).device)\n"
    assert probed(text, device="cuda:0")["output"] == "cuda:0\n"
    assert probed(text, device="cpu")["output"] == "cpu\n"
