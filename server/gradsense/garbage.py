"""How often a process that checks programs looks for garbage."""

from __future__ import annotations

import gc


def collect_seldom() -> None:
    """Lets much more pile up before Python looks for unreachable cycles.

    Syntax trees and graphs are many small objects that live as long as their check. By its own settings Python looks
    through them so often that a long file takes half as long again.
    """
    gc.set_threshold(50_000, 20, 10)
