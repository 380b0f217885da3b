"""What the tests of runs share."""

from run.forking import forking_environment

__all__ = ["forking_environment"]
