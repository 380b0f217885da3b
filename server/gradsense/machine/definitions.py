"""Which files do nothing but define names when they are imported: they may as well be run when a name is asked for."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable
from weakref import WeakKeyDictionary

from gradsense.machine.trees import nodes_of, statements_in

# Of torch, what makes no tensor and switches nothing.
HARMLESS = frozenset(
    """torch.device torch.Size torch.Generator torch.manual_seed torch.no_grad torch.enable_grad torch.inference_mode
    torch.cuda.is_available torch.cuda.manual_seed torch.cuda.manual_seed_all torch.cuda.device_count
    torch.backends.mps.is_available torch.jit.script torch.jit.ignore torch.jit.export torch.jit.unused
    torch.jit.interface torch.library.custom_op torch.fx.wrap torch.compile torch.compiler.disable""".split()
)
TORCH = frozenset(("torch", "torchvision", "torchaudio", "pytorch_lightning", "lightning", "accelerate"))
_NO_BUILTINS = frozenset(
    ("exec", "eval", "setattr", "delattr", "globals", "vars", "exit", "quit", "__import__", "next")
)
BUILTINS = frozenset(vars(builtins)) - _NO_BUILTINS

IsOutside = Callable[[str, int], bool]
"""Says of a module, by its name and how many dots stand before it, whether it is no file of the workspace."""

Function = ast.FunctionDef | ast.AsyncFunctionDef

# What was found out, as long as the statements are the same.
_KNOWN: WeakKeyDictionary[ast.Module, tuple[list[ast.stmt], bool]] = WeakKeyDictionary()


def only_defines(tree: ast.Module, is_outside: IsOutside) -> bool:
    """Whether running a file makes no tensors, walks nothing and changes nothing that other files see.

    What the files do that it imports is not asked. Where it is not certain, the answer is no.

    Args:
        tree: the file's tree; statements of it may be exchanged meanwhile.
        is_outside: which modules are libraries.
    """
    known = _KNOWN.get(tree)
    if known is None or known[0] != tree.body:
        known = _KNOWN[tree] = (list(tree.body), _Reader(tree, is_outside).is_quiet(tree.body))
    return known[1]


def exported_names(tree: ast.Module) -> dict[str, bool] | None:
    """The names that `from … import *` takes from a file, and whether it defines them and does not import them itself.

    Returns:
        None where the text of the file does not say which names these are.
    """
    found: dict[str, bool] = {}
    listed: list[str] | None = None
    for node in statements_in(tree.body):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found[node.name] = True
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                found.setdefault(alias.asname or alias.name.partition(".")[0], False)
        elif isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [part.id for target in targets for part in nodes_of(target) if isinstance(part, ast.Name)]
            found.update(dict.fromkeys(names, True))
            if "__all__" in names:
                if not isinstance(node, ast.Assign) or not isinstance(node.value, (ast.List, ast.Tuple)):
                    return None
                listed = [e.value for e in node.value.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
    if listed is not None:
        return {name: found.get(name, False) for name in listed}
    return None if "*" in found else {name: own for name, own in found.items() if not name.startswith("_")}


class _Reader:
    """Reads the statements of one file."""

    def __init__(self, tree: ast.Module, is_outside: IsOutside) -> None:
        # What names of libraries mean; what the file defines itself.
        self.libraries: dict[str, str] = {}
        self.own: dict[str, ast.stmt] = {}
        self._asked: dict[ast.stmt, bool] = {}
        for statement in statements_in(tree.body):
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                self._take_import(statement, is_outside)
            elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                self.own[statement.name] = statement

    def _take_import(self, node: ast.Import | ast.ImportFrom, is_outside: IsOutside) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if is_outside(alias.name, 0):
                    first = alias.name.partition(".")[0]
                    self.libraries[alias.asname or first] = alias.name if alias.asname else first
        elif is_outside(node.module or "", node.level):
            for alias in node.names:
                self.libraries[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def is_quiet(self, body: Iterable[ast.stmt]) -> bool:
        """Whether statements of the module level do nothing but define."""
        return all(map(self._statement, body))

    def _statement(self, node: ast.stmt) -> bool:
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.Pass)):
            return True
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            defaults = [d for d in (*node.args.defaults, *node.args.kw_defaults) if d is not None]
            return self._harmless([*node.decorator_list, *defaults], node.decorator_list)
        if isinstance(node, ast.ClassDef):
            parts = [*node.decorator_list, *node.bases, *(k.value for k in node.keywords)]
            return self._harmless(parts, node.decorator_list) and self.is_quiet(node.body)
        if isinstance(node, ast.Expr):
            return self._harmless([node.value], ())
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = all(isinstance(part, (ast.Name, ast.Tuple)) for part in targets)
            return names and (node.value is None or self._harmless([node.value], ()))
        if isinstance(node, ast.If):
            return self._harmless([node.test], ()) and self.is_quiet(node.body) and self.is_quiet(node.orelse)
        if isinstance(node, ast.Try):
            handlers = [part for handler in node.handlers for part in handler.body]
            return self.is_quiet([*node.body, *handlers, *node.orelse, *node.finalbody])
        return isinstance(node, ast.Raise)

    def _harmless(self, expressions: Iterable[ast.expr], decorators: Iterable[ast.expr]) -> bool:
        """Whether expressions call nothing that may do something; a decorator is called without saying so."""
        calls = [n.func for e in expressions for n in nodes_of(e) if isinstance(n, ast.Call)]
        return all(self._may_call(f, ()) for f in (*calls, *(d for d in decorators if not isinstance(d, ast.Call))))

    def _may_call(self, function: ast.expr, local: Iterable[str]) -> bool:
        parts: list[str] = []
        while isinstance(function, (ast.Attribute, ast.Call, ast.Subscript)):
            if isinstance(function, ast.Attribute):
                parts.append(function.attr)
            function = function.func if isinstance(function, ast.Call) else function.value
        if not isinstance(function, ast.Name):
            return True
        name = function.id
        if name in self.libraries:
            dotted = ".".join((self.libraries[name], *reversed(parts)))
            return dotted.partition(".")[0] not in TORCH or dotted in HARMLESS
        if name in self.own:
            return not parts and self._own_call(self.own[name])
        # The setter of a property is called by the name of the property.
        return name in local or name in BUILTINS or parts == ["setter"]

    def _own_call(self, node: ast.stmt) -> bool:
        """Whether to call what the file defines itself does nothing either."""
        if node not in self._asked:
            # Of a recursion the other calls decide.
            self._asked[node] = True
            self._asked[node] = self._is_harmless(node)
        return self._asked[node]

    def _is_harmless(self, node: ast.stmt) -> bool:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            parts = nodes_of(node)
            local = {part.arg for part in parts if isinstance(part, ast.arg)}
            local |= {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
            return all(self._may_call(part.func, local) for part in parts if isinstance(part, ast.Call))
        if isinstance(node, ast.ClassDef):
            bases = all(isinstance(base, ast.Name) and self._is_plain_base(base.id) for base in node.bases)
            made = [part for part in node.body if isinstance(part, Function) and part.name in _MAKERS]
            return bases and not node.keywords and all(map(self._is_harmless, made))
        return False

    def _is_plain_base(self, name: str) -> bool:
        if name in self.own:
            return self._own_call(self.own[name])
        return name in BUILTINS or self.libraries.get(name, "torch").partition(".")[0] not in TORCH


_MAKERS = ("__init__", "__new__", "__post_init__")
