"""What stands above everything that is made."""

from __future__ import annotations

HEAD = "<!-- Made by `python server/tools/docs.py`: what is changed here by hand is lost. -->\n\n"
