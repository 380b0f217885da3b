"""A report in words, short enough for a line: what the command line, hovers and inlay texts share."""

from __future__ import annotations

from collections.abc import Sequence

from gradsense.run.report import Holder, Pass, Report

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_BARS = "▁▂▃▄▅▆▇█"
_SHOWN = 6


def size(count: int) -> str:
    """A number of bytes as people read it."""
    value = float(count)
    for unit in _UNITS:
        if value < 1024 or unit == _UNITS[-1]:
            break
        value /= 1024
    return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"


def seconds(value: float) -> str:
    """A time as people read it."""
    if value >= 1:
        return f"{value:.1f} s"
    return f"{value * 1e3:.1f} ms" if value >= 1e-3 else f"{value * 1e6:.0f} µs"


def plot(values: Sequence[int | None]) -> str:
    """A bar for each value, from the smallest to the largest; a blank where there is none."""
    known = [value for value in values if value is not None]
    low, high = min(known, default=0), max(known, default=0)

    def bar(value: int | None) -> str:
        if value is None:
            return " "
        return _BARS[0 if high == low else round((value - low) / (high - low) * (len(_BARS) - 1))]

    return "".join(map(bar, values))


def listed(values: Sequence[object]) -> str:
    """The first values of a list."""
    shown = ", ".join(map(str, values[:_SHOWN]))
    return shown if len(values) <= _SHOWN else f"{shown}, …"


def headline(report: Report) -> str:
    """What became of the step, in a sentence."""
    if report.outcome == "grows":
        return growth(report)
    if report.outcome == "clean":
        count = len(report.passes)
        text = f"ran clean, {count} {'pass' if count == 1 else 'passes'}" if count else "ran clean"
        return f"{text}; but {silent(report)}" if report.silent else text
    if report.error is None:
        return {"nan": "a gradient is not a number", "timeout": "the time was over"}.get(report.outcome, report.outcome)
    if report.outcome in ("raises", "nan"):
        return f"{report.error.type}: {report.error.message}"
    return report.error.message


def silent(report: Report) -> str:
    """How many gradients are wrong without an error."""
    count = len(report.silent)
    return f"{count} gradient{'' if count == 1 else 's'} came out wrong, and torch does not notice"


def growth(report: Report) -> str:
    """That the graph grows, by how much, and who holds it."""
    nodes = [row.nodes for row in _grown(report.passes) if row.nodes is not None]
    how = f": {listed(nodes)} autograd nodes are alive after the passes" if nodes else ""
    return f"the graph grows from pass to pass{how}{held(report.holders)}"


def held(holders: Sequence[Holder]) -> str:
    """Who holds the graph, for the end of a sentence."""
    if not holders:
        return ""
    return f", held by {listed([f'`{holder.name}`' for holder in holders])}"


def verdict(report: Report) -> str:
    """How memory went, in a sentence."""
    return {
        "steady": "steady: each pass leaves as much as the one before",
        "grows": "grows: each pass leaves more than the one before",
        "fragmentation": "fragmentation: reserved memory grows, allocated memory does not",
        "varying": "varying: passes differ in size and give back what they took",
    }.get(report.verdict, "")


def _grown(passes: Sequence[Pass]) -> Sequence[Pass]:
    """The passes of the loop that grew most."""
    loops: dict[int, list[Pass]] = {}
    for row in passes:
        loops.setdefault(row.line, []).append(row)

    def growth_of(rows: list[Pass]) -> int:
        nodes = [row.nodes for row in rows if row.nodes is not None]
        return nodes[-1] - nodes[0] if nodes else -1

    return max(loops.values(), key=growth_of, default=[])
