"""Starts GradSense from where it lies: how the editor's extension runs the copy that it carries.

Run in isolated mode (`python -I launch.py server`), so that nothing but what lies here, and Python's own library, can
be imported. `libs` holds the libraries for every supported Python: native modules bear the names of their Pythons, so
that those of all stand side by side and each takes its own; what differs in more than that is in `libs/pyXY`.
"""

import os
import sys


def folders(here: str) -> list[str]:
    """Where the package and its libraries are, in the order in which they are searched."""
    libs = os.path.join(here, "libs")
    own = os.path.join(libs, "py{}{}".format(*sys.version_info[:2]))
    return [here, *(folder for folder in (own, libs) if os.path.isdir(folder))]


if __name__ == "__main__":
    sys.path[:0] = folders(os.path.dirname(os.path.abspath(__file__)))
    from gradsense.cli.main import main

    sys.exit(main())
