"""Every rule, by its code. A new file `gs…_….py` in this folder is found by itself."""

from __future__ import annotations

import importlib
import pkgutil
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from gradsense import rules
from gradsense.machine.events import Event
from gradsense.rules.base import Rule
from gradsense.rules.finding import Finding


@cache
def all_rules() -> dict[str, Rule[Any]]:
    """The rules by code, in the order of their codes.

    Raises:
        ValueError: if two files claim one code.
    """
    found: dict[str, Rule[Any]] = {}
    for info in sorted(pkgutil.iter_modules(rules.__path__), key=lambda i: i.name):
        if not info.name.startswith("gs"):
            continue
        module = importlib.import_module(f"{rules.__name__}.{info.name}")
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, Rule) and value.__module__ == module.__name__:
                rule = value()
                if rule.code in found:
                    raise ValueError(f"two rules claim {rule.code}: {found[rule.code]!r} and {rule!r}")
                found[rule.code] = rule
    return found


@cache
def _listeners() -> dict[type[Event], list[Rule[Any]]]:
    by_event: dict[type[Event], list[Rule[Any]]] = defaultdict(list)
    for rule in all_rules().values():
        kinds = rule.listens_to if isinstance(rule.listens_to, tuple) else (rule.listens_to,)
        for kind in kinds:
            by_event[kind].append(rule)
    return by_event


def findings_of(events: Iterable[Event], failures: list[str]) -> Iterator[Finding]:
    """What the rules say about events, each place and code once, the most certain first.

    Args:
        events: what happened.
        failures: gets a line for each event on which a rule failed.
    """
    best: dict[tuple[object, ...], Finding] = {}
    for event in events:
        for rule in _listeners().get(type(event), ()):
            try:
                finding = rule.finding(event)
            except Exception as error:
                where = f"{event.place.path}:{event.place.line}"
                failures.append(f"{where}: {type(error).__name__}: {error} ({rule.code})")
                continue
            if finding is None:
                continue
            key = (finding.code, finding.path, finding.span)
            known = best.get(key)
            if known is None or finding.severity.rank < known.severity.rank:
                best[key] = finding
    yield from sorted(best.values(), key=lambda f: f.sort_key)
