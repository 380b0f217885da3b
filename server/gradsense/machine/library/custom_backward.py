"""What a walk meets in the `backward` of a custom Function, told from how that is written: it is never run."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gradsense.machine.frames import Frame
from gradsense.machine.graph import Refusal, Tensor
from gradsense.machine.ops.table import table
from gradsense.machine.place import Place
from gradsense.machine.trees import nodes_of
from gradsense.machine.tri import NO
from gradsense.machine.values import ClassValue, External, Function, Value

if TYPE_CHECKING:
    from gradsense.machine.interpreter import Machine

# They hand the function's result on as it is.
TRANSPARENT = frozenset("staticmethod once_differentiable custom_bwd".split())
# Of these the table knows the form with one result, and there is one with two.
OF_TWO_FORMS = frozenset("max min median nanmedian where".split())
# No tuple is divided, subtracted or multiplied as a matrix.
OF_TENSORS = (ast.Div, ast.Sub, ast.MatMult, ast.Pow, ast.FloorDiv, ast.Mod)
ATTRIBUTES = frozenset("data T mT grad real imag".split())


def refusals(
    machine: Machine, cls: ClassValue, arguments: list[Value], node: ast.AST | None
) -> tuple[Refusal | None, Refusal | None]:
    """What a walk through the Function raises, and what a walk through its gradient does.

    Args:
        arguments: what `apply` was given.
        node: the call of `apply`.
    """
    backward = cls.find("backward") if cls.has("backward") else None
    if backward is None:
        missing = not cls.has_unknown_base and not cls.has("vjp") and not cls.has("backward")
        return Refusal(
            "missing", Place(cls.source, cls.node.bases[0] if cls.node.bases else cls.node), cls.name
        ) if missing else None, None
    if not isinstance(backward, Function) or isinstance(backward.node, ast.Lambda):
        return None, None
    decorators = [_torch_name(machine, backward, d) for d in backward.node.decorator_list]
    twice = None
    for name, decorator in zip(decorators, backward.node.decorator_list, strict=True):
        if name == "once_differentiable":
            twice = Refusal("once", Place(backward.source, decorator), cls.name)
    spread = isinstance(node, ast.Call) and any(isinstance(a, ast.Starred) for a in node.args)
    if spread or not TRANSPARENT.issuperset(decorators):
        return None, twice
    return _count(machine, cls, backward, backward.node, arguments), twice


def _torch_name(machine: Machine, function: Function, decorator: ast.expr) -> str | None:
    """The last part of the library's name that a decorator is, None for one of the program."""
    if isinstance(decorator, ast.Call):
        decorator = decorator.func
    if isinstance(decorator, ast.Name) and decorator.id == "staticmethod":
        return decorator.id
    with machine.entered(Frame(function.source, function.environment)):
        value = machine.evaluate(decorator)
    return value.last if isinstance(value, External) and value.name.startswith("torch.") else None


def _count(
    machine: Machine,
    cls: ClassValue,
    function: Function,
    definition: ast.FunctionDef | ast.AsyncFunctionDef,
    arguments: list[Value],
) -> Refusal | None:
    """The first `return` of a backward, if every one of them gives a wrong number of gradients."""
    wanted = len(arguments)
    # Kept for this path alone: what the names in it mean is told elsewhere, and may be told anew there.
    key = (definition, wanted)
    if key not in machine.returned:
        machine.returned[key] = _Body(machine, function, definition).first_wrong(wanted)
    wrong = machine.returned[key]
    if wrong is None:
        return None
    given, number = wrong
    idle = not any(isinstance(a, Tensor) and machine.needs_grad(a) is not NO for a in arguments[number:])
    spare = len(arguments[number:]) if idle else 0
    return Refusal("count", Place(function.source, given), cls.name, wanted, number, spare)


