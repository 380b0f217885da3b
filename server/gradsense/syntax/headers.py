"""Headers of compound statements: what kind they are, how to test one by itself, and how to mend one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gradsense.syntax import dialects
from gradsense.syntax.scanner import unclosed
from gradsense.syntax.source import UNKNOWN

DECORATOR = "@"
OPENERS = frozenset({"if", "for", "while", "with", "def", "class", "try", "match", "case"})
CLAUSES = frozenset({"elif", "else", "except", "finally"})

_WORD = re.compile(r"[ \t\f]*(?:async[ \t]+(?=def\b|for\b|with\b))?([A-Za-z]+\b|@)")
_SOFT = re.compile(r"[ \t\f]*(?:match|case)\b[ \t]*[^ \t=.,)\]:;+*/%|&<>-]")
_FOLLOWERS = {
    "if": {"elif", "else"},
    "elif": {"elif", "else"},
    "for": {"else"},
    "while": {"else"},
    "try": {"except", "finally"},
    "except": {"except", "else", "finally"},
}
# Text before and behind a header that make a whole statement of it.
_CONTEXT = {
    "elif": ("if 1: pass\n", ""),
    "else": ("if 1: pass\n", ""),
    "except": ("try: pass\n", ""),
    "finally": ("try: pass\n", ""),
    "try": ("", "\nfinally: pass"),
    "case": ("match 1:\n ", ""),
    DECORATOR: ("", "\ndef _(): pass"),
}
_ASYNC = re.compile(r"async[ \t]+")
_NAMED = re.compile(r"(def|class)[ \t]+([^\W\d]\w*)")
_PARAMETER = re.compile(r"(?:^|,)\s*(\*{0,2}[^\W\d]\w*)")
_FOR_TARGETS = re.compile(r"(?:async[ \t]+)?for[ \t]+(.+?)[ \t]+in\b", re.S)
_AS_NAME = re.compile(r"\bas[ \t]+([^\W\d]\w*)")


def word(text: str) -> str:
    """The keyword that `text` starts with (without `async`), "@" for a decorator; "" for a simple statement."""
    found = _WORD.match(text)
    if found is None:
        return ""
    first = found.group(1)
    if first in ("match", "case"):
        return first if text.rstrip().endswith(":") and _SOFT.match(text) else ""
    return first if first in OPENERS or first in CLAUSES or first == DECORATOR else ""


def follows(previous: str, opener: str, clause: str) -> bool:
    """True if `clause` may come after the clause `previous` of a statement that begins with `opener`."""
    if previous == "else":
        return opener == "try" and clause == "finally"
    return clause in _FOLLOWERS.get(previous, ())


def standalone(kind: str, text: str) -> str:
    """A statement that parses if the header `text`, of the given kind, is right."""
    if kind == "match":
        return text + "\n case _: pass"
    before, behind = _CONTEXT.get(kind, ("", ""))
    return before + text + (" pass" if text.endswith(":") else "") + behind


def candidates(kind: str, text: str) -> Iterator[str]:
    """Headers to try in place of the broken `text`, the nearest first; the last one always parses."""
    closed = unclosed(text.rstrip(": \t"))
    if closed is not None:
        yield text.rstrip(": \t") + closed + ":"
    if kind == "except":
        modern = dialects.python3_header(text)
        if modern is not None:
            yield modern
    yield from _stripped(kind, text)


def _stripped(kind: str, text: str) -> Iterator[str]:
    """What is left of a header when only names in it are kept."""
    head = "async " if _ASYNC.match(text) else ""
    names = _AS_NAME.findall(text)
    if kind in ("if", "elif", "while"):
        yield f"{kind} {UNKNOWN}:"
    elif kind in ("else", "try", "finally"):
        yield f"{kind}:"
    elif kind == "for":
        targets = _FOR_TARGETS.match(text)
        if targets is not None:
            yield f"{head}for {targets.group(1)} in {UNKNOWN}:"
        yield f"{head}for {UNKNOWN} in {UNKNOWN}:"
    elif kind == "with":
        if names:
            yield f"{head}with {', '.join(f'{UNKNOWN} as {name}' for name in names)}:"
        yield f"{head}with {UNKNOWN}:"
    elif kind == "except":
        if names:
            yield f"except {UNKNOWN} as {names[0]}:"
        yield f"except {UNKNOWN}:"
    elif kind in ("match", "case"):
        yield "case _:" if kind == "case" else f"match {UNKNOWN}:"
    else:
        yield from _definition(kind, head, text)


def _definition(kind: str, head: str, text: str) -> Iterator[str]:
    named = _NAMED.search(text)
    name = UNKNOWN if named is None else named.group(2)
    if kind == "class":
        yield f"class {name}({UNKNOWN}):"
        yield f"class {UNKNOWN}({UNKNOWN}):"
        return
    inside = text.partition("(")[2]
    yield f"{head}def {name}({', '.join(_PARAMETER.findall(inside))}):"
    yield f"{head}def {name}(*args, **kwargs):"
    yield f"{head}def {UNKNOWN}(*args, **kwargs):"
