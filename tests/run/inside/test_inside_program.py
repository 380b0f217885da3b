"""The program runs as Python would run it, and says what happened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Probed = Callable[..., dict[str, Any]]


def test_script_runs_as_main_with_its_arguments_and_output(probed: Probed) -> None:
    report = probed(
        """
        import sys
        if __name__ == "__main__":
            print(__file__.endswith("program.py"), sys.argv[1:])
            print("to stderr", file=sys.stderr)
        """,
        argv=["--lr", "0.1"],
    )
    assert report["outcome"] == "clean"
    assert report["output"] == "True ['--lr', '0.1']\nto stderr\n"


def test_error_of_the_program_itself_is_failed_with_its_line(probed: Probed) -> None:
    report = probed("import torch\n\ndef area(side):\n    return side / 0\n\narea(3)\n")
    assert report["outcome"] == "failed"
    assert report["error"] == {"type": "ZeroDivisionError", "message": "division by zero"}
    assert report["walk"]["line"] == 4
    assert [frame["text"] for frame in report["backward_traceback"]] == ["area(3)", "return side / 0"]


def test_syntax_error_is_told_with_its_line(probed: Probed) -> None:
    report = probed("import torch\n\nx = = 1\n")
    assert (report["outcome"], report["error"]["type"], report["walk"]["line"]) == ("failed", "SyntaxError", 3)


def test_input_has_nobody_to_answer(probed: Probed) -> None:
    report = probed("name = input('name? ')\n")
    assert report["outcome"] == "failed" and report["error"]["type"] == "EOFError"
    assert "nobody to answer" in report["error"]["message"]


def test_training_loops_are_cut_and_other_loops_are_not(probed: Probed) -> None:
    report = probed(
        """
        import torch
        net = torch.nn.Linear(2, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        rows = [torch.randn(3, 2) for _ in range(20)]
        total = 0
        for row in rows:
            total += 1
        for epoch in range(50):
            for row in rows:
                opt.zero_grad()
                net(row).pow(2).mean().backward()
                opt.step()
            print(epoch, total)
        while True:
            opt.zero_grad()
            net(rows[0]).pow(2).mean().backward()
            opt.step()
        print("end")
        """
    )
    assert report["outcome"] == "clean"
    assert report["output"] == "0 20\n1 20\n2 20\nend\n"
    assert report["verdict"] == "steady"


def test_loader_is_cut_and_has_no_workers(probed: Probed) -> None:
    report = probed(
        """
        import os
        from torch.utils.data import DataLoader

        class Numbers:
            def __len__(self):
                return 100
            def __getitem__(self, index):
                return os.getpid()

        seen = [batch for batch in DataLoader(Numbers(), batch_size=2, num_workers=2, prefetch_factor=2)]
        print(len(seen), all(int(number) == os.getpid() for batch in seen for number in batch))
        """
    )
    assert report["output"] == "3 True\n"
    assert "data loaders ran without worker processes" in report["notes"]


def test_modules_of_the_folder_are_seen_too(probed: Probed) -> None:
    report = probed(
        "from trainer import train\ntrain()\n",
        files={
            "trainer.py": """
                import torch

                def train():
                    w = torch.ones(3, requires_grad=True)
                    y = w.exp()
                    y += 1
                    y.sum().backward()
                """
        },
    )
    assert report["outcome"] == "raises"
    places = [report["walk"], report["saved"], *report["written"]]
    assert [(place["path"].rsplit("/", 1)[-1], place["line"]) for place in places] == [
        ("trainer.py", 8),
        ("trainer.py", 6),
        ("trainer.py", 7),
    ]
