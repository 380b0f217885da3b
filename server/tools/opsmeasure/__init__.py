"""Measures what torch's ops save for backward; ``measure_ops.py`` beside this package is the command."""
