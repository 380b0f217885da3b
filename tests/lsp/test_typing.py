"""What a person sees while she types: findings move with their lines and stay while code is half written."""

from __future__ import annotations

from typing import Any

import pytest

from gradsense.lsp.engine import AnalysisEngine
from gradsense.lsp.messages import Analyse, Analysis, Interrupted, Stage
from gradsense.machine.explore import Explorer

PATH = "/nowhere/nets.py"
TEXT = """\
import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)

    def forward(self, x):
        gate = torch.sigmoid(self.inner(x))
        gate += 1
        return gate


def step(model, x):
    out = torch.exp(model(x))
    out.mul_(2)
    out.sum().backward()
    return out


def other(x):
    return x
"""


class Desk:
    """An engine, and what is typed into its one document."""

    def __init__(self, text: str = TEXT) -> None:
        self.engine = AnalysisEngine()
        self.text = text
        self.revision = 0
        self.see(Stage.WHOLE)

    def see(self, stage: Stage, patience: int = 1_000_000) -> Analysis | Interrupted:
        looks = iter(range(patience))
        request = Analyse(PATH, self.text, self.revision, "utf-16", None, {}, stage=stage)
        reply = self.engine.answer(request, lambda: next(looks, None) is None)
        assert isinstance(reply, Analysis | Interrupted)
        return reply

    def shown(self, stage: Stage) -> dict[tuple[str, str], int]:
        """The lines that are marked, by the code and the text of the line, with their numbers."""
        analysis = self.see(stage)
        assert isinstance(analysis, Analysis)
        lines = self.text.split("\n")
        return {(f.code, lines[f.place.line].strip()): f.place.line for f in analysis.findings}

    def type(self, after: str, typed: str) -> list[dict[tuple[str, str], int]]:
        """Types a new line, key by key; what is shown after each key, and in the pause after it."""
        at = self.text.index(after) + len(after)
        indent = len(after) - len(after.lstrip())
        self.text = self.text[:at] + " " * indent + "\n" + self.text[at:]
        at += indent
        seen = []
        for letter in typed:
            self.text = self.text[:at] + letter + self.text[at:]
            at += 1
            self.revision += 1
            seen += [self.shown(stage) for stage in Stage]
        return seen


FAULTS = {("GS201", "gate += 1"), ("GS201", "out.mul_(2)")}


def test_the_faults_to_begin_with() -> None:
    assert set(Desk().shown(Stage.WHOLE)) == FAULTS


@pytest.mark.parametrize(
    ("after", "typed"),
    [
        ("        gate = torch.sigmoid(self.inner(x))\n", "scale = self.scale(x.mean()) if self.training else 1"),
        ("    out = torch.exp(model(x))\n", "print(f'{out.shape}', flush=True)"),
        ("    return out\n", "# nothing comes after this"),
        ("from torch import nn\n", "import torch.nn.functional as F"),
    ],
)
def test_typing_next_to_a_fault_never_makes_it_blink(after: str, typed: str) -> None:
    for shown in Desk().type(after, typed):
        assert set(shown) == FAULTS


GROWS = (
    TEXT
    + """

model = nn.Linear(3, 3)
losses = []
for x in torch.randn(64, 3, 3):
    loss = model(x).mean()
    losses.append(loss)
print(len(losses))
"""
)


def test_who_opens_a_file_is_shown_what_one_path_shows() -> None:
    desk = Desk(GROWS)
    everything = desk.shown(Stage.WHOLE)
    assert set(everything) > FAULTS
    desk.engine = AnalysisEngine()
    analysis = desk.see(Stage.PEEK)
    assert isinstance(analysis, Analysis) and analysis.reached is Stage.LOOK
    assert desk.shown(Stage.LOOK) == everything


def test_who_opens_a_long_file_is_shown_first_what_was_found_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradsense.live.PEEK", 0.0)
    loops = GROWS.removeprefix(TEXT)
    desk = Desk(TEXT + "".join(loops.replace("losses", f"losses{n}") for n in range(60)))
    everything = set(desk.shown(Stage.WHOLE))
    assert everything > FAULTS
    desk.engine = AnalysisEngine()
    analysis = desk.see(Stage.PEEK)
    assert isinstance(analysis, Analysis) and analysis.reached is Stage.GLANCE
    first = set(desk.shown(Stage.PEEK))
    assert first < everything
    for shown in desk.type("    return out\n", "y"):
        assert set(shown) >= first
    assert set(desk.shown(Stage.WHOLE)) == everything


def test_findings_move_with_their_lines() -> None:
    desk = Desk()
    before = desk.shown(Stage.WHOLE)
    desk.text = desk.text.replace("import torch\n", "import torch\n\n\n", 1)
    desk.revision += 1
    assert desk.shown(Stage.GLANCE) == {key: line + 2 for key, line in before.items()}


