"""The measuring tools: how calls become rows, and how names and signatures are found."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from opsmeasure.distil import element_of, rows_of  # noqa: E402
from opsmeasure.instrument import Measured, Shape  # noqa: E402
from opsmeasure.naming import canonical  # noqa: E402
from opsmeasure.observe import Observation, observe  # noqa: E402
from opsmeasure.samples import call, rand  # noqa: E402
from opsmeasure.signing import encode_signature, key_of, signatures_of, table_signatures  # noqa: E402

from gradsense.machine.ops.decode import decode_saves, decode_signature  # noqa: E402


def _seen(saved: set[str], ours: bool = True, **options: object) -> Observation:
    facts = {name: ("value", value) for name, value in options.items()}
    item = Measured("input", saved, False, bool(saved), (True,), True)
    shape = Shape(1, False, "none", "", "float", ())
    return Observation("op", 0, facts, {}, {"input"}, shape, [item], None, ours)


def test_alike_calls_make_one_row() -> None:
    assert rows_of([_seen({"input"}, mode="a"), _seen({"input"}, mode="b")]) == [{"g": {"input": "input !"}}]


def test_a_flag_that_parts_calls_becomes_a_condition() -> None:
    rows = rows_of([_seen({"input"}, flag=True), _seen(set(), flag=False), _seen({"input"}, flag=True)])
    assert rows == [{"g": {"input": ""}, "when": {"flag": [False]}}, {"g": {"input": "input !"}}]


def test_what_no_argument_parts_is_saved_in_some_calls() -> None:
    assert rows_of([_seen({"input"}), _seen(set())]) == [{"g": {"input": "?input ?!"}}]


def test_our_samples_decide_over_corner_cases() -> None:
    assert rows_of([_seen({"input"}), _seen(set(), ours=False)]) == [{"g": {"input": "input !"}}]
    assert rows_of([_seen(set()), _seen({"input"}, ours=False)]) == [{"g": {"input": "?input ?!"}}]


def test_list_elements() -> None:
    assert element_of("operands[0]", "operands[1]") == "operands[]"
    assert element_of("operands[0]", "operands[0]") == "operands[=]"
    assert element_of("input", "params[w_hh:1]") == "params[w_hh]"
    assert element_of("input", "weight") == "weight"


def test_functions_methods_and_operators_have_one_name() -> None:
    assert canonical(torch.mul) == canonical(torch.Tensor.mul) == canonical(torch.Tensor.__mul__) == "mul"
    assert canonical(torch.mm) == "mm" and canonical(torch.Tensor.T.__get__) == "T"
    assert canonical(torch.Tensor.where) == "Tensor.where" and canonical(len) is None
    assert key_of("nn.functional.relu") == "relu" and key_of("nn.functional.dropout") == "nn.functional.dropout"


def test_signatures_survive_the_file() -> None:
    for name in ("add", "max", "nn.functional.cross_entropy", "einsum", "view", "lstm", "nn.functional.max_pool2d"):
        for params in signatures_of(name):
            assert decode_signature(encode_signature(params)) == params
    assert [param.name for param in table_signatures("relu")[0]] == ["input", "inplace"]


def test_saves_are_decoded() -> None:
    saves = decode_saves("input ?out0 $ ?!")
    assert saves.tensors == {"input"} and saves.maybe == {"out0"} and saves.private
    assert not saves.second_walk_raises and saves.maybe_raises and not saves.sure
    assert decode_saves("#").unsupported


def test_memory_saved_without_its_version_counter_is_private() -> None:
    seen = observe(call(torch.kron, rand(2, 3), rand(3, 2)))
    assert seen is not None
    assert all(item.private and not item.saved and not item.agree for item in seen.measured)


def test_refused_and_unsupported_arguments_are_told() -> None:
    weighted = observe(call(F.nll_loss, rand(2, 3), torch.tensor([0, 1]), rand(3)))
    assert weighted is not None
    assert {item.wrt for item in weighted.measured if item.refused} == {"weight"}
    inplace = observe(call(torch.asinh, rand(3)))
    assert inplace is not None and inplace.inplace is not None and inplace.inplace[0].unsupported


def test_a_function_without_public_name_is_refused() -> None:
    with pytest.raises(ValueError, match="no public name"):
        call(len, rand(3))
