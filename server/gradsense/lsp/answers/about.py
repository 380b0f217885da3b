"""Requests about an open program, and what answers each.

What answers is imported when it is first asked for: the first findings of a session need none of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gradsense.lsp.held import Held
from gradsense.lsp.messages import (
    DescribeTensor,
    FindFixes,
    FindInlays,
    FindLenses,
    FindRewrites,
    FixAll,
    Reply,
    Silence,
)
from gradsense.machine.limits import Limits

Answer = Callable[[Held, Any, Limits], Reply | None]
"""Answers a request about a program; None where there is nothing to say."""


def _find_fixes(held: Held, request: FindFixes, limits: Limits) -> Reply:
    from gradsense.lsp.answers.fixes import find_fixes

    return find_fixes(held, request)


def _fix_all(held: Held, request: FixAll, limits: Limits) -> Reply:
    from gradsense.lsp.answers.fixes import fix_all

    return fix_all(held, request, limits)


def _find_rewrites(held: Held, request: FindRewrites, limits: Limits) -> Reply:
    from gradsense.lsp.answers.rewrites import find_rewrites

    return find_rewrites(held, request)


def _find_lenses(held: Held, request: FindLenses, limits: Limits) -> Reply:
    from gradsense.lsp.answers.lenses import find_lenses

    return find_lenses(held)


def _find_inlays(held: Held, request: FindInlays, limits: Limits) -> Reply:
    from gradsense.lsp.answers.inlays import find_inlays

    return find_inlays(held, request, limits)


def _describe(held: Held, request: DescribeTensor, limits: Limits) -> Reply | None:
    from gradsense.lsp.answers.tensors import describe

    return describe(held, request, limits)


def _silence(held: Held, request: Silence, limits: Limits) -> Reply | None:
    from gradsense.lsp.answers.silencing import ignore_in_project

    return ignore_in_project(held, request.code, request.open_texts)


ANSWERS: Mapping[type[Any], Answer] = {
    FindFixes: _find_fixes,
    FixAll: _fix_all,
    FindRewrites: _find_rewrites,
    FindLenses: _find_lenses,
    FindInlays: _find_inlays,
    DescribeTensor: _describe,
    Silence: _silence,
}
