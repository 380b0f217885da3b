"""The error that a notebook shows in its outputs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from gradsense.syntax import SourceError


def last_error(path: str, data: bytes) -> str:
    """What the last cell that failed wrote to its error stream, and its traceback; empty where none failed.

    Raises:
        SourceError: it is no notebook.
    """
    try:
        cells = json.loads(data).get("cells") or []
        failed = [text for cell in cells if (text := "\n".join(_texts(cell.get("outputs") or ()))) and _has_error(cell)]
    except (ValueError, AttributeError, TypeError):
        raise SourceError(f"{path} is not a notebook") from None
    return failed[-1] if failed else ""


def _has_error(cell: Mapping[str, Any]) -> bool:
    return any(output.get("output_type") == "error" for output in cell["outputs"])


def _texts(outputs: Any) -> Iterator[str]:
    for output in outputs:
        if output.get("name") == "stderr":
            text = output.get("text") or ""
            yield text if isinstance(text, str) else "".join(text)
        elif output.get("output_type") == "error":
            yield from output.get("traceback") or [f"{output.get('ename')}: {output.get('evalue')}"]
