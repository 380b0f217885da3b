"""All the statements that a program may have between others, with how often each is written."""

from __future__ import annotations

from .basic import Fragment, assign, bind, cut, discard, write, write_through_view, write_to
from .builder import Builder
from .containers import build_dict, build_list, over_rows, python_ways, tuples, unpack_views
from .control import (
    branch,
    closure,
    conditional_expression,
    counted_loop,
    graph_attribute,
    guarded,
    switch_grad,
    without_grad,
)
from .unusual import UNUSUAL


def new_leaf(b: Builder) -> None:
    """A tensor that needs grad, made here."""
    shape = b.choice(["M", "V", "W", "M"])
    name = b.fresh(shape)
    size = {"M": "3, 4", "V": "4", "W": "4, 4"}[shape]
    way = b.choice(
        ["torch.randn({}, requires_grad=True)", "torch.ones({}).requires_grad_()", "nn.Parameter(torch.randn({}))"]
    )
    b.emit(f"{name} = {way.format(size)}", "leaf")
    leaf = b.declare(name, shape, True, leaf=True, loose=False)
    leaf.graph = True


def tensor_hook(b: Builder) -> None:
    """A hook on a tensor, or retain_grad."""
    known = b.find(graph=True)
    if not known or b.scope.no_grad:
        return assign(b)
    target = b.choice(known)
    hook = b.choice(
        [
            "{}.register_hook(lambda grad: grad * 0.5)",
            "{}.register_hook(lambda grad: grad.clamp(-1.0, 1.0))",
            "{}.register_hook(lambda grad: None)",
            "{}.register_hook(print)",
            "{}.retain_grad()",
            "{}.retain_grad()",
        ]
    )
    b.emit(hook.format(target.text), "hook:tensor")
    return None


def checkpointed(b: Builder) -> None:
    """A call under torch.utils.checkpoint."""
    calls = [
        p.template[:-5]
        for p in b.scope.calls.get("M", [])
        if p.template.endswith("({M})") and p.template.count("{") == 1
    ]
    function = b.choice(calls) if calls else b.choice(["torch.sigmoid", "F.relu", "lambda v: torch.tanh(v) * v"])
    text, _ = b.tensor("M", 0, graph=True)
    b.imports.add("from torch.utils.checkpoint import checkpoint")
    reentrant = b.pick((5, "False"), (1, "True"))
    bind(b, "M", f"checkpoint({function}, {text}, use_reentrant={reentrant})", True)
    b.used("checkpoint")


def drop(b: Builder) -> None:
    """del of a tensor made here."""
    known = [t for t in b.find(loose=True) if t.text.isidentifier() and t.text not in b.scope.outside]
    if len(known) < 4 or b.nesting >= 3:
        return assign(b)
    target = b.choice(known)
    b.emit(f"del {target.text}", "del")
    b.forget(target)
    b.scope.taken.discard(target.text)
    return None


def identity_alias(b: Builder) -> None:
    """Another name for the same tensor, or for its memory."""
    known = b.find("M", graph=True, leaf=False)
    if not known:
        return assign(b)
    source = b.choice(known)
    name = b.fresh("M")
    ways = [
        "{}",
        "{}.float()",
        "{}.contiguous()",
        "{}.to(torch.float32)",
        "F.dropout({}, 0.0)",
        "{}.view(3, 4)",
        "{}.squeeze()",
    ]
    b.emit(f"{name} = {b.choice(ways).format(source.text)}", "alias")
    b.declare(name, "M", source.graph)
    if b.risky(0.5):
        write_to(b, name, "M")
    return None


def misuse(b: Builder) -> None:
    """What autograd refuses, or allows only in its careful form."""
    known = b.find(graph=True, leaf=False)
    if not known or not b.risky(0.5):
        return discard(b)
    target = b.choice(known).text
    copied = f"copied_ = copy.deepcopy({target})"
    text = b.choice(
        [
            f"print({target}.numpy().sum())",
            f"print({target}.detach().numpy().sum())",
            copied,
            f"{target}.requires_grad_(False)",
            f"torch.optim.SGD([{target}], lr=0.1)",
            f"print({target}.tolist())",
        ]
    )
    if text == copied:
        b.imports.add("import copy")
    b.emit(text, "misuse")
    return None


GENERAL: list[tuple[float, Fragment]] = [
    *UNUSUAL,
    (10, assign),
    (5, write),
    (1.5, write_through_view),
    (1, unpack_views),
    (1, over_rows),
    (2, build_list),
    (1.3, build_dict),
    (1.5, branch),
    (0.7, conditional_expression),
    (1, without_grad),
    (1.2, cut),
    (0.6, new_leaf),
    (0.8, tensor_hook),
    (0.6, checkpointed),
    (0.5, guarded),
    (1.2, counted_loop),
    (1, closure),
    (1, tuples),
    (1.2, drop),
    (1.5, python_ways),
    (0.15, switch_grad),
    (0.4, discard),
    (0.6, misuse),
    (0.8, identity_alias),
    (0.4, graph_attribute),
]
