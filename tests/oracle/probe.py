"""Counts the live nodes of the autograd graph at the end of each pass of each loop."""

from __future__ import annotations

import ast
import gc
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import torch

ACCUMULATE = 2**64 - 1  # the sequence number of every leaf's AccumulateGrad node: those belong to leaves, not to a step
FORWARD_METHODS = frozenset({"forward", "__call__", "setup_context", "backward"})
PASSES, ENTER, TICK = "__oracle_passes__", "__oracle_enter__", "__oracle_tick__"


@dataclass
class LoopSite:
    """A loop of the program."""

    file: str
    line: int
    in_forward: bool


@dataclass
class LoopRun:
    """One run of a loop: what was alive at the end of each pass, and how many walks there had been by then."""

    site: LoopSite
    alive: list[frozenset[int]] = field(default_factory=list)
    walks: list[int] = field(default_factory=list)


class Instrument(ast.NodeTransformer):
    """Wraps what each `for` iterates and the condition of each `while`, so that the probe sees the end of each pass."""

    def __init__(self, probe: Probe, file: str) -> None:
        self.probe, self.file = probe, file
        self.functions: list[str] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.functions.append(node.name)
        self.generic_visit(node)
        self.functions.pop()
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        site = self._site(node)
        self.generic_visit(node)
        node.iter = self._call(PASSES, node.iter, site, node.iter)
        return node

    def visit_While(self, node: ast.While) -> list[ast.AST]:
        site = self._site(node)
        self.generic_visit(node)
        tick = self._call(TICK, node.test, site)
        pair = ast.copy_location(ast.Tuple([tick, node.test], ast.Load()), node.test)
        node.test = ast.copy_location(ast.Subscript(pair, ast.Constant(1), ast.Load()), node.test)
        enter = ast.copy_location(ast.Expr(self._call(ENTER, node, site)), node)
        return [enter, node]

    def _site(self, node: ast.For | ast.While) -> int:
        inside = bool(self.functions) and self.functions[-1] in FORWARD_METHODS
        self.probe.sites.append(LoopSite(self.file, node.lineno, inside))
        return len(self.probe.sites) - 1

    def _call(self, name: str, at: ast.expr | ast.stmt, site: int, *arguments: ast.expr) -> ast.Call:
        call = ast.Call(ast.Name(name, ast.Load()), [ast.Constant(site), *arguments], [])
        return ast.copy_location(call, at)


class Probe:
    """Collects loop runs and walks while the program runs."""

    def __init__(self) -> None:
        self.sites: list[LoopSite] = []
        self.runs: list[LoopRun] = []
        self.walked: list[frozenset[int]] = []
        self._current: dict[tuple[int, int], LoopRun] = {}  # by loop and frame: functions recurse

    def compile(self, text: str | bytes, path: str, file: str) -> Any:
        """Compiles a program with the probe's calls in it."""
        tree = Instrument(self, file).visit(ast.parse(text, path))
        return compile(ast.fix_missing_locations(tree), path, "exec")

    def names(self) -> dict[str, Any]:
        """What the instrumented code calls."""
        return {PASSES: self.passes, ENTER: self.enter, TICK: self.tick}

    def passes(self, site: int, items: Iterable[Any]) -> Iterator[Any]:
        run = self._begin(site)
        for item in items:
            yield item
            self._record(run)

    def enter(self, site: int) -> None:
        run = self._current[site, id(sys._getframe(1))] = self._begin(site)
        run.walks.append(-1)  # the first test of the condition ends no pass

    def tick(self, site: int) -> None:
        run = self._current[site, id(sys._getframe(1))]
        if run.walks == [-1]:
            run.walks.clear()
        else:
            self._record(run)

    def watch_walks(self) -> None:
        """Notes the nodes of every walk from now on, however it is spelt: all spellings end in this function."""
        autograd: Any = torch.autograd
        engine = autograd._engine_run_backward

        def watched(outputs: Any, *rest: Any, **named: Any) -> Any:
            edges = (getattr(out, "grad_fn", None) or getattr(out, "node", None) for out in outputs)
            self.walked.append(_reachable([node for node in edges if node is not None]))
            return engine(outputs, *rest, **named)

        autograd._engine_run_backward = watched

    def report(self) -> list[dict[str, Any]]:
        """The runs of three passes or more, as `LoopGrowth` has them."""
        return [_judge(run, self.walked) for run in self.runs if len(run.alive) >= 3]

    def _begin(self, site: int) -> LoopRun:
        run = LoopRun(self.sites[site])
        self.runs.append(run)
        return run

    def _record(self, run: LoopRun) -> None:
        gc.collect()
        run.alive.append(_live_nodes())
        run.walks.append(len(self.walked))


def _judge(run: LoopRun, walked: list[frozenset[int]]) -> dict[str, Any]:
    """Whether this run of a loop keeps more nodes each pass.

    What is walked after the loop was built for that walk and is left out. A loop of a `forward` without a walk in it
    builds one pass of a network.
    """
    later = frozenset().union(*walked[run.walks[-1] :])
    counts = [len(alive - later) for alive in run.alive]
    passes_with_walk = sum(b > a for a, b in pairwise(run.walks))
    rising = all(b > a for a, b in pairwise(counts))
    grows = rising and (passes_with_walk > 0 or not run.site.in_forward)
    return {
        "file": run.site.file,
        "line": run.site.line,
        "counts": counts,
        "walks": passes_with_walk,
        "in_forward": run.site.in_forward,
        "grows": grows,
    }


def _live_nodes() -> frozenset[int]:
    """Nodes that live tensors hold, by sequence number; also through `.grad`, which a walk with create_graph fills."""
    roots = []
    for item in gc.get_objects():
        if issubclass(type(item), torch.Tensor):
            try:
                tensors = (item, item.grad) if item.is_leaf else (item,)
                roots += [tensor.grad_fn for tensor in tensors if tensor is not None]
            except (RuntimeError, AttributeError, ReferenceError):
                continue
    return _reachable([root for root in roots if root is not None])


def _reachable(stack: list[Any]) -> frozenset[int]:
    seen: dict[int, Any] = {}
    leaves: set[Any] = set()
    while stack:
        node = stack.pop()
        number = node._sequence_nr()
        # A node that only raises, as `once_differentiable` makes, has that number as well.
        if number == ACCUMULATE and hasattr(node, "variable"):
            held = None if node in leaves else getattr(node.variable, "grad", None)
            leaves.add(node)
            if held is not None and held.grad_fn is not None:
                stack.append(held.grad_fn)
        elif number not in seen:
            seen[number] = node
            stack += [parent for parent, _ in node.next_functions if parent is not None]
    return frozenset(seen)
