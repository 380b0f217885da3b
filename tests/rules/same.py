"""Whether safe fixes keep what programs compute: each is applied by itself, and what is left at the end is compared.

.venv/bin/python -m rules.same [WORD…]      (in tests/) all programs of the pairs and pages that run to their end, or
                                            those with a word in their id
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from gradsense.check import check_source
from gradsense.fixes.fix import Applicability, Fix
from gradsense.rules.registry import all_rules
from gradsense.syntax import Source, apply_edits
from oracle import Oracle
from pairs.format import read_all

MARK = "WHAT IS LEFT "
# Put behind a program: tells every tensor, gradient and number that its variables lead to.
FOOTER = """

def __what_is_left():
    import json
    import torch

    found = {}

    def take(name, value, depth):
        if isinstance(value, torch.Tensor):
            if not value.is_sparse and value.numel() <= 4096:
                found[name] = value.detach().double().flatten().tolist()
            if value.is_leaf and value.grad is not None and value.grad.any():
                found[name + ".grad"] = value.grad.detach().double().flatten().tolist()
        elif isinstance(value, (bool, int, float)):
            found[name] = [float(value)]
        elif isinstance(value, torch.nn.Module):
            for key, part in [*value.named_parameters(), *value.named_buffers()]:
                take(f"{name}.{key}", part, depth + 1)
        elif isinstance(value, (list, tuple)):
            for index, part in enumerate(value[:50]):
                take(f"{name}[{index}]", part, depth + 1)
        elif isinstance(value, dict) and depth < 4:
            for key, part in list(value.items())[:50]:
                take(f"{name}[{key!r}]", part, depth + 1)
        elif type(value).__module__ == "__main__" and depth < 4:
            take(name, vars(value), depth + 1)

    for name, value in list(globals().items()):
        if not name.startswith("_"):
            take(name, value, 0)
    raise RuntimeError("WHAT IS LEFT " + json.dumps(found))


__what_is_left()
"""
Left = dict[str, list[float]]


def programs(words: Sequence[str] = ()) -> dict[str, str]:
    """Programs of one file that do not raise, by id: those of the pairs, and those of the rules' pages."""
    found = {p.id: p.main for p in read_all() if p.outcome != "raises" and not p.others}
    for rule in all_rules().values():
        found[f"page::{rule.code}::mended"] = rule.mended
        if rule.outcome != "raises":
            found[f"page::{rule.code}::fails"] = rule.example
    return {key: text for key, text in found.items() if not words or any(word in key for word in words)}


def left(text: str, oracle: Oracle) -> Left | None:
    """What a program leaves behind, None where it raises."""
    outcome = oracle.run(f"{text}\n{FOOTER}")
    _, mark, data = outcome.message.partition(MARK)
    found: Left | None = json.loads(data) if mark else None
    return found


def safe_fixes(text: str) -> Iterator[tuple[str, Fix]]:
    """The safe fixes of all that is said of a program, hints too, each with its code."""
    with tempfile.TemporaryDirectory() as folder:
        findings = check_source(Source.from_text(str(Path(folder, "main.py")), text)).findings
        for finding in findings:
            for fix in finding.fixes:
                if fix.applicability is Applicability.SAFE:
                    yield finding.code, fix


def differences(before: Left, after: Left) -> list[str]:
    """What has another value, or has lost or got a gradient."""
    found = []
    for name in {*before, *after}:
        old, new = before.get(name), after.get(name)
        if old is None or new is None:
            if name.endswith(".grad"):
                found.append(f"{name} is {'new' if old is None else 'gone'}")
        elif len(old) != len(new) or not all(map(_alike, old, new)):
            found.append(f"{name} was {old[:3]}, is {new[:3]}")
    return sorted(found)


def _alike(old: float, new: float) -> bool:
    return math.isclose(old, new, rel_tol=1e-4, abs_tol=1e-6) or (math.isnan(old) and math.isnan(new))


def compare(text: str, oracle: Oracle) -> Iterator[tuple[str, Fix, list[str]]]:
    """Each safe fix of a program with what it changes."""
    fixes = list(safe_fixes(text))
    before = left(text, oracle) if fixes else None
    for code, fix in fixes if before is not None else ():
        assert before is not None
        after = left(apply_edits(text, fix.edits), oracle)
        yield code, fix, differences(before, after) if after is not None else ["it raises"]


def main(arguments: Sequence[str]) -> None:
    """Prints the safe fixes that change something, and how many do not."""
    same = other = 0
    with Oracle() as oracle:
        for name, text in programs(arguments).items():
            for code, fix, changes in compare(text, oracle):
                same, other = same + (not changes), other + bool(changes)
                if changes:
                    print(f"{name}: {code} {fix.title}: {'; '.join(changes[:3])}")
    print(f"{same} safe fixes change nothing, {other} do")


if __name__ == "__main__":
    main(sys.argv[1:])
