"""Findings made by hand, for tests of what is done with them."""

from __future__ import annotations

from gradsense.fixes.fix import Applicability, Fix
from gradsense.rules.finding import Finding, Related, Severity
from gradsense.syntax import Source, Span, TextEdit


def span_of(source: Source, text: str, nth: int = 0) -> Span:
    """The span of the nth occurrence of some text."""
    offset = -1
    for _ in range(nth + 1):
        offset = source.text.index(text, offset + 1)
    return Span(*source.place(offset), *source.place(offset + len(text)))


def replacing(source: Source, old: str, new: str, *, title: str = "", unsafe: bool = False, nth: int = 0) -> Fix:
    """A fix that replaces some text."""
    edit = TextEdit(source.path, span_of(source, old, nth), new)
    applicability = Applicability.UNSAFE if unsafe else Applicability.SAFE
    return Fix(title or f"Replace `{old}` by `{new}`", applicability, (edit,), preferred=True)


def finding(
    source: Source,
    text: str,
    *fixes: Fix,
    code: str = "GS201",
    name: str = "inplace-on-saved",
    severity: Severity = Severity.ERROR,
    message: str = "it is written in place",
    related: tuple[tuple[str, str], ...] = (),
    expected: str | None = None,
    nth: int = 0,
) -> Finding:
    """A finding on some text; `related` pairs other texts with what is said of them."""
    return Finding(
        code=code,
        name=name,
        severity=severity,
        message=message,
        path=source.path,
        span=span_of(source, text, nth),
        related=tuple(Related(source.path, span_of(source, other), said) for other, said in related),
        expected=expected,
        make_fixes=lambda: fixes,
    )
