"""What torch has besides plain steps goes through the probe unharmed, and nothing stays on afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Probed = Callable[..., dict[str, Any]]

STEP = "opt.zero_grad(); loss.backward(); opt.step()"
PROGRAMS = {
    "compile": f"""
        @torch.compile
        def double(x):
            return torch.sin(x) * 2
        net = torch.compile(torch.nn.Linear(3, 3))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(4):
            loss = double(net(torch.rand(2, 3))).sum()
            {STEP}
        """,
    "checkpoint": f"""
        from torch.utils.checkpoint import checkpoint
        a = torch.nn.Linear(3, 3)
        b = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU(True), torch.nn.Dropout())
        opt = torch.optim.Adam([*a.parameters(), *b.parameters()])
        for reentrant in (False, True):
            for _ in range(3):
                loss = checkpoint(b, a(torch.rand(2, 3)), use_reentrant=reentrant).pow(2).sum()
                {STEP}
                assert b[0].weight.grad is not None
        """,
    "autocast": f"""
        net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
        opt = torch.optim.AdamW(net.parameters())
        for _ in range(4):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = net(torch.rand(3, 4)).pow(2).mean()
            {STEP}
        """,
    "jit": f"""
        @torch.jit.script
        def squash(x, n: int):
            for i in range(n):
                x = torch.tanh(x)
            return x
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(3, 3)
            def forward(self, x):
                for i in range(2):
                    x = self.layer(x)
                return x
        scripted = torch.jit.script(Model())
        traced = torch.jit.trace(torch.nn.Linear(3, 3), torch.rand(1, 3))
        symbolic = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU()))
        opt = torch.optim.SGD([*scripted.parameters(), *traced.parameters(), *symbolic.parameters()], lr=0.1)
        for _ in range(4):
            loss = symbolic(traced(squash(scripted(torch.rand(2, 3)), 2))).sum()
            {STEP}
        """,
    "hooks and closures": """
        seen = []
        net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
        net[0].register_forward_hook(lambda module, inputs, output: seen.append("forward"))
        net[1].register_full_backward_hook(lambda module, inputs, outputs: seen.append("backward"))
        net[2].weight.register_hook(lambda grad: seen.append("tensor"))
        opt = torch.optim.LBFGS(net.parameters(), max_iter=3)
        x = torch.rand(4, 3)
        def closure():
            opt.zero_grad()
            loss = net(x).pow(2).sum()
            loss.backward()
            return loss
        for _ in range(2):
            opt.step(closure)
        assert set(seen) == {"forward", "backward", "tensor"}
        """,
    "torch.func and others": """
        from torch.func import functional_call, grad, hessian, vmap
        net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
        weights = {name: value.detach() for name, value in net.named_parameters()}
        def loss(weights, x):
            return functional_call(net, weights, (x,)).pow(2).sum()
        for _ in range(3):
            vmap(grad(loss), in_dims=(None, 0))(weights, torch.rand(4, 3))
            hessian(lambda x: loss(weights, x))(torch.rand(3))
        torch.autograd.gradcheck(lambda x: x.sin(), torch.rand(3, dtype=torch.double, requires_grad=True))
        table = torch.nn.Embedding(10, 3, sparse=True)
        opt = torch.optim.SparseAdam(table.parameters())
        for _ in range(3):
            opt.zero_grad()
            table(torch.tensor([1, 2])).pow(2).sum().backward()
            opt.step()
        with torch.autograd.forward_ad.dual_level():
            torch.autograd.forward_ad.make_dual(torch.rand(3), torch.ones(3)) * 2
        matrix = torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 2), requires_grad=True)
        torch.sparse.mm(matrix, torch.rand(2, 2)).sum().backward()
        """,
    "modes of the program's own": """
        from torch.utils._python_dispatch import TorchDispatchMode
        class Count(TorchDispatchMode):
            seen = 0
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                Count.seen += 1
                return func(*args, **(kwargs or {}))
        w = torch.rand(3, requires_grad=True)
        for _ in range(4):
            with Count():
                w.grad = None
                (w * w).exp().sum().backward()
                torch.optim.SGD([w], lr=0.1).step()
        assert Count.seen > 10
        """,
    "threads and processes": """
        import multiprocessing, os, subprocess, sys, threading
        w = torch.rand(3, requires_grad=True)
        def train():
            for _ in range(5):
                (w * w).sum().backward()
        thread = threading.Thread(target=train)
        thread.start()
        thread.join()
        assert subprocess.run([sys.executable, "-c", "pass"]).returncode == 0
        if (child := os.fork()) == 0:
            print("the child's own business")
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        """,
    "a distributed model": f"""
        import os, torch.distributed as dist
        dist.init_process_group("gloo", init_method=f"file://{{os.getcwd()}}/rendezvous", rank=0, world_size=1)
        net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 1))
        net = torch.nn.parallel.DistributedDataParallel(net)
        opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        for _ in range(4):
            loss = net(torch.rand(5, 3)).pow(2).sum()
            {STEP}
        dist.destroy_process_group()
        """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_survives_the_probe(probed: Probed, name: str) -> None:
    report = probed("import torch\n" + _dedent(PROGRAMS[name]))
    assert report["outcome"] == "clean", (report["error"], report["walk"])
    assert report["silent"] == []
    assert report["verdict"] in ("steady", "varying", "none")


def test_compiled_code_is_said_to_have_been_passed_over(probed: Probed) -> None:
    report = probed("import torch\n" + _dedent(PROGRAMS["compile"]))
    assert any("torch.compile" in note for note in report["notes"])


def test_anomaly_mode_switched_off_by_the_program_does_not_blind_the_probe(probed: Probed) -> None:
    report = probed(
        """
        import torch
        torch.autograd.set_detect_anomaly(False)
        w = torch.rand(3, requires_grad=True)
        y = w.exp()
        y.add_(1)
        y.sum().backward()
        """
    )
    assert (report["walk"]["line"], report["saved"]["line"], report["written"][0]["line"]) == (7, 5, 6)


@pytest.mark.parametrize("code, outcome", [("0", "clean"), ("None", "clean"), ("3", "failed")])
def test_program_may_end_itself(probed: Probed, code: str, outcome: str) -> None:
    assert probed(f"import sys\nprint('bye')\nsys.exit({code})\n")["outcome"] == outcome


def test_time_limit_ends_the_program_and_the_report_comes(probed: Probed) -> None:
    report = probed("import time\nprint('begun')\ntime.sleep(60)\n", time_limit=3)
    assert report["outcome"] == "timeout" and report["walk"]["line"] == 3 and report["output"] == "begun\n"


def test_device_may_be_forced_to_the_cpu(probed: Probed) -> None:
    report = probed("import torch\nprint(torch.cuda.is_available(), torch.cuda.device_count())\n", device="cpu")
    assert report["output"] == "False 0\n" and report["device"] == "cpu"


def _dedent(text: str) -> str:
    lines = text.splitlines()
    return "\n".join(line[8:] for line in lines) + "\n"
