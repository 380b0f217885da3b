"""Exit codes of the command line."""

CLEAN = 0
FOUND = 1
TROUBLE = 2
INTERRUPTED = 130
PIPE_CLOSED = 141
