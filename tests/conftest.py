"""What all tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from oracle import Oracle


@pytest.fixture(scope="session")
def torch_oracle() -> Iterator[Oracle]:
    """Runs programs on real torch; skips the test where torch is not installed."""
    pytest.importorskip("torch")
    with Oracle() as oracle:
        yield oracle
