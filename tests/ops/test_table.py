"""The table's look-up and binding; no torch."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradsense.machine.ops import table as table_module
from gradsense.machine.ops.rows import UNKNOWN, Kind, View
from gradsense.machine.ops.table import OpsTable, bind, table


class Tensor:
    """Stands for a tensor of the machine."""


X, Y, Z = Tensor(), Tensor(), Tensor()


def kind_of(value: object) -> Kind:
    if isinstance(value, Tensor):
        return Kind.TENSOR
    if isinstance(value, (list, tuple)) and value and all(isinstance(item, Tensor) for item in value):
        return Kind.TENSORS
    return Kind.NUMBER if isinstance(value, (bool, int, float)) else Kind.OTHER


def resolved(name: str, *args: object, **kwargs: object) -> Mapping[str, object]:
    found = table().resolve(name, args, kwargs, kind_of)
    assert found is not None
    return found[1]


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("mul", "mul"),
        ("torch.mul", "mul"),
        ("Tensor.mul", "mul"),
        ("Tensor.mul_", "mul"),
        ("multiply", "mul"),
        ("__rmul__", "mul"),
        ("__imul__", "mul"),
        ("__rsub__", "rsub"),
        ("clip", "clamp"),
        ("concat", "cat"),
        ("absolute", "abs"),
        ("torch.nn.functional.relu", "relu"),
        ("Tensor.relu_", "relu"),
        ("nn.functional.conv2d", "conv2d"),
        ("Tensor.where", "Tensor.where"),
        ("Tensor.normal_", "Tensor.normal"),
        ("normal_", "Tensor.normal"),
        ("normal", "normal"),
        ("no_such_op", None),
    ],
)
def test_canonical_names(name: str, canonical: str | None) -> None:
    assert table().canonical(name) == canonical


def test_unknown_op_has_no_row() -> None:
    assert table().lookup("no_such_op") is None
    assert table().resolve("no_such_op", (), {}, kind_of) is None


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (("max", X, Y), {"input": X, "other": Y}),
        (("max", X, 1), {"input": X, "dim": 1}),
        (("view", X, 2, 3), {"input": X, "size": (2, 3)}),
        (("view", X, [2, 3]), {"input": X, "size": [2, 3]}),
        (("view", X, "int32"), {"input": X, "dtype": "int32"}),
        (("permute", X, 1, 0), {"input": X, "dims": (1, 0)}),
        (("where", Z, X, Y), {"condition": Z, "input": X, "other": Y}),
        (("Tensor.where", X, Z, Y), {"input": X, "condition": Z, "other": Y}),
        (("nn.functional.embedding", Z, X), {"input": Z, "weight": X}),
        (("embedding", X, Z), {"weight": X, "indices": Z}),
        (("nn.functional.batch_norm", X, Y, Z), {"input": X, "running_mean": Y, "running_var": Z}),
        (("einsum", "ij,jk", X, Y), {"equation": "ij,jk", "operands": (X, Y)}),
        (("scatter", X, 0, Z, Y), {"input": X, "dim": 0, "index": Z, "src": Y}),
        (("scatter", X, 0, Z, 1.0), {"input": X, "dim": 0, "index": Z, "value": 1.0}),
        (("std", X, 1), {"input": X, "dim": 1}),
        (("std", X, False), {"input": X, "unbiased": False}),
        (("split", X, 2, 1), {"input": X, "split_size_or_sections": 2, "dim": 1}),
    ],
)
def test_positions_become_public_names(call: tuple[str, object], expected: dict[str, object]) -> None:
    name, *args = call
    assert resolved(name, *args) == expected


def test_keywords() -> None:
    assert resolved("sum", X, axis=1, keepdims=True) == {"input": X, "dim": 1, "keepdim": True}
    assert resolved("add", input=X, other=Y) == {"input": X, "other": Y}
    assert resolved("add", X, Y, strange=1) == {"input": X, "other": Y, "strange": 1}


def test_too_many_positions_are_kept() -> None:
    row = table().lookup("exp")
    assert row is not None
    assert bind(row, (X, 1, 2), {}) == {"input": X, "extra1": 1, "extra2": 2}


@given(
    st.integers(0, 8), st.sampled_from(["nn.functional.batch_norm", "layer_norm", "conv2d", "nn.functional.mse_loss"])
)
def test_binding_by_position_equals_binding_by_name(count: int, name: str) -> None:
    row = table().lookup(name)
    assert row is not None
    names = [param.name for param in row.params if not param.keyword_only]
    count = min(count, len(names))
    values = list(range(len(names)))
    mixed = bind(row, values[:count], dict(zip(names[count:], values[count:], strict=True)))
    assert mixed == dict(zip(names, values, strict=True))


def test_options_choose_a_row() -> None:
    lookup = table().lookup
    training = lookup("nn.functional.dropout", ("input",))
    evaluation = lookup("nn.functional.dropout", ("input",), {"training": False})
    zero = lookup("nn.functional.dropout", ("input",), {"p": 0})
    assert training is not None and evaluation is not None and zero is not None
    assert training.saves["input"].private and training.view is View.NONE
    assert not evaluation.saves["input"].private and evaluation.view is View.SAME
    assert zero.view is View.SAME


def test_unknown_option_merges_rows() -> None:
    row = table().lookup("nn.functional.dropout", ("input",), {"training": UNKNOWN})
    assert row is not None
    assert row.view is View.MAYBE
    assert not row.saves["input"].second_walk_raises
    assert row.saves["input"].maybe_raises and not row.saves["input"].sure


def test_flags_and_numbers_are_not_confused() -> None:
    row = table().lookup("nn.functional.gumbel_softmax", ("logits",), {"hard": 1})
    assert row is not None and row.saves["logits"].tensors == {"out0"}


def test_a_list_of_ones_is_a_one() -> None:
    for size in (1, (1, 1), [1, 1]):
        row = table().lookup("nn.functional.adaptive_avg_pool2d", ("input",), {"output_size": size})
        assert row is not None and not row.saves["input"].tensors


def test_index_classes() -> None:
    lookup = table().lookup
    basic = lookup("getitem", ("input",), {"index": "basic"})
    tensor = lookup("getitem", ("input", "index"))
    unknown = lookup("getitem", ("input",), {"index": UNKNOWN})
    assert basic is not None and basic.view is View.VIEW and not basic.saves["input"].second_walk_raises
    assert tensor is not None and tensor.view is View.NONE and tensor.saves["input"].tensors == {"index"}
    assert unknown is not None and unknown.view is View.MAYBE and "index" in unknown.saves["input"].maybe


def test_whole_writes_differ_from_slices() -> None:
    lookup = table().lookup
    whole = lookup("setitem", ("input", "value"), {"index": "whole"})
    part = lookup("setitem", ("input", "value"), {"index": "basic"})
    assert whole is not None and whole.inplace is not None and not whole.inplace["value"].second_walk_raises
    assert part is not None and part.inplace is not None and part.inplace["value"].second_walk_raises


def test_number_and_tensor_variants() -> None:
    lookup = table().lookup
    number = lookup("pow", ("input",), {"exponent": 2})
    tensor = lookup("pow", ("input", "exponent"))
    assert number is not None and number.saves["input"].tensors == {"input"}
    assert tensor is not None and tensor.saves["input"].tensors == {"input", "exponent", "out0"}


def test_no_torch_is_imported() -> None:
    code = (
        "import sys; from gradsense.machine.ops.table import table; table().lookup('mul');"
        "from gradsense.machine.ops.derivatives import Derivatives;"
        "assert not {'torch', 'yaml', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_damaged_data_says_what_to_do(tmp_path, monkeypatch) -> None:
    (tmp_path / "ops.json").write_text("{")
    monkeypatch.setattr(table_module, "_DATA", str(tmp_path / "ops.json"))
    with pytest.raises(RuntimeError, match="reinstall gradsense"):
        table.__wrapped__()


def test_a_table_of_one_op() -> None:
    data = {
        "about": {"torch": "9.9"},
        "aliases": {"twin": "op"},
        "ops": {
            "op": {"sig": ["input:t flag:n=false"], "rows": [{"when": {"flag": [True]}, "g": {"input": "$ !"}}, {}]}
        },
    }
    small = OpsTable(json.loads(json.dumps(data)))
    assert small.torch_version == "9.9" and small.names() == ["op"]
    plain, flagged = small.lookup("twin"), small.lookup("twin", (), {"flag": True})
    assert plain is not None and plain.nondifferentiable
    assert flagged is not None and flagged.saves["input"].private and not flagged.nondifferentiable
