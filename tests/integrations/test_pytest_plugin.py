"""The pytest plugin as users have it: their tests, run by pytest in a process of its own, with a real torch."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

from docs.blocks import ROOT, fenced

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytest_plugins = ["pytester"]

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")

HELPERS = """\
import torch
from torch import nn

model = nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def loss_of(x):
    return model(x).pow(2).mean()


def train(count, kept):
    for number in range(count):
        optimizer.zero_grad()
        loss = loss_of(torch.randn(3, 4))
        loss.backward()
        optimizer.step()
        kept.append(loss)
"""

STEPS = """\
import helpers
import pytest
import torch
from helpers import loss_of, model, optimizer


def step(scale=1.0):
    optimizer.zero_grad()
    loss = loss_of(torch.randn(3, 4)) * scale
    loss.backward()
    optimizer.step()
    return loss


def test_clean(gradsense_step):
    report = gradsense_step(step, 2.0, passes=4)
    assert report.is_clean and report.verdict == "steady"
    assert len(report.loss) == len(report.passes) == 4


def test_grows(gradsense_step):
    history = []

    def keeping():
        history.append(step())

    gradsense_step(keeping)


def test_growth_is_allowed(gradsense_step):
    history = []
    gradsense_step(lambda: history.append(step()), check_growth=False)
    assert len(history) == 3


def test_held_by_nobody_in_the_test(gradsense_step):
    class Trainer:
        def __init__(self):
            self.total = 0.0

        def step(self):
            self.total = self.total + step()

    gradsense_step(Trainer().step)


def test_raises(gradsense_step):
    def faulty():
        h = torch.sigmoid(model(torch.randn(3, 4)))
        h += 1
        h.sum().backward()

    gradsense_step(faulty)


def test_silent(gradsense_step):
    def faulty():
        model.zero_grad()
        y = model.weight.exp()
        y.data.mul_(2)
        y.sum().backward()

    gradsense_step(faulty)


def test_nan(gradsense_step):
    x = torch.zeros(2, requires_grad=True)
    gradsense_step(lambda: (x.sqrt() * 0).sum().backward())


def test_an_error_of_the_step_itself(gradsense_step):
    gradsense_step(lambda: model(torch.randn(3, 5)))


def test_an_assertion_of_the_step(gradsense_step):
    def wrong():
        assert step().item() < -1

    gradsense_step(wrong)


def test_skips_itself(gradsense_step):
    gradsense_step(lambda: pytest.skip("not today"))


def test_watches_a_function_of_another_file(gradsense_step):
    kept = []
    with gradsense_step.watch():
        helpers.train(4, kept)


def test_watches_a_loop_of_the_test(gradsense_step):
    total = 0.0
    with gradsense_step.watch() as watched:
        for x in watched.passes(torch.randn(4, 3, 4)):
            total = total + loss_of(x)
            model.zero_grad()
            loss_of(x).backward()


def test_what_comes_before_does_not_count(gradsense_step):
    before = [loss_of(torch.randn(3, 4)) for _ in range(5)]
    with gradsense_step.watch() as watched:
        for _ in watched.passes(range(3)):
            step()
    assert watched.report.is_clean and len(before) == 5


@pytest.mark.gradsense(check_growth=False, passes=1)
def test_marked(gradsense_step):
    assert len(gradsense_step(step).passes) == 1
    assert len(gradsense_step(step, passes=2).passes) == 2


@pytest.mark.gradsense(pases=5)
def test_marked_wrongly(gradsense_step): ...


def test_too_few_passes(gradsense_step):
    with pytest.raises(ValueError, match="from 3 passes on; passes=2 needs check_growth=False"):
        gradsense_step(step, passes=2)


def test_not_a_function(gradsense_step):
    with pytest.raises(TypeError, match="a function that does one step, not Tensor"):
        gradsense_step(step())

    async def later(): ...

    with pytest.raises(TypeError, match="run the coroutine in one"):
        gradsense_step(later)


def test_one_at_a_time(gradsense_step):
    gradsense_step(lambda: gradsense_step(step))


def test_nothing_stays_on():
    import builtins
    from torch.autograd.variable import Variable

    assert not torch.is_anomaly_enabled()
    assert type(Variable._execution_engine).__module__.startswith("torch")
    assert "__gradsense" not in str(dir(builtins)) + str(helpers.train.__code__.co_names)
