"""Running by itself what a program's module level does not reach: functions, methods, forwards, training steps."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from weakref import WeakKeyDictionary

from gradsense.machine.alive import alive
from gradsense.machine.graph import Tensor
from gradsense.machine.interpreter import Machine
from gradsense.machine.level import ModuleLevel
from gradsense.machine.library import module_methods, optim
from gradsense.machine.trees import nodes_of, notes, statements_in
from gradsense.machine.tri import NO, YES
from gradsense.machine.values import (
    ClassValue,
    DictValue,
    Function,
    GeneratorValue,
    Instance,
    ListValue,
    Optimizer,
    Unknown,
    Value,
    tensors_in,
)

Definition = ast.FunctionDef | ast.AsyncFunctionDef
# Methods whose returned loss a trainer walks.
STEP_METHODS = frozenset(("training_step", "compute_loss"))
TRAINER_BASES = frozenset(("LightningModule", "Trainer", "Seq2SeqTrainer", "SFTTrainer"))


# The attributes that methods of a class assign, for as long as its tree lives, and what its body was then.
_ASSIGNED: WeakKeyDictionary[ast.ClassDef, tuple[list[ast.stmt], set[str]]] = notes()
# What functions call that do nothing else.
_ONLY_CALLS: WeakKeyDictionary[Definition, frozenset[str] | None] = notes()
# Calls that only pass on options.
_PLUMBING = frozenset(("dict", "list", "tuple", "partial", "print", "str", "int", "len"))
# The names that a function calls.
_CALLED: WeakKeyDictionary[ast.AST, frozenset[str]] = notes()


@dataclass(frozen=True, eq=False)
class Unit:
    """A function or a method, with its class."""

    node: Definition
    cls: ast.ClassDef | None = None


def units_of(tree: ast.Module) -> list[Unit]:
    """The functions and methods of a file, callers before what they call."""
    found: list[Unit] = []
    todo = list(reversed(tree.body))
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.append(Unit(node))
        elif isinstance(node, ast.ClassDef):
            found += [
                Unit(part, node)
                for part in node.body
                if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)) and not part.name.startswith("__")
            ]
        elif isinstance(node, ast.If):
            todo += reversed([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            todo += reversed(node.body)
    names = {u.node.name for u in found}
    called: set[str] = set()
    for unit in found:
        called |= (_called_in(unit.node) & names) - {unit.node.name}
    # A function that another one calls is usually reached from there, with real arguments.
    return sorted(found, key=lambda u: (u.node.name in called, u.node.name not in STEP_METHODS, u.node.lineno))


def _called_in(function: Definition) -> frozenset[str]:
    """The names of the functions and methods that a function calls."""
    known = _CALLED.get(function)
    if known is None:
        calls = [part.func for part in nodes_of(function) if isinstance(part, ast.Call)]
        names = {func.id for func in calls if isinstance(func, ast.Name)}
        names |= {func.attr for func in calls if isinstance(func, ast.Attribute)}
        known = _CALLED[function] = frozenset(names)
    return known


def only_calls(function: Definition) -> frozenset[str] | None:
    """The names of what a function calls, if calls of functions and classes one after another are all it does.

    Returns:
        None for a function that does more, and where a method is called or something that the function made.
    """
    if function not in _ONLY_CALLS:
        _ONLY_CALLS[function] = _calls_of(function)
    return _ONLY_CALLS[function]


def _calls_of(function: Definition) -> frozenset[str] | None:
    if not all(isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Expr, ast.Return)) for statement in function.body):
        return None
    parts = [part for statement in function.body for part in nodes_of(statement)]
    if any(isinstance(part, (ast.comprehension, ast.IfExp, ast.Lambda)) for part in parts):
        return None
    options = function.args.kwarg.arg if function.args.kwarg is not None else None
    local = {part.arg for part in nodes_of(function.args) if isinstance(part, ast.arg)}
    local |= {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    found = set()
    for part in parts:
        called = part.func if isinstance(part, ast.Call) else None
        if isinstance(called, ast.Name) and called.id not in local:
            found.add(called.id)
        elif isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
            if called.value.id != options and not (called.value.id == "nn" and called.attr[0].isupper()):
                return None
        elif called is not None:
            return None
    return frozenset(found - _PLUMBING)


def runner(machine: Machine, unit: Unit, level: ModuleLevel) -> Callable[[], None] | None:
    """What runs the unit on a machine whose module level has been run, or None if it is not defined there."""
    node = unit.cls
    if node is None:
        function = _function(machine, unit.node)
        return None if function is None else lambda: _run_function(machine, function, [])
    cls = _class(machine, node)
    if cls is None:
        return None
    make = partial(level.made, machine, node, lambda: _make(machine, cls))
    return lambda: _run_method(machine, cls, unit, make)


def _function(machine: Machine, node: Definition) -> Function | None:
    machine.names_read.add(node.name)
    value = machine.file_frame.variables.get(node.name)
    return value if isinstance(value, Function) and value.node is node else None


def _class(machine: Machine, node: ast.ClassDef) -> ClassValue | None:
    machine.names_read.add(node.name)
    value = machine.file_frame.variables.get(node.name)
    return value if isinstance(value, ClassValue) and value.node is node else None


def _run_function(machine: Machine, function: Function, arguments: list[Value]) -> None:
    machine.node = function.node
    result = machine.call(function, arguments, {}, function.node)
    if isinstance(result, GeneratorValue):
        result = ListValue(machine.run_generator(result))
    machine.escape(result)


def _make(machine: Machine, cls: ClassValue) -> Instance | None:
    made = machine.instantiate(cls, [], {}, cls.node)
    if not isinstance(made, Instance) or made.kind == "Function":
        return None
    _open(made, cls)
    return made


def _run_method(machine: Machine, cls: ClassValue, unit: Unit, make: Callable[[], Instance | None]) -> None:
    function = cls.namespace.get(unit.node.name)
    if not isinstance(function, Function):
        return
    machine.node = unit.node
    if function.kind == "staticmethod":
        _run_function(machine, function, [])
        return
    if function.kind == "classmethod":
        _run_function(machine, function, [cls])
        return
    made = make()
    if made is None:
        return
    machine.node = unit.node
    if unit.node.name == "forward" and made.is_module:
        _run_forward(machine, made, function)
    elif unit.node.name in STEP_METHODS and _is_trained(cls, made):
        _run_training_step(machine, made, function, cls)
    else:
        _run_function(machine, function, [made])


def _assigned_outside_init(node: ast.ClassDef) -> set[str]:
    known = _ASSIGNED.get(node)
    if known is None:
        assigned = {
            part.attr
            for method in node.body
            if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)) and method.name != "__init__"
            for part in nodes_of(method)
            if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store)
        }
        known = _ASSIGNED[node] = (list(node.body), assigned)
    return known[1]


def assigns_anew(tree: ast.Module, functions: Collection[ast.AST]) -> bool:
    """Whether a class assigns other attributes outside of its constructor than when that was looked at.

    Args:
        tree: the file.
        functions: those whose bodies changed in place.
    """
    anew = False
    for node in statements_in(tree.body, classes=True):
        if not isinstance(node, ast.ClassDef):
            continue
        before = _ASSIGNED.get(node)
        if before is not None and (before[0] != node.body or any(part in functions for part in node.body)):
            del _ASSIGNED[node]
            anew = anew or before[1] != _assigned_outside_init(node)
    return anew


def _open(made: Instance, cls: ClassValue) -> None:
    """Other methods may have run before: containers may hold more, and what they assign is not known."""
    assigned: set[str] = set()
    for base in cls.linear():
        assigned |= _assigned_outside_init(base.node)
    for name, value in list(made.attributes.items()):
        if isinstance(value, (ListValue, DictValue)):
            value.open = True
        elif name in assigned and (value is None or isinstance(value, (int, float, str, bool))):
            made.attributes[name] = Unknown(name=name)


def _is_trained(cls: ClassValue, made: Instance) -> bool:
    bases = {base.rpartition(".")[2] for base in cls.library_bases()}
    if not bases & TRAINER_BASES and not made.opaque:
        return False
    return made.attributes.get("automatic_optimization") is not False


def _missing(machine: Machine, function: Function) -> list[Value]:
    """Stand-ins for the required parameters after `self`."""
    parameters = function.node.args
    every = [*parameters.posonlyargs, *parameters.args]
    required = every[1 : len(every) - len(function.defaults)] if function.defaults else every[1:]
    return [machine.missing_argument(a, function) for a in required]


def _run_forward(machine: Machine, made: Instance, function: Function) -> None:
    """A forward whose caller we do not see: calls that are walked, of which only sure events count.

    Where the first leaves nothing to the next, one is enough. Two show what one leaves to the other, and a third is
    made where the second came to more than the first.
    """
    made_before = None
    for number in range(machine.limits.passes):
        machine.epoch = ((-1, number),)
        nodes, events, held = machine.node_count, len(machine.events), _left(machine, made)
        result = machine.call_instance(made, _missing(machine, function), {}, function.node)
        outputs = [t for t in tensors_in(result) if machine.needs_grad(t) is not NO]
        machine.node = function.node
        machine.grad_mode = YES
        if outputs and made.training is not False:
            machine.assumed = True
            try:
                machine.walk(outputs, retain=False, kind="assumed", given_gradient=True)
            finally:
                machine.assumed = False
        if len(machine.events) == events:
            new = machine.node_count - nodes
            if new == made_before:
                break
            kept = alive(machine, made).values()
            if held == _left(machine, made) and not any(slot.ancestry >> nodes + 1 for slot in kept):
                break
        made_before = machine.node_count - nodes


def _left(machine: Machine, made: Instance) -> list[int]:
    """How often the tensors of a module were written, and attributes of anything set."""
    return [machine.attributes_set, *(t.storage.version for _, t in module_methods.tensors(made, buffers=True))]


def _run_training_step(machine: Machine, made: Instance, function: Function, cls: ClassValue) -> None:
    """A step that a trainer drives: zero, step method, backward of what it returns, optimizer step."""
    optimizers: list[Optimizer] = []
    if cls.has("configure_optimizers"):
        value = machine.call(cls.find("configure_optimizers"), [made], {}, function.node)
        optimizers = _optimizers_in(value)
    for number in range(machine.limits.passes):
        machine.epoch = ((-1, number),)
        for optimizer in optimizers:
            machine.zero_gradients(optimizer.parameters)
        result = machine.call(function, [made, *_missing(machine, function)], {}, function.node)
        machine.node = function.node
        loss = _loss_of(result)
        if isinstance(loss, Tensor):
            machine.node = _return_of(function)
            machine.walk([loss], retain=False)
            machine.note_site(machine.walks[-1].known if machine.walks else False)
            for optimizer in optimizers:
                optim.step(machine, optimizer, None, function.node)
        elif isinstance(loss, Unknown):
            machine.learn_graph(loss)


def _loss_of(result: Value) -> Value:
    if isinstance(result, DictValue):
        return result.items.get("loss")
    if isinstance(result, tuple) and result:
        return result[0]
    return result


def _return_of(function: Function) -> ast.AST:
    for node in nodes_of(function.node):
        if isinstance(node, ast.Return) and node.value is not None:
            return node.value
    return function.node


def _optimizers_in(value: Value) -> list[Optimizer]:
    if isinstance(value, Optimizer):
        return [value]
    if isinstance(value, tuple):
        return [o for part in value for o in _optimizers_in(part)]
    if isinstance(value, ListValue):
        return [o for part in value.items for o in _optimizers_in(part)]
    if isinstance(value, DictValue):
        return [o for part in value.items.values() for o in _optimizers_in(part)]
    return []
