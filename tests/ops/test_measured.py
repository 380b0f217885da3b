"""A sample of the table is measured again with the installed torch."""

from __future__ import annotations

import json
import warnings
import zlib
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")

from opsmeasure.encode import table_of  # noqa: E402
from opsmeasure.gather import gather  # noqa: E402

from gradsense.machine.ops import table as table_module  # noqa: E402

DATA = json.loads(Path(table_module.__file__).with_name("ops.json").read_text(encoding="utf-8"))
ALWAYS = {"mul", "relu", "nn.functional.linear", "nn.functional.dropout", "setitem", "getitem", "max", "lstm"}
SAMPLE = sorted(ALWAYS | set(sorted(DATA["ops"], key=lambda name: zlib.crc32(name.encode()))[:60]))


@pytest.fixture(scope="module")
def measured() -> dict[str, object]:
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ops: dict[str, object] = table_of(gather(16, SAMPLE))["ops"]
    return ops


@pytest.mark.skipif(torch.__version__.split("+")[0] != DATA["about"]["torch"], reason="another torch was measured")
@pytest.mark.parametrize("name", SAMPLE)
def test_the_file_says_what_torch_does(measured: dict[str, object], name: str) -> None:
    assert measured[name] == DATA["ops"][name]
