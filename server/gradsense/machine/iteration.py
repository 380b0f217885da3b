"""Iterating over any value: what a loop's passes see, made when the pass begins."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from gradsense.machine import strides
from gradsense.machine.access import Access
from gradsense.machine.graph import Tensor
from gradsense.machine.tri import NO
from gradsense.machine.values import (
    ITERATOR,
    DictValue,
    Enumerated,
    Function,
    GeneratorValue,
    Instance,
    Lazy,
    ListValue,
    LoopIndex,
    Mapped,
    Unknown,
    Value,
    Zipped,
    a_number,
    tensors_in,
)

# A loop this short is run as it is; inside another loop, or in a call, this short.
SHORT = 8
SHORT_INSIDE = 4
# Longer lists are data: a loop sees the first few.
LONGEST = 300


def _fresh(number: Value) -> Value:
    """Another number like it."""
    made = a_number()
    if isinstance(number, Unknown):
        made.sources, made.cut = number.sources, number.cut
    return made


class StopGenerator(Exception):
    """The consumer of a generator left its loop."""


@dataclass(frozen=True, slots=True)
class Stream:
    """An iterable that takes its items from one generator, which runs on only as they are asked for.

    Args:
        row: an item of the iterable, from what the generator yields and how often it has yielded before.
        length: how many items there are at most, None if nothing but the generator tells.
    """

    generator: GeneratorValue
    row: Callable[[Value, int], Value]
    length: int | None = None


def _counted(inner: Stream, start: Value) -> Stream:
    """`enumerate` over a generator."""

    def row(item: Value, count: int) -> Value:
        return (count + start if isinstance(start, int) else a_number(), inner.row(item, count))

    return Stream(inner.generator, row, inner.length)


class Iteration(Access):
    """Items of iterables."""

    @property
    def passes(self) -> int:
        """How often a loop is run whose length is not known."""
        return self.limits.passes

    def _short(self) -> int:
        return SHORT if not self.epoch else SHORT_INSIDE

    def items_of(self, value: Value, node: ast.AST | None = None) -> tuple[list[Value], bool]:
        """The items, made now, and whether they are all there are."""
        items, exact = self.lazy_items(value, node)
        return [self.force(item) for item in items], exact

    def force(self, item: Value) -> Value:
        """The item itself, where it was to be made later."""
        if isinstance(item, Lazy):
            return item.make()
        if type(item) is tuple and any(isinstance(part, (Lazy, tuple)) for part in item):
            self.step()
            return tuple(self.force(part) for part in item)
        return item

    def lazy_items(self, value: Value, node: ast.AST | None = None) -> tuple[list[Value], bool]:
        """The items, some to be made later, and whether they are all there are."""
        self.step()
        if isinstance(value, ListValue):
            if value.kind == ITERATOR:
                value.used_up = self.here(node)
            if value.open and not value.items:
                return [Unknown() for _ in range(self.passes)], False
            if value.homogeneous:
                first = value.items[0] if value.items else Unknown(data=True)
                plain = isinstance(first, Unknown) and first.number
                return [_fresh(first) if plain else first for _ in range(self.passes)], False
            if len(value.items) <= LONGEST:
                return list(value.items), not value.open
            return list(value.items[: self.passes]), False
        if isinstance(value, range):
            if len(value) <= self._short():
                return list(value), True
            if value.start or value.step != 1:
                return [value[0], *(a_number() for _ in range(self.passes - 1))], False
            return [LoopIndex(k, k == self.passes - 1, len(value)) for k in range(self.passes)], False
        if isinstance(value, tuple):
            return (list(value), True) if len(value) <= LONGEST else (list(value[: self.passes]), False)
        if isinstance(value, Enumerated):
            return self._enumerated(value, node)
        if isinstance(value, Zipped):
            return self._zipped(value, node)
        if isinstance(value, Mapped):
            columns = [self.lazy_items(v, node) for v in value.iterables]
            rows = list(zip(*(items for items, _ in columns), strict=False))
            return [self._mapped(value.function, row, node) for row in rows], all(exact for _, exact in columns)
        if isinstance(value, DictValue):
            return [a_number() if not isinstance(k, (str, int)) else k for k in list(value.items)[:LONGEST]], True
        if isinstance(value, str):
            return list(value[:SHORT_INSIDE]), len(value) <= SHORT_INSIDE
        if isinstance(value, Tensor):
            return self._rows(value)
        if isinstance(value, Instance):
            return self._instance_items(value, node)
        if isinstance(value, GeneratorValue):
            return list(self.run_generator(value)), True
        if isinstance(value, Unknown):
            return [self._drawn_from(value) for _ in range(self.passes)], False
        return [Unknown() for _ in range(self.passes)], False

    def _drawn_from(self, value: Unknown) -> Unknown:
        drawn = Unknown(data=value.data, number=value.number, sources=value.sources)
        drawn.configuration = value.configuration
        return drawn

    def _mapped(self, function: Value, row: Iterable[Value], node: ast.AST | None) -> Lazy:
        return Lazy(lambda: self.call(function, [self.force(x) for x in row], {}, node))

    def _rows(self, tensor: Tensor) -> tuple[list[Value], bool]:
        """The rows of a tensor: outputs of `unbind`."""
        count, exact = self.passes, False
        if tensor.shape and tensor.shape[0] is not None:
            exact = tensor.shape[0] <= self._short()
            count = tensor.shape[0] if exact else self.passes
        # They are made together, before the first pass.
        since = tensor.storage.version
        return [Lazy(partial(self._row, tensor, since)) for _ in range(count)], exact

    def _row(self, tensor: Tensor, since: int | None = None) -> Tensor:
        """One row of a tensor, as iterating over it gives."""
        shape = tensor.shape[1:] if tensor.shape else None
        layout = strides.of(tensor)
        row = self.view(tensor, "unbind", shape, kind="multi", layout=layout[1:] if layout else None)
        row.since = row.since if since is None else since
        return row

    def _enumerated(self, value: Enumerated, node: ast.AST | None) -> tuple[list[Value], bool]:
        items, exact = self.lazy_items(value.iterable, node)
        start = value.start if isinstance(value.start, int) else 0
        rows: list[Value] = []
        for k, item in enumerate(items):
            index: Value = k + start if exact else LoopIndex(k, k == len(items) - 1) if start == 0 else a_number()
            rows.append((index, item))
        return rows, exact

    def _zipped(self, value: Zipped, node: ast.AST | None) -> tuple[list[Value], bool]:
        columns = [self.lazy_items(v, node) for v in value.iterables]
        exact_lengths = [len(items) for items, exact in columns if exact]
        length = min(exact_lengths or [max((len(items) for items, _ in columns), default=0)])
        rows: list[Value] = [
            tuple(items[k] if k < len(items) else items[-1] if items else Unknown() for items, _ in columns)
            for k in range(length)
        ]
        return rows, all(exact for _, exact in columns)

    def _instance_items(self, value: Instance, node: ast.AST | None) -> tuple[list[Value], bool]:
        if isinstance(value.children, ListValue):
            return list(value.children.items), not value.children.open
        if isinstance(value.children, DictValue):
            return list(value.children.items), True
        if value.kind == "DataLoader":
            return self._batches(value), False
        cls = value.cls
        if cls is not None:
            if cls.has("__iter__"):
                return self.lazy_items(self.call(cls.find("__iter__"), [value], {}, node), node)
            if cls.has("__getitem__"):
                getter = cls.find("__getitem__")
                return [
                    Lazy(lambda: self.call(getter, [value, a_number()], {}, node)) for _ in range(self.passes)
                ], False
        return [Unknown(data=value.kind == "Dataset") for _ in range(self.passes)], False

    def _batches(self, loader: Instance) -> list[Value]:
        dataset = loader.options.get("dataset")
        collate = loader.options.get("collate_fn")

        def sample(index: int) -> Value:
            if isinstance(dataset, ListValue) and dataset.items:
                return dataset.items[index % len(dataset.items)]
            if isinstance(dataset, tuple) and dataset:
                return dataset[index % len(dataset)]
            if isinstance(dataset, Instance) and (
                dataset.kind == "TensorDataset" or (dataset.cls is not None and dataset.cls.has("__getitem__"))
            ):
                return self.get_item(dataset, a_number())
            return Unknown(data=True)

        def batch(k: int) -> Value:
            samples = [sample(2 * k), sample(2 * k + 1)]
            if isinstance(collate, Function):
                return self.call(collate, [ListValue(samples)], {}, None)
            return self._collate(samples)

        return [Lazy(partial(batch, k)) for k in range(self.passes)]

    def _collate(self, samples: list[Value]) -> Value:
        first = samples[0]
        if isinstance(first, Tensor):
            tensors = [s for s in samples if isinstance(s, Tensor)]
            shape = (None, *first.shape) if first.shape is not None else None
            return self.record("stack", tensors, shape=shape, dtype=first.dtype)[0]
        if isinstance(first, tuple):
            return tuple(
                self._collate([s[k] for s in samples if isinstance(s, tuple) and k < len(s)]) for k in range(len(first))
            )
        if isinstance(first, DictValue):
            return DictValue(
                {k: self._collate([s.items.get(k) for s in samples if isinstance(s, DictValue)]) for k in first.items}
            )
        if isinstance(first, int):
            return self.tensor((None,), "int64")
        if isinstance(first, float):
            return self.tensor((None,))
        return Unknown(data=True)

    # ------------------------------------------------------------------ generators

    def streamed(self, value: Value, node: ast.AST | None) -> Stream | None:
        """The generator that an iterable draws from, alone or through `enumerate`, `zip` and `map`, if there is one."""
        if isinstance(value, Instance) and value.cls is not None and value.cls.has("__iter__"):
            value = self.call(value.cls.find("__iter__"), [value], {}, node)
        if isinstance(value, GeneratorValue):
            return Stream(value, lambda item, count: item) if value.pending is None else None
        if isinstance(value, Enumerated):
            inner = self.streamed(value.iterable, node)
            return None if inner is None else _counted(inner, value.start)
        if isinstance(value, Mapped) and len(value.iterables) == 1:
            inner = self.streamed(value.iterables[0], node)
            return None if inner is None else self._streamed_map(inner, value.function, node)
        if isinstance(value, Zipped):
            return self._streamed_zip(value, node)
        return None

    def _streamed_map(self, inner: Stream, function: Value, node: ast.AST | None) -> Stream:
        """`map` over a generator."""

        def row(item: Value, count: int) -> Value:
            return self.call(function, [inner.row(item, count)], {}, node)

        return Stream(inner.generator, row, inner.length)

    def _streamed_zip(self, zipped: Zipped, node: ast.AST | None) -> Stream | None:
        """`zip` with a generator among its columns; the others are made as the passes reach them."""
        found = [(k, s) for k, v in enumerate(zipped.iterables) if (s := self.streamed(v, node)) is not None]
        if not found:
            return None
        place, stream = found[0]
        # Two cannot take turns: the others are run before.
        early = {k for k, _ in found[1:]}
        columns = [None if k == place else self.lazy_items(v, node) for k, v in enumerate(zipped.iterables)]
        lengths = [len(items) for items, exact in filter(None, columns) if exact]
        if stream.length is not None:
            lengths.append(stream.length)

        def row(item: Value, count: int) -> Value:
            return tuple(
                stream.row(item, count) if column is None else self._at_its_turn(column[0], count, k in early)
                for k, column in enumerate(columns)
            )

        return Stream(stream.generator, row, min(lengths, default=None))

    def _at_its_turn(self, items: list[Value], count: int, early: bool) -> Value:
        """An item of a column, the last one again where there are no more."""
        if not items:
            return Unknown()
        item = self.force(items[min(count, len(items) - 1)])
        return self.made_early(item) if early and count else item

    def made_early(self, item: Value) -> Value:
        """What a generator that was run to its end at once yields later: what has a graph is made too early by then."""
        if all(self.needs_grad(t) is NO for t in tensors_in(item)):
            return item
        self.escape(item)
        return Unknown()

    def drive_generator(self, value: GeneratorValue, consume: Callable[[Value], None]) -> None:
        """Runs a generator, handing each yielded value to `consume` at the moment it is yielded.

        What `consume` raises ends the generator and is raised again here.
        """
        consumer_frame, consumer_stack = self.frame, self.stack
        consumer_source, consumer_mode = self.source, (self.grad_mode, self.inference)
        raised: list[BaseException] = []
        # A decorator's mode is switched back at each `yield`; a `with` stays open while the consumer runs.
        decorated = value.function is not None and value.function.grad_mode is not None

        def on_yield(item: Value) -> Value:
            frame, stack, source, mode = self.frame, self.stack, self.source, (self.grad_mode, self.inference)
            self.frame, self.stack, self.source = consumer_frame, consumer_stack, consumer_source
            if decorated:
                self.grad_mode, self.inference = consumer_mode
            try:
                consume(item)
            except Exception as error:
                raised.append(error)
                raise StopGenerator from None
            finally:
                self.frame, self.stack, self.source = frame, stack, source
                self.grad_mode, self.inference = mode
            return None

        try:
            if value.function is not None:
                self.enter_function(value.function, value.arguments, value.keywords, value.call, on_yield=on_yield)
            elif value.run is not None:
                value.run(on_yield)
        except StopGenerator:
            if not raised:
                raise
        if raised:
            raise raised[0]

    def run_generator(self, value: GeneratorValue, most: int = 6) -> list[Value]:
        """What a generator yields when it is run to its end at once, at most so many."""
        if value.pending is None:
            self.trail.note("generator", id(value.call))
            items: list[Value] = []

            def collect(item: Value) -> None:
                items.append(item)
                if len(items) >= most:
                    raise StopGenerator

            with suppress(StopGenerator):
                self.drive_generator(value, collect)
            value.pending = items
        return value.pending

    def enter_function(
        self,
        function: Function,
        arguments: list[Value],
        keywords: dict[str, Value],
        node: ast.AST | None,
        *,
        on_yield: Callable[[Value], Value] | None = None,
    ) -> Value:
        """Runs a function's body."""
        raise NotImplementedError
