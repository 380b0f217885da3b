"""Opens one statement with libcst, so that a fix changes that part of it alone and all else keeps its layout."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import libcst as cst

from gradsense.fixes.fix import Edits
from gradsense.fixes.tree import ancestors
from gradsense.syntax.edits import TextEdit
from gradsense.syntax.source import Source
from gradsense.syntax.spans import Span

if TYPE_CHECKING:
    from libcst.metadata import CodeRange

_WORD = re.compile(r"\w")
# A statement longer than this is a table of data; libcst would take a noticeable time over it.
_LONGEST = 60_000


class Excerpt:
    """A simple statement, or the outermost expression of a compound one, as libcst sees it.

    Args:
        source: the file.
        span: which text of it this is.
        module: that text as a libcst module of one statement.
    """

    def __init__(self, source: Source, span: Span, module: cst.Module) -> None:
        self._source = source
        self._span = span
        self._text = source.slice(span)
        from libcst.metadata import MetadataWrapper, PositionProvider

        wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
        self.module = wrapper.module
        ranges = wrapper.resolve(PositionProvider)
        self._expressions = {
            _key(where): node for node, where in ranges.items() if isinstance(node, cst.BaseExpression)
        }

    @classmethod
    def around(cls, source: Source, tree: ast.Module, node: ast.stmt | ast.expr) -> Excerpt | None:
        """Opens the text around a node of the tree.

        Returns:
            None where libcst cannot read the text, where the node is a compound statement, or where the node lies in
            an f-string whose positions Python itself does not know.
        """
        around = (*ancestors(tree, node), node)
        index = max((i for i, parent in enumerate(around) if isinstance(parent, ast.stmt)), default=None)
        if index is None or len(around) == 1:
            return None
        in_fstring = any(isinstance(parent, ast.JoinedStr) for parent in around)
        if in_fstring and isinstance(node, ast.expr) and not _is_spelt_there(source, node):
            return None
        statement = around[index]
        if not hasattr(statement, "body"):
            return cls._of_statement(source, source.span_of(statement))
        outermost = next((parent for parent in around[index + 1 :] if isinstance(parent, ast.expr)), None)
        return None if outermost is None else cls._of_expression(source, source.span_of(outermost))

    @classmethod
    def _of_statement(cls, source: Source, span: Span) -> Excerpt | None:
        text = source.slice(span)
        if len(text) > _LONGEST:
            return None
        try:
            return cls(source, span, cst.parse_module(text))
        except (cst.ParserSyntaxError, RecursionError):
            return None

    @classmethod
    def _of_expression(cls, source: Source, span: Span) -> Excerpt | None:
        text = source.slice(span)
        if len(text) > _LONGEST:
            return None
        try:
            # In brackets, so that line breaks in it are no end of a statement; the brackets go again below.
            module = cst.parse_module(f"({text})")
            line = module.body[0]
            statement = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
            if not isinstance(statement, cst.Expr):
                return None
            expression = statement.value
            bare = expression.with_changes(lpar=expression.lpar[1:], rpar=expression.rpar[:-1])
            module = module.with_changes(body=[line.with_changes(body=[cst.Expr(bare)])])
            return cls(source, span, module) if module.code == text else None
        except (cst.ParserSyntaxError, cst.CSTValidationError, RecursionError):
            return None

    def expression(self, node: ast.expr) -> cst.BaseExpression | None:
        """The libcst node of an expression of Python's tree; None where libcst has no such node."""
        span = self._source.span_of(node)
        found = self._expressions.get(self._relative(span))
        if found is not None:
            return found
        # Python counts the brackets of a tuple or a generator in its range, libcst does not.
        if isinstance(node, ast.Tuple | ast.GeneratorExp):
            text = self._source.slice(span)
            kind = cst.Tuple if isinstance(node, ast.Tuple) else cst.GeneratorExp
            same = [
                candidate
                for candidate in self._expressions.values()
                if isinstance(candidate, kind) and self.module.code_for_node(candidate) == text
            ]
            return same[0] if len(same) == 1 else None
        return None

    @property
    def statement(self) -> cst.BaseSmallStatement | None:
        """The statement itself, where a simple one was opened."""
        lines = self.module.body
        if len(lines) == 1 and isinstance(lines[0], cst.SimpleStatementLine) and len(lines[0].body) == 1:
            return lines[0].body[0]
        return None

    def code(self, node: cst.CSTNode) -> str:
        """The text of a libcst node."""
        return self.module.code_for_node(node)

    def replace(self, *changes: tuple[cst.CSTNode, cst.CSTNode]) -> Edits | None:
        """Replaces nodes of the excerpt, and says so as one edit of the text that differs.

        Args:
            changes: pairs of a node of this excerpt and the node to put in its place.

        Returns:
            None where nothing would change or the result is no longer Python.
        """
        from gradsense.fixes.replacing import Replacing

        visitor = Replacing({id(old): new for old, new in changes})
        try:
            changed = self.module.visit(visitor)
        except (cst.CSTValidationError, RecursionError):
            return None
        assert isinstance(changed, cst.Module)
        return self.rewrite(changed.code)

    def rewrite(self, text: str) -> Edits | None:
        """Replaces the excerpt's text, as one edit of the part that differs; None where nothing would change."""
        if text == self._text:
            return None
        start, end, new = _difference(self._text, text)
        begin = self._source.offset(*self._span.start)
        span = Span(*self._source.place(begin + start), *self._source.place(begin + end))
        return (TextEdit(self._source.path, span, new),)

    def _relative(self, span: Span) -> tuple[int, int, int, int]:
        first, shift = self._span.line, self._span.column
        column = span.column - (shift if span.line == first else 0)
        end_column = span.end_column - (shift if span.end_line == first else 0)
        return (span.line - first + 1, column, span.end_line - first + 1, end_column)


def _key(where: CodeRange) -> tuple[int, int, int, int]:
    return (where.start.line, where.start.column, where.end.line, where.end.column)


def _is_spelt_there(source: Source, node: ast.expr) -> bool:
    try:
        there = ast.parse(f"({source.slice(source.span_of(node))}\n)", mode="eval").body
    except (SyntaxError, ValueError, IndexError):
        return False
    return ast.dump(there) == ast.dump(node)


def _difference(old: str, new: str) -> tuple[int, int, str]:
    """The range of `old` that differs from `new`, and what stands there in `new`."""
    shorter = min(len(old), len(new))
    start = 0
    while start < shorter and old[start] == new[start]:
        start += 1
    kept = 0
    while kept < shorter - start and old[len(old) - 1 - kept] == new[len(new) - 1 - kept]:
        kept += 1
    # Words change as a whole, and the two characters of a Windows newline stay together.
    while start > 0 and (_splits(old, start) or _splits(new, start)):
        start -= 1
    while kept and (_splits(old, len(old) - kept) or _splits(new, len(new) - kept)):
        kept -= 1
    return start, len(old) - kept, new[start : len(new) - kept]


def _splits(text: str, offset: int) -> bool:
    pair = text[offset - 1 : offset + 1] if offset else ""
    return len(pair) == 2 and (pair == "\r\n" or all(_WORD.match(character) for character in pair))
