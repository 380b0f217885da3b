"""One file a subcommand, each with `add` (its arguments) and `run` (its work); `run` imports what is slow to import."""
