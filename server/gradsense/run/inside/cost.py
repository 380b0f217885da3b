"""What a pass costs under the probe, under anomaly mode alone, and plain: measured in turn in one training loop."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

KINDS = ("probe", "anomaly", "plain")


class Timing:
    """Times the first training loop that has come to its last pass: it goes on for as many passes of each other kind.

    Args:
        passes: how many passes of each kind.
        switch: is called with a kind when passes of that kind begin.
    """

    def __init__(self, passes: int, switch: Callable[[str], None]) -> None:
        self.passes, self.switch = passes, switch
        self.owner: Any = None
        self.over = passes < 1
        self.seconds: dict[str, list[float]] = {kind: [] for kind in KINDS}
        self._kind = 0

    def ended(self, run: Any, seconds: float, enough: bool) -> bool:
        """Takes a pass that has ended. Returns whether the loop is to go on for the sake of the timing.

        Args:
            run: the run of the loop.
            seconds: how long the pass took.
            enough: whether it was the loop's last one.
        """
        if self.over:
            return False
        if self.owner is None:
            if not enough:
                return False
            self.owner = run
            self.seconds["probe"] = [item.seconds for item in run.measured][1:] or [seconds]
        elif run is not self.owner:
            return False
        else:
            self.seconds[KINDS[self._kind]].append(seconds)
            if len(self.seconds[KINDS[self._kind]]) < self.passes:
                return True
        return self._next()

    def left(self, run: Any) -> None:
        """Ends the timing where its loop ends."""
        if run is self.owner and not self.over:
            self.over = True
            self.switch("probe")

    def table(self) -> dict[str, float | None] | None:
        """Seconds a pass of each kind, or None where nothing was timed."""
        if self.owner is None:
            return None
        return {kind: statistics.median(times) if times else None for kind, times in self.seconds.items()}

    def _next(self) -> bool:
        self._kind += 1
        self.over = self._kind == len(KINDS)
        self.switch("probe" if self.over else KINDS[self._kind])
        return not self.over
