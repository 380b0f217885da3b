"""Names for things, as the person wrote them."""

from __future__ import annotations

import ast
import re
from contextlib import suppress

from gradsense.machine.events import GraphGrows
from gradsense.machine.graph import Node, Store, Tensor
from gradsense.machine.place import Place

_LINE_NUMBER = re.compile(r"\bline ([0-9]+)\b")

# Ops whose name in the books is not what a person calls them.
SPOKEN = {"select": "indexing", "slice": "a slice", "normalise": "the distribution", "view": "a view", "t": "`.t()`"}


def quoted(text: str, most: int = 40) -> str:
    """Source text on one line without its comments, in backticks, cut where it is long."""
    if "#" in text and "\n" in text:
        with suppress(SyntaxError):
            text = ast.unparse(ast.parse(f"({text}\n)", mode="eval"))
    flat = " ".join(text.split())
    return f"`{flat[: most - 1]}…`" if len(flat) > most else f"`{flat}`"


def tensor_name(tensor: Tensor | None, fallback: str = "this tensor") -> str:
    """The variable or attribute that holds the tensor, in backticks."""
    if tensor is None:
        return fallback
    names = [s.name for s in tensor.stores if s.name and s.name != "_"]
    if names:
        return f"`{names[-1].lstrip('.')}`"
    base = tensor.base
    if base is not None:
        return tensor_name(base, fallback)
    return fallback


def op_name(node: Node) -> str:
    """The op of a node, in backticks."""
    if node.op in SPOKEN:
        return SPOKEN[node.op]
    return f"`{node.op}`"


def line_of(place: Place, seen_from: Place) -> str:
    """`line 12`, `utils.py line 12` for another file, `cell 4 line 2` for another cell of a notebook."""
    line = f"line {place.line}"
    cell = place.source.cell_at(place.line)
    if cell is not None:
        # People count cells from one.
        line = f"line {cell[1]}"
        here = seen_from.source.cell_at(seen_from.line) if seen_from.path == place.path else None
        if here is None or here[0] != cell[0]:
            line = f"cell {cell[0] + 1} {line}"
    if place.path == seen_from.path:
        return line
    return f"{place.path.replace(chr(92), '/').rpartition('/')[2]} {line}"


def in_cell_lines(title: str, seen_from: Place) -> str:
    """The title of a fix with lines of the program as lines of its cells, in a notebook."""
    source = seen_from.source
    if not source.cells:
        return title
    here = source.cell_at(seen_from.line)

    def spoken(found: re.Match[str]) -> str:
        cell = source.cell_at(int(found[1]))
        if cell is None:
            return found[0]
        return f"line {cell[1]}" if here is None or cell[0] == here[0] else f"line {cell[1]} of cell {cell[0] + 1}"

    return _LINE_NUMBER.sub(spoken, title)


def store_name(store: Store) -> str:
    """The variable, attribute or container of a store, in backticks."""
    if store.name:
        return f"`{store.name}`"
    node, source = store.place.node, store.place.source
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return quoted(source.slice(source.span_of(node.func.value)))
    return "the container"


def growth_of(event: GraphGrows) -> str:
    """How much a slot keeps: `3 nodes more each pass of the loop on line 7, with the activations they saved`."""
    nodes = "1 graph node" if event.nodes_per_pass == 1 else f"{event.nodes_per_pass} graph nodes"
    what = f"{nodes} more each time the loop on {line_of(event.where, event.culprit)} goes round"
    return what if event.walked else f"{what}, with the activations that they saved"
