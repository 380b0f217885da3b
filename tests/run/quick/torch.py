"""Stands in for torch where a test is about processes only: the real one takes seconds to import."""

__version__ = "2.9.9"


def manual_seed(seed: int) -> None:
    """Does nothing."""
