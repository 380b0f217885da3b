"""All faults of a program are told at once. Mended one after another, torch raises what was told, then runs clean."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from gradsense.check import check_source
from gradsense.machine.limits import MOST_ERRORS
from gradsense.rules.finding import Finding, Severity
from gradsense.syntax import Source, apply_edits
from oracle import Oracle
from pairs.format import MAIN, Program, read_all
from rules.test_repairs import HEAD

ENTRY = re.compile(
    r"^## (?P<name>[^\n]+)\n\n```python\n(?P<program>.*?)^```\n\n```text\n(?P<said>.*?)^```\n", re.MULTILINE | re.DOTALL
)
ALOUD = {Severity.ERROR, Severity.WARNING}
BEHIND = re.compile(r"(raises )?once line \d+ is mended: ")


@dataclass(frozen=True)
class Case:
    """A program with several faults, and what is said of it."""

    name: str
    text: str
    said: list[str]


def read() -> list[Case]:
    """The entries of the markdown file beside this one."""
    page = Path(__file__).with_name("behind.md").read_text(encoding="utf-8")
    cases = [Case(match["name"], HEAD + match["program"], match["said"].splitlines()) for match in ENTRY.finditer(page)]
    assert len(cases) == page.count("\n## "), "an entry does not keep to the format"
    return cases


def aloud(text: str) -> list[Finding]:
    report = check_source(Source.from_text(MAIN, text))
    assert not report.failures
    return [finding for finding in report.findings if finding.severity in ALOUD]


def line_of(text: str, finding: Finding) -> str:
    return text.splitlines()[finding.span.line - 1].strip()


@pytest.mark.parametrize("case", read(), ids=lambda case: case.name)
def test_all_is_said_at_once(case: Case) -> None:
    found = aloud(case.text)
    assert sorted(f"{f.severity.value} {f.code}: {line_of(case.text, f)}" for f in found) == sorted(case.said)
    for finding in found:
        assert bool(BEHIND.match(finding.message)) is (finding.severity is Severity.WARNING)


METHOD = """\
class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 2)

    def look(self, x):
        gate = torch.exp(self.inner(x))
        gate += 1
        gate.sum().backward()
        print(gate.numpy())


w = torch.zeros(3, requires_grad=True)
w += 1
print(w.numpy())
"""


def test_a_method_that_nobody_calls_has_its_own_first_error() -> None:
    text = HEAD + METHOD
    lines = {line.strip(): number for number, line in enumerate(text.splitlines(), 1)}
    told = {line_of(text, f): BEHIND.match(f.message) for f in aloud(text)}
    first = {line: int(re.findall(r"\d+", match[0])[0]) for line, match in told.items() if match}
    assert first == {"print(gate.numpy())": lines["gate += 1"], "print(w.numpy())": lines["w += 1"]}


@pytest.mark.parametrize("case", read(), ids=lambda case: case.name)
def test_torch_raises_one_after_another(case: Case, torch_oracle: Oracle) -> None:
    """The error is what torch raises; once it is mended, each of the others is found as if it had stood alone."""
    text = case.text
    for _ in range(len(case.said) + 1):
        outcome, found = torch_oracle.run(text), aloud(text)
        errors = [finding for finding in found if finding.severity is Severity.ERROR]
        assert bool(errors) is (outcome.kind == "raises"), f"{outcome}\n{text}"
        if not found:
            break
        if errors:
            assert errors[0].expected is not None
            assert outcome.message[:40] in errors[0].expected
        fault = (errors or found)[0]
        behind = {(f.code, line_of(text, f)) for f in found if BEHIND.match(f.message)}
        assert fault.fixes, f"no fix for {fault.code}"
        text = apply_edits(text, fault.fixes[0].edits)
        still = {line.strip() for line in text.splitlines()}
        now = {(f.code, line_of(text, f)) for f in aloud(text)}
        assert {told for told in behind if told[1] in still} <= now
    assert torch_oracle.run(text).kind == "clean", text


@pytest.mark.parametrize(
    "hostile",
    ["w = torch.zeros(3, requires_grad=True)\n", "x = torch.ones(3, requires_grad=True)\ntotal = 0\n"],
    ids=["statements", "one walk"],
)
def test_of_very_many_errors_the_first_are_told(hostile: str) -> None:
    for number in range(2 * MOST_ERRORS):
        one = f"y{number} = torch.exp(x)\ny{number} += 1\ntotal = total + y{number}\n"
        hostile += one if "total" in hostile else "w += 1\n"
    hostile += "total.sum().backward()\n" if "total" in hostile else ""
    found = aloud(HEAD + hostile)
    assert len(found) == MOST_ERRORS
    assert [finding.severity for finding in found].count(Severity.ERROR) == 1


def _touched(fault: Finding) -> set[int]:
    """The lines that the first fix of a fault changes: one `no_grad` goes around several writes."""
    spans = [edit.span for edit in fault.fixes[0].edits]
    return {line for span in spans for line in range(span.line, span.end_line + 1)}


def _faults() -> list[Program]:
    return [program for program in read_all() if program.outcome == "raises" and not program.others]


def test_what_is_behind_comes_to_light_when_the_error_is_mended() -> None:
    """Of every fault of the pairs: what is said to be behind it is found in the program without it."""
    looked_at = 0
    for program in _faults():
        text = program.main
        found = aloud(text)
        behind = [finding for finding in found if BEHIND.match(finding.message)]
        for told in behind:
            fault = next(f for f in found if f.severity is Severity.ERROR)
            if not fault.fixes or told.span.line in _touched(fault):
                continue
            mended = apply_edits(text, fault.fixes[0].edits)
            if line_of(text, told) in {line.strip() for line in mended.splitlines()}:
                looked_at += 1
                now = {line_of(mended, f) for f in aloud(mended)}
                assert line_of(text, told) in now, f"{program.id}: {told.message}\n{mended}"
    assert looked_at > 3, "hardly anything is said to be behind an error"
