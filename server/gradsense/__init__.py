"""GradSense: what PyTorch's autograd will do to a program, shown while it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__version__ = "0.1.0"


def load_ipython_extension(shell: InteractiveShell) -> None:
    """What `%load_ext gradsense` calls: makes the cell magic `%%gradsense` known."""
    from gradsense.integrations.jupyter import load

    load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """What `%unload_ext gradsense` calls."""
    from gradsense.integrations.jupyter import unload

    unload(shell)
