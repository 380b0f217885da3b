"""Backward of a tensor with more than one element."""

from __future__ import annotations

from collections.abc import Iterable

from gradsense.machine.events import NotScalar
from gradsense.machine.place import Place
from gradsense.rules.base import Rule
from gradsense.rules.wording import tensor_name


class NonScalarBackward(Rule[NotScalar]):
    code, name = "GS403", "non-scalar-backward"
    listens_to = NotScalar
    outcome = "raises"

    def message(self, event: NotScalar) -> str:
        shape = "x".join("?" if s is None else str(s) for s in event.tensor.shape or ())
        return f"{tensor_name(event.tensor, 'the loss')} has {shape} elements: reduce it, or give `gradient=`"

    def related(self, event: NotScalar) -> Iterable[tuple[Place, str]]:
        yield event.tensor.made, "made here"

    def expected(self, event: NotScalar) -> str | None:
        return "RuntimeError: grad can be implicitly created only for scalar outputs"
