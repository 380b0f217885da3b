"""Edits that mend a program: pure functions from a source, its tree and a node to exact text edits."""

from gradsense.lazily import load_when_used

# It takes as long to load as all the rest together, and many a check offers no fix at all.
load_when_used("libcst")
