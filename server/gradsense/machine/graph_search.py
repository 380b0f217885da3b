"""Searching the graph from roots down to the leaves."""

from __future__ import annotations

from collections.abc import Container, Iterable

from gradsense.machine.graph import Node


def reachable(roots: Iterable[Node | None]) -> dict[Node, None]:
    """All nodes from the roots down, the roots included."""
    seen: dict[Node, None] = {}
    todo = [r for r in roots if r is not None]
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen[node] = None
        todo.extend(node.parents)
    return seen


def reachable_without(roots: Iterable[Node | None], ops: Container[str]) -> dict[Node, None]:
    """The nodes from the roots down that are reached without going through certain ops."""
    seen: dict[Node, None] = {}
    todo = [r for r in roots if r is not None]
    while todo:
        node = todo.pop()
        if node in seen or node.op in ops:
            continue
        seen[node] = None
        todo.extend(node.parents)
    return seen


def reachable_surely(roots: Iterable[Node | None]) -> set[Node]:
    """The nodes that a walk reaches through nodes whose facts are all known."""
    seen: set[Node] = set()
    todo = [r for r in roots if r is not None and r.sure]
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        todo.extend(p for p in node.parents if p.sure)
    return seen
