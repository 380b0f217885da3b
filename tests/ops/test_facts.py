"""Facts that decide verdicts, each asserted through the table and run on torch.

The run is independent of the measuring tools: it writes to a tensor for real, then walks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402

from gradsense.machine.ops.rows import Saves  # noqa: E402
from gradsense.machine.ops.table import table  # noqa: E402

Tensor = torch.Tensor


@dataclass
class Fact:
    """A call, and of which of its tensors a later write makes the walk raise."""

    name: str
    call: Callable[..., Tensor]
    saved: str
    tensors: str = "input"
    wrt: str = "input"
    twice_raises: bool = True
    options: Mapping[str, object] = field(default_factory=dict)
    inplace: bool = False


def _silent(name: str, call: Callable[..., Tensor], **more: object) -> Fact:
    return Fact(name, call, "", twice_raises=False, **more)  # type: ignore[arg-type]


FACTS = [
    # Nothing is saved: any write is fine, and so is a second walk.
    _silent("add", lambda input, other: input + other, tensors="input other"),
    _silent("sub", lambda input, other: input - other, tensors="input other"),
    _silent("add", lambda input: input + 2, options={"other": 2}),
    _silent("neg", lambda input: -input),
    _silent("sum", lambda input: input.sum()),
    _silent("mean", lambda input: input.mean()),
    _silent("view", lambda input: input.view(-1), options={"size": (-1,)}),
    _silent("t", lambda input: input.t()),
    _silent("transpose", lambda input: input.transpose(0, 1), options={"dim0": 0, "dim1": 1}),
    _silent("expand", lambda input: input.expand(2, 3, 3), options={"size": (2, 3, 3)}),
    _silent("getitem", lambda input: input[0], options={"index": "basic"}),
    _silent("getitem", lambda input: input[:2], options={"index": "basic"}),
    _silent("clone", lambda input: input.clone()),
    _silent("double", lambda input: input.double()),
    _silent("cumsum", lambda input: input.cumsum(0), options={"dim": 0}),
    _silent("roll", lambda input: input.roll(1), options={"shifts": 1}),
    _silent("flip", lambda input: input.flip(0), options={"dims": (0,)}),
    _silent("nn.functional.pad", lambda input: F.pad(input, (1, 1)), options={"pad": (1, 1)}),
    _silent("repeat", lambda input: input.repeat(2, 1), options={"repeats": (2, 1)}),
    _silent("lerp", lambda input, end: torch.lerp(input, end, 0.9), tensors="input end", options={"weight": 0.9}),
    _silent("round", lambda input: input.round()),
    _silent("tril", lambda input: input.tril()),
    _silent("nn.functional.dropout", lambda input: F.dropout(input, 0.0), options={"p": 0.0}),
    _silent("nn.functional.dropout", lambda input: F.dropout(input, 0.5, False), options={"training": False}),
    _silent("nn.functional.interpolate", lambda input: F.interpolate(input[None], scale_factor=2.0)),
    _silent("nn.functional.linear", F.linear, tensors="input weight bias", wrt="bias"),
    # The result.
    Fact("exp", torch.exp, "out0"),
    Fact("sqrt", torch.sqrt, "out0"),
    Fact("rsqrt", torch.rsqrt, "out0"),
    Fact("sigmoid", torch.sigmoid, "out0"),
    Fact("nn.functional.sigmoid", F.sigmoid, "out0"),
    Fact("tanh", torch.tanh, "out0"),
    Fact("relu", F.relu, "out0"),
    Fact("softmax", lambda input: input.softmax(1), "out0", options={"dim": 1}),
    Fact("nn.functional.log_softmax", lambda input: F.log_softmax(input, 1), "out0", options={"dim": 1}),
    # The result and the input.
    Fact("norm", lambda input: input.norm(), "input out0"),
    Fact("std", lambda input: input.std(), "input out0"),
    Fact("max", lambda input: input.max(), "input out0"),
    Fact("amax", lambda input: input.amax(), "input out0"),
    Fact("median", lambda input: input.median(), "input out0"),
    Fact("prod", lambda input: input.prod(), "input out0"),
    Fact("cumprod", lambda input: input.cumprod(0), "input out0", options={"dim": 0}),
    Fact("logsumexp", lambda input: input.logsumexp(1), "input out0", options={"dim": 1}),
    Fact("pow", torch.pow, "input exponent out0", tensors="input exponent"),
    # The input.
    Fact("log", torch.log, "input"),
    Fact("abs", torch.abs, "input"),
    Fact("sin", torch.sin, "input"),
    Fact("cos", torch.cos, "input"),
    Fact("pow", lambda input: input**2, "input", options={"exponent": 2}),
    Fact("nn.functional.gelu", F.gelu, "input"),
    Fact("nn.functional.silu", F.silu, "input"),
    Fact("nn.functional.mish", F.mish, "input"),
    Fact("nn.functional.leaky_relu", F.leaky_relu, "input"),
    Fact("nn.functional.elu", F.elu, "input"),
    Fact("selu", F.selu, "input"),
    Fact("nn.functional.hardtanh", F.hardtanh, "input"),
    Fact("nn.functional.softplus", F.softplus, "input"),
    Fact("clamp", lambda input: input.clamp(0.2, 0.8), "input", options={"min": 0.2, "max": 0.8}),
    Fact("var", lambda input: input.var(), "input"),
    Fact("layer_norm", lambda input: F.layer_norm(input, (3,)), "input", options={"normalized_shape": (3,)}),
    Fact("nn.functional.normalize", F.normalize, "input"),
    # Nothing of the program's own.
    Fact("nn.functional.dropout", F.dropout, ""),
    Fact("mul", lambda input: input * 2.0, "", options={"other": 2.0}),
    # What the other's gradient needs.
    Fact("mul", torch.mul, "other", tensors="input other"),
    Fact("div", torch.div, "other", tensors="input other"),
    Fact("div", torch.div, "input other", tensors="input other", wrt="other"),
    Fact("matmul", torch.matmul, "other", tensors="input other"),
    Fact("mm", torch.mm, "mat2", tensors="input mat2"),
    Fact("nn.functional.linear", F.linear, "weight", tensors="input weight"),
    Fact("nn.functional.linear", F.linear, "input", tensors="input weight bias", wrt="weight"),
    Fact("nn.functional.mse_loss", F.mse_loss, "input target", tensors="input target"),
    Fact("maximum", torch.maximum, "input other", tensors="input other"),
    # In-place forms.
    Fact("exp", lambda input: input.exp_(), "out0", inplace=True),
    Fact("sigmoid", lambda input: input.sigmoid_(), "out0", inplace=True),
    Fact("tanh", lambda input: input.tanh_(), "out0", inplace=True),
    Fact("sqrt", lambda input: input.sqrt_(), "out0", inplace=True),
    Fact("relu", lambda input: F.relu(input, inplace=True), "out0", inplace=True),
    Fact("nn.functional.leaky_relu", lambda input: F.leaky_relu(input, inplace=True), "out0", inplace=True),
    Fact("nn.functional.elu", lambda input: F.elu(input, inplace=True), "out0", inplace=True),
    Fact("selu", lambda input: F.selu(input, inplace=True), "out0", inplace=True),
    Fact("celu", lambda input: F.celu(input, inplace=True), "out0", inplace=True),
    Fact("nn.functional.silu", lambda input: F.silu(input, inplace=True), "", inplace=True),
    Fact("nn.functional.mish", lambda input: F.mish(input, inplace=True), "", inplace=True),
    Fact("nn.functional.hardswish", lambda input: F.hardswish(input, inplace=True), "", inplace=True),
    Fact("nn.functional.hardtanh", lambda input: F.hardtanh(input, inplace=True), "", inplace=True),
    Fact("nn.functional.relu6", lambda input: F.relu6(input, inplace=True), "", inplace=True),
    Fact("mul", lambda input, other: input.mul_(other), "other", tensors="input other", inplace=True),
    Fact("mul", lambda input, other: input.mul_(other), "", tensors="input other", wrt="other", inplace=True),
    _silent("add", lambda input, other: input.add_(other), tensors="input other", inplace=True),
]


def _saves(fact: Fact) -> Saves:
    row = table().lookup(fact.name, fact.tensors.split(), fact.options)
    assert row is not None
    books = row.inplace if fact.inplace else row.saves
    assert books is not None
    return books[fact.wrt]


def _forward(fact: Fact) -> tuple[Tensor, dict[str, Tensor], Tensor]:
    torch.manual_seed(0)
    tensors = {name: torch.rand(3) if name == "bias" else torch.rand(3, 3) + 0.1 for name in fact.tensors.split()}
    leaf = tensors[fact.wrt].requires_grad_()
    tensors[fact.wrt] = leaf.clone()
    result = fact.call(*tensors.values())
    return leaf, tensors, result


def _write_raises(fact: Fact, name: str) -> bool:
    leaf, tensors, result = _forward(fact)
    with torch.no_grad():
        (result if name == "out0" else tensors[name]).add_(0)
    try:
        torch.autograd.grad(result.sum(), leaf)
    except RuntimeError as error:
        assert "modified by an inplace operation" in str(error)
        return True
    return False


def _second_walk_raises(fact: Fact) -> bool:
    leaf, _, result = _forward(fact)
    total = result.sum()
    torch.autograd.grad(total, leaf)
    try:
        torch.autograd.grad(total, leaf)
    except RuntimeError as error:
        assert "a second time" in str(error)
        return True
    return False


def _title(fact: Fact) -> str:
    return f"{fact.name}{'_' if fact.inplace else ''}({fact.tensors})-{fact.wrt}-{fact.saved or 'nothing'}"


@pytest.mark.parametrize("fact", FACTS, ids=_title)
def test_table_and_torch_agree_on_the_fact(fact: Fact) -> None:
    saves = _saves(fact)
    expected = set(fact.saved.split())
    present = set(fact.tensors.split()) | {"out0"}
    assert saves.sure
    assert saves.tensors & present == expected
    assert saves.second_walk_raises == fact.twice_raises
    written = present - {"input"} if fact.inplace else present
    _, tensors, result = _forward(fact)
    shares = {name for name, tensor in tensors.items() if tensor.data_ptr() == result.data_ptr()}
    if "out0" in expected or not shares:
        assert {name for name in written if _write_raises(fact, name)} == expected
    assert _second_walk_raises(fact) == fact.twice_raises


def test_cross_entropy_saves_only_its_target() -> None:
    row = table().lookup("nn.functional.cross_entropy", ("input", "target"))
    assert row is not None and row.saves["input"].tensors & {"input", "target"} == {"target"}
    logits, target = torch.rand(3, 4, requires_grad=True), torch.tensor([0, 1, 2])
    loss = F.cross_entropy(logits * 1, target)
    target.add_(0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_sort_and_topk_save_their_indices() -> None:
    for name in ("sort", "topk"):
        row = table().lookup(name, ("input",))
        assert row is not None and row.outputs == 2 and row.differentiable_outputs == (True, False)
        assert row.saves["input"].tensors == {"out1"}
    values, indices = torch.rand(4, requires_grad=True).sort()
    indices.add_(0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        values.sum().backward()


def test_index_select_and_masked_fill_save_index_and_mask() -> None:
    select = table().lookup("index_select", ("input", "index"), {"dim": 0})
    fill = table().lookup("masked_fill", ("input", "mask"), {"value": 0.0})
    assert select is not None and select.saves["input"].tensors == {"index"}
    assert fill is not None and fill.saves["input"].tensors == {"mask"}
    mask = torch.tensor([True, False])
    result = (torch.rand(2, requires_grad=True) * 1).masked_fill(mask, 0.0)
    mask.logical_not_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


def test_embedding_with_max_norm_writes_its_weight() -> None:
    row = table().lookup("nn.functional.embedding", ("input", "weight"), {"max_norm": 1.0})
    plain = table().lookup("nn.functional.embedding", ("input", "weight"))
    assert row is not None and row.writes == ("weight",)
    assert plain is not None and plain.writes == () and plain.saves["weight"].tensors == {"input"}
    weight = torch.rand(4, 3)
    before = weight._version
    F.embedding(torch.tensor([0]), weight, max_norm=0.1)
    assert weight._version > before


def test_split_makes_views_that_may_not_be_written() -> None:
    for name in ("split", "chunk", "unbind"):
        row = table().lookup(name, ("input",))
        assert row is not None and row.view.value == "multi"
    for name in ("tensor_split", "hsplit", "getitem"):
        row = table().lookup(name, ("input",), {"index": "basic"} if name == "getitem" else {})
        assert row is not None and row.view.value == "view"


def test_lstm_saves_all_and_gru_its_hidden_weights() -> None:
    lstm = table().lookup("lstm", ("input", "hx", "params"), {"num_layers": 1})
    gru = table().lookup("gru", ("input", "hx", "params"), {"num_layers": 1})
    assert lstm is not None and {"input", "hx[h]", "hx[c]", "out0", "params[w_ih]"} <= lstm.saves["input"].tensors
    assert gru is not None and gru.saves["hx"].tensors == {"params[w_hh]"}
    assert gru.cuda is not None and {"input", "hx", "out0"} <= gru.cuda["input"].tensors


def test_nothing_to_differentiate() -> None:
    for name, result in (
        ("argmax", "int"),
        ("eq", "bool"),
        ("item", "value"),
        ("tensor", "float"),
        ("detach", "float"),
    ):
        row = table().lookup(name)
        assert row is not None and row.nondifferentiable and row.result == result, name
