"""The picture of a graph's life tells the truth."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from importlib.util import find_spec
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "server" / "tools"))

from documenting import picture


def test_torch_saves_what_the_picture_shows() -> None:
    if find_spec("torch") is None:
        pytest.skip("torch is not installed")
    import torch

    names = {"torch": torch, "x": torch.randn(4, 3), "w": torch.randn(3, 2, requires_grad=True)}
    exec("\n".join(picture.PROGRAM[:2]), names)
    node = names["loss"].grad_fn  # type: ignore[attr-defined]
    for op, saved in reversed(picture.NODES):
        assert op in node.name().lower()
        kept = [getattr(node, name) for name in dir(node) if name.startswith("_saved_")]
        tensors = [value for value in kept if isinstance(value, torch.Tensor)]
        assert [tensor.data_ptr() for tensor in tensors] == ([names[saved].data_ptr()] if saved else [])  # type: ignore[attr-defined]
        node = node.next_functions[-1 if op == "mm" else 0][0]
    assert node.variable is names["w"]
    exec(picture.PROGRAM[2], names)
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        exec(picture.PROGRAM[3], names)


def test_it_is_an_image_with_words_for_those_who_cannot_see_it() -> None:
    root = ElementTree.fromstring(picture.svg())
    space = "{http://www.w3.org/2000/svg}"
    assert root.tag == f"{space}svg"
    assert all(panel.title.strip() in (root.findtext(f"{space}desc") or "") for panel in picture.PANELS)
    assert "prefers-color-scheme: dark" in (root.findtext(f"{space}style") or "")
