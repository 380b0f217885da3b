"""How often a process that checks programs looks for garbage."""

from __future__ import annotations

import gc

# New objects that may pile up in a process that ends soon: some forty megabytes.
MANY = 600_000
# The same where somebody waits who types: to look through few is soon done.
ANALYSIS = 20_000


def collect_seldom(objects: int = 50_000) -> None:
    """Lets much more pile up before Python looks for unreachable cycles.

    Syntax trees and graphs are many small objects that live as long as their check. By its own settings Python looks
    through them so often that a long file takes half as long again.

    Args:
        objects: so many new ones may pile up. A process that ends soon has the memory for more.
    """
    gc.set_threshold(objects, 20, 10)


class Pauses:
    """Looks for garbage in pauses, and leaves alone from then on what has lived through that.

    To look through the trees of a long file takes longer than an answer to a keystroke may.
    """

    MORE = 1.25
    """What was left alone is looked through as well once there is so much more of it."""

    def __init__(self) -> None:
        gc.freeze()
        self._known = gc.get_freeze_count()

    def collect(self) -> None:
        """Looks for garbage now."""
        everything = gc.get_freeze_count() > self.MORE * self._known
        if everything:
            gc.unfreeze()
        gc.collect()
        gc.freeze()
        if everything:
            self._known = gc.get_freeze_count()
