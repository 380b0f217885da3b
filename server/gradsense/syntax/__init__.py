"""Text, its syntax tree, and edits of it: files, buffers and notebooks, whole or broken."""

from gradsense.syntax.edits import TextEdit, apply_edits
from gradsense.syntax.parse import ParsedModule, parse
from gradsense.syntax.source import Cell, Source, SourceError
from gradsense.syntax.spans import Problem, Span

__all__ = ["Cell", "ParsedModule", "Problem", "Source", "SourceError", "Span", "TextEdit", "apply_edits", "parse"]
