"""The device that a run is told to use."""

from __future__ import annotations

import os
import re

import torch

NAMED = re.compile(r"cuda|\bdevice\b|\.to\(|accelerat")


def choose(device: str, text: str, notes: list[str]) -> None:
    """Has the program use a device, as far as that can be done from outside.

    Args:
        device: `auto`, which leaves the choice to the program, or `cpu`, `cuda`, `cuda:1`.
        text: the program.
        notes: is told what could not be done.
    """
    if device == "auto":
        return
    if device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        if torch.cuda.is_available():  # it has been asked before, and remembers
            torch.cuda.is_available = lambda: False
            torch.cuda.device_count = lambda: 0
        return
    if not torch.cuda.is_available():
        notes.append(f"there is no GPU for {device}: the step ran on the CPU")
        return
    _, _, index = device.partition(":")
    if index and int(index) >= torch.cuda.device_count():
        notes.append(f"there is no {device}, only {torch.cuda.device_count()} GPUs: the step ran on the first one")
        index = "0"
    torch.cuda.set_device(int(index or 0))
    if not NAMED.search(text):  # a program that does not choose itself
        torch.set_default_device(f"cuda:{index or 0}")
