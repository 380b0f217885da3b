"""What every writer to a terminal needs: streams that cannot fail on a character, harmless text, colour or none."""

from __future__ import annotations

import io
import os
import re
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console

# Control characters but the tab, marks that reorder the text around them, line ends of other standards, and halves of
# surrogate pairs, which no encoding takes.
_HARMFUL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def settle_streams() -> None:
    """Makes standard output and error write `?` for what their encoding lacks, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def clean(text: str) -> str:
    """Replaces what could steer a terminal (escape sequences, bidirectional marks) in text that came from files."""
    return _HARMFUL.sub("\ufffd", text)


def console(out: TextIO, color: str = "auto") -> Console:
    """A rich console that writes plain text unless `out` is a terminal and nothing speaks against colour.

    Args:
        out: where it writes.
        color: `always` or `never`, or `auto` to go by the terminal, `NO_COLOR` and `FORCE_COLOR`.
    """
    from rich.console import Console

    wanted = color == "always" or (color == "auto" and not os.environ.get("NO_COLOR"))
    return Console(
        file=out,
        force_terminal=True if color == "always" else None,
        force_jupyter=False,  # there, rich would show each line by itself, and write nothing
        color_system="auto" if wanted else None,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=True,
    )