class _Body:
    """The statements of one backward."""

    def __init__(
        self, machine: Machine, function: Function, definition: ast.FunctionDef | ast.AsyncFunctionDef
    ) -> None:
        self.machine = machine
        self.function = function
        inner = {
            id(part)
            for own in nodes_of(definition)
            if own is not definition and isinstance(own, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            for part in nodes_of(own)
        }
        self.nodes = [node for node in nodes_of(definition) if id(node) not in inner]
        self.returns = [node for node in self.nodes if isinstance(node, ast.Return)]
        arguments = definition.args
        self.context = arguments.args[0].arg if arguments.args else ""
        self.gradients = {a.arg for a in arguments.args[1:]}
        self.asked: set[str] = set()

    def first_wrong(self, wanted: int) -> tuple[ast.Return, int] | None:
        """The first `return` and how many gradients it gives, if each of them gives a wrong number."""
        wrong = [(given, number) for given in self.returns if (number := self.number(given.value, wanted)) is not None]
        return wrong[0] if wrong and len(wrong) == len(self.returns) else None

    def number(self, value: ast.expr | None, wanted: int) -> int | None:
        """How many gradients a returned value is, where that is known and not what is wanted."""
        if isinstance(value, ast.Tuple):
            if any(isinstance(part, ast.Starred) for part in value.elts):
                return None
            # What is too much may be None.
            rest = value.elts[wanted:]
            fits = len(value.elts) >= wanted and all(isinstance(p, ast.Constant) and p.value is None for p in rest)
            return None if fits else len(value.elts)
        single = value is None or isinstance(value, (ast.Constant, ast.List)) or self.is_tensor(value)
        return 1 if single and wanted != 1 else None

    def is_tensor(self, value: ast.expr) -> bool:
        """Whether an expression is surely one tensor, or a number."""
        if isinstance(value, ast.Name):
            return self._is_tensor_name(value.id)
        if isinstance(value, ast.BinOp):
            if isinstance(value.op, OF_TENSORS):
                return True
            return self.is_tensor(value.left) or self.is_tensor(value.right)
        if isinstance(value, (ast.UnaryOp, ast.Compare)):
            return True
        if isinstance(value, ast.Subscript):
            return self._is_saved(value.value) or self.is_tensor(value.value)
        if isinstance(value, ast.Attribute):
            return value.attr in ATTRIBUTES and self.is_tensor(value.value)
        if isinstance(value, ast.IfExp):
            return self.is_tensor(value.body) and self.is_tensor(value.orelse)
        return isinstance(value, ast.Call) and self._is_tensor_call(value)

    def _is_saved(self, value: ast.expr) -> bool:
        """Whether an expression is `ctx.saved_tensors`."""
        return (
            isinstance(value, ast.Attribute)
            and value.attr in ("saved_tensors", "saved_variables")
            and isinstance(value.value, ast.Name)
            and value.value.id == self.context
        )

    def _is_tensor_name(self, name: str) -> bool:
        if name in self.asked:
            # It depends on itself: the other assignments tell.
            return True
        self.asked.add(name)
        try:
            values = self._assigned(name)
            stored = [n for n in self.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
            if len(values) < sum(n.id == name for n in stored):
                return False
            known = bool(values) or name in self.gradients
            return known and all(self._is_saved(v) or self.is_tensor(v) for v in values)
        finally:
            self.asked.discard(name)

    def _assigned(self, name: str) -> list[ast.expr]:
        """What is assigned to a variable: by itself, or as a part of `ctx.saved_tensors`."""
        values: list[ast.expr] = []
        for node in self.nodes:
            if isinstance(node, (ast.AnnAssign, ast.AugAssign)):
                if isinstance(node.target, ast.Name) and node.target.id == name and node.value is not None:
                    values.append(node.value)
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name) and target.id == name and not self._is_saved(node.value):
                        values.append(node.value)
                    elif isinstance(target, (ast.Tuple, ast.List)) and self._is_saved(node.value):
                        values += [node.value for part in target.elts if isinstance(part, ast.Name) and part.id == name]
        return values

    def _is_tensor_call(self, call: ast.Call) -> bool:
        """Whether a call is of an operation of torch with one result."""
        if not isinstance(call.func, (ast.Name, ast.Attribute)):
            return False
        if isinstance(call.func, ast.Attribute) and self.is_tensor(call.func.value):
            return _gives_one(call.func.attr)
        with self.machine.entered(Frame(self.function.source, self.function.environment)):
            called = self.machine.evaluate(call.func) if _is_dotted(call.func) else None
        return isinstance(called, External) and called.name.startswith("torch.") and _gives_one(called.name)


def _is_dotted(value: ast.expr) -> bool:
    while isinstance(value, ast.Attribute):
        value = value.value
    return isinstance(value, ast.Name)


def _gives_one(name: str) -> bool:
    """Whether an operation has one tensor as its result."""
    row = table().lookup(name)
    last = name.rpartition(".")[2]
    return row is not None and row.outputs == 1 and row.result != "value" and last.rstrip("_") not in OF_TWO_FORMS
