"""The command line: `gradsense check`, `rules`, `rule` and `server`."""
