"""What starts in the user's interpreter, before the probe: standard library only, Python 3.9 and newer."""
