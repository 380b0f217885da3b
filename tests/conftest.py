"""What all tests share."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from oracle import Oracle


@pytest.fixture(scope="session")
def torch_oracle() -> Iterator[Oracle]:
    """Runs programs on real torch; skips the test where torch is not installed."""
    if find_spec("torch") is None:
        pytest.skip("torch is not installed")
    with Oracle() as oracle:
        yield oracle
