"""Storing a number where a tensor was stored."""

from __future__ import annotations

import ast

import pytest
from marked import Marked, on_expressions

from gradsense.fixes.detach import detach
from gradsense.fixes.scalarise import is_running_total, scalarise, stored_parts


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("total += «loss»  # sum\n", "total += loss.item()  # sum\n"),
        ("total = total + «loss»\n", "total = total + loss.item()\n"),
        ("d['loss'] += «loss»\n", "d['loss'] += loss.item()\n"),
        ("self.total += «a * loss»\n", "self.total += (a * loss).item()\n"),
        ("self.total += («a * loss»)\n", "self.total += (a * loss).item()\n"),
        ("losses.append(«loss»)\n", "losses.append(loss.item())\n"),
        ("losses.append((epoch, «loss»))\n", "losses.append((epoch, loss.item()))\n"),
        ("total += «loss.detach()»\n", "total += loss.item()\n"),
        ("total += «loss.detach().cpu()»\n", "total += loss.item()\n"),
        ("total += «loss.data»\n", "total += loss.item()\n"),
        ("total += «(a - b).detach()»\n", "total += (a - b).item()\n"),
        ("total += «loss.mean()»\n", "total += loss.mean().item()\n"),
        ("total += «loss * x.size(0)»\n", "total += loss.item() * x.size(0)\n"),
        ("total += «len(x) * loss»\n", "total += len(x) * loss.item()\n"),
        ("total += «loss / 4»\n", "total += loss.item() / 4\n"),
        ("total += «0.5 * (a + b)»\n", "total += 0.5 * (a + b).item()\n"),
        ("total += «-loss»\n", "total += -loss.item()\n"),
        ("total += «loss if ok else 0.0»\n", "total += loss.item() if ok else 0.0\n"),
        ("total += «sum(losses)»\n", "total += sum(losses).item()\n"),
        ("total += «loss.item()»\n", None),
        ("total += «float(loss)»\n", None),
        ("total += «1»\n", None),
        ("total += «x.size(0)»\n", None),
        ("total += «[loss]»\n", None),
        ("ema = 0.9 * ema + «0.1 * loss»\n", "ema = 0.9 * ema + 0.1 * loss.item()\n"),
        ("for x in y: total += «loss»\n", "for x in y: total += loss.item()\n"),
        ("log(f'{«loss»}')\n", "log(f'{loss.item()}')\n"),
        ("t += «f(\n    a,  # first\n    b,\n)»\n", "t += f(\n    a,  # first\n    b,\n).item()\n"),
        ("t['é🔥'] += «loss»\r\n", "t['é🔥'] += loss.item()\r\n"),
    ],
)
def test_scalarise(before: str, after: str | None) -> None:
    assert on_expressions(before, scalarise) == after


def test_numbers_among_several_values_stay() -> None:
    assert on_expressions("a, b = «loss», «x.size(0)»\n", scalarise) == "a, b = loss.item(), x.size(0)\n"


@pytest.mark.parametrize(
    ("statement", "parts"),
    [
        ("total += loss", ["loss"]),
        ("total = total + loss", ["loss"]),
        ("total = loss + total", ["loss"]),
        ("total = total + a + 2 * b", ["a", "2 * b"]),
        ("ema = 0.9 * ema + 0.1 * loss", ["0.1 * loss"]),
        ("self.t = self.t + loss", ["loss"]),
        ("d['k'] = d['k'] - loss", ["loss"]),
        ("log['loss'] = a + b", ["a + b"]),
        ("h = f(h)", ["f(h)"]),
        ("self.loss: Tensor = loss", ["loss"]),
        ("losses.append(loss)", ["loss"]),
        ("losses.insert(0, loss)", ["loss"]),
        ("meter.update(loss, n)", ["loss"]),
        ("log(loss)", []),
        ("model.eval()", []),
        ("return loss", []),
        ("x: int", []),
    ],
)
def test_stored_parts(statement: str, parts: list[str]) -> None:
    tree = ast.parse(f"def f():\n    {statement}\n")
    inner = tree.body[0].body[0]
    assert [ast.unparse(part) for part in stored_parts(inner)] == parts


@pytest.mark.parametrize(
    ("statement", "answer"),
    [
        ("t += x", True),
        ("t -= x", True),
        ("t *= x", False),
        ("t = t + x", True),
        ("t = x + t", True),
        ("t = 0.9 * t + x", False),
        ("t = x", False),
        ("a = b = a + x", False),
        ("f(x)", False),
    ],
)
def test_running_totals(statement: str, answer: bool) -> None:
    assert is_running_total(ast.parse(statement).body[0]) is answer


def test_the_stored_parts_can_be_detached_instead() -> None:
    program = Marked("total = total + a + 2 * b\n")
    edits = detach(program.source, program.tree, *stored_parts(program.tree.body[0]))
    assert program.after(edits) == "total = total + a.detach() + (2 * b).detach()\n"
