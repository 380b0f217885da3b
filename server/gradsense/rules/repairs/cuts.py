"""Takes away what cut a value from its graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradsense.fixes.detach import undetach
from gradsense.fixes.fix import Edits, Fix, combine
from gradsense.fixes.keywords import callee_name
from gradsense.fixes.methods import call_instead, drop_last, rename_method, replace_expression
from gradsense.fixes.remove import remove_statement
from gradsense.fixes.torch_names import meaning, spelling
from gradsense.fixes.tree import same_expression
from gradsense.machine.books import ZERO_GRADIENT
from gradsense.machine.graph import Cut
from gradsense.rules.editing import Code, code_of, safe, unsafe
from gradsense.rules.repairs.counting import soft_histogram, summed_weights
from gradsense.rules.repairs.drawn import likelier, soft_sample
from gradsense.rules.repairs.frozen import thaw
from gradsense.rules.repairs.grad_modes import record_again
from gradsense.rules.repairs.in_torch import in_torch
from gradsense.rules.repairs.repair import Repair
from gradsense.rules.repairs.soft import soft_argmax, soft_comparison, soft_hit, straight_through, used_as_index
from gradsense.rules.wording import quoted

# Distributions of torch whose samples have no gradient.
_DISCRETE = frozenset({
    "Bernoulli", "Binomial", "Categorical", "Geometric", "Multinomial", "NegativeBinomial", "OneHotCategorical",
    "Poisson",
})  # fmt: skip
_NUMBERS = frozenset({"item", "tolist", "float", "int"})


def uncut(cut: Cut, walk: ast.AST | None = None, *, trusted: bool = True) -> Iterator[Fix]:
    """The fixes that bring a graph back.

    Args:
        cut: where the graph ends.
        walk: the walk that needs it, where it stands in the same file.
        trusted: whether the cut is surely a mistake, since the program raises because of it.
    """
    for repair in repairs(cut, walk):
        offer = safe if repair.exact and trusted else unsafe
        yield from offer(f"Keep the graph: {repair.does}", repair.edits)


def repairs(cut: Cut, walk: ast.AST | None = None) -> Iterator[Repair]:
    """The ways to take a cut away, the best first."""
    code = code_of(cut.place)
    expression = code.expression(cut.place.node)
    if cut.how == "no_grad":
        yield from (Repair(does, edits, exact) for does, edits, exact in record_again(code, cut.place, walk))
        return
    if cut.how == "requires_grad_(False)":
        yield from (Repair(does, edits, False) for does, edits in thaw(code, cut.place, walk))
        return
    if expression is None:
        return
    if cut.how in {"detach", "data", "detach_"}:
        if _leaves_torch(code, expression):
            yield Repair("compute it in torch, not in numpy", in_torch(code, expression), False)
            return
        yield Repair(
            f"drop `.{_last(expression) or cut.how}{'' if cut.how == 'data' else '()'}`",
            _undetached(code, expression),
            True,
        )
    elif cut.how == "numpy":
        yield Repair("compute it in torch, not in numpy", in_torch(code, expression), False)
    elif cut.how in _NUMBERS:
        yield Repair(f"drop `{_spelt(expression)}`", _as_tensor(code, expression), True)
    elif cut.how == "torch.tensor" and isinstance(expression, ast.Call):
        yield Repair("`torch.stack` instead of `torch.tensor`", _stacked(code, expression), True)
    elif cut.how == "comparison" and isinstance(expression, ast.Compare):
        yield from soft_comparison(code, expression)
    elif cut.how == "sample" and isinstance(expression, ast.Call):
        if not _has_discrete(code):
            yield Repair(
                "`rsample()` instead of `sample()`", rename_method(code.source, code.tree, expression, "rsample"), False
            )
        yield from soft_sample(code, expression, cut)
        yield from likelier(code, expression, cut)
    elif cut.how == "multinomial" and isinstance(expression, ast.Call):
        yield from soft_sample(code, expression, cut)
        yield from likelier(code, expression, cut)
    elif cut.how == "bincount" and isinstance(expression, ast.Call):
        yield from summed_weights(code, expression)
    elif cut.how == "histc" and isinstance(expression, ast.Call):
        yield from soft_histogram(code, expression)
    elif cut.how in {"argmax", "max"} and isinstance(expression, ast.Call):
        yield from soft_argmax(code, expression, cut)
        yield from soft_hit(code, expression)
        yield from likelier(code, expression, cut)
    elif cut.how in ZERO_GRADIENT and isinstance(expression, ast.Call):
        yield from straight_through(code, expression)
    elif cut.how == "state_dict" and isinstance(expression, ast.Call):
        yield from _named_parameters(code, expression)
    elif not cut.how.startswith(("int", "uint", "bool")) or used_as_index(code, expression):
        return
    elif isinstance(expression, ast.Call):
        yield Repair(f"drop `{_spelt(expression)}`", _without_cast(code, expression), False)


def _named_parameters(code: Code, call: ast.Call) -> Iterator[Repair]:
    """`net.named_parameters()` for `net.state_dict().items()`."""
    outer = next((one for one in reversed(code.ancestors(call)) if isinstance(one, ast.Call)), None)
    if outer is None or not isinstance(call.func, ast.Attribute) or call.args or call.keywords:
        return
    if isinstance(outer.func, ast.Attribute) and outer.func.value is call and outer.func.attr == "items":
        new = f"{code.text(call.func.value)}.named_parameters()"
        yield Repair(f"take {quoted(new)}", replace_expression(code.source, code.tree, outer, new), False)


def _leaves_torch(code: Code, expression: ast.expr) -> bool:
    """Whether the chain goes on to numpy or a number, which would end the graph all the same."""
    for around in reversed(code.ancestors(expression)):
        if isinstance(around, ast.Attribute) and around.attr in {"numpy", "tolist", "item"}:
            return True
        if not isinstance(around, ast.Attribute | ast.Call):
            return False
    return False


def _last(expression: ast.expr) -> str | None:
    if isinstance(expression, ast.Call):
        return callee_name(expression)
    return expression.attr if isinstance(expression, ast.Attribute) else None


def _spelt(expression: ast.expr) -> str:
    """The call as a person would name it: `.item()`, `float(…)`, `.to(…)`."""
    if not isinstance(expression, ast.Call):
        return f".{_last(expression)}"
    arguments = "…" if expression.args or expression.keywords else ""
    dot = "." if isinstance(expression.func, ast.Attribute) else ""
    return f"{dot}{callee_name(expression)}({arguments})"


def _undetached(code: Code, expression: ast.expr) -> Edits | None:
    statement = code.statement(expression)
    if statement is None:
        return None
    if isinstance(statement, ast.Expr) and statement.value is expression:
        return remove_statement(code.source, code.tree, statement)
    function = expression.func if isinstance(expression, ast.Call) else expression
    value = function.value if isinstance(function, ast.Attribute) else None
    if isinstance(statement, ast.Assign) and statement.value is expression and value is not None:
        only = statement.targets[0] if len(statement.targets) == 1 else None
        if only is not None and same_expression(only, value):
            return remove_statement(code.source, code.tree, statement)
    if _last(expression) == "detach_":
        return drop_last(code.source, code.tree, expression)
    return undetach(code.source, code.tree, expression)


def _as_tensor(code: Code, expression: ast.expr) -> Edits | None:
    """Leaves out a conversion to a number, and the `torch.tensor` that made a tensor of that number again."""
    if isinstance(expression, ast.Call) and isinstance(expression.func, ast.Name) and expression.args:
        inner = expression.args[0]
        plain = replace_expression(code.source, code.tree, expression, code.text(inner))
    else:
        assert isinstance(expression, ast.Call | ast.Attribute)
        function = expression.func if isinstance(expression, ast.Call) else expression
        inner = function.value if isinstance(function, ast.Attribute) else expression
        plain = drop_last(code.source, code.tree, expression)
    around = [node for node in code.ancestors(expression) if isinstance(node, ast.Call)]
    rebuilt = next((call for call in reversed(around) if _is_tensor_maker(code, call)), None)
    if rebuilt is not None:
        if rebuilt.args[0] is expression:
            return replace_expression(code.source, code.tree, rebuilt, code.text(inner))
        keywords = tuple(keyword.arg for keyword in rebuilt.keywords if keyword.arg)
        stack = spelling(code.tree, rebuilt, "torch.stack")
        changed = call_instead(code.source, code.tree, rebuilt, stack, keywords) if stack else None
        return combine(plain, changed) or _stack_of(code, rebuilt, expression, inner)
    return combine(plain, *_later_makers(code, expression))


def _stack_of(code: Code, call: ast.Call, expression: ast.expr, inner: ast.expr) -> Edits | None:
    """Both changes of `torch.tensor([l.item() for l in ls])` as one edit, where they touch the same text."""
    stack = spelling(code.tree, call, "torch.stack")
    if stack is None:
        return None
    given = code.text(call.args[0])
    text = code.text(expression)
    if given.count(text) != 1:
        return None
    return replace_expression(code.source, code.tree, call, f"{stack}({given.replace(text, code.text(inner))})")


def _later_makers(code: Code, expression: ast.expr) -> list[Edits | None]:
    """The calls that make a tensor again of the variable that the number is assigned to."""
    statement = code.statement(expression)
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return []
    name = statement.targets[0].id
    region = code.function(expression) or code.tree
    found: list[Edits | None] = []
    for node in ast.walk(region):
        if isinstance(node, ast.Call) and _is_tensor_maker(code, node):
            given = node.args[0]
            if isinstance(given, ast.Name) and given.id == name and node.lineno > statement.lineno:
                listed = isinstance(statement.value, ast.List | ast.ListComp | ast.Tuple)
                found.append(_made_of(code, node, name, whole=statement.value is expression, listed=listed))
    return found


def _made_of(code: Code, call: ast.Call, name: str, *, whole: bool, listed: bool) -> Edits | None:
    """The variable itself for `torch.tensor(x)`; its tensors stacked where it is a list of them."""
    stack = spelling(code.tree, call, "torch.stack")
    statement = code.statement(call)
    if (
        isinstance(statement, ast.Assign)
        and statement.value is call
        and same_expression(statement.targets[0], call.args[0])
    ):
        return remove_statement(code.source, code.tree, statement) if whole else None
    if whole or not listed or stack is None:
        return replace_expression(code.source, code.tree, call, name)
    return replace_expression(code.source, code.tree, call, f"{stack}({name})")


def _is_tensor_maker(code: Code, call: ast.Call) -> bool:
    return bool(call.args) and meaning(code.tree, call.func) in {"torch.tensor", "torch.FloatTensor", "torch.Tensor"}


def _stacked(code: Code, call: ast.Call) -> Edits | None:
    """`torch.stack(losses)` for `torch.tensor(losses)`; the tensor itself where it is given one."""
    if not call.args:
        return None
    given = call.args[0]
    if isinstance(given, ast.List | ast.Tuple | ast.ListComp) or _is_list(code, given):
        stack = spelling(code.tree, call, "torch.stack")
        keywords = tuple(keyword.arg for keyword in call.keywords if keyword.arg)
        return call_instead(code.source, code.tree, call, stack, keywords) if stack else None
    return replace_expression(code.source, code.tree, call, code.text(given))


def _is_list(code: Code, given: ast.expr) -> bool:
    """Whether a variable is plainly a list: it is assigned one, or something is appended to it."""
    for node in ast.walk(code.function(given) or code.tree):
        if isinstance(node, ast.Assign) and any(same_expression(target, given) for target in node.targets):
            if isinstance(node.value, ast.List | ast.ListComp):
                return True
        elif (
            isinstance(node, ast.Attribute) and node.attr in {"append", "extend"} and same_expression(node.value, given)
        ):
            return True
    return False


def _has_discrete(code: Code) -> bool:
    names = {node.id for node in ast.walk(code.tree) if isinstance(node, ast.Name)}
    names |= {node.attr for node in ast.walk(code.tree) if isinstance(node, ast.Attribute)}
    return bool(names & _DISCRETE)


def _without_cast(code: Code, call: ast.Call) -> Edits | None:
    method = isinstance(call.func, ast.Attribute) and callee_name(call) in {
        "int",
        "long",
        "short",
        "bool",
        "byte",
        "to",
        "type",
    }
    return drop_last(code.source, code.tree, call) if method else None
