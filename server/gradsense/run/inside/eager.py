"""Keeps torch's compiler out: under a dispatch mode it runs eagerly anyway, and it does not pay in a few passes."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Iterator
from typing import Any

import torch

SWITCHES = ("TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE")
NOTE = "torch.compile was passed over: the functions ran as they are written"


@contextlib.contextmanager
def eagerly(notes: list[str]) -> Iterator[None]:
    """Has `torch.compile` leave functions as they are, and notes that it was asked."""
    kept = {name: os.environ.get(name) for name in SWITCHES}
    os.environ.update(dict.fromkeys(SWITCHES, "1"))
    config: Any = getattr(sys.modules.get("torch._dynamo"), "config", None)
    before = getattr(config, "disable", None)
    if before is not None:
        config.disable = True
    real = torch.compile

    @functools.wraps(real)
    def compile(*arguments: Any, **named: Any) -> Any:
        if NOTE not in notes:
            notes.append(NOTE)
        return real(*arguments, **named)

    torch.compile = compile
    try:
        yield
    finally:
        torch.compile = real
        if before is not None:
            config.disable = before
        elif "torch._dynamo" in sys.modules:  # imported meanwhile, with the switches on
            config = sys.modules["torch._dynamo"].config
            config.disable = False
        for name, value in kept.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