"""


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Runs pytest with this plugin and no other."""
    return pytester.runpytest_subprocess(
        "-p", "gradsense.integrations.pytest_plugin", "-p", "no:cacheprovider", "--strict-markers", *arguments
    )


def told(result: pytest.RunResult) -> dict[str, str]:
    """What is shown of each test that failed, by name."""
    parts = re.split(r"^_+ (?:ERROR at setup of )?(\w+) _+$", result.stdout.str(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@needs_torch
def test_steps_fail_with_the_report(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(helpers=HELPERS, test_steps=STEPS)
    result = run(pytester, "-rfs")
    result.assert_outcomes(passed=7, failed=10, errors=1, skipped=1)
    shown = told(result)

    grows = shown["test_grows"]
    assert (
        grows.startswith("\nthe step's graph grows, held by `history`\n\ntest_steps.py:25 grows\n")
        and "Traceback" not in grows
    )
    assert "held by   `history`, stored at test_steps.py:25" in grows and "history.append(step())" in grows
    assert "held by   `self.total`, stored at test_steps.py:42" in shown["test_held_by_nobody_in_the_test"]

    raises = shown["test_raises"]
    assert (
        raises.startswith("\nthe step raises RuntimeError\n\ntest_steps.py:51 raises\n")
        and "modified by an inplace operation" in raises
    )
    for line, words in ((49, "saved by `sigmoid`"), (50, "written in place by `add_`"), (51, "RuntimeError surfaces")):
        assert re.search(rf"^ *{line} \| .*\n.*{words}", raises, re.MULTILINE), raises
    for name in ("test_grows", "test_raises", "test_silent", "test_nan"):
        assert "stepping.py" not in shown[name] and "previous" not in shown[name] and "direct cause" not in shown[name]

    assert "wrong gradients" in shown["test_silent"] and "`mul_` on line 60 wrote it" in shown["test_silent"]
    assert "test_steps.py:68 nan" in shown["test_nan"] and "`sqrt`" in shown["test_nan"]
    assert "helpers.py:18 grows" in shown["test_watches_a_function_of_another_file"]
    assert "held by   `total`, stored at test_steps.py:96" in shown["test_watches_a_loop_of_the_test"]

    own = shown["test_an_error_of_the_step_itself"]
    assert "mat1 and mat2 shapes cannot be multiplied" in own and "gradsense/run" not in own
    assert "assert step().item() < -1" in shown["test_an_assertion_of_the_step"]
    assert "there is no setting pases; those of gradsense are passes, check_growth" in shown["test_marked_wrongly"]
    assert "gradsense_step: a step is being watched already" in shown["test_one_at_a_time"]
    result.stdout.fnmatch_lines(["FAILED *::test_grows - Failed: the step's graph*", "SKIPPED * not today"])


@needs_torch
def test_the_tests_of_the_document_pass(pytester: pytest.Pytester) -> None:
    blocks = [block.text for block in fenced() if block.document == "pytest.md" and block.language == "python"]
    assert len(blocks) == 2
    pytester.makepyfile(**{f"test_{number}": text for number, text in enumerate(blocks)})
    run(pytester).assert_outcomes(passed=3)


def test_it_is_found_where_it_is_installed_and_loads_nothing(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    lines = [f"{name} = {target}" for name, target in table["pytest11"].items()]
    info = pytester.mkdir("gradsense-0.0.0.dist-info")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gradsense\nVersion: 0.0.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("\n".join(["[pytest11]", *lines]), encoding="utf-8")
    pytester.makepyfile(
        """
        import sys

        def test_loaded(pytestconfig):
            assert "gradsense_step" in str(pytestconfig.pluginmanager.get_plugin("gradsense").gradsense_step)
            assert "torch" not in sys.modules
            assert sorted(name for name in sys.modules if name.split(".")[0] == "gradsense") == [
                "gradsense", "gradsense.integrations", "gradsense.integrations.pytest_plugin"
            ]
        """
    )
    python = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(pytester.path), str(ROOT / "server")]))
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    done = subprocess.run(python, cwd=pytester.path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    fixtures = subprocess.run([*python, "--fixtures", "--markers"], cwd=pytester.path, capture_output=True, text=True)
    assert "gradsense(passes=3, check_growth=True" in fixtures.stdout


def test_without_torch_the_reason_is_told(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("import sys\nsys.modules['torch'] = None\n")
    pytester.makepyfile("def test_step(gradsense_step):\n    gradsense_step(lambda: None)\n")
    result = run(pytester, "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*gradsense_step: torch is not installed in *"])
