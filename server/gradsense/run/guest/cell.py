"""What a notebook's kernel is given to execute, by path: runs a cell under the probe and shows the report.

`SPEC`, a text of JSON, is put among its globals; see `run.inside.kernel.run_cell`. What it tells are outputs of kinds
of their own, which whoever asked for the run reads: `PASS` for each pass, and `REPORT` at the end.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import math
import os
import sys
import zlib
from typing import Any

REPORT = "application/vnd.gradsense.report+json"
PASS = "application/vnd.gradsense.pass+json"
SPEC = globals().get("SPEC", "")


def main(spec: dict[str, Any]) -> None:
    """Runs a cell and shows what happened; whatever goes wrong is told in the report."""
    ipython: Any = importlib.import_module("IPython")

    def show(kind: str, value: Any) -> None:
        ipython.display.display({kind: finite(value)}, raw=True)

    try:
        run_cell = opened("inside").run_cell
        report = run_cell(spec, ipython.get_ipython(), lambda event: show(PASS, event))
    except BaseException as error:
        report = {"outcome": "failed", "error": {"type": type(error).__name__, "message": str(error)}}
    show(REPORT, report)


def opened(folder: str) -> Any:
    """The module that runs cells, under a name that no other module has: a GradSense that is installed is another."""
    path = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), folder)
    name = f"_gradsense_{zlib.crc32(path.encode()):08x}"
    if name not in sys.modules:
        init = os.path.join(path, "__init__.py")
        spec = importlib.util.spec_from_file_location(name, init, submodule_search_locations=[path])
        assert spec is not None and spec.loader is not None
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return importlib.import_module(f"{name}.kernel")


def finite(value: Any) -> Any:
    """Numbers that JSON lacks become null."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


if SPEC:
    main(json.loads(SPEC))
