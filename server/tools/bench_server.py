"""Measures how long a person who types waits for diagnostics, beside ruff's and pyright's servers, in one run.

usage: python server/tools/bench_server.py [--pause MS] [--rounds N] [--ruff COMMAND] [--pyright COMMAND]

The servers are driven over standard input and output. Into a training script of 300 lines and a file of 5,000, lines
are typed key by key, and each key's time is measured from `textDocument/didChange` to the diagnostics of that version.
Those of GradSense hold what one path of the edited function shows where that is quick, and else what was found before,
moved; so a second measure counts from the last key of a fault to its squiggle, and to its going.

`--ruff` and `--pyright` name the commands of the others, such as `ruff server` and `pyright-langserver --stdio`; one
that cannot be started is left out.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from benching.clients import Client, megabytes
from benching.keys import FAULT, FAULT_AFTER, FAULT_CODE, keystrokes, long_file, script

GRADSENSE = [sys.executable, "-m", "gradsense", "server"]


@dataclass
class Measured:
    """What came of one server and one file, in milliseconds and megabytes."""

    start: list[float] = field(default_factory=list)
    start_on_processor: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    keys: list[float] = field(default_factory=list)
    shown: list[float] = field(default_factory=list)
    gone: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    unanswered: int = 0


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pause", type=float, default=120, metavar="MS", help="how long a person takes for a key")
    parser.add_argument("--rounds", type=int, default=2, help="sessions with each server")
    parser.add_argument("--keys", type=int, default=80, help="keys typed in each session")
    parser.add_argument("--ruff", default="ruff server", metavar="COMMAND")
    parser.add_argument("--pyright", default="pyright-langserver --stdio", metavar="COMMAND")
    options = parser.parse_args()
    servers = {"GradSense": GRADSENSE}
    for name, command in (("ruff", options.ruff), ("pyright", options.pyright)):
        parts = shlex.split(command)
        program = shutil.which(parts[0])
        if program is None:
            print(f"{name} is not measured: there is no {parts[0]} (see --{name})", file=sys.stderr)
        else:
            servers[name] = [str(Path(program).absolute()), *parts[1:]]
    for text in (script(), long_file(5_000)):
        found = {name: Measured() for name in servers}
        for _ in range(options.rounds):
            # They take turns, so that a busy machine is busy for all.
            for name, command in servers.items():
                session(found[name], command, text, options.pause / 1000, options.keys)
        print(f"\n### {text.count(chr(10)):,} lines\n")
        print(table(found))


def session(measured: Measured, command: Sequence[str], text: str, pause: float, most: int) -> None:
    """One session: start, open, type, make a fault and mend it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder).resolve() / "train.py"
        path.write_text(text, encoding="utf-8")
        client = Client(command, path.parent)
        measured.start.append(client.start * 1000)
        if client.start_on_processor is not None:
            measured.start_on_processor.append(client.start_on_processor * 1000)
        try:
            uri = path.as_uri()
            opened = time.perf_counter()
            client.open(uri, text)
            first = client.wait()
            if first is not None:
                measured.first.append((first.at - opened) * 1000)
            client.calm(1.5)
            type_keys(measured, client, uri, text, pause, most)
            if command is GRADSENSE:
                make_fault(measured, client, path.with_name("fault.py").as_uri(), text)
            measured.memory = [max(pair) for pair in zip_longest(measured.memory, megabytes(client.pid))]
        finally:
            client.close()


def type_keys(measured: Measured, client: Client, uri: str, text: str, pause: float, most: int) -> None:
    """Types lines key by key."""
    keys = list(keystrokes(text))
    for key in keys[:most]:
        sent = client.change(uri, key.line, key.character, key.line, key.character, key.text)
        found = client.wait_for_newest(seconds=10)
        if found is None:
            measured.unanswered += 1
        else:
            measured.keys.append((found.at - sent) * 1000)
        client_waits = pause - (time.perf_counter() - sent)
        if client_waits > 0:
            time.sleep(client_waits)


def make_fault(measured: Measured, client: Client, uri: str, text: str) -> None:
    """Types a fault's last key, waits until it is shown, takes it back and waits until it is gone."""
    client.calm(2)
    # In the copy that the script at the end runs: in a class that a program with a training loop never makes, an
    # error that only a walk would raise is no fault of the program.
    line = text[: text.rindex(FAULT_AFTER) + len(FAULT_AFTER)].count("\n")
    client.open(uri, text)
    client.calm(2.5)
    for _ in range(4):
        sent = client.change(uri, line, 0, line, 0, FAULT)
        found = client.wait(lambda p: any(d.get("code") == FAULT_CODE for d in p.diagnostics), 30)
        if found is not None:
            measured.shown.append((found.at - sent) * 1000)
        client.calm(1)
        sent = client.change(uri, line, 0, line + 1, 0, "")
        found = client.wait(lambda p: not any(d.get("code") == FAULT_CODE for d in p.diagnostics), 30)
        if found is not None:
            measured.gone.append((found.at - sent) * 1000)
        client.calm(1)


def zip_longest(one: Sequence[float], other: Sequence[float]) -> list[tuple[float, float]]:
    """Pairs of two lists, with 0 where one is shorter."""
    length = max(len(one), len(other))
    return [(one[i] if i < len(one) else 0, other[i] if i < len(other) else 0) for i in range(length)]


def table(found: dict[str, Measured]) -> str:
    """The measures as markdown, with how many times GradSense's each of the others is."""
    rows: list[tuple[str, list[float | None]]] = [
        ("start to `initialize` answered, ms", [median(m.start) for m in found.values()]),
        ("of that on processors, all processes, ms", [median(m.start_on_processor) for m in found.values()]),
        ("open to first diagnostics, ms", [median(m.first) for m in found.values()]),
        ("key to diagnostics, p50, ms", [percentile(m.keys, 50) for m in found.values()]),
        ("key to diagnostics, p95, ms", [percentile(m.keys, 95) for m in found.values()]),
        ("keys without an answer", [float(m.unanswered) for m in found.values()]),
        ("a fault's last key to its squiggle, ms", [median(m.shown) for m in found.values()]),
        ("a fault mended to no squiggle, ms", [median(m.gone) for m in found.values()]),
        ("memory of all processes, MB", [sum(m.memory) or None for m in found.values()]),
        ("memory of the largest, MB", [max(m.memory, default=None) for m in found.values()]),
    ]
    names = list(found)
    lines = ["| | " + " | ".join([*names, *(f"÷ {name}" for name in names[1:])]) + " |"]
    lines.append("| --- " + "| ---: " * (2 * len(names) - 1) + "|")
    for title, values in rows:
        ours = values[0]
        ratios = [f"{ours / other:.2f}" if ours and other else "" for other in values[1:]]
        cells = [f"{value:,.1f}" if value is not None else "" for value in values]
        lines.append(f"| {title} | " + " | ".join([*cells, *ratios]) + " |")
    return "\n".join(lines)


def median(values: Sequence[float]) -> float | None:
    """The median, if there is any value."""
    return statistics.median(values) if values else None


def percentile(values: Sequence[float], which: int) -> float | None:
    """The value that so many percent of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * which // 100)] if ordered else None


if __name__ == "__main__":
    main()
