"""The types of the ops table: a row, its parameters, and what it saves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final


class Unknown(Enum):
    """The type of :data:`UNKNOWN`, the value of an option that a program does not tell."""

    UNKNOWN = "unknown"


UNKNOWN: Final = Unknown.UNKNOWN


class Kind(Enum):
    """What a parameter takes."""

    # Kinds are parts of keys very often: they are hashed as any object is, and not by their names.
    __hash__ = object.__hash__

    TENSOR = "t"
    TENSORS = "l"
    NUMBER = "n"
    EITHER = "e"
    OTHER = "o"


class View(Enum):
    """How a result's storage relates to an argument's."""

    NONE = "none"
    SAME = "same"
    """The result is the argument itself (dropout in evaluation, ``contiguous`` of a contiguous tensor)."""
    VIEW = "view"
    MULTI = "multi"
    """One of several views made together (``unbind``, ``chunk``): torch allows no write to it."""
    DATA = "data"
    """Shares the memory but not the version counter (``.data``): a write to it is not noticed."""
    MAYBE = "maybe"
    """A view, the argument itself or a fresh tensor, as shapes, strides or devices decide (``reshape``, ``to``)."""


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter under its public name; a method's ``self`` is ``input``."""

    name: str
    kind: Kind
    required: bool = True
    default: object = None
    keyword_only: bool = False
    variadic: bool = False


@dataclass(frozen=True, slots=True)
class Saves:
    """What a node keeps for backward when one argument needs grad.

    A name is that of an argument or ``out0``, ``out1`` … for a result. Of a list argument, ``name[]`` means its other
    elements and ``name[=]`` the very element that needs grad. The lists of recurrent ops have named elements: ``hx[h]``
    and ``hx[c]``, and ``params[w_ih]``, ``params[w_hh]``, ``params[b_ih]``, ``params[b_hh]`` of every layer. In the
    books of an in-place form ``out0`` is the written tensor AFTER the write. A name in ``maybe`` is saved in some calls
    and not in others, as things decide that the row does not know (shapes, strides, a chosen kernel).
    """

    tensors: frozenset[str] = frozenset()
    private: bool = False
    """Whether tensors are saved that the program never sees (a mask, a clone, a temporary)."""
    second_walk_raises: bool = False
    maybe: frozenset[str] = frozenset()
    maybe_raises: bool = False
    """Whether a second walk raises in some calls and not in others."""
    unsupported: bool = False
    """Whether even the first walk raises, since torch has no derivative here (``asinh_``)."""

    @property
    def sure(self) -> bool:
        """Whether the same is saved in every call that the row stands for."""
        return not self.maybe and not self.maybe_raises


NOTHING: Final = Saves()


@dataclass(frozen=True, slots=True)
class OpRow:
    """One op in one variant.

    ``saves`` has an entry for every differentiable argument (``name[]`` for an element of a list). When several
    arguments need grad, the node saves the union. ``differentiable_outputs`` is as long as ``outputs``, except where
    ``outputs`` is 0: then the op returns a tuple whose length depends on the call, all of it alike, or no tensor at
    all (``result`` is then ``value``).
    """

    name: str
    params: tuple[Param, ...]
    view: View = View.NONE
    view_of: str = "input"
    outputs: int = 1
    differentiable_outputs: tuple[bool, ...] = (True,)
    saves: Mapping[str, Saves] = field(default_factory=dict)
    inplace: Mapping[str, Saves] | None = None
    writes: tuple[str, ...] = ()
    refuses: tuple[str, ...] = ()
    """Arguments that torch refuses to take when they need grad (a class weight, running statistics)."""
    nondifferentiable: bool = False
    result: str = "float"
    """The results' class: ``float``, ``int``, ``bool``, or ``value`` for what is no tensor."""
    cuda: Mapping[str, Saves] | None = None
    """What the GPU kernels save, where they are known to differ from the measured ones."""
    sure: bool = True
    """False for a row that is read from formulas (it may name more than torch saves), not measured."""

    def param(self, name: str) -> Param | None:
        """The parameter of that name, if there is one."""
        for param in self.params:
            if param.name == name:
                return param
        return None


def merge_saves(first: Saves, second: Saves) -> Saves:
    """What is saved when either of two may be what happens."""
    tensors = first.tensors & second.tensors
    raises = first.second_walk_raises and second.second_walk_raises
    return Saves(
        tensors,
        first.private or second.private,
        raises,
        (first.tensors | second.tensors | first.maybe | second.maybe) - tensors,
        not raises
        and (first.second_walk_raises or second.second_walk_raises or first.maybe_raises or second.maybe_raises),
    )


def _merge_maps(first: Mapping[str, Saves], second: Mapping[str, Saves]) -> dict[str, Saves]:
    return {name: merge_saves(first.get(name, NOTHING), second.get(name, NOTHING)) for name in {**first, **second}}


def merge_rows(first: OpRow, second: OpRow) -> OpRow:
    """The row that holds when either of two may be what happens."""
    inplace = first.inplace
    if first.inplace is not None and second.inplace is not None:
        inplace = _merge_maps(first.inplace, second.inplace)
    elif second.inplace is not None:
        inplace = second.inplace
    return replace(
        first,
        view=first.view if first.view is second.view else View.MAYBE,
        view_of=second.view_of if first.view is View.NONE else first.view_of,
        saves=_merge_maps(first.saves, second.saves),
        inplace=inplace,
        writes=tuple(dict.fromkeys(first.writes + second.writes)),
        refuses=tuple(name for name in first.refuses if name in second.refuses),
        nondifferentiable=first.nondifferentiable and second.nondifferentiable,
        cuda=first.cuda if first.cuda is not None else second.cuda,
        sure=first.sure and second.sure,
    )
