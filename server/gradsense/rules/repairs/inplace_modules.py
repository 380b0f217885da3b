"""Turns `inplace=True` off, where it is given: in a constructor, in the call of a functional, or for a whole file."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.fix import Fix
from gradsense.fixes.keywords import drop_inplace, set_keywords
from gradsense.machine.place import Place
from gradsense.rules.editing import Code, code_of, safe
from gradsense.rules.wording import quoted


def turn_off(made: Place | None, place: Place) -> Iterator[Fix]:
    """Turns `inplace` off for the module that wrote, and for all of its file.

    Args:
        made: where the module was constructed; None for a functional.
        place: the write.
    """
    code = code_of(made or place)
    call = code.expression(made.node) if made is not None else None
    if isinstance(call, ast.Call):
        shown = quoted(code.text(call))
        yield from safe(f"Turn `inplace` off: {shown}", drop_inplace(code.source, code.tree, call))
    calls = _all_in_place(code)
    if len(calls) > 1 or not isinstance(call, ast.Call):
        edits = set_keywords(code.source, code.tree, calls, "inplace", "False")
        yield from safe("Turn `inplace` off everywhere in this file", edits)


def _all_in_place(code: Code) -> list[ast.Call]:
    """The calls with a literal `inplace=True`."""
    return [
        node
        for node in ast.walk(code.tree)
        if isinstance(node, ast.Call)
        and any(
            keyword.arg == "inplace" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True
            for keyword in node.keywords
        )
    ]
