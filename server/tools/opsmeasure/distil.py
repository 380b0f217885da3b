"""Turns many measured calls of an op into few rows: a decision list over the arguments.

A row without condition stands for every call. Where calls differ in what they save, the argument whose test (is it a
tensor, None, this literal) parts them best becomes a condition; what no test parts is marked as saved in some calls
only. Our own samples are the usual calls, so they decide alone where there are any; a name that only op_db's corner
cases (empty dimensions, odd broadcasts) save is marked as saved in some calls.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from opsmeasure.instrument import Measured, Shape
from opsmeasure.observe import Observation

_ELEMENT = re.compile(r"(\w+)\[(\w+)(?::\d+)?\]")
_DEPTH = 4
_NUMBERS: dict[str, tuple[float, ...]] = {
    "p": (0, 1, 2),
    "ord": (0, 1, 2),
    "n": (0, 1, 2),
    "exponent": (0, 1, 2),
    "beta": (0, 1),
    "alpha": (0, 1),
    "label_smoothing": (0,),
    "dropout_p": (0,),
    "dropout": (0,),
    "margin": (0,),
    "num_layers": (1,),
    "output_size": (1,),
}
"""The numbers that change a formula, so that a condition may ask for them."""
_NEVER_ASKED = ("equation", "norm", "keepdim", "generator", "eps")
"""Arguments that part samples by chance only."""


def element_of(wrt: str, name: str) -> str:
    """``operands[1]`` in the books of ``operands[0]`` becomes ``operands[]``, in its own books ``operands[=]``."""
    found = _ELEMENT.fullmatch(name)
    if not found:
        return name
    owner, element = found.groups()
    if not element.isdigit():
        return f"{owner}[{element}]"
    return f"{owner}[=]" if wrt == name else f"{owner}[]"


class _Tally:
    """What observations say about one argument's need for grad."""

    def __init__(self) -> None:
        self.items: list[tuple[Measured, set[str], bool]] = []

    def text(self) -> str:
        """The encoded books."""
        usual = [item for item in self.items if item[2]] or self.items
        saved, possible = _count(usual)
        corner, anywhere = _count(self.items)
        tokens = []
        for name in sorted(anywhere):
            counts = (saved[name], possible[name]) if possible[name] else (corner[name], anywhere[name])
            if counts[0] == counts[1]:
                tokens.append(name)
            elif corner[name]:
                tokens.append(f"?{name}")
        tokens += _mark("$", [item.private for item, *_ in usual], [item.private for item, *_ in self.items])
        told = [item.raises for item, *_ in usual if item.raises is not None]
        ever = [item.raises for item, *_ in self.items if item.raises is not None]
        tokens += _mark("!", told or ever or [bool(tokens)], ever)
        if all(item.unsupported for item, *_ in usual):
            tokens = ["#"]
        return " ".join(tokens)


def _count(items: Iterable[tuple[Measured, set[str], bool]]) -> tuple[Counter[str], Counter[str]]:
    saved: Counter[str] = Counter()
    possible: Counter[str] = Counter()
    for measured, names, _ in items:
        for name in names:
            plain = element_of(measured.wrt, name)
            possible[plain] += 1
            saved[plain] += name in measured.saved
    return saved, possible


def _mark(sign: str, usual: list[bool], ever: list[bool]) -> list[str]:
    if all(usual):
        return [sign]
    return [f"?{sign}"] if any(ever) else []


def _tally(observations: Iterable[Observation], inplace: bool) -> dict[str, str]:
    tallies: dict[str, _Tally] = {}
    for seen in observations:
        for item in (seen.inplace if inplace else seen.measured) or ():
            if not item.refused:
                results = {"out0"} if inplace else {f"out{place}" for place in range(len(item.differentiable))}
                names = seen.present | results
                tallies.setdefault(element_of("", item.wrt), _Tally()).items.append((item, names, seen.ours))
    return {name: text for name, tally in sorted(tallies.items()) if (text := tally.text()) is not None}


def _commonest(values: Iterable[Any]) -> Any:
    return Counter(values).most_common(1)[0][0]


def _view(shapes: list[Shape]) -> str:
    views = {shape.view for shape in shapes}
    owners = [element_of("", shape.view_of) for shape in shapes if shape.view_of]
    if not owners:
        return "none"
    mixed = "multi" if views == {"multi", "view"} else "maybe"
    view = views.pop() if len(views) == 1 else mixed
    owner = _commonest(owners)
    return view if owner == "input" else f"{view}:{owner}"


def _outputs(shapes: list[Shape]) -> int:
    if all(shape.result == "value" for shape in shapes):
        return 0
    counts = {shape.outputs for shape in shapes if not shape.is_tuple or shape.outputs > 1}
    return counts.pop() if len(counts) == 1 else 0


def row_of(observations: list[Observation]) -> dict[str, Any]:
    """The row of observations that count as alike, encoded as ``ops.json`` has it."""
    row: dict[str, Any] = {}
    shapes = [seen.shape for seen in observations if seen.shape is not None]
    if shapes:
        row.update(_shape_fields(observations, shapes))
    books = _tally(observations, False)
    if books or not shapes:
        row["g"] = books
    if any(seen.inplace is not None for seen in observations):
        row["i"] = _tally(observations, True)
    return row


