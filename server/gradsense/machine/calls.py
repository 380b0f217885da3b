"""Calling things: functions and classes of the program, and whatever the libraries provide."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import lru_cache
from weakref import WeakKeyDictionary

from gradsense.machine import annotated, library
from gradsense.machine.frames import Frame
from gradsense.machine.graph import Forward, Tensor
from gradsense.machine.iteration import Iteration
from gradsense.machine.limits import DEPTH
from gradsense.machine.outside import Kind
from gradsense.machine.state import ReturnSignal
from gradsense.machine.trail import is_harmless
from gradsense.machine.trees import notes
from gradsense.machine.tri import NO, tri
from gradsense.machine.values import (
    BoundMethod,
    ClassValue,
    DictValue,
    External,
    Function,
    GeneratorValue,
    GradMode,
    Instance,
    LibraryMethod,
    ListValue,
    Native,
    Partial,
    Unknown,
    Value,
    tensors_in,
)
from gradsense.syntax.source import Source

# A class of the program may be one of these.
DICTIONARIES = frozenset(("builtins.dict", "collections.OrderedDict", "collections.UserDict"))
# How often one function may be active at once: recursion is cut there.
RECURSION = 4
# Of a network's results so many are looked at.
MOST_RESULTS = 8


class Calls(Iteration):
    """Calls."""

    def call(self, function: Value, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None) -> Value:
        if self.depth > self.limits.depth:
            self.left_out.add(DEPTH)
            return Unknown()
        if isinstance(function, Function):
            return self.call_function(function, arguments, keywords, node)
        if isinstance(function, External):
            if self.trail.kept and not is_harmless(function, arguments, keywords):
                self.trail.note(function.name, id(node))
            return library.call_external(self.machine, function.name, arguments, keywords, node)
        if isinstance(function, LibraryMethod):
            self.look_at_device(function.receiver)
            if self.trail.kept and not is_harmless(function, arguments, keywords):
                if isinstance(function.receiver, (ListValue, DictValue)):
                    self.trail.note_items(function.name, id(node), [*arguments, *keywords.values()])
                else:
                    self.trail.note(function.name, id(node))
            return library.call_method(self.machine, function.receiver, function.name, arguments, keywords, node)
        if isinstance(function, Unknown):
            return library.unknown.call_unknown(self.machine, function, arguments, keywords, node)
        if isinstance(function, BoundMethod):
            if type(function.receiver) is Instance and function.receiver.kind == library.optim.OWN:
                return library.optim.own_call(self.machine, function, arguments, keywords, node)
            return self.call(function.function, [function.receiver, *arguments], keywords, node)
        if isinstance(function, ClassValue):
            return self.instantiate(function, arguments, keywords, node)
        if isinstance(function, Instance):
            return self.call_instance(function, arguments, keywords, node)
        if isinstance(function, Partial):
            return self.call(function.function, function.arguments + arguments, {**function.keywords, **keywords}, node)
        if isinstance(function, Native):
            return function.call(arguments, keywords)
        if isinstance(function, GradMode):
            # `torch.no_grad()(f)`
            if arguments and isinstance(arguments[0], Function):
                self.trail.note("mode", id(node))
                self.decorate_grad_mode(arguments[0], function)
                return arguments[0]
            return Unknown()
        return library.unknown.call_unknown(self.machine, function, arguments, keywords, node)

    def decorate_grad_mode(self, function: Function, mode: GradMode, node: ast.AST | None = None) -> None:
        """`@torch.no_grad()`."""
        if mode.enabled is not None:
            function.grad_mode = (mode.enabled, mode.inference)
            function.grad_mode_place = None if mode.enabled else self.here(node)

    # ------------------------------------------------------------------ functions

    def call_function(
        self, function: Function, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
    ) -> Value:
        """Calls a function of the program; a generator function only makes its generator."""
        if is_generator(function.node, function.source):
            self.called.add(function.node)
            return GeneratorValue(function, arguments, keywords, node)
        cache = function.attributes.get("cache")
        if isinstance(cache, DictValue):
            return self._cached_call(cache, function, arguments, keywords, node)
        return self.enter_function(function, arguments, keywords, node)

    def _cached_call(
        self,
        cache: DictValue,
        function: Function,
        arguments: list[Value],
        keywords: dict[str, Value],
        node: ast.AST | None,
    ) -> Value:
        """`functools.cache`: equal arguments give the value that was made before."""
        key: Value = tuple(self.dict_key(a) for a in (*arguments, *keywords.values()))
        if key not in cache.items:
            made = self.enter_function(function, arguments, keywords, node)
            cache.items[key] = made
            definition = function.node
            last = definition.body[-1] if isinstance(definition, ast.FunctionDef) else definition
            cache.last_store = self.note_store(made, "item", function.name, last, None, cache)
        return cache.items[key]

    def enter_function(
        self,
        function: Function,
        arguments: list[Value],
        keywords: dict[str, Value],
        node: ast.AST | None,
        *,
        on_yield: Callable[[Value], Value] | None = None,
    ) -> Value:
        definition = function.node
        self.trail.turns += 1
        self.called.add(definition)
        active = self.active_calls.get(definition, 0)
        if self.depth > self.limits.depth:
            self.left_out.add(DEPTH)
            return Unknown()
        if active >= RECURSION:
            return Unknown()
        inner = Frame(function.source, function.environment, function)
        inner.on_yield = on_yield
        inner.started = self.tick()
        self._bind_parameters(inner, function, arguments, keywords)
        if function.owner is not None:
            inner.receiver = arguments[0] if arguments else None
        site = self.here(node)
        previous = (self.source, self.stack, self.grad_mode, self.inference, self.node)
        mode_place = self.mode_place
        is_forward = function.name == "forward" and function.owner is not None
        self.source = function.source
        self.stack = (*self.stack, site)
        self.depth += 1
        self.active_calls[definition] = active + 1
        self.forward_depth += is_forward
        if function.grad_mode is not None:
            enabled, inference = function.grad_mode
            self.grad_mode = tri(enabled)
            self.inference = self.inference or inference
            self.mode_place = function.grad_mode_place
        # What `entered` does, by hand: all calls of a program come through here, and a context manager costs 2 µs.
        outer = self.frame
        self.frame = inner
        self.frames.append(inner)
        try:
            if isinstance(definition, ast.Lambda):
                return self.evaluate(definition.body)
            try:
                self.run_block(definition.body)
            except ReturnSignal as signal:
                return signal.value
            return None
        finally:
            self.frame = outer
            self.frames.pop()
            self.source, self.stack, mode, inference, self.node = previous
            self.depth -= 1
            self.active_calls[definition] = active
            self.forward_depth -= is_forward
            if function.grad_mode is not None:
                self.grad_mode, self.inference = mode, inference
                self.mode_place = mode_place

    def _bind_parameters(
        self, frame: Frame, function: Function, arguments: list[Value], keywords: dict[str, Value]
    ) -> None:
        parameters = function.node.args
        positional = [a.arg for a in (*parameters.posonlyargs, *parameters.args)]
        variables = frame.variables
        for name, value in zip(positional, arguments, strict=False):
            variables[name] = value
        if parameters.vararg is not None:
            variables[parameters.vararg.arg] = tuple(arguments[len(positional) :])
        named = {*positional, *(a.arg for a in parameters.kwonlyargs)}
        extra = DictValue()
        for name, value in keywords.items():
            if name in named:
                variables[name] = value
            else:
                extra.items[name] = value
        if parameters.kwarg is not None:
            variables[parameters.kwarg.arg] = extra
        for name, value in zip(reversed(positional), reversed(function.defaults), strict=False):
            variables.setdefault(name, value)
        for argument, value, default in zip(
            parameters.kwonlyargs, function.keyword_defaults, parameters.kw_defaults, strict=False
        ):
            if default is not None:
                variables.setdefault(argument.arg, value)
        for argument in (*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs):
            if argument.arg not in variables:
                variables[argument.arg] = self.missing_argument(argument, function)

    def missing_argument(self, argument: ast.arg, function: Function) -> Value:
        """A parameter that the caller did not give: configuration in a constructor, anything elsewhere."""
        if argument.annotation is not None:
            known = self.from_annotation(argument.annotation, Frame(function.source, function.environment))
            if known is not None:
                return known
        value = Unknown(name=argument.arg, data=function.name == "__init__")
        value.configuration, value.parameter = value.data, not value.data
        return value

    def from_annotation(self, annotation: ast.expr, scope: Frame) -> Value:
        """An object of the class of the program that an annotation names, a list of such, or a plain number.

        Args:
            scope: where the names in the annotation are looked up.
        """
        if annotated.is_plain(annotation):
            return Unknown(number=True)
        found = annotated.named(annotation)
        if found is None or self.depth > 6:
            return None
        name, several = found
        with self.entered(scope):
            try:
                cls = self.evaluate(name)
            except RecursionError:
                return None
        if not isinstance(cls, ClassValue) or self.active_calls.get(cls.node):
            return None
        self.active_calls[cls.node] = 1
        try:
            made = self.instantiate(cls, [], {}, None)
            if not several:
                return made
            items = ListValue([made, self.instantiate(cls, [], {}, None)], self.here(None))
        finally:
            self.active_calls[cls.node] = 0
        items.open = True
        return items

    # ------------------------------------------------------------------ classes

    def instantiate(
        self, cls: ClassValue, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
    ) -> Value:
        """Makes an object of a class of the program."""
        made = Instance(None, cls, self.here(node))
        made.epoch = self.epoch
        bases = cls.library_bases()
        for base in bases:
            last = base.rpartition(".")[2]
            if base.startswith("torch.nn.") or last in ("Module", "LightningModule"):
                made.is_module = True
                if last not in ("Module", "LightningModule"):
                    made.kind = last
            elif base == "torch.autograd.Function":
                made.kind = "Function"
            elif base.startswith("torch.utils.data."):
                made.kind = "Dataset"
            elif base.startswith("torch.optim.") and last != "Optimizer":
                return library.optim.make(self.machine, last, arguments, keywords, node)
            elif base.startswith("torch.optim."):
                made.kind = library.optim.OWN
            elif last in ("NamedTuple", "namedtuple"):
                made.kind = "NamedTuple"
            elif base in DICTIONARIES:
                made.children = DictValue(made=made.made)
            elif not base.startswith("torch.") and self.workspace.outside.kind(base) is Kind.NETWORK:
                made.is_module = True
        if cls.has_unknown_base:
            made.opaque = True
            made.is_module = made.is_module or not bases
        if made.is_module and isinstance(method := cls.namespace.get("backward"), Function):
            self.own_backwards.append(method)
        if cls.has("__init__"):
            initialiser = cls.find("__init__")
            if isinstance(initialiser, Function):
                self.call_function(initialiser, [made, *arguments], keywords, node)
        elif (fields := _fields(cls)) is not None:
            self._fill_fields(made, fields, arguments, keywords)
            if cls.has("__post_init__"):
                self.call(cls.find("__post_init__"), [made], {}, node)
        elif made.kind is not None and made.is_module:
            library.nn.initialise(self.machine, made, made.kind, arguments, keywords, node)
        elif (name := library.distributions.base_of(cls)) is not None:
            library.distributions.initialise(self.machine, made, name, arguments, keywords)
        return made

    def _fill_fields(
        self,
        made: Instance,
        fields: list[tuple[str, ast.expr | None]],
        arguments: list[Value],
        keywords: dict[str, Value],
    ) -> None:
        for index, (name, default) in enumerate(fields):
            if index < len(arguments):
                value = arguments[index]
            elif name in keywords:
                value = keywords[name]
            elif default is not None:
                value = library.stdlib.field_default(self.machine, default)
            else:
                value = self._annotated_field(made.cls, name)
            self.trail.note_attribute(name, value)
            made.attributes[name] = value
            made.stores[name] = self.note_store(value, "attribute", f".{name}", self.node, None, made)

    def _annotated_field(self, cls: ClassValue | None, name: str) -> Value:
        """A field that the caller did not give."""
        for base in cls.linear() if cls is not None else ():
            module = self.machine.loaded.get(self.workspace.real(base.source.path))
            if module is None:
                continue
            for part in base.node.body:
                if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name) and part.target.id == name:
                    known = self.from_annotation(part.annotation, Frame(base.source, module.frame))
                    return Unknown(name=name) if known is None else known
        return Unknown(name=name)

    def call_instance(
        self, instance: Instance, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
    ) -> Value:
        """`obj(…)`: a module's hooks and forward, or `__call__`."""
        self.step()
        if not instance.is_module:
            if instance.cls is not None and instance.cls.has("__call__"):
                return self.call(instance.cls.find("__call__"), [instance, *arguments], keywords, node)
            return library.call_kind(self.machine, instance, arguments, keywords, node)
        if instance.cls is not None and isinstance(instance.cls.namespace.get("__call__"), Function):
            return self.call(instance.cls.namespace["__call__"], [instance, *arguments], keywords, node)
        self.mark_reached()
        self.trail.note("forward", id(node))
        for hook in instance.pre_hooks:
            changed = self.call(hook, [instance, tuple(arguments)], {}, node)
            if isinstance(changed, tuple):
                arguments = list(changed)
            elif isinstance(changed, Tensor):
                arguments = [changed]
        if instance.backward_hook is not None:
            arguments = [self._hooked(a) for a in arguments]
        first = self.node_count + 1
        result = self.forward(instance, arguments, keywords, node)
        if self.forward_depth == 0 and self.node_count >= first:
            self._note_forward(result, first, node)
        if instance.backward_hook is not None:
            result = self._hooked(result)
            self._note_backward_hooks(instance, result)
        for hook in instance.forward_hooks:
            changed = self.call(hook, [instance, tuple(arguments), result], {}, node)
            if changed is not None and not isinstance(changed, Unknown):
                self._note_changed(hook, result, changed)
                result = changed
        return result

    def _note_backward_hooks(self, instance: Instance, result: Value) -> None:
        """Notes at which node of a walk the hooks of a module are called."""
        node = self.graph_of(result) if isinstance(result, Tensor) else None
        if node is not None and instance.backward_hooks:
            self.called_back[node] = instance

    def _note_changed(self, hook: Value, before: Value, after: Value) -> None:
        """Notes where a hook cut what it gives back: unless this is all that it does, it is there to look only."""
        if not isinstance(before, Tensor) or not isinstance(after, Tensor) or after.needs is not NO:
            return
        function = hook.function if isinstance(hook, BoundMethod) else hook
        body = function.node.body if isinstance(function, Function) else None
        if isinstance(body, list) and len(body) > 1:
            self.watched.update(cut.place.key for cut in after.cuts if before in cut.lost)

    def _note_forward(self, result: Value, first: int, node: ast.AST | None) -> None:
        """Notes a call of a network that built a graph, for what is said when the path is over."""
        nodes = [self.graph_of(tensor) for tensor in tensors_in(result)[:MOST_RESULTS]]
        tops = tuple(top for top in nodes if top is not None and top.index >= first)
        if tops:
            self.forwards.append(Forward(self.here(node), first, tops))

    def forward(
        self, instance: Instance, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
    ) -> Value:
        """A module's forward, without hooks."""
        if instance.cls is not None and instance.cls.has("forward"):
            return self.call(instance.cls.find("forward"), [instance, *arguments], keywords, node)
        if instance.kind is not None and instance.kind != "Function":
            previous = self.module
            self.module = instance
            self.forward_depth += 1
            try:
                if library.parametrizations.OPTION not in instance.options:
                    return library.nn.forward(self.machine, instance, arguments, keywords, node)
                with library.parametrizations.computed_in(self.machine, instance, node):
                    return library.nn.forward(self.machine, instance, arguments, keywords, node)
            finally:
                self.module = previous
                self.forward_depth -= 1
        return library.unknown.call_unknown(self.machine, Unknown(), [*arguments, instance], keywords, node)

    def _hooked(self, value: Value) -> Value:
        """A full backward hook wraps inputs and outputs in a view that may not be written."""
        if isinstance(value, Tensor) and self.needs_grad(value).value and self.grad_mode.value:
            wrapped = self.view(value, "BackwardHookFunction", value.shape, kind="hook")
            self.note_hook(wrapped)
            return wrapped
        if isinstance(value, tuple):
            return tuple(self._hooked(v) for v in value)
        return value


def _fields(cls: ClassValue) -> list[tuple[str, ast.expr | None]] | None:
    found: list[tuple[str, ast.expr | None]] | None = None
    for base in reversed(cls.linear()):
        if base.fields is not None:
            names = [name for name, _ in base.fields]
            found = [f for f in found or [] if f[0] not in names] + base.fields
    return found


# What was found out about definitions, for as long as their trees live.
_GENERATORS: WeakKeyDictionary[ast.AST, bool] = notes()


@lru_cache(maxsize=8)
def _has_yield(text: str) -> bool:
    return "yield" in text


def is_generator(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, source: Source) -> bool:
    """Whether a function's own body has a `yield`."""
    if isinstance(node, ast.Lambda):
        return False
    known = _GENERATORS.get(node)
    if known is not None:
        return known
    if not _has_yield(source.text):
        return False
    found = False
    todo: list[ast.AST] = list(node.body)
    while todo and not found:
        item = todo.pop()
        if isinstance(item, (ast.Yield, ast.YieldFrom)):
            found = True
        elif not isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            todo.extend(ast.iter_child_nodes(item))
    _GENERATORS[node] = found
    return found
