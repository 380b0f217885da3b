"""Edits that mend a program: pure functions from a source, its tree and a node to exact text edits."""