def _shape_fields(observations: list[Observation], shapes: list[Shape]) -> dict[str, Any]:
    outputs = _outputs(shapes)
    flags: dict[int, bool] = {}
    for seen in observations:
        for item in seen.measured:
            for place, flag in enumerate(item.differentiable):
                flags[place] = flags.get(place, False) or flag
    writes = sorted({element_of("", name) for shape in shapes for name in shape.writes})
    refused = sorted({element_of("", item.wrt) for seen in observations for item in seen.measured if item.refused})
    fields: dict[str, Any] = {
        "v": _view(shapes),
        "n": outputs,
        "d": "".join("1" if flags.get(place) else "0" for place in range(outputs or 1)) if flags else "1",
        "r": _commonest(shape.result for shape in shapes),
        "w": " ".join(writes),
        "x": " ".join(refused),
    }
    usual = {"v": "none", "n": 1, "d": "1", "r": "float", "w": "", "x": ""}
    return {name: value for name, value in fields.items() if value != usual[name]}


def _impurity(observations: list[Observation]) -> float:
    """How many facts of a row would hold in some of its calls only, weighted by their number."""
    row = row_of(observations)
    texts = [*row.get("g", {}).values(), *row.get("i", {}).values()]
    shapes = [seen.shape for seen in observations if seen.shape is not None]
    score = sum(token.startswith("?") for text in texts for token in text.split())
    score += 2 * (len({shape.view for shape in shapes}) > 1)
    score += 3 * (len({shape.is_tuple for shape in shapes}) > 1)
    score += 3 * (len({shape.outputs for shape in shapes if not shape.is_tuple}) > 1)
    score += 2 * (len({shape.result for shape in shapes}) > 1) + (len({shape.writes for shape in shapes}) > 1)
    score += 2 * (len({bool(seen.measured) for seen in observations if seen.shape is not None}) > 1)
    return float(score)


def _tests(observations: list[Observation]) -> list[tuple[str, Any]]:
    tests: list[tuple[str, Any]] = []
    for seen in observations:
        for name, fact in seen.facts.items():
            if name in _NEVER_ASKED:
                continue
            found = [fact[0]]
            if fact[0] == "value" and _may_ask(name, fact[1]):
                found.append([fact[1]])
            tests += [(name, test) for test in found if (name, test) not in tests]
    return tests


def _may_ask(name: str, value: Any) -> bool:
    if isinstance(value, (bool, str)):
        return True
    return isinstance(value, (int, float)) and value in _NUMBERS.get(name, ())


def satisfies(fact: tuple[Any, ...], test: Any) -> bool:
    """Whether an argument's fact meets a condition."""
    if isinstance(test, str):
        return bool(fact[0] == test)
    return fact[0] == "value" and any(
        fact[1] == item and isinstance(fact[1], bool) == isinstance(item, bool) for item in test
    )


def rows_of(observations: list[Observation], depth: int = _DEPTH) -> list[dict[str, Any]]:
    """The decision list of one signature's observations, its default last."""
    whole = [row_of(observations)]
    if observations[0].key in ("getitem", "setitem") and len({seen.facts["index"] for seen in observations}) > 1:
        return _by_index(observations, depth)
    now = _impurity(observations) * len(observations)
    if not now or not depth:
        return whole
    best: tuple[float, str, Any] | None = None
    for name, test in _tests(observations):
        inside, outside = _part(observations, name, test)
        if inside and outside:
            cost = _impurity(inside) * len(inside) + _impurity(outside) * len(outside) + 0.001 * len(inside)
            if best is None or cost < best[0]:
                best = (cost, name, test)
    if best is None or best[0] >= now:
        return whole
    _, name, test = best
    inside, outside = _part(observations, name, test)
    rows = [{**row, "when": {name: test, **row.get("when", {})}} for row in rows_of(inside, depth - 1)]
    rows += rows_of(outside, depth - 1)
    return whole if all(_body(row) == _body(rows[0]) for row in rows) else rows


def _by_index(observations: list[Observation], depth: int) -> list[dict[str, Any]]:
    """Indexing's own list: the classes of an index, those that are alike together; a lone tensor comes last."""
    groups: list[tuple[list[Any], list[dict[str, Any]]]] = []
    for fact in sorted({seen.facts["index"] for seen in observations}, key=lambda fact: (len(fact) == 1, fact)):
        rows = rows_of([seen for seen in observations if seen.facts["index"] == fact], depth)
        literal = fact[1] if len(fact) > 1 else None
        alike = next((group for group in groups if literal and group[1] == rows), None)
        if alike is not None:
            alike[0].append(literal)
        else:
            groups.append(([literal], rows))
    return [
        {**row, "when": {"index": literals if literals[0] else "tensor", **row.get("when", {})}}
        for literals, rows in groups
        for row in rows
    ]


def _body(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "when"}


def _part(observations: list[Observation], name: str, test: Any) -> tuple[list[Observation], list[Observation]]:
    inside: list[Observation] = []
    outside: list[Observation] = []
    for seen in observations:
        (inside if satisfies(seen.facts.get(name, ("none",)), test) else outside).append(seen)
    return inside, outside
