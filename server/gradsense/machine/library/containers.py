"""Methods of lists, dictionaries, sets, strings and tuples."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gradsense.machine.limits import MOST_PARTS
from gradsense.machine.values import UNKNOWN_KEY, DictValue, ListValue, NamedTuple, Unknown, Value, a_number, bounded

if TYPE_CHECKING:
    from gradsense.machine.interpreter import Machine

# Fields without a format of their own, which could ask for any width.
_PLAIN_FIELDS = re.compile(r"(?:[^{}]|\{\{|\}\}|\{\w*\})*")
STRING_METHODS = frozenset(
    "startswith endswith lower upper split strip replace format join find rstrip lstrip count title isdigit".split()
)


def _syntax(node: ast.AST | None, position: int) -> ast.expr | None:
    if isinstance(node, ast.Call) and len(node.args) > position:
        return node.args[position]
    return None


DICT_METHODS = frozenset("items values keys get update setdefault pop popitem clear copy move_to_end".split())


def list_method(machine: Machine, value: ListValue, name: str, arguments: list[Value], node: ast.AST | None) -> Value:
    """A method of a list, deque or set."""
    first = arguments[0] if arguments else None
    items = value.items
    if name in ("append", "appendleft", "add"):
        if not items:
            value.begun = machine.epoch
        if name == "appendleft":
            items.insert(0, first)
        else:
            items.append(first)
        value.grown = machine.epoch
        machine.note_items(value, [first], _syntax(node, 0))
        if value.maximum is not None and len(items) > value.maximum:
            items.pop(-1 if name == "appendleft" else 0)
        return None
    if name in ("extend", "update", "extendleft"):
        added = [] if isinstance(first, Unknown) else machine.items_of(first, node)[0]
        if isinstance(first, Unknown):
            value.open = True
        machine.extend(value, added)
        machine.note_items(value, added, _syntax(node, 0))
        while value.maximum is not None and len(items) > value.maximum:
            items.pop(0)
        return None
    if name == "insert":
        items.insert(first if isinstance(first, int) else 0, arguments[1] if len(arguments) > 1 else Unknown())
        machine.note_items(value, arguments[1:2], _syntax(node, 1))
        return None
    if name in ("pop", "popleft"):
        if not items:
            return Unknown()
        at = 0 if name == "popleft" else first if isinstance(first, int) and -len(items) <= first < len(items) else -1
        return items.pop(at)
    if name == "clear":
        items.clear()
        value.open = False
        return None
    if name == "copy":
        copied = ListValue(items, machine.here(), value.kind)
        copied.open, copied.homogeneous = value.open, value.homogeneous
        return copied
    if name == "reverse":
        items.reverse()
        return None
    if name in ("remove", "discard"):
        for index, item in enumerate(items):
            if item is first or (isinstance(item, (str, int)) and item == first):
                del items[index]
                break
        return None
    if name in ("index", "count", "__len__"):
        return a_number()
    if name in ("union", "intersection", "difference", "symmetric_difference"):
        return ListValue(items, machine.here(), "set")
    if name == "__iter__":
        return value
    return None if name in ("sort", "rotate") else Unknown()


def dict_method(
    machine: Machine, value: DictValue, name: str, arguments: list[Value], keywords: dict[str, Value]
) -> Value:
    """A method of a dictionary."""
    items = value.items
    key = machine.dict_key(arguments[0]) if arguments else None
    fallback = arguments[1] if len(arguments) > 1 else keywords.get("default")
    if name in ("items", "values", "keys"):
        listed: list[Value]
        if name == "values":
            listed = list(items.values())
        else:
            keys = [a_number() if k is UNKNOWN_KEY or isinstance(k, Unknown) else k for k in items]
            listed = list(keys) if name == "keys" else list(zip(keys, items.values(), strict=True))
        made = ListValue(listed)
        made.open = value.open
        return made
    if name == "get":
        if key in items:
            return items[key]
        unknown = [k for k in items if k is UNKNOWN_KEY or isinstance(k, Unknown)]
        if unknown:
            return items[unknown[-1]]
        return Unknown() if value.open or isinstance(key, Unknown) else fallback
    if name == "update":
        given = arguments[0] if arguments else None
        if isinstance(given, DictValue):
            items.update(given.items)
            machine.note_items(value, list(given.items.values()))
        elif isinstance(given, ListValue):
            for pair in given.items:
                if isinstance(pair, tuple) and len(pair) == 2:
                    items[machine.dict_key(pair[0])] = pair[1]
        elif isinstance(given, Unknown):
            value.open = True
        items.update(keywords)
        machine.note_items(value, list(keywords.values()))
        return None
    if name == "setdefault":
        if key not in items:
            items[key] = fallback
            machine.note_items(value, [fallback])
        return items[key]
    if name == "pop":
        return items.pop(key, fallback if len(arguments) > 1 else Unknown())
    if name == "popitem":
        return items.popitem() if items else Unknown()
    if name == "clear":
        items.clear()
        return None
    if name == "copy":
        return DictValue(items, machine.here())
    if name == "move_to_end":
        return None
    return Unknown()


def string_method(value: str, name: str, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """A method of a known string."""
    if name in STRING_METHODS and not keywords and all(isinstance(a, (str, int)) for a in arguments):
        if name == "format" and not _PLAIN_FIELDS.fullmatch(value):
            return a_number()
        try:
            result = getattr(value, name)(*arguments)
        except (AttributeError, TypeError, ValueError, IndexError, KeyError, OverflowError):
            return a_number()
        return ListValue(result) if isinstance(result, list) else bounded(result)
    if name == "join" and arguments and isinstance(arguments[0], ListValue):
        parts = arguments[0].items
        if len(parts) <= MOST_PARTS and all(isinstance(p, str) for p in parts):
            return bounded(value.join(str(p) for p in parts))
    return a_number()


def tuple_method(value: Value, name: str, keywords: dict[str, Value]) -> Value:
    """A method of a tuple or a number."""
    if isinstance(value, NamedTuple):
        if name == "_asdict":
            return DictValue(dict(zip(value.fields, value, strict=False)))
        if name == "_replace":
            parts = [keywords.get(field, part) for field, part in zip(value.fields, value, strict=False)]
            return NamedTuple.of(parts, value.fields)
    return a_number()