def test_a_comment_is_not_looked_at_again() -> None:
    desk = Desk()
    desk.text = desk.text.replace("gate += 1", "gate += 1  # open it a bit")
    desk.revision += 1
    analysis = desk.see(Stage.GLANCE)
    assert isinstance(analysis, Analysis) and analysis.reached is Stage.WHOLE
    assert [f.place.line for f in analysis.findings] == [11, 17]


def test_a_fault_that_is_typed_shows_and_goes_again() -> None:
    desk = Desk()
    mended = desk.text.replace("out.mul_(2)", "out = out.mul(2)")
    desk.text, desk.revision = mended, 1
    assert set(desk.shown(Stage.LOOK)) == {("GS201", "gate += 1")}
    desk.text, desk.revision = TEXT, 2
    assert set(desk.shown(Stage.LOOK)) == FAULTS


def test_an_analysis_that_is_interrupted_loses_nothing() -> None:
    desk = Desk()
    desk.text = desk.text.replace("gate += 1", "gate += 2").replace("mul_(2)", "mul_(3)")
    desk.revision += 1
    replies = [desk.see(Stage.WHOLE, patience) for patience in range(6)]
    assert any(isinstance(reply, Interrupted) for reply in replies)
    assert set(desk.shown(Stage.WHOLE)) == {("GS201", "gate += 2"), ("GS201", "out.mul_(3)")}


SCRIPT = """\
import torch

seen = []


def main():
    x = torch.ones(3, requires_grad=True)
    for _ in range(3):
        y = torch.exp(x)
        y.sum().backward()
        seen.append(y.detach())


def unused(model, x):
    y = torch.exp(model(x))
    y += 1
    y.sum().backward()


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("more", ["", "\n\ndef sets():\n    global seen\n    seen = None\n"])
def test_what_a_script_does_not_reach_is_looked_at_as_an_import_leaves_it(more: str) -> None:
    desk = Desk(SCRIPT.replace("\n\nif __name__", f"{more}\n\nif __name__"))
    assert ("GS201", "y += 1") in desk.shown(Stage.WHOLE)


WHOLE_PROGRAM = (
    TEXT
    + """

def main(flag):
    model = nn.Linear(3, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in torch.randn(64, 3, 3):
        loss = model(x).mean()
        if flag:
            loss = loss * 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main(bool(torch.rand(1) > 0))
"""
)


def test_a_key_that_interrupts_a_run_of_the_program_has_nothing_else_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    run: list[object] = []
    original = Explorer._run_unit

    def counted(self: Explorer, unit: Any, *args: Any, **options: Any) -> None:
        run.append(unit and unit.node.name)
        original(self, unit, *args, **options)

    monkeypatch.setattr(Explorer, "_run_unit", counted)
    monkeypatch.setattr("gradsense.machine.state.LOOK_EVERY", 5)
    for patience in range(1, 400, 7):
        desk = Desk(WHOLE_PROGRAM)
        desk.engine = AnalysisEngine()
        desk.see(Stage.LOOK)
        if not isinstance(desk.see(Stage.WHOLE, patience), Interrupted):
            break
        desk.text = desk.text.replace("        return gate\n", "        y = gate\n        return y\n")
        desk.revision += 1
        run.clear()
        desk.see(Stage.LOOK)
        assert run == ["forward"]
    assert patience > 15, "nothing was interrupted"


COUNTS = """\
import torch
from torch import exp as grown

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        return x * factor

    @staticmethod
    def backward(ctx, gradient):
        given = grown(gradient)
        return given

x = torch.randn(3, requires_grad=True)
Scale.apply(x, 3.0).sum().backward()
"""
DRAWN = """\
import torch
from torch import nn

net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 4))
optimizer = torch.optim.SGD(net.parameters(), 0.1)
rows = torch.randn(3, 2, 3)
outs = (torch.exp(net(x)) for x in rows)
# Nothing else.
for y in outs:
    optimizer.zero_grad()
    y.sum().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("text", "old", "new", "differ"),
    [
        # What a name in an untouched function means is told by the module level.
        (COUNTS, "from torch import exp as grown", "from elsewhere import grown", True),
        # Whether a loop alone draws from a generator is told by the statements around.
        (DRAWN, "# Nothing else.", "outs = list(outs)", True),
        (DRAWN, "# Nothing else.", "def rest():\n    return list(outs)", False),
    ],
)
@pytest.mark.parametrize("back", [False, True])
def test_what_was_found_out_about_the_old_text_is_forgotten(
    text: str, old: str, new: str, differ: bool, back: bool
) -> None:
    first, second = (text.replace(old, new), text) if back else (text, text.replace(old, new))
    desk = Desk(first)
    before = set(desk.shown(Stage.WHOLE))
    desk.text, desk.revision = second, 1
    after = set(desk.shown(Stage.WHOLE))
    assert after == set(Desk(second).shown(Stage.WHOLE))
    assert (before != after) is differ
