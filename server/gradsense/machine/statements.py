"""Running statements."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from typing import Any, cast

from gradsense.machine import library
from gradsense.machine.books import PathEnds
from gradsense.machine.drawing import only_looped_over
from gradsense.machine.events import DiscardedResult, Event, LeafWritten, NumpyOfGraph, UselessMutation
from gradsense.machine.expressions import TENSOR_OPERATORS
from gradsense.machine.frames import Frame, Import
from gradsense.machine.graph import Tensor
from gradsense.machine.growth import Growth
from gradsense.machine.iteration import StopGenerator
from gradsense.machine.limits import STACK
from gradsense.machine.loops import Loops
from gradsense.machine.state import (
    CONTROL,
    BreakSignal,
    ContinueSignal,
    ProgramRaises,
    ReturnSignal,
)
from gradsense.machine.trees import nodes_of
from gradsense.machine.tri import NO, tri
from gradsense.machine.values import (
    BoundMethod,
    ClassValue,
    ContextValue,
    DictValue,
    External,
    Function,
    GeneratorValue,
    GradMode,
    Growing,
    Instance,
    LibraryMethod,
    ListValue,
    Optimizer,
    Partial,
    Unknown,
    Value,
)

OUT_OF_PLACE = frozenset(
    """detach clamp clip relu sigmoid tanh mul add sub div masked_fill squeeze unsqueeze clone float double
    half long exp abs neg sqrt fill masked_scatter index_fill scatter clamp_min clamp_max transpose
    permute reshape to cpu cuda""".split()
)


# Functions of torch that people take for ones that change their argument.
DISCARDED_FUNCTIONS = frozenset("normalize clamp dropout relu sigmoid softmax zeros_like".split())


class Statements(Loops):
    """Statements."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.growths: list[Growth] = []
        # So many events were met before a statement that raises was left out.
        self.disturbed = sys.maxsize
        # Statements that raise with grad mode on, and are run with it off.
        self.without_grad: set[ast.stmt] = set()
        self._runners: dict[type[ast.AST], Callable[[Any], None]] = {
            ast.Expr: self._expression,
            ast.Assign: self._assign,
            ast.AnnAssign: self._annotated,
            ast.AugAssign: self._augmented,
            ast.Return: self._return,
            ast.Break: self._break,
            ast.Continue: self._continue,
            ast.Raise: self._raise,
            ast.Global: lambda n: self.frame.global_names.update(n.names),
            ast.Nonlocal: lambda n: self.frame.nonlocal_names.update(n.names),
            ast.Delete: self._delete,
            ast.Assert: self._assert,
            ast.If: self._if,
            ast.For: self._for,
            ast.AsyncFor: self._for,
            ast.While: self._while,
            ast.With: self._with,
            ast.AsyncWith: self._with,
            ast.Try: self._try,
            ast.FunctionDef: self._function,
            ast.AsyncFunctionDef: self._function,
            ast.ClassDef: self._class,
            ast.Import: self._import,
            ast.ImportFrom: self._import_from,
        }
        for name, runner in (("Match", self._match), ("TryStar", self._try)):
            kind = getattr(ast, name, None)
            if kind is not None:
                self._runners[kind] = runner

    # ------------------------------------------------------------------ running

    def run_block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.run_statement(statement)

    def run_statement(self, node: ast.stmt) -> None:
        """Runs one statement. A failure of our own loses its effects and nothing else."""
        self.step()
        runner = self._runners.get(type(node))
        if runner is None:
            return
        self.node = node
        try:
            if self.without_grad and node in self.without_grad:
                self._without_grad(runner, node)
            else:
                runner(node)
        except (*CONTROL, StopGenerator):
            raise
        except PathEnds as end:
            if not self.is_passed_by(end.event):
                raise
            self._pass_by(node, end.event)
        except RecursionError:
            # Near the end of the stack there is no room to go on.
            if self.depth > self.is_unit:
                raise
            self.left_out.add(STACK)
            self._lose(node)
        except Exception as error:
            self.failures.append(f"{self.source.path}:{node.lineno}: {type(error).__name__}: {error}")
            self._lose(node)

    def _lose(self, node: ast.stmt, *, data: bool = False) -> None:
        """Takes for unknown what a statement would have set; as `data` it has no graph in any case."""
        for part in nodes_of(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                self.frame.variables[part.id] = Unknown(name=part.id, data=data)

    def _without_grad(self, runner: Callable[[Any], None], node: ast.stmt) -> None:
        mode, self.grad_mode = self.grad_mode, NO
        try:
            runner(node)
        finally:
            self.grad_mode = mode

    def _pass_by(self, node: ast.stmt, error: Event) -> None:
        """Goes on behind a statement that raises: as if it were mended, or else not there."""
        if isinstance(error, LeafWritten) and error.module is None and node not in self.without_grad:
            self.without_grad.add(node)
            self.run_statement(node)
            return
        array = isinstance(error, NumpyOfGraph)
        if not array:
            self.disturbed = min(self.disturbed, len(self.events))
        if not isinstance(node, ast.AugAssign):
            self._lose(node, data=array)
        if isinstance(node, ast.Return):
            raise ReturnSignal(Unknown())

    # ------------------------------------------------------------------ simple statements

    def _expression(self, node: ast.Expr) -> None:
        call = node.value
        value = self.evaluate(call)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            self._note_discarded(call, call.func.attr, value)
        elif isinstance(call, ast.Attribute):
            self._note_useless(call, value)

    def _note_discarded(self, call: ast.Call, method: str, value: Value) -> None:
        if not isinstance(value, Tensor):
            return
        if method in DISCARDED_FUNCTIONS and self._is_torch(call.func):
            given = call.args[0] if call.args else None
            of_gradient = isinstance(given, ast.Attribute) and given.attr == "grad"
            meant = of_gradient if method == "zeros_like" else isinstance(given, ast.Name)
            if meant and not value.stores and not self._is_displayed(call):
                self.node = call
                self.report(DiscardedResult(place=self.here(call), method=method, tensor=value))
            return
        if method not in OUT_OF_PLACE:
            return
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
        if receiver is None or isinstance(receiver, ast.Call) or value.origin == "unknown":
            return
        if value.stores:
            return
        if self._is_displayed(call):
            return
        if method == "detach" and not value.cuts:
            return
        if any(keyword.arg == "out" for keyword in call.keywords):
            return
        if isinstance(receiver, ast.Name) and isinstance(self.get_name(receiver.id)[1], External):
            return
        self.node = call
        self.report(DiscardedResult(place=self.here(call), method=method, tensor=value))

    def _is_torch(self, function: ast.expr) -> bool:
        """Whether an expression names a function of torch."""
        value = self.evaluate(function)
        return isinstance(value, External) and value.name.startswith("torch.")

    def _is_displayed(self, node: ast.expr) -> bool:
        """Whether the expression ends a notebook's cell, which shows its value."""
        for cell in self.source.cells if node.col_offset == 0 else ():
            if cell.first_line <= node.lineno < cell.first_line + cell.line_count:
                end = getattr(node, "end_lineno", node.lineno)
                rest = self.source.lines[end : cell.first_line + cell.line_count - 1]
                return not any(line.strip() and not line.lstrip().startswith("#") for line in rest)
        return False

    def _note_useless(self, node: ast.Attribute, value: Value) -> None:
        if not isinstance(value, LibraryMethod):
            return
        if (
            (isinstance(value.receiver, Optimizer) and node.attr in ("zero_grad", "step"))
            or (isinstance(value.receiver, Tensor) and node.attr in ("backward", "detach_", "requires_grad_", "zero_"))
            or (isinstance(value.receiver, Instance) and node.attr in ("zero_grad", "eval", "train"))
        ):
            what, instead = f"{node.attr} is named and not called", f"{ast.unparse(node)}()"
            self.report(UselessMutation(place=self.here(node), what=what, instead=instead))

    def _assign(self, node: ast.Assign) -> None:
        if isinstance(node.value, ast.GeneratorExp) and isinstance(node.targets[0], ast.Name):
            scope = self.frame.function.node if self.frame.function is not None else self.program.tree
            if len(node.targets) == 1 and node.targets[0].id in only_looped_over(scope):
                self.drawn.add(id(node.value))
        value = self.evaluate(node.value)
        self.node = node
        for target in node.targets:
            self.assign(target, value, node.value)

    def _annotated(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            value = self.evaluate(node.value)
            self.node = node
            if isinstance(value, Unknown) and not value.sources:
                # `self.net: Net = net` tells of a parameter what nothing else does.
                known = self.from_annotation(node.annotation, self.frame)
                value = value if known is None or isinstance(known, Unknown) else known
            self.assign(node.target, value, node.value)

    def assign(self, target: ast.expr, value: Value, value_node: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            self.set_name(target.id, value, target, value_node)
        elif isinstance(target, ast.Attribute):
            receiver = self.evaluate(target.value)
            self.node = target
            self.set_attribute(receiver, target.attr, value, target, value_node)
        elif isinstance(target, ast.Subscript):
            receiver = self.evaluate(target.value)
            index = self.evaluate(target.slice)
            self.node = target
            self.set_item(receiver, index, value, value_node)
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts = self.unpack(value, target)
            value_nodes = (
                value_node.elts
                if isinstance(value_node, ast.Tuple) and len(value_node.elts) == len(target.elts)
                else []
            )
            for index, part in enumerate(target.elts):
                self.assign(part, parts[index], value_nodes[index] if value_nodes else None)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, value, None)

    def unpack(self, value: Value, target: ast.Tuple | ast.List) -> list[Value]:
        """The values that the parts of a tuple target get, a starred one a list."""
        count = len(target.elts)
        starred = next((i for i, part in enumerate(target.elts) if isinstance(part, ast.Starred)), None)
        if isinstance(value, Tensor):
            if value.node is not None and not value.node.sure and value.base is None:
                parts: list[Value] = [self.record("part", [value], sure=False)[0] for _ in range(count)]
            else:
                parts = [self._row(value) for _ in range(count)]
        elif isinstance(value, Unknown):
            parts = [self.part_of(value, i) for i in range(count)]
        else:
            parts = self.items_of(value, target)[0]
            if isinstance(value, ListValue) and value.homogeneous:
                parts = parts[:1] * count
        if starred is not None:
            after = count - starred - 1
            middle: list[Value] = parts[starred : len(parts) - after]
            parts = [*parts[:starred], ListValue(middle), *(parts[len(parts) - after :] if after else [])]
        while len(parts) < count:
            parts.append(Unknown())
        return parts

    def _augmented(self, node: ast.AugAssign) -> None:
        target = node.target
        receiver: Value = None
        index: Value = None
        if isinstance(target, ast.Name):
            current = self.evaluate(ast.copy_location(ast.Name(target.id, ast.Load()), target))
        elif isinstance(target, ast.Attribute):
            receiver = self.evaluate(target.value)
            self.node = target
            current = self.get_attribute(receiver, target.attr)
        else:
            receiver = self.evaluate(target.value)
            index = self.evaluate(target.slice)
            self.node = target
            current = self.get_item(receiver, index)
        value = self.evaluate(node.value)
        self.node = node
        if isinstance(value, Tensor) and isinstance(node.value, ast.Name) and value.storage.module_write is not None:
            self._note_overwritten(node.value, value)
        if isinstance(current, Tensor):
            name = TENSOR_OPERATORS[type(node.op)]
            result: Value = library.in_place.write(self.machine, current, name, [value])
        elif isinstance(current, Unknown) and current.alias is not None:
            self.mark_alias_write(current.alias)
            result = current
        elif isinstance(current, ListValue) and isinstance(node.op, ast.Add):
            added = [] if isinstance(value, Unknown) else self.items_of(value, node)[0]
            self.trail.note_items("extend", id(node), added)
            self.extend(current, added)
            self.note_items(current, added, node.value)
            result = current
        elif isinstance(current, DictValue) and isinstance(node.op, ast.BitOr) and isinstance(value, DictValue):
            self.trail.note_items("update", id(node), list(value.items.values()))
            current.items.update(value.items)
            self.note_items(current, list(value.items.values()), node.value)
            result = current
        else:
            result = self.binary(type(node.op), current, value)
            counts = type(result) is int and isinstance(current, int) and result > current
            if counts and isinstance(node.op, ast.Add) and self.goes_on(self.epoch):
                result = Growing(cast("int", result))
        if isinstance(target, ast.Name):
            self.set_name(target.id, result, node, node.value)
        elif isinstance(target, ast.Attribute):
            self.set_attribute(receiver, target.attr, result, node, node.value)
        elif not (isinstance(receiver, Tensor) and isinstance(current, Tensor) and current.storage is receiver.storage):
            # torch writes a view back onto itself, which changes nothing more.
            self.set_item(receiver, index, result, node.value)

    def _return(self, node: ast.Return) -> None:
        raise ReturnSignal(None if node.value is None else self.evaluate(node.value))

    def _break(self, node: ast.Break) -> None:
        raise BreakSignal

    def _continue(self, node: ast.Continue) -> None:
        raise ContinueSignal

    def _raise(self, node: ast.Raise) -> None:
        name = ""
        if node.exc is not None:
            called = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            name = (
                called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""
            )
        raise ProgramRaises(name)

    def _assert(self, node: ast.Assert) -> None:
        self.evaluate(node.test)

    def _delete(self, node: ast.Delete) -> None:
        self.trail.note("delete", id(node))
        for target in node.targets:
            if isinstance(target, ast.Name):
                scope = self.scope_of(target.id)
                scope.variables.pop(target.id, None)
                scope.imported.pop(target.id, None)
            elif isinstance(target, ast.Attribute):
                receiver = self.evaluate(target.value)
                if isinstance(receiver, Instance):
                    receiver.attributes.pop(target.attr, None)
            elif isinstance(target, ast.Subscript):
                self._delete_item(self.evaluate(target.value), self.evaluate(target.slice))

    @staticmethod
    def _delete_item(receiver: Value, index: Value) -> None:
        if isinstance(receiver, Instance):
            receiver = receiver.children
        if isinstance(receiver, ListValue):
            if isinstance(index, slice):
                known = _is_plain(index)
            else:
                known = isinstance(index, int) and -len(receiver.items) <= index < len(receiver.items)
            if known and isinstance(index, (int, slice)):
                del receiver.items[index]
            else:
                receiver.items.clear()
        elif isinstance(receiver, DictValue):
            receiver.items.pop(index if isinstance(index, (str, int)) else None, None)

    # ------------------------------------------------------------------ branches

    def _if(self, node: ast.If) -> None:
        self.reached_later = False
        known = self.truth(self.evaluate(node.test))
        if known is None:
            later = self.reached_later
            default = not (_leaves(node.body) and not _leaves(node.orelse))
            known = self.decide(node, default)
            if known is default and self.epoch and later:
                # A count gets there in a later pass than the first.
                known = (self.epoch[-1][1] > 0) is default
            elif later:
                known = default
            elif known is not default and self.epoch and _is_periodic(node.test):
                known = bool(self.epoch[-1][1] % 2)
            self._run_arm(node, known)
            return
        self.trail.turns += 1
        self.run_block(node.body if known else node.orelse)

    def _run_arm(self, node: ast.If, known: bool) -> None:
        """Runs a branch of which only this path takes it, and notes whether that did anything."""
        taken, other = (node.body, node.orelse) if known else (node.orelse, node.body)
        arm, looks, over = self.trail.begin(self.order), self.number_looks + self.index_looks, False
        try:
            self.run_block(taken)
            over = True
        finally:
            if not over:
                # What follows is left out.
                self.trail.note("left", id(node))
            did = self.trail.end(arm) or self.number_looks + self.index_looks > looks
            key = self.branch_at(node)
            self.note_weight(key, arm.code, arm.turns)
            if did or other:
                self.effective.add(key)
            else:
                self.idle.add(key)

    def _match(self, node: Any) -> None:
        subject = self.evaluate(node.subject)
        for case in node.cases:
            pattern = case.pattern
            matched: bool | None = None
            if isinstance(pattern, ast.MatchValue):
                matched = self._compare_known(ast.Eq(), subject, self.evaluate(pattern.value))
            elif isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
                matched = True
                if pattern.name is not None:
                    self.set_name(pattern.name, subject, pattern)
            if matched is None:
                matched = self.decide(pattern, True)
            if matched:
                self.run_block(case.body)
                return

    def _try(self, node: Any) -> None:
        catches = any(_catches_runtime_error(h) for h in node.handlers)
        self.catching += catches
        raised: BaseException | None = None
        try:
            self.run_block(node.body)
        except (PathEnds, ProgramRaises) as error:
            raised = error
        finally:
            self.catching -= catches
        if isinstance(raised, PathEnds) and not catches:
            raise raised
        if raised is None:
            self.run_block(node.orelse)
        elif node.handlers:
            handler = node.handlers[0]
            if isinstance(raised, PathEnds):
                handler = next(h for h in node.handlers if _catches_runtime_error(h))
            if handler.name:
                self.set_name(handler.name, Unknown(name=handler.name, data=True), handler)
            self.run_block(handler.body)
        self.run_block(node.finalbody)
        if isinstance(raised, ProgramRaises) and not node.handlers:
            raise raised

    # ------------------------------------------------------------------ with

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        self._with_items(node, 0)

    def _with_items(self, node: ast.With | ast.AsyncWith, index: int) -> None:
        """Enters the items one inside the other; a generator's body runs around what is inside."""
        if index == len(node.items):
            self.run_block(node.body)
            return
        item = node.items[index]
        manager = self.evaluate(item.context_expr)
        self.node = item.context_expr
        mode = (self.grad_mode, self.inference, self.autocast)
        mode_place = self.mode_place
        bound: Value = manager if not isinstance(manager, (External, GradMode)) else None
        leave: Value = None
        if isinstance(manager, GeneratorValue) and manager.function is not None:

            def inside(value: Value) -> None:
                if item.optional_vars is not None:
                    self.assign(item.optional_vars, value, None)
                inner_mode = (self.grad_mode, self.inference)
                self._with_items(node, index + 1)
                self.grad_mode, self.inference = inner_mode

            self._run_generator_manager(manager, manager.function, inside)
            return
        if isinstance(manager, GradMode):
            self.grad_mode = tri(manager.enabled)
            self.mode_place = self.here(item.context_expr) if manager.enabled is False else None
            self.inference = self.inference or manager.inference
            if manager.previous is not None:
                mode = manager.previous
        elif isinstance(manager, ContextValue):
            bound = manager.value
            if manager.name == "autocast":
                self.autocast = True
            elif manager.name == "raises":
                self.catching += 1
        elif isinstance(manager, Instance) and manager.cls is not None and manager.cls.has("__enter__"):
            bound = self.call(manager.cls.find("__enter__"), [manager], {}, item.context_expr)
            leave = manager.cls.find("__exit__")
        if item.optional_vars is not None:
            self.assign(item.optional_vars, bound, None)
        try:
            self._with_items(node, index + 1)
        except PathEnds as error:
            if isinstance(manager, ContextValue) and manager.name == "raises":
                error.event.caught = True
            else:
                raise
        finally:
            self.grad_mode, self.inference, self.autocast = mode
            self.mode_place = mode_place
            if isinstance(manager, ContextValue) and manager.name == "raises":
                self.catching -= 1
        if isinstance(leave, Function):
            self.call(leave, [manager, None, None, None], {}, item.context_expr)

    def _run_generator_manager(
        self, manager: GeneratorValue, function: Function, inside: Callable[[Value], None]
    ) -> None:
        # The mode that the generator sets before its yield holds in the body: the body is run in the generator's mode.
        raised: list[BaseException] = []
        caller = (self.frame, self.stack, self.source)

        def on_yield(value: Value) -> Value:
            own = (self.frame, self.stack, self.source)
            self.frame, self.stack, self.source = caller
            try:
                inside(value)
            except (ReturnSignal, BreakSignal, ContinueSignal) as signal:
                raised.append(signal)
            finally:
                self.frame, self.stack, self.source = own
            return None

        self.enter_function(function, manager.arguments, manager.keywords, manager.call, on_yield=on_yield)
        if raised:
            raise raised[0]

    # ------------------------------------------------------------------ definitions

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        value = self.make_function(node)
        self.trail.note_name(self.frame, node.name, value)
        if isinstance(value, Function) and self.frame.cls is not None and value.owner is None:
            value.owner = self.frame.cls
        self.frame.variables[node.name] = value
        if node.name in self.frame.global_names:
            self.frame.file.variables[node.name] = value

    def _class(self, node: ast.ClassDef) -> None:
        bases = [self.evaluate(base) for base in node.bases]
        cls = ClassValue(node, self.source, bases)
        inner = Frame(self.source, self.frame)
        inner.cls = cls
        with self.entered(inner):
            self.run_block(node.body)
        cls.namespace = inner.variables
        for value in cls.namespace.values():
            if isinstance(value, Function) and value.node in node.body:
                value.owner = cls
        named_tuple = any(isinstance(b, External) and b.last == "NamedTuple" for b in bases)
        if named_tuple or any(
            "dataclass" in _dotted(d) or _dotted(d) in ("attr.s", "attrs.define", "define") for d in node.decorator_list
        ):
            cls.fields = [
                (part.target.id, part.value)
                for part in node.body
                if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
            ]
        made: Value = cls
        for decorator in reversed(node.decorator_list):
            function = self.evaluate(decorator)
            if isinstance(function, (Function, BoundMethod, Partial)):
                self.node = decorator
                changed = self.call(function, [made], {}, decorator)
                made = made if changed is None or isinstance(changed, Unknown) else changed
        self.trail.note_name(self.frame, node.name, made)
        self.frame.variables[node.name] = made

    # ------------------------------------------------------------------ imports

    def _import(self, node: ast.Import) -> None:
        self.trail.note("import", id(node))
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            self._bind_import(name, Import(alias.name, whole=alias.asname is not None))

    def _import_from(self, node: ast.ImportFrom) -> None:
        self.trail.note("import", id(node))
        for alias in node.names:
            if alias.name == "*":
                self.import_all(node.module or "", node.level)
            else:
                self._bind_import(alias.asname or alias.name, Import(node.module or "", node.level, alias.name))

    def _bind_import(self, name: str, meant: Import) -> None:
        frame = self.frame
        if self.may_wait(meant):
            frame.variables.pop(name, None)
            frame.imported[name] = meant
        else:
            frame.variables[name] = self.import_of(meant)

    def import_of(self, meant: Import) -> Value:
        """What an import binds a name to; runs the files that it means."""
        if meant.name is None:
            return self.import_module(meant.module, meant.level, whole=meant.whole)
        return self.import_name(meant.module, meant.level, meant.name)

    def may_wait(self, meant: Import) -> bool:
        """Whether nobody sees it if the files of an import are run when the name is asked for, and not before."""
        raise NotImplementedError

    def import_module(self, name: str, level: int, *, whole: bool) -> Value:
        """`import name`: the module, or the first package of the dotted name."""
        raise NotImplementedError

    def import_name(self, module: str, level: int, name: str) -> Value:
        """`from module import name`."""
        raise NotImplementedError

    def import_all(self, module: str, level: int) -> None:
        """`from module import *`."""
        raise NotImplementedError


def _is_plain(index: slice) -> bool:
    """Whether all parts of a slice are known."""
    parts = (index.start, index.stop, index.step)
    return index.step != 0 and all(part is None or isinstance(part, int) for part in parts)


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        node = node.func
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    return ".".join(reversed(parts))


_ENDING_CALLS = frozenset(("exit", "_exit", "error", "quit", "abort"))


def _leaves(body: list[ast.stmt]) -> bool:
    """Whether a branch leaves what it is in: it is then not the usual way."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, (ast.Break, ast.Return, ast.Raise, ast.Continue)):
        return True
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        function = last.value.func
        name = (
            function.attr
            if isinstance(function, ast.Attribute)
            else function.id
            if isinstance(function, ast.Name)
            else ""
        )
        return name in _ENDING_CALLS
    return False


def _is_periodic(test: ast.expr) -> bool:
    return any(isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod) for part in nodes_of(test))


_RUNTIME_ERRORS = frozenset(("RuntimeError", "Exception", "BaseException"))


def _catches_runtime_error(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(
        (t.id if isinstance(t, ast.Name) else t.attr if isinstance(t, ast.Attribute) else "") in _RUNTIME_ERRORS
        for t in types
    )
