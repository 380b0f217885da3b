"""Our own calls, for what op_db lacks or calls with other variants; one module a field."""

from __future__ import annotations

from collections.abc import Iterator

from opsmeasure import own_attention, own_indexing, own_layers, own_losses, own_methods, own_numbers
from opsmeasure.samples import Sample


def own_samples() -> Iterator[Sample]:
    """All of our own calls."""
    for module in (own_numbers, own_methods, own_indexing, own_layers, own_losses, own_attention):
        yield from module.samples()
