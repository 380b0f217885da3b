"""Text that is nested too deep, or too long, for anyone to have written it by hand."""

from __future__ import annotations

import pytest

from robustness.checking import check, finds_the_fault, lines, stairs

DEEP = {
    "parentheses": "y = " + "(" * 5000 + "1" + ")" * 5000,
    "lists": "y = " + "[" * 3000 + "]" * 3000,
    "dictionaries": "y = " + "{1: " * 2000 + "2" + "}" * 2000,
    "calls": "y = " + "f(" * 3000 + "1" + ")" * 3000,
    "calls of results": "y = torch" + ".a()" * 20_000,
    "attributes": "y = torch" + ".a" * 20_000,
    "subscripts": "y = torch" + "[0]" * 20_000,
    "indices": "y = " + "x[" * 3000 + "0" + "]" * 3000,
    "sums": "y = " + " + ".join(["1"] * 50_000),
    "signs": "y = " + "-" * 20_000 + "1",
    "nots": "y = " + "not " * 20_000 + "1",
    "lambdas": "y = " + "lambda: " * 2000 + "1",
    "conditions": "y = " + "1 if a else " * 1000 + "2",
    "comparisons": "y = " + " < ".join(f"a{i}" for i in range(10_000)),
    "ands": "if " + " and ".join(f"a{i}" for i in range(10_000)) + ": pass",
    "targets": "a = " * 5000 + "1",
    "walruses": "print(" + "(y := " * 900 + "1" + ")" * 900 + ")",
    "formatted": 'y = f"' + "{x}" * 20_000 + '"',
    "managers": "with " + ", ".join(["torch.no_grad()"] * 300) + ": pass",
    "stars": "y = " + "[*" * 500 + "[]" + "]" * 500,
    "ifs": stairs(95, "if a{i}:", "y = 1"),
    "functions": stairs(90, "def f{i}():", "return 1"),
    "classes": stairs(90, "class A{i}:", "y = 1"),
    "withs": stairs(90, "with a{i}:", "y = 1"),
    "elifs": "if a: pass\n" + lines(3000, "elif a{i}: y = 1"),
    "cases": "match a:\n" + lines(2000, "    case {i}: y = 1"),
    "tries": stairs(18, "try:", "raise E").rstrip()
    + "\n"
    + "".join(" " * i + "except E: raise\n" for i in range(17, -1, -1)),
}
LONG = {
    "a text": f'y = "{"a" * 1_000_000}"',
    "a comment": "#" + "a" * 1_000_000,
    "a line of statements": "y = 1; " * 5000,
    "a list": "y = [" + ", ".join(map(str, range(100_000))) + "]\nfor a in y: pass",
    "a dictionary": "y = {" + ", ".join(f"'k{i}': {i}" for i in range(100_000)) + "}\nfor a in y: pass",
    "a tuple of tensors": "y = (" + "torch.ones(1), " * 5000 + ")",
    "branches": lines(1500, "if c{i}: y = 1"),
    "assignments of one tensor": "y = torch.ones(1, requires_grad=True)\n" + "y = y * 2\n" * 3000,
    "functions": lines(300, "def f{i}(x): return x.sigmoid().add_(1)"),
    "methods": "class A(nn.Module):\n" + lines(500, "    def f{i}(self, x): return self.f{next}(x)"),
    "imports": lines(500, "import m{i}"),
    "continued lines": "y = 1 + " + "\\\n" * 3000 + "2",
}
# Each pass of the outer loop is several of the next: these never come to an end.
LOOPS = {
    "for, of known length": stairs(12, "for i{i} in range(4):", "y = torch.ones(1)"),
    "one comprehension": "y = [0" + "".join(f" for i{k} in range(8)" for k in range(20)) + "]",
    "comprehensions": "y = " + "[" * 12 + "0" + "".join(f" for i{k} in range(8)]" for k in range(12)),
}


# One pass of each is like the one before.
STEADY_LOOPS = {
    "for": stairs(12, "for i{i} in range(n):", "y = torch.ones(1)"),
    "while": stairs(15, "while n:", "y = torch.ones(1)"),
}


@pytest.mark.parametrize("name", DEEP)
def test_deep_text(name: str) -> None:
    report = check(DEEP[name] + "\n")
    assert finds_the_fault(report) or name == "tries"


@pytest.mark.parametrize("name", LONG)
def test_long_text(name: str) -> None:
    assert finds_the_fault(check(LONG[name] + "\n"))


@pytest.mark.parametrize("name", LOOPS)
def test_loops_in_loops(name: str) -> None:
    """The path ends, and that is said."""
    report = check(LOOPS[name] + "\n")
    assert any("bound on work" in note.message for note in report.notes)


@pytest.mark.parametrize("name", STEADY_LOOPS)
def test_loops_in_loops_that_do_the_same_in_each_pass(name: str) -> None:
    assert finds_the_fault(check(STEADY_LOOPS[name] + "\n"))
