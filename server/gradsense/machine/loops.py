"""Running loops: a few passes of each, with what one pass leaves behind for the next."""

from __future__ import annotations

import ast
from typing import Any

from gradsense.machine.drawing import drawn_by
from gradsense.machine.events import UselessMutation
from gradsense.machine.expressions import Expressions
from gradsense.machine.graph import Tensor
from gradsense.machine.iteration import Stream
from gradsense.machine.passes import Tracker
from gradsense.machine.state import BreakSignal, ContinueSignal, ReturnSignal
from gradsense.machine.trees import nodes_of
from gradsense.machine.tri import NO, YES
from gradsense.machine.values import Enumerated, Instance, ListValue, Value


class Loops(Expressions):
    """Loops."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # A loop over a known handful of items: what grows in it may end with it.
        self.short_loop = False

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        self.trail.turns += 1
        self.drawn.update(id(part) for part in drawn_by(node.iter) if isinstance(part, ast.GeneratorExp))
        iterable = self.evaluate(node.iter)
        streamed = self.streamed(iterable, node.iter)
        if streamed is not None:
            self._for_generator(node, streamed)
            return
        items, exact = self.lazy_items(iterable, node.iter)
        core = iterable
        while isinstance(core, Enumerated):
            core = core.iterable
        short = self.short_loop
        self.short_loop = exact and isinstance(core, (tuple, ListValue, range)) and not _is_data(items)
        loop = self._new_loop()
        if not exact:
            self.endless.add(loop)
            self.shortened.add(loop)
        outer = self.epoch
        tracker = Tracker(self.machine, node, len(items))
        rebound = _rebound(node)
        alike, left = not exact or (isinstance(iterable, range) and len(iterable) > self.passes), False
        try:
            for number, item in enumerate(items):
                self.epoch = (*outer, (loop, number))
                self.node = node
                self.assign(node.target, self.force(item), None)
                if rebound is not None:
                    self._note_lost_update(rebound)
                try:
                    self.run_block(node.body)
                except ContinueSignal:
                    pass
                except BreakSignal:
                    left = True
                    if isinstance(core, ListValue):
                        # The rest of an iterator is still to be taken.
                        core.used_up = None
                    break
                self.epoch = (*outer, (loop, number))
                tracker.pass_done()
                if alike and tracker.is_steady and (not exact or tracker.walked):
                    self.shortened.add(loop)
                    break
            if not left:
                self.epoch = outer
                self.run_block(node.orelse)
        finally:
            self.epoch = outer
            self.endless.discard(loop)
            tracker.finish(all(isinstance(i, Instance) for i in items) and bool(items))
            self.short_loop = short

    def _note_lost_update(self, target: ast.Name) -> None:
        """`for p in params: p = p - lr * p.grad`: the variable gets the new value, and the parameter stays."""
        held = self.get_name(target.id)[1]
        if isinstance(held, Tensor) and held.leaf and (held.needs is YES or held.parameter) and not held.phantom:
            what = f"the loop's variable is set, and not the tensor that `{target.id}` was"
            self.report(UselessMutation(place=self.here(target), what=what))

    def _for_generator(self, node: ast.For | ast.AsyncFor, stream: Stream) -> None:
        """A loop over a generator, whose body runs between its yields."""
        loop = self._new_loop()
        outer = self.epoch
        if stream.length is None:
            self.endless.add(loop)
            self.shortened.add(loop)
        most = 2 * self.passes if stream.length is None else stream.length
        tracker = Tracker(self.machine, node, min(most, self.passes))
        count = 0
        left: list[BaseException] = []

        def consume(item: Value) -> None:
            nonlocal count
            inner = self.epoch
            # A pass of the generator's own loop is around a pass of this one.
            self.epoch = (*inner, (loop, count))
            self.node = node
            self.assign(node.target, stream.row(item, count), None)
            try:
                self.run_block(node.body)
            except ContinueSignal:
                pass
            except (BreakSignal, ReturnSignal) as signal:
                left.append(signal)
                raise
            finally:
                tracker.pass_done()
                count += 1
                self.epoch = inner
            if count >= most or tracker.is_steady:
                raise BreakSignal

        broke = False
        try:
            if most:
                self.drive_generator(stream.generator, consume)
        except BreakSignal:
            broke = bool(left)
        finally:
            self.epoch = outer
            self.endless.discard(loop)
            tracker.finish(False)
        if not broke:
            self.run_block(node.orelse)

    def _while(self, node: ast.While) -> None:
        self.trail.turns += 1
        short, self.short_loop = self.short_loop, False
        loop = self._new_loop()
        outer = self.epoch
        self.endless.add(loop)
        self.shortened.add(loop)
        tracker = Tracker(self.machine, node, self.passes)
        try:
            for number in range(self.passes):
                known = self.truth(self.evaluate(node.test))
                if known is False:
                    break
                self.epoch = (*outer, (loop, number))
                try:
                    self.run_block(node.body)
                except ContinueSignal:
                    pass
                except BreakSignal:
                    break
                tracker.pass_done()
                if tracker.is_steady:
                    break
        finally:
            self.epoch = outer
            self.endless.discard(loop)
            tracker.finish(False)
            self.short_loop = short

    def _new_loop(self) -> int:
        self.loop_count += 1
        return self.loop_count


def _is_data(items: list[Value]) -> bool:
    """Whether a loop goes over batches: tensors without a graph, alone or in tuples."""
    first = items[0] if items else None
    parts = first if isinstance(first, tuple) else (first,)
    return any(isinstance(part, Tensor) and part.needs is NO and not part.parameter for part in parts)


def _rebound(loop: ast.For | ast.AsyncFor) -> ast.Name | None:
    """The loop's own variable where the body sets it to itself plus or minus something, and nothing reads it then."""
    for number, statement in enumerate(loop.body):
        if not isinstance(statement, ast.Assign) or len(statement.targets) > 1:
            continue
        target, value = statement.targets[0], statement.value
        if not isinstance(target, ast.Name) or not isinstance(value, ast.BinOp):
            continue
        own = any(isinstance(part, ast.Name) and part.id == target.id for part in _factors(value))
        looped = any(isinstance(part, ast.Name) and part.id == target.id for part in nodes_of(loop.target))
        if not own or not looped or not isinstance(value.op, ast.Add | ast.Sub):
            continue
        after = [part for later in loop.body[number + 1 :] for part in nodes_of(later)]
        bases = {id(part.value) for part in after if isinstance(part, ast.Attribute) and part.attr == "grad"}
        if not any(isinstance(part, ast.Name) and part.id == target.id and id(part) not in bases for part in after):
            return target
    return None


def _factors(value: ast.expr) -> list[ast.expr]:
    """What a sum of products is computed from: `w`, `lr` and `g` of `w - lr * g`."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add | ast.Sub | ast.Mult | ast.Div):
        return [*_factors(value.left), *_factors(value.right)]
    return [value]
