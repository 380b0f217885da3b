"""Devices that a program chooses: which one it is changes nothing, unless the program looks at it."""

from __future__ import annotations

import ast

_KINDS = frozenset(("cpu", "cuda", "mps", "xpu", "npu", "hpu", "xla"))


class ChosenDevice(str):
    """The name of a device that the program took in place of another.

    Attributes:
        branch: where it chose.
        chosen: which way it went there.
    """

    __slots__ = ("branch", "chosen")

    branch: tuple[str, int, int]
    chosen: bool

    @classmethod
    def of(cls, name: str, branch: tuple[str, int, int], chosen: bool) -> ChosenDevice:
        """A device by that name."""
        made = cls(name)
        made.branch, made.chosen = branch, chosen
        return made

    def kind(self) -> ChosenDevice:
        """Its name without a number."""
        return self.of(self.partition(":")[0], self.branch, self.chosen)


def chosen_among(node: ast.IfExp) -> bool | None:
    """Which way a conditional expression goes that only chooses a device: not to the CPU. None for any other one."""
    body, other = _named(node.body), _named(node.orelse)
    if body is None or other is None:
        return None
    return body != "cpu" or other == "cpu"


def _named(node: ast.expr) -> str | None:
    """The kind of the device that an expression names."""
    if isinstance(node, ast.Constant):
        kind = node.value.partition(":")[0] if isinstance(node.value, str) else None
        return kind if kind in _KINDS else None
    if isinstance(node, ast.IfExp):
        chosen = chosen_among(node)
        return None if chosen is None else _named(node.body if chosen else node.orelse)
    if isinstance(node, ast.Call) and node.args and not node.keywords:
        made = isinstance(node.func, ast.Attribute) and node.func.attr == "device"
        rest = all(isinstance(part, ast.Constant) for part in node.args[1:])
        return _named(node.args[0]) if made and rest else None
    return None
