"""Evaluating expressions."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Any

from gradsense.machine import library
from gradsense.machine.calls import Calls
from gradsense.machine.devices import ChosenDevice, chosen_among
from gradsense.machine.events import InputOverwritten
from gradsense.machine.frames import Frame
from gradsense.machine.graph import Tensor
from gradsense.machine.limits import LONGEST_DISPLAY, MOST_HELD, SIZE
from gradsense.machine.shapes import broadcast
from gradsense.machine.state import may_count
from gradsense.machine.values import (
    ITERATOR,
    SCALARS,
    BoundMethod,
    ClassValue,
    DictValue,
    External,
    Function,
    GeneratorValue,
    GradMode,
    Growing,
    Instance,
    ListValue,
    LoopIndex,
    Partial,
    Unknown,
    Value,
    a_number,
    bounded,
    parts_of,
)

TENSOR_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.Mod: "remainder",
    ast.FloorDiv: "floor_divide",
    ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor",
    ast.LShift: "bitwise_left_shift",
    ast.RShift: "bitwise_right_shift",
}
SPECIAL_METHODS: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("__add__", "__radd__"),
    ast.Sub: ("__sub__", "__rsub__"),
    ast.Mult: ("__mul__", "__rmul__"),
    ast.Div: ("__truediv__", "__rtruediv__"),
    ast.MatMult: ("__matmul__", "__rmatmul__"),
    ast.Pow: ("__pow__", "__rpow__"),
}


def _power(base: Any, exponent: Any) -> Any:
    if abs(exponent) > 64 or abs(base) > 1e9:
        raise OverflowError
    return base**exponent


def _repeat(value: Any, count: Any) -> Any:
    if isinstance(value, str) or isinstance(count, str):
        raise OverflowError
    return value * count


PYTHON_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: _repeat,
    ast.Div: operator.truediv,
    ast.Pow: _power,
    ast.Mod: operator.mod,
    ast.FloorDiv: operator.floordiv,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


# What a comprehension makes.
COMPREHENSIONS = {ast.ListComp: "list", ast.SetComp: "set", ast.GeneratorExp: ITERATOR}
# Functions of torch that put tensors together as `+` does.
JOINING = frozenset(("cat", "concat", "stack", "add"))


class Expressions(Calls):
    """Expressions."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._evaluators: dict[type[ast.AST], Callable[[Any], Value]] = {
            ast.Constant: self._constant,
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Call: self._call,
            ast.BinOp: self._binary,
            ast.UnaryOp: self._unary,
            ast.BoolOp: self._boolean,
            ast.Compare: self._compare,
            ast.Subscript: self._subscript,
            ast.Slice: self._slice,
            ast.Tuple: self._tuple,
            ast.List: self._list,
            ast.Set: self._set,
            ast.Dict: self._dict,
            ast.JoinedStr: self._joined,
            ast.FormattedValue: self._formatted,
            ast.IfExp: self._conditional,
            ast.Lambda: self.make_function,
            ast.ListComp: self._list_comprehension,
            ast.SetComp: self._list_comprehension,
            ast.GeneratorExp: self._generator_expression,
            ast.DictComp: self._dict_comprehension,
            ast.Await: lambda n: self.evaluate(n.value),
            ast.Starred: lambda n: self.evaluate(n.value),
            ast.NamedExpr: self._walrus,
            ast.Yield: self._yield,
            ast.YieldFrom: self._yield_from,
        }

    def evaluate(self, node: ast.expr) -> Value:
        # What `step` does, without the call: nothing is run more often.
        self.steps_taken += 1
        if self.steps_taken >= self.next_step_look:
            self.look_at_budget()
        evaluator = self._evaluators.get(type(node))
        return evaluator(node) if evaluator is not None else Unknown()

    # ------------------------------------------------------------------ atoms

    @staticmethod
    def _constant(node: ast.Constant) -> Value:
        value = node.value
        return bounded(value) if isinstance(value, SCALARS) or value is ... else a_number()

    def _name(self, node: ast.Name) -> Value:
        found, value = self.get_name(node.id)
        if found:
            return value
        if node.id in library.builtin.NAMES:
            return "__main__" if node.id == "__name__" else External(f"builtins.{node.id}")
        return Unknown(name=node.id)

    def _note_overwritten(self, node: ast.Name, tensor: Tensor) -> None:
        """A name bound before a module with `inplace=True` wrote its tensor is added: it has another value now."""
        write = tensor.storage.module_write
        frame = self.frame
        if write is None or node.id not in frame.variables or len(write.place.stack) < len(self.stack):
            return
        store = frame.stores.get(node.id)
        bound = store.order if store is not None else frame.started
        if bound < write.order and (store is not None or frame.function is not None):
            self.report(InputOverwritten(place=self.here(node), tensor=tensor, write=write))

    def _note_joined(self, node: ast.Call, arguments: list[Value]) -> None:
        """The names among what is concatenated or added, as `_note_overwritten` looks at them."""
        names = [*node.args, *(e for a in node.args if isinstance(a, (ast.List, ast.Tuple)) for e in a.elts)]
        given = [*arguments, *(v for a in arguments if isinstance(a, (ListValue, tuple)) for v in parts_of(a))]
        if len(names) == len(given):
            for name, value in zip(names, given, strict=True):
                if isinstance(name, ast.Name) and isinstance(value, Tensor) and value.storage.module_write is not None:
                    self._note_overwritten(name, value)

    def _attribute(self, node: ast.Attribute) -> Value:
        value = self.evaluate(node.value)
        self.node = node
        return self.get_attribute(value, node.attr)

    def _tuple(self, node: ast.Tuple) -> Value:
        if len(node.elts) > LONGEST_DISPLAY:
            return self._display(node, "list")
        return tuple(self._elements(node.elts))

    def _list(self, node: ast.List) -> Value:
        return self._display(node, "list")

    def _set(self, node: ast.Set) -> Value:
        return self._display(node, "set")

    def _display(self, node: ast.List | ast.Set | ast.Tuple, kind: str) -> ListValue:
        items = self._elements(node.elts[:LONGEST_DISPLAY])
        made = ListValue(items, self.here(node), kind)
        if len(node.elts) > LONGEST_DISPLAY:
            made.open = True
            self._note_length(node.elts)
        self._note_elements(made, items, node)
        return made

    def _note_length(self, rest: Sequence[ast.expr]) -> None:
        """Of a table of numbers and texts nothing is missed; of other elements something may be."""
        if not all(isinstance(part, ast.Constant) for part in rest):
            self.left_out.add(SIZE)

    def _limited(self, items: list[Value]) -> list[Value]:
        """The items as far as they are followed."""
        self.spend(len(items))
        if len(items) > MOST_HELD:
            self.left_out.add(SIZE)
        return items[:MOST_HELD]

    def _note_elements(self, made: ListValue, items: list[Value], node: ast.AST) -> None:
        for item in items:
            if isinstance(item, Tensor):
                self.note_store(item, "item", "", node, None, made)

    def _elements(self, nodes: list[ast.expr]) -> list[Value]:
        out: list[Value] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                out += self.items_of(self.evaluate(node.value), node)[0]
            else:
                out.append(self.evaluate(node))
        return out

    def _dict(self, node: ast.Dict) -> Value:
        made = DictValue(made=self.here(node))
        if len(node.keys) > LONGEST_DISPLAY:
            made.open = True
            self._note_length(node.values)
        for key, value_node in zip(node.keys[:LONGEST_DISPLAY], node.values, strict=False):
            value = self.evaluate(value_node)
            if key is None:
                if isinstance(value, DictValue):
                    made.items.update(value.items)
                continue
            made.items[self.dict_key(self.evaluate(key))] = value
            if isinstance(value, Tensor):
                self.note_store(value, "item", "", value_node, value_node, made)
        if "params" in made.items:
            self.groups.append(made)
        return made

    def _joined(self, node: ast.JoinedStr) -> Value:
        parts: list[str] = []
        known = len(node.values) <= LONGEST_DISPLAY
        for part in node.values[:LONGEST_DISPLAY]:
            if isinstance(part, ast.Constant):
                parts.append(str(part.value))
            elif isinstance(part, ast.FormattedValue):
                value = self.evaluate(part.value)
                if isinstance(value, (str, int, float)) and part.format_spec is None:
                    parts.append(str(value))
                else:
                    known = False
        return bounded("".join(parts)) if known else a_number()

    def _formatted(self, node: ast.FormattedValue) -> Value:
        self.evaluate(node.value)
        return a_number()

    def _walrus(self, node: ast.NamedExpr) -> Value:
        value = self.evaluate(node.value)
        self.set_name(node.target.id, value, node.target, node.value)
        return value

    def _yield(self, node: ast.Yield) -> Value:
        value = self.evaluate(node.value) if node.value is not None else None
        handler = self._yield_handler()
        return handler(value) if handler is not None else None

    def _yield_from(self, node: ast.YieldFrom) -> Value:
        iterable = self.evaluate(node.value)
        handler = self._yield_handler()
        if handler is not None:
            for item in self.items_of(iterable, node)[0]:
                handler(item)
        return None

    def _yield_handler(self) -> Callable[[Value], Value] | None:
        frame: Frame | None = self.frame
        while frame is not None:
            if frame.on_yield is not None:
                return frame.on_yield
            if frame.function is not None:
                return None
            frame = frame.parent
        return None

    # ------------------------------------------------------------------ operators

    def _conditional(self, node: ast.IfExp) -> Value:
        known = self.truth(self.evaluate(node.test))
        if known is not None:
            return self.evaluate(node.body if known else node.orelse)
        chosen = chosen_among(node)
        branch = self.branch_at(node)
        if chosen is None:
            taken = node.body if self.decide(node, True) else node.orelse
            code, turns = self.trail.code, self.trail.turns
            value = self.evaluate(taken)
            self.trail.turns += not isinstance(value, SCALARS) and not (isinstance(value, Unknown) and value.data)
            self.note_weight(branch, code, turns)
            return value
        self.devices.add(branch)
        device = self.evaluate(node.body if self.forced.get(branch, chosen) else node.orelse)
        return ChosenDevice.of(device, branch, chosen) if isinstance(device, str) else device

    def _boolean(self, node: ast.BoolOp) -> Value:
        is_and = isinstance(node.op, ast.And)
        unknown = False
        value: Value = None
        for part in node.values:
            value = self.evaluate(part)
            known = self.truth(value)
            if known is None:
                unknown = True
            elif known is not is_and:
                return value if not unknown else not is_and
        if unknown:
            return value if isinstance(value, (Tensor, Instance, ListValue, DictValue)) and not is_and else a_number()
        return value

    def _unary(self, node: ast.UnaryOp) -> Value:
        value = self.evaluate(node.operand)
        self.node = node
        if isinstance(node.op, ast.Not):
            known = self.truth(value)
            if isinstance(value, LoopIndex):
                self.index_looks += 1
                return value.position == 0
            return a_number() if known is None else not known
        if isinstance(value, Tensor):
            if isinstance(node.op, ast.USub):
                result = library.ops.operate(self.machine, "neg", [value], shape=value.shape)
                if isinstance(result, Tensor):
                    result.terms = (value,)
                return result
            if isinstance(node.op, ast.Invert):
                return self.constant("~", [value], value.shape, value.dtype)
            return value
        if isinstance(value, (int, float)) and not isinstance(value, str):
            if isinstance(node.op, ast.USub):
                return -value
            if isinstance(node.op, ast.UAdd):
                return +value
            return ~value if isinstance(value, int) else a_number()
        if isinstance(value, Unknown):
            result = Unknown(number=value.number, data=value.data, sources=value.sources)
            result.configuration = value.configuration
            return result
        if value is None:
            self.use_of_none()
        return Unknown()

    def _binary(self, node: ast.BinOp) -> Value:
        left = self.evaluate(node.left)
        right = self.evaluate(node.right)
        self.node = node
        if isinstance(left, Tensor) and isinstance(right, Tensor):
            for operand, value in ((node.left, left), (node.right, right)):
                if isinstance(operand, ast.Name) and value.storage.module_write is not None:
                    self._note_overwritten(operand, value)
        return self.binary(type(node.op), left, right)

    def binary(self, op: type[ast.operator], left: Value, right: Value) -> Value:
        """`left op right`."""
        if isinstance(left, Tensor) or isinstance(right, Tensor):
            if left is None or right is None:
                self.use_of_none()
                return Unknown()
            special = self._special(op, left, right)
            if special is not None:
                return special[0]
            return library.ops.arithmetic(self.machine, TENSOR_OPERATORS[op], left, right)
        if isinstance(left, LoopIndex) or isinstance(right, LoopIndex):
            return a_number()
        if isinstance(left, Growing):
            if op is ast.Mod:
                return a_number()
            if op in (ast.Add, ast.Sub) and isinstance(right, int):
                return Growing(left + right if op is ast.Add else left - right)
        if isinstance(left, SCALARS) and isinstance(right, SCALARS):
            if left is None or right is None:
                self.use_of_none()
                return Unknown()
            function = PYTHON_OPERATORS.get(op)
            if function is None:
                return a_number()
            if op is ast.Mod and isinstance(left, str):
                return a_number()
            try:
                return bounded(function(left, right))
            except (ArithmeticError, TypeError, ValueError):
                return a_number()
        return self._container_binary(op, left, right)

    def _special(self, op: type[ast.operator], left: Value, right: Value) -> tuple[Value] | None:
        names = SPECIAL_METHODS.get(op)
        if names is None:
            return None
        for value, name, other in ((left, names[0], right), (right, names[1], left)):
            if isinstance(value, Instance) and value.cls is not None and value.cls.has(name):
                return (self.call(value.cls.find(name), [value, other], {}, self.node),)
        return None

    def _container_binary(self, op: type[ast.operator], left: Value, right: Value) -> Value:
        special = self._special(op, left, right)
        if special is not None:
            return special[0]
        if op is ast.Add:
            if isinstance(left, ListValue) and isinstance(right, (ListValue, tuple)):
                made = self._joined_list([*left.items, *parts_of(right)], left.kind)
                made.open = made.open or left.open or (isinstance(right, ListValue) and right.open)
                made.homogeneous = left.homogeneous
                return made
            if isinstance(left, tuple) and isinstance(right, tuple):
                return left + right if len(left) + len(right) <= MOST_HELD else self._joined_list([*left, *right])
        if op is ast.Mult:
            for value, count in ((left, right), (right, left)):
                if isinstance(value, (ListValue, tuple)):
                    parts = list(parts_of(value))
                    times = min(count, 8) if isinstance(count, int) and not isinstance(count, bool) else 2
                    made = self._joined_list(parts * min(max(times, 0), 1 + MOST_HELD // max(len(parts), 1)))
                    return tuple(made.items) if isinstance(value, tuple) and not made.open else made
        if op is ast.BitOr and isinstance(left, DictValue) and isinstance(right, DictValue):
            return DictValue({**left.items, **right.items}, self.here())
        if isinstance(left, Unknown) or isinstance(right, Unknown):
            unknowns = [v for v in (left, right) if isinstance(v, Unknown)]
            numbers = all(u.number for u in unknowns) and all(
                isinstance(v, (Unknown, int, float, str)) for v in (left, right)
            )
            result = Unknown(
                number=numbers,
                data=any(u.data for u in unknowns),
                sources=tuple(t for u in unknowns for t in u.sources)[:4],
            )
            result.arguments = tuple(unknowns)
            result.configuration = any(u.configuration for u in unknowns)
            arrays = all(u.data for u in unknowns) and not any(isinstance(v, (Tensor, Instance)) for v in (left, right))
            result.cut = next((u.cut for u in unknowns if u.cut is not None), None) if numbers or arrays else None
            if left is None or right is None:
                self.use_of_none()
            return result
        if left is None or right is None:
            self.use_of_none()
        return Unknown()

    def _joined_list(self, items: list[Value], kind: str = "list") -> ListValue:
        """A list of items that may be too many to follow them all."""
        made = ListValue(self._limited(items), self.here(), kind)
        made.open = len(items) > MOST_HELD
        return made

    # ------------------------------------------------------------------ comparisons

    def _compare(self, node: ast.Compare) -> Value:
        left = self.evaluate(node.left)
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.evaluate(right_node)
            self.node = node
            if (isinstance(left, Tensor) or isinstance(right, Tensor)) and not isinstance(
                op, ast.Is | ast.IsNot | ast.In | ast.NotIn
            ):
                return self._compare_tensors(left, right)
            known = self._compare_known(op, left, right)
            if known is None:
                return a_number()
            if not known:
                return False
            left = right
        return True

    def _compare_tensors(self, left: Value, right: Value) -> Value:
        tensors = [v for v in (left, right) if isinstance(v, Tensor)]
        shape = broadcast(tensors[0].shape, tensors[-1].shape)
        if any(isinstance(v, Unknown) and not v.number for v in (left, right)):
            shape = None
        return self.constant("comparison", tensors, shape, "bool")

    def _compare_known(self, op: ast.cmpop, left: Value, right: Value) -> bool | None:
        self.look_at_device(left)
        self.look_at_device(right)
        if isinstance(op, (ast.Is, ast.IsNot)):
            same = self._identical(left, right)
            return same if same is None or isinstance(op, ast.Is) else not same
        if isinstance(op, (ast.In, ast.NotIn)):
            inside = self._contains(right, left)
            return inside if inside is None or isinstance(op, ast.In) else not inside
        if isinstance(left, LoopIndex) or isinstance(right, LoopIndex):
            self.index_looks += 1
            return _compare_index(type(op), left, right)
        if isinstance(left, External) and isinstance(right, External) and isinstance(op, (ast.Eq, ast.NotEq)):
            return (left.name == right.name) is isinstance(op, ast.Eq)
        for count, end in ((left, right), (right, left)):
            if isinstance(count, Growing) and isinstance(end, int) and count < end and end > self.passes:
                self.reached_later = True
                return None
        if isinstance(left, tuple) and isinstance(right, tuple) and not (_flat(left) and _flat(right)):
            return None
        if isinstance(left, (*SCALARS, tuple)) and isinstance(right, (*SCALARS, tuple)):
            self.number_looks += may_count(left) and may_count(right)
            try:
                return bool(COMPARISONS[type(op)](left, right))
            except (TypeError, KeyError):
                return None
        return None

    @staticmethod
    def _identical(left: Value, right: Value) -> bool | None:
        if left is None or right is None:
            other = left if right is None else right
            return None if isinstance(other, Unknown) else other is None
        if isinstance(left, Unknown) or isinstance(right, Unknown):
            return True if left is right else None
        if isinstance(left, External) and isinstance(right, External):
            return left.name == right.name
        if isinstance(left, (int, float, str)) and isinstance(right, (int, float, str)):
            return type(left) is type(right) and left == right
        return left is right

    def _contains(self, container: Value, item: Value) -> bool | None:
        if isinstance(container, str):
            return item in container if isinstance(item, str) else None
        if isinstance(container, range):
            # Python would count up to anything that is no whole number.
            return item in container if isinstance(item, int) else None
        if isinstance(container, Instance) and container.children is not None:
            container = container.children
        if isinstance(container, DictValue):
            key = self.dict_key(item)
            if key in container.items:
                return True
            return (
                None
                if container.open
                or any(not isinstance(k, (*SCALARS, tuple)) for k in container.items)
                or not isinstance(item, (*SCALARS, tuple))
                else False
            )
        if not isinstance(container, (ListValue, tuple)):
            return None
        if isinstance(container, ListValue) and (container.open or container.homogeneous):
            return None
        items = parts_of(container)
        if isinstance(item, SCALARS):
            if any(isinstance(part, SCALARS) and part == item for part in items):
                return True
            return None if any(isinstance(part, Unknown) for part in items) else False
        if any(part is item for part in items):
            return True
        return None

    # ------------------------------------------------------------------ subscripts

    def _subscript(self, node: ast.Subscript) -> Value:
        value = self.evaluate(node.value)
        index = self.evaluate(node.slice)
        self.node = node
        return self.get_item(value, index)

    def _slice(self, node: ast.Slice) -> Value:
        return slice(*(None if part is None else self.evaluate(part) for part in (node.lower, node.upper, node.step)))

    # ------------------------------------------------------------------ functions and calls

    def make_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Value:
        """The value of a `def` or a lambda, decorated."""
        arguments = node.args
        defaults = [self.evaluate(d) for d in arguments.defaults]
        keyword_defaults = [None if d is None else self.evaluate(d) for d in arguments.kw_defaults]
        function = Function(node, self.frame, self.source, defaults, keyword_defaults)
        if isinstance(node, ast.Lambda):
            return function
        value: Value = function
        for decorator in reversed(node.decorator_list):
            value = self._decorated(value, function, decorator)
        return value

    def _decorated(self, value: Value, function: Function, node: ast.expr) -> Value:
        name = _decorator_name(node)
        if name in ("staticmethod", "classmethod", "property", "cached_property", "contextmanager"):
            function.kind = name
            return value
        if name in ("setter", "deleter") and isinstance(node, ast.Attribute):
            found, owner = self.get_name(node.value.id) if isinstance(node.value, ast.Name) else (False, None)
            if found and isinstance(owner, Function):
                owner.attributes[name] = function
                return owner
            return value
        if name in ("cache", "lru_cache"):
            size = _keyword(node, "maxsize")
            if not isinstance(size, int) or size > 8:
                function.attributes["cache"] = DictValue(made=self.here(node))
            return value
        if name in INERT_DECORATORS and not self._is_of_the_program(node.func if isinstance(node, ast.Call) else node):
            return value
        decorator = self.evaluate(node)
        if isinstance(decorator, GradMode):
            self.decorate_grad_mode(function, decorator, node)
            if decorator.previous is not None:
                library.grad_mode.restore(self.machine, decorator)
            return value
        if isinstance(decorator, External) and decorator.last in ("no_grad", "inference_mode", "enable_grad"):
            function.grad_mode = (decorator.last == "enable_grad", decorator.last == "inference_mode")
            function.grad_mode_place = None if decorator.last == "enable_grad" else self.here(node)
            return value
        if isinstance(decorator, (Function, BoundMethod, Partial, Instance, ClassValue)):
            self.node = node
            replaced = self.call(decorator, [value], {}, node)
            return value if isinstance(replaced, Unknown) or replaced is None else replaced
        return value

    def _is_of_the_program(self, decorator: ast.expr) -> bool:
        """Whether a decorator is written in the workspace: a registry's, say, which keeps what it decorates."""
        return isinstance(self.evaluate(decorator), (Function, BoundMethod, Partial))

    def _call(self, node: ast.Call) -> Value:
        function = self.evaluate(node.func)
        arguments: list[Value] = []
        keywords: dict[str, Value] = {}
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                value = self.evaluate(argument.value)
                if isinstance(value, Unknown):
                    arguments.append(Unknown(data=value.data, sources=value.sources))
                else:
                    arguments += self.items_of(value, argument)[0]
            else:
                arguments.append(self.evaluate(argument))
        for keyword in node.keywords:
            value = self.evaluate(keyword.value)
            if keyword.arg is not None:
                keywords[keyword.arg] = value
            elif isinstance(value, DictValue):
                keywords.update({k: v for k, v in value.items.items() if isinstance(k, str)})
        self.node = node
        if isinstance(function, External) and function.last in JOINING:
            self._note_joined(node, arguments)
        if isinstance(function, External) and function.name == "builtins.super":
            return library.builtin.super_proxy(self.machine, arguments)
        return self.call(function, arguments, keywords, node)

    # ------------------------------------------------------------------ comprehensions

    def _comprehension(
        self, generators: list[ast.comprehension], emit: Callable[[], None], outermost: Value = None
    ) -> None:
        """Runs the loops of a comprehension.

        Args:
            outermost: what the outermost loop is over, where that was evaluated before.
        """

        def nested(index: int) -> None:
            if index == len(generators):
                emit()
                return
            generator = generators[index]
            over = outermost if index == 0 and outermost is not None else self.evaluate(generator.iter)
            items, _ = self.lazy_items(over, generator.iter)
            for item in items:
                self.assign(generator.target, self.force(item), None)
                if all(self.truth(self.evaluate(test)) is not False for test in generator.ifs):
                    nested(index + 1)

        inner = Frame(self.source, self.frame)
        inner.started = self.order + 1
        self.trail.turns += 1
        with self.entered(inner):
            nested(0)

    def _list_comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Value:
        made = ListValue(made=self.here(node), kind=COMPREHENSIONS[type(node)])

        def emit() -> None:
            value = self.evaluate(node.elt)
            made.items.append(value)
            self.note_store(value, "item", "", node, node.elt, made)

        self._comprehension(node.generators, emit)
        return made

    def _generator_expression(self, node: ast.GeneratorExp) -> Value:
        """A list, or where a loop draws from it, a generator: what it makes then belongs to the loop's passes."""
        if id(node) not in self.drawn:
            return self._list_comprehension(node)
        outermost = self.evaluate(node.generators[0].iter)
        own = (self.frame, self.stack, self.source)

        def run(on_yield: Callable[[Value], Value]) -> None:
            def emit() -> None:
                on_yield(self.evaluate(node.elt))

            consumer = (self.frame, self.stack, self.source)
            self.frame, self.stack, self.source = own
            try:
                self._comprehension(node.generators, emit, outermost)
            finally:
                self.frame, self.stack, self.source = consumer

        return GeneratorValue(None, [], {}, node, run)

    def _dict_comprehension(self, node: ast.DictComp) -> Value:
        made = DictValue(made=self.here(node))

        def emit() -> None:
            value = self.evaluate(node.value)
            made.items[self.dict_key(self.evaluate(node.key))] = value
            self.note_store(value, "item", "", node, node.value, made)

        self._comprehension(node.generators, emit)
        return made

    def assign(self, target: ast.expr, value: Value, value_node: ast.expr | None) -> None:
        """Binds a target."""
        raise NotImplementedError


INERT_DECORATORS = frozenset(
    """compile jit script wraps cache lru_cache abstractmethod overload custom_fwd custom_bwd export override
    singledispatch final dataclass total_ordering register_model register fixture parametrize njit
    typechecked jaxtyped beartype profile command option argument group deprecated once_differentiable
    ignore unused rank_zero_only record main hydra_main""".split()
)


def _keyword(node: ast.expr, name: str) -> object:
    if isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg == name and isinstance(keyword.value, ast.Constant):
                return keyword.value.value
    return None


def _decorator_name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def _flat(value: tuple[Value, ...]) -> bool:
    return all(isinstance(part, SCALARS) for part in value)


def _compare_index(op: type[ast.cmpop], left: Value, right: Value) -> bool | None:
    """Compares the index of a loop of unknown length: with small numbers by the pass, with unknown ends as the last."""
    if isinstance(right, LoopIndex) and not isinstance(left, LoopIndex):
        mirrored = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE}
        return _compare_index(mirrored.get(op, op), right, left)
    if not isinstance(left, LoopIndex) or isinstance(right, LoopIndex):
        return None
    if isinstance(right, int) and not isinstance(right, bool):
        if left.total is not None and right == left.total - 1 and op in COMPARISONS:
            return bool(COMPARISONS[op](right if left.last else left.position, right))
        if right <= 1 or (right == 2 and not left.last):
            return bool(COMPARISONS[op](left.position, right)) if op in COMPARISONS else None
        if left.position == 0 and op is ast.Eq:
            return False
        return None
    if isinstance(right, Unknown) and right.number:
        # `i < n - 1`, `i == n - 1`: the end of the loop.
        if op is ast.Lt:
            return not left.last
        if op is ast.Eq:
            return left.last
        if op is ast.NotEq:
            return not left.last
    return None
