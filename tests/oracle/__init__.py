"""What real torch does with a program: the truth that predictions are held against."""

from oracle.client import Oracle, run_program
from oracle.outcome import LoopGrowth, Outcome

__all__ = ["LoopGrowth", "Oracle", "Outcome", "run_program"]
