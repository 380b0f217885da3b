"""Pairs of programs, a fault and its nearest correct lookalike, each run on real torch and held against the checker."""
