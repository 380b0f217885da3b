"""The life of a graph as a picture: it is built, walked, freed, and cannot be walked again.

Drawn as SVG with styles for light and dark backgrounds. What it says of torch stands in `NODES`, and is tested.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import pairwise

# The program of the picture, and the nodes of its graph from the leaf up: the op, and what it saves.
PROGRAM = ("h = torch.tanh(x @ w)", "loss = (h ** 2).sum()", "loss.backward()", "loss.backward()")
NODES = (("mm", "x"), ("tanh", "h"), ("pow", "h"), ("sum", None))

WIDTH, HEIGHT = 1040, 640
PANEL, GAP, TOP = 245, 12, 118
BOX, TALL, STEP = 96, 36, 74
STYLE = """
  .back { fill: #ffffff } .panel { fill: #f6f8fa; stroke: #d0d7de }
  text { font: 14px ui-sans-serif, system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
  .code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 13px }
  .title { font-weight: 600; font-size: 15px } .small { font-size: 12px; fill: #59636e }
  .middle { text-anchor: middle }
  .node { fill: #ddf4ff; stroke: #0969da; stroke-width: 1.5 }
  .leaf { fill: #dafbe1; stroke: #1a7f37; stroke-width: 1.5 }
  .value { fill: #ffffff; stroke: #8c959f; stroke-width: 1.5 }
  .saved { fill: #fff8c5; stroke: #9a6700; stroke-width: 1.5 }
  .freed { fill: none; stroke: #8c959f; stroke-width: 1.5; stroke-dasharray: 4 3 }
  .failed { fill: #ffebe9; stroke: #cf222e; stroke-width: 2.5 }
  .edge { stroke: #8c959f; stroke-width: 1.6; fill: none } .walk { stroke: #8250df; stroke-width: 2.6; fill: none }
  .hold { stroke: #9a6700; stroke-width: 1.2; fill: none } .none { stroke: #8c959f; stroke-dasharray: 3 3; fill: none }
  .head { fill: #8c959f } .walk-head { fill: #8250df } .bad { fill: #cf222e } .good { fill: #1a7f37 }
  @media (prefers-color-scheme: dark) {
    .back { fill: #0d1117 } .panel { fill: #151b23; stroke: #3d444d }
    text { fill: #f0f6fc } .small { fill: #9198a1 }
    .node { fill: #0c2d6b; stroke: #4493f8 } .leaf { fill: #033a16; stroke: #3fb950 }
    .value { fill: #0d1117; stroke: #9198a1 } .saved { fill: #3d2b00; stroke: #d29922 }
    .failed { fill: #490202; stroke: #f85149 } .edge, .none, .freed { stroke: #656c76 } .hold { stroke: #d29922 }
    .walk { stroke: #ab7df8 } .head { fill: #656c76 } .walk-head { fill: #ab7df8 } .bad { fill: #f85149 }
    .good { fill: #3fb950 }
  }
"""


@dataclass(frozen=True)
class Panel:
    """One moment of the graph's life.

    Args:
        title: what happens.
        says: what there is to know, in lines below the graph.
        walked: how many nodes, from the loss down, a walk comes to; 0 for the forward.
        saved: whether the nodes still have what they saved.
        fails: the node at which the walk ends, from the loss down.
    """

    title: str
    says: tuple[str, ...]
    walked: int = 0
    saved: bool = True
    fails: int | None = None


PANELS = (
    Panel(
        "1  The forward builds",
        ("Each op leaves a node, and saves", "the tensors its gradient needs, with", "the version that they have."),
    ),
    Panel(
        "2  backward() walks",
        (
            "From the loss to the leaf. What was",
            "saved is checked against its version,",
            "used, and adds up in w.grad.",
        ),
        walked=4,
    ),
    Panel(
        "3  … and frees",
        ("Each node lets go of what it saved.", "The nodes stay for as long as", "something holds the loss."),
        saved=False,
    ),
    Panel(
        "4  A second walk fails",
        ("sum saved nothing and lets it pass.", "pow needs h, which is gone: “Trying", "to backward … a second time”."),
        walked=2,
        saved=False,
        fails=1,
    ),
)


def svg() -> str:
    """The whole picture."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
        ' role="img" aria-labelledby="title description">',
        '<title id="title">The life of a graph</title>',
        f'<desc id="description">{escape(" ".join(_told()))}</desc>',
        f"<style>{STYLE}</style>",
        *(_marker(name, kind) for name, kind in (("arrow", "head"), ("step", "walk-head"))),
        f'<rect class="back" width="{WIDTH}" height="{HEIGHT}" rx="10"/>',
        _text(24, 34, "The life of a graph", "title"),
        *(_text(24, 60 + 20 * i, line, "code") for i, line in enumerate(PROGRAM[:2])),
        *(_text(300, 60 + 20 * i, line, "code") for i, line in enumerate(PROGRAM[2:])),
    ]
    for index, panel in enumerate(PANELS):
        parts += _panel(12 + index * (PANEL + GAP), panel)
    return "\n".join([*parts, "</svg>", ""])


def _told() -> Iterator[str]:
    for panel in PANELS:
        yield f"{panel.title.strip()}: {' '.join(panel.says)}"


def _panel(left: int, panel: Panel) -> Iterator[str]:
    middle = left + 76
    yield f'<rect class="panel" x="{left}" y="{TOP - 18}" width="{PANEL}" height="{HEIGHT - TOP + 6}" rx="8"/>'
    yield _text(left + 14, TOP + 6, panel.title, "title")
    for i, line in enumerate(panel.says):
        yield _text(left + 14, HEIGHT - 62 + 18 * i, line, "small")
    rows = [TOP + 26 + STEP * i for i in range(len(NODES) + 2)]
    yield from _edges(middle, rows, panel)
    yield _box(middle, rows[0], "value", "loss")
    for depth, (op, saved) in enumerate(reversed(NODES)):
        y = rows[depth + 1]
        yield _box(middle, y, "failed" if panel.fails == depth else "node", op)
        yield from _buffer(middle, y, saved, panel, depth)
    yield _box(middle, rows[-1] - 8, "leaf", "w")
    yield from _leaf(middle, rows[-1] - 8, panel)


def _edges(x: int, rows: list[int], panel: Panel) -> Iterator[str]:
    for depth, (above, below) in enumerate(pairwise(rows)):
        end = below - 8 if below == rows[-1] else below
        if depth < panel.walked or (panel.walked == len(NODES) and depth == len(NODES)):
            yield _line(x, above + TALL, x, end - 3, "walk", "step")
        else:
            forward = panel.walked == 0 and panel.saved
            start, stop = (end, above + TALL + 3) if forward else (above + TALL, end)
            yield _line(x, start, x, stop, "edge", "arrow" if forward else None)


def _buffer(x: int, y: int, saved: str | None, panel: Panel, depth: int) -> Iterator[str]:
    left, middle = x + BOX // 2, y + TALL // 2
    if saved is None:
        yield _text(left + 14, middle + 4, "saves nothing", "small")
        return
    yield _line(left, middle, left + 26, middle, "hold" if panel.saved else "none", None)
    kind = "saved" if panel.saved else "freed"
    yield f'<rect class="{kind}" x="{left + 26}" y="{y + 5}" width="34" height="26" rx="4"/>'
    if panel.saved:
        yield _text(left + 43, middle + 4, saved, "code middle")
        if depth < panel.walked:
            yield _text(left + 68, middle + 4, "v0 ✓", "small good")
    elif panel.fails == depth:
        yield _text(left + 43, middle + 6, "✗", "middle bad")


def _leaf(x: int, y: int, panel: Panel) -> Iterator[str]:
    left = x + BOX // 2
    if panel.walked == 0 and panel.saved:
        yield _text(left + 14, y + 23, "a leaf", "small")
    elif panel.fails is None:
        yield _text(left + 14, y + 23, "w.grad", "code")
    else:
        yield _text(left + 14, y + 23, "never reached", "small")


def _marker(name: str, kind: str) -> str:
    return (
        f'<defs><marker id="{name}" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" orient="auto"'
        f' markerUnits="userSpaceOnUse"><path class="{kind}" d="M0 0 L8 4 L0 8 z"/></marker></defs>'
    )


def _box(x: int, y: int, kind: str, text: str) -> str:
    round_by = TALL // 2 if kind == "leaf" else 6
    shape = f'<rect class="{kind}" x="{x - BOX // 2}" y="{y}" width="{BOX}" height="{TALL}" rx="{round_by}"/>'
    return shape + _text(x, y + 23, text, "code middle")


def _line(x1: int, y1: int, x2: int, y2: int, kind: str, marker: str | None) -> str:
    end = f' marker-end="url(#{marker})"' if marker else ""
    return f'<path class="{kind}" d="M{x1} {y1} L{x2} {y2}"{end}/>'


def _text(x: int, y: int, text: str, kind: str) -> str:
    return f'<text x="{x}" y="{y}" class="{kind}">{escape(text)}</text>'
