"""Programs of the pairs, damaged: statements deleted, doubled or moved, names and values mixed up, the text cut off."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator
from copy import deepcopy

from pairs.format import read_all

Dice = random.Random
ODD = ("None", "[]", "()", "{}", "-1", "0.0", "'a'", "...", "lambda: 0", "torch", "print", "x[::0]", "[*x]")


def mutants(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Yields so many damaged programs, each with a name to find it again by; the same for the same seed."""
    programs = [program for program in read_all() if not program.others]
    for number in range(count):
        dice = random.Random(f"{seed} {number}")
        program = dice.choice(programs)
        changes = dice.choices((_delete, _double, _swap, _move, _mix_names, _mix_values), k=dice.randint(1, 3))
        text = _changed(program.main, changes, dice)
        names = [change.__name__.strip("_") for change in changes]
        if dice.random() < 0.2:
            text = text[: dice.randrange(len(text) + 1)]
            names.append("cut")
        yield f"{number}: {program.id}, {', '.join(names)}", text


def _changed(text: str, changes: list[Callable[[ast.Module, Dice], None]], dice: Dice) -> str:
    tree = ast.parse(text)
    for change in changes:
        change(tree, dice)
    for block in _blocks(tree):
        if not block:
            block.append(ast.Pass())
    try:
        return ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    except ValueError:
        # A part was put where Python has no words for it.
        return text


def _blocks(tree: ast.Module) -> list[list[ast.stmt]]:
    """The bodies of the module and of all compound statements."""
    return [node.body for node in ast.walk(tree) if hasattr(node, "body") and isinstance(node.body, list)]


def _block(tree: ast.Module, dice: Dice) -> list[ast.stmt]:
    return dice.choice([block for block in _blocks(tree) if block] or [[ast.Pass()]])


def _delete(tree: ast.Module, dice: Dice) -> None:
    block = _block(tree, dice)
    del block[dice.randrange(len(block))]


def _double(tree: ast.Module, dice: Dice) -> None:
    block = _block(tree, dice)
    block.insert(dice.randrange(len(block) + 1), deepcopy(dice.choice(block)))


def _swap(tree: ast.Module, dice: Dice) -> None:
    block = _block(tree, dice)
    one, other = dice.randrange(len(block)), dice.randrange(len(block))
    block[one], block[other] = block[other], block[one]


def _move(tree: ast.Module, dice: Dice) -> None:
    """A statement stands in another block as well, where `self`, a loop or a function may be missing."""
    moved, target = deepcopy(dice.choice(_block(tree, dice))), _block(tree, dice)
    target.insert(dice.randrange(len(target) + 1), moved)


def _mix_names(tree: ast.Module, dice: Dice) -> None:
    """One use of a name, or all, become another name."""
    uses = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    if uses:
        one, other = dice.choice(uses), dice.choice(uses).id
        changed = [use for use in uses if use.id == one.id] if dice.random() < 0.5 else [one]
        for use in changed:
            use.id = other


def _mix_values(tree: ast.Module, dice: Dice) -> None:
    """An expression becomes something odd, or one that stands elsewhere in the program."""
    slots: list[tuple[ast.AST, str, int | None]] = []
    values: list[ast.expr] = []
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            for index, part in enumerate(value) if isinstance(value, list) else ((None, value),):
                if isinstance(part, ast.expr) and not isinstance(node, ast.JoinedStr | ast.FormattedValue):
                    slots.append((node, name, index))
                    values.append(part)
    node, name, index = dice.choice(slots)
    new = deepcopy(dice.choice(values)) if dice.random() < 0.3 else ast.parse(dice.choice(ODD), mode="eval").body
    if index is None:
        setattr(node, name, new)
    else:
        getattr(node, name)[index] = new
