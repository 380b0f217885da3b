"""`no_grad`, `enable_grad`, `inference_mode`, `set_grad_enabled`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gradsense.machine.tri import YES, tri
from gradsense.machine.values import Function, GradMode, Unknown, Value

if TYPE_CHECKING:
    from gradsense.machine.interpreter import Machine


def make(machine: Machine, name: str, arguments: list[Value], node: ast.AST | None) -> Value:
    """The value of `torch.<name>(…)`."""
    given = arguments[0] if arguments else None
    if name in ("no_grad", "enable_grad", "inference_mode") and isinstance(given, Function):
        given.grad_mode = (name == "enable_grad", name == "inference_mode")
        return given
    if name == "inference_mode":
        on = True if given is None else machine.truth(given)
        return GradMode(False, True) if on is not False else GradMode(machine.grad_mode is YES)
    if name == "set_grad_enabled":
        enabled = machine.truth(given)
        if enabled is None:
            enabled = machine.decide(node or machine.node, True) if isinstance(given, Unknown) else True
        # It acts when it is called; as a context manager it puts the mode back at the end.
        mode = GradMode(enabled, False, (machine.grad_mode, machine.inference, machine.autocast))
        machine.grad_mode = tri(enabled)
        machine.mode_place = machine.here() if enabled is False else None
        return mode
    return GradMode(name == "enable_grad")


def by_hand(machine: Machine, mode: GradMode, name: str) -> Value:
    """`mode.__enter__()` and `mode.__exit__(…)`, called as methods."""
    if name == "__enter__":
        if mode.previous is None:
            mode.previous = (machine.grad_mode, machine.inference, machine.autocast)
        machine.grad_mode = tri(mode.enabled)
        machine.mode_place = machine.here() if mode.enabled is False else None
        machine.inference = machine.inference or mode.inference
    elif name == "__exit__":
        restore(machine, mode)
    return None


def restore(machine: Machine, mode: GradMode) -> None:
    """Undoes what calling `set_grad_enabled` did at once, where it is used as a decorator."""
    if mode.previous is not None:
        machine.grad_mode, machine.inference, machine.autocast = mode.previous
