"""Computes a value where it is read, in a closure or in `forward`, and not once before."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence

from gradsense.fixes.fix import Edits, Fix, combine
from gradsense.fixes.insert import insert_after, insert_before
from gradsense.fixes.methods import replace_expression
from gradsense.fixes.remove import remove_statements
from gradsense.fixes.tree import FunctionNode, loaded_names, mentions, stored_names
from gradsense.machine.graph import Node, Store, Tensor, Walk
from gradsense.machine.place import Place
from gradsense.rules.editing import Code, code_of, safe
from gradsense.rules.repairs.into_loop import with_its_makers


def compute_in_closure(held: Tensor | None, stores: Sequence[Store], walk: Walk) -> Iterator[Fix]:
    """Moves the statements that make a value into the function that reads it from outside and walks it each time."""
    for store in reversed(stores):
        code = code_of(store.place)
        made = code.statement(store.place.node)
        block = code.block(made) if made is not None else None
        if store.kind != "name" or made is None or block is None:
            continue
        for place in (walk.place, *reversed(walk.place.stack)):
            reader = code.function(found) if (found := _own(code, place)) is not None else None
            if reader is None or reader is code.function(made) or not _reads_from_outside(code, reader, store.name):
                continue
            group = with_its_makers(code, block, made, held.node if held is not None else None, reader)
            outer = [one for one in block.statements if one is not reader and one not in group]
            read = any(store.name in loaded_names(one) for one in outer)
            if not group or read or any(_is_long(one) for one in group):
                continue
            texts = "\n".join(code.text(statement) for statement in group)
            first = reader.body[0]
            edits = combine(
                remove_statements(code.source, code.tree, group), insert_before(code.source, code.tree, first, texts)
            )
            yield from safe(f"Compute `{store.name}` in `{reader.name}`", edits)
            return


def _is_long(statement: ast.stmt) -> bool:
    return statement.end_lineno != statement.lineno


def _own(code: Code, place: Place) -> ast.AST | None:
    return code.twin(place.node) if place.source is code.source else None


def _reads_from_outside(code: Code, function: FunctionNode, name: str) -> bool:
    return any(name in loaded_names(one) for one in function.body) and not code.rebinds(function.body[0], name)


def compute_where_read(stores: Sequence[Store], readers: Sequence[Node | Walk | None]) -> Iterator[Fix]:
    """Sets `self.table` again at the start of the method that reads it; variables that it needs are kept in `self`.

    Args:
        stores: where the value was put.
        readers: what read it, or walked what did: the method is one that they were reached through.
    """
    for store in reversed(stores):
        code = code_of(store.place)
        statement = code.statement(store.place.node)
        function = code.function(statement) if statement is not None else None
        target = code.twin(store.place.node)
        if store.kind != "attribute" or statement is None or function is None or not isinstance(target, ast.Attribute):
            continue
        owner = code.ancestors(function)[-1]
        if not isinstance(statement, ast.Assign) or not isinstance(owner, ast.ClassDef) or _is_long(statement):
            continue
        if isinstance(statement.value, ast.Name):
            # It was handed in as it is: the graph was built elsewhere.
            continue
        own = loaded_names(statement) & (stored_names(function) | _parameters(function)) - {"self"}
        if any(f"_{name}" in attributes_of(owner) for name in own):
            continue
        kept = "\n".join(f"self._{name} = {name}" for name in sorted(own))
        keep: Edits | None = insert_after(code.source, code.tree, statement, kept) if own else ()
        for method in _methods(code, owner, readers):
            first = next((one for one in method.body if mentions(one, target)), None)
            if first is not None and method is not function:
                text = _from_self(statement, own) if own else code.text(statement)
                edits = combine(keep, insert_before(code.source, code.tree, first, text))
                yield from safe(f"Compute `{store.name}` in `{method.name}`", edits)
                return


def attributes_of(owner: ast.ClassDef) -> set[str]:
    """The names of attributes that a class's code speaks of."""
    return {node.attr for node in ast.walk(owner) if isinstance(node, ast.Attribute)}


class _FromSelf(ast.NodeTransformer):
    def __init__(self, names: set[str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id not in self.names:
            return node
        return ast.Attribute(ast.Name("self", ast.Load()), f"_{node.id}", ast.Load())


def _from_self(statement: ast.stmt, names: set[str]) -> str:
    """A statement that takes some variables from attributes of the same name behind an underscore."""
    return ast.unparse(_FromSelf(names).visit(copy.deepcopy(statement)))


def compute_at_each_use(stores: Sequence[Store]) -> Iterator[Fix]:
    """Turns the `@cached_property` that keeps a value into a `@property`."""
    for store in stores:
        code = code_of(store.place)
        found = _own(code, store.place)
        function = code.function(found) if found is not None else None
        for decorator in function.decorator_list if function is not None else ():
            if code.text(decorator).rpartition(".")[2] == "cached_property":
                edits = replace_expression(code.source, code.tree, decorator, "property")
                yield from safe(f"Compute `{store.name}` at each use: `@property`", edits)
                return


def _methods(code: Code, owner: ast.ClassDef, readers: Sequence[Node | Walk | None]) -> Iterator[FunctionNode]:
    """The methods of a class that some places were reached through, and its `forward`."""
    for reader in readers:
        for place in (reader.place, *reversed(reader.place.stack)) if reader is not None else ():
            found = _own(code, place)
            method = code.function(found) if found is not None else None
            if method is not None and any(one is method for one in owner.body):
                yield method
    yield from (one for one in owner.body if isinstance(one, ast.FunctionDef) and one.name == "forward")


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    return {child.arg for child in ast.walk(function.args) if isinstance(child, ast.arg)}
