"""Questions about names, answered."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gradsense.machine.modules import FOREIGN
from gradsense.machine.outside import Kind, Known
from gradsense.types.reading import Reading
from gradsense.types.source import SourceClass, class_at, class_called, result_at

OTHER = Known(Kind.OTHER)
_DEEPEST = 6
_MOST_CALLS = 24
_NUMBERS = frozenset(("int", "float", "str", "bool", "bytes"))
# Layers that own parameters, by the last part of their names.
_LAYERS = (
    "Linear", "Bilinear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d",
    "Embedding", "EmbeddingBag", "LSTM", "GRU", "RNN", "LSTMCell", "GRUCell", "RNNCell", "MultiheadAttention",
    "Transformer", "TransformerEncoderLayer", "TransformerDecoderLayer", "Parameter",
)  # fmt: skip
_PARAMETERS = frozenset(f"torch.nn.{layer}" for layer in _LAYERS) | {"torch.nn.parameter.Parameter"}
_TORCH_MODULES = ("torch.nn.Module", "torch.nn.modules.module.Module", "pytorch_lightning.LightningModule")


class Answering:
    """Answers questions about one workspace.

    Args:
        root: its folder.
        path: the folders that imports are found in.
        library: those of them that are the standard library's.
    """

    def __init__(self, root: str, path: Iterable[str], library: Iterable[str] = ()) -> None:
        self._reading = Reading(root, list(path))
        self._library = tuple(os.path.realpath(folder) for folder in library)
        self._families: dict[tuple[str, int], Kind | None] = {}
        self._owning: dict[tuple[str, int], bool] = {}

    def about(self, dotted: str) -> Known:
        """What a dotted name stands for.

        A network counts as one only where it is seen that it owns parameters, and nothing in its source suggests that
        it keeps them from getting gradients: a loss and a metric are modules as well.
        """
        for name in self._reading.named(dotted):
            file = _file(name)
            if name.type == "module":
                return Known(Kind.SOURCE, file) if file and self._is_persons(file) else OTHER
            if file is None or name.line is None:
                continue
            if name.type == "class":
                return Known(self._class(class_at(file, name.line)))
            if name.type == "function":
                return Known(self._function(file, name.line))
        return OTHER

    def _is_persons(self, path: str) -> bool:
        real = os.path.realpath(path)
        if FOREIGN & set(Path(real).parts) or not real.endswith(".py"):
            return False
        return not any(real.startswith(folder + os.sep) for folder in self._library)

    def _class(self, found: SourceClass | None) -> Kind:
        kind = self._family(found, 0) if found is not None else None
        if found is None or kind is not Kind.NETWORK:
            return kind or Kind.OTHER
        return kind if self._owns(found, 0) else Kind.OTHER

    def _function(self, path: str, line: int) -> Kind:
        """What a function says that it returns; what it computes is not looked into."""
        result = result_at(path, line)
        if result is None:
            return Kind.OTHER
        dotted, last_line, column = result
        if dotted in _NUMBERS:
            return Kind.NUMBER
        named = self._class_named(path, last_line, column) if last_line else class_called(path, dotted)
        kind = self._class(named)
        return kind if kind is Kind.NETWORK else Kind.OTHER

    def _family(self, cls: SourceClass, depth: int) -> Kind | None:
        """Whether a class is one of modules or of optimizers, by what it derives from."""
        key = (cls.path, cls.node.lineno)
        if key in self._families:
            return self._families[key]
        self._families[key] = None
        found = next((kind for base in cls.base_names() if (kind := self._base(cls, *base, depth)) is not None), None)
        self._families[key] = found
        return found

    def _base(self, cls: SourceClass, dotted: str, line: int, column: int, depth: int) -> Kind | None:
        if dotted in _TORCH_MODULES or (dotted.startswith("torch.nn.") and dotted[9:10].isupper()):
            return Kind.NETWORK
        if dotted.startswith("torch.optim.") and not dotted.startswith("torch.optim.lr_scheduler"):
            return Kind.OPTIMIZER
        base = self._class_named(cls.path, line, column) if depth < _DEEPEST else None
        return self._family(base, depth + 1) if base is not None else None

    def _owns(self, cls: SourceClass, depth: int) -> bool:
        """Whether its constructor, or one that it inherits or calls, makes parameters."""
        if cls.freezes:
            return False
        key = (cls.path, cls.node.lineno)
        if key not in self._owning:
            self._owning[key] = False
            self._owning[key] = self._makes(cls, depth)
        return self._owning[key]

    def _makes(self, cls: SourceClass, depth: int) -> bool:
        made = list(cls.made())[:_MOST_CALLS]
        if any(dotted in _PARAMETERS for dotted, _, _ in made):
            return True
        if depth >= 3:
            return False
        for dotted, line, column in [*cls.base_names(), *made]:
            if dotted.startswith("torch.") or not dotted.rpartition(".")[2][:1].isupper():
                continue
            inner = self._class_named(cls.path, line, column)
            if inner is not None and self._family(inner, 0) is Kind.NETWORK and self._owns(inner, depth + 1):
                return True
        return False

    def _class_named(self, path: str, line: int, column: int) -> SourceClass | None:
        for name in self._reading.at(path, line, column):
            if name.type == "class" and name.line is not None and (file := _file(name)):
                return class_at(file, name.line)
        return None


def _file(name: Any) -> str | None:
    path = name.module_path
    return str(path) if path is not None else None
