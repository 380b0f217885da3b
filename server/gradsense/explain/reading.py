"""What the message itself gives away: the operation that saved, and how often its tensor was written."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gradsense.explain.causes import Cause

_SAVED = re.compile(
    r"\[(?P<type>torch\.[\w.]+) \[(?P<shape>[\d, ]*)\]\](?:, which is output (?P<number>\d+) of (?P<op>\w+),)?"
    r" is at version (?P<version>\d+); expected version (?P<expected>\d+)"
)
_SUFFIX = re.compile(r"(?:Backward)?\d*$")
_INNER_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# How a weight looks to a matrix product that saved it: through a view.
_WEIGHT_VIEWS = frozenset({"t", "as_strided", "transpose", "permute"})
_DDP = re.compile(r"[\\/]torch[\\/]nn[\\/]parallel[\\/]distributed\.py|DistributedDataParallel")


def operation(node: str) -> str:
    """The operation of a node's name: `SigmoidBackward0`, or `Sigmoid` as newer versions say, is `sigmoid`."""
    return _INNER_CAPITAL.sub("_", _SUFFIX.sub("", node)).lower()


def anomaly_node(flat: str) -> str:
    """The node that anomaly mode blames in some text, empty where it blames none."""
    blamed = re.findall(r"Error detected in (\w+)\.", flat)
    return blamed[-1] if blamed else ""


def likely_codes(cause: Cause, message: str) -> tuple[str, ...]:
    """The rules that tell the story of a cause, the likeliest first, by what the message tells."""
    saved = _SAVED.search(message)
    if cause.name != "modified-in-place" or saved is None or not _is_weight(saved):
        return cause.codes
    return ("GS205", *(code for code in cause.codes if code != "GS205"))


def said(cause: Cause, message: str, text: str) -> Iterator[str]:
    """Sentences on what the message tells beside its kind.

    Args:
        message: the exception's own.
        text: all that was pasted.
    """
    saved = _SAVED.search(message)
    if saved is not None:
        yield _about_saved(saved)
    node = anomaly_node(text)
    if node:
        yield f"Anomaly mode blames the backward of `{operation(node)}`."
    if cause.name in ("modified-in-place", "backward-twice") and _DDP.search(text):
        yield (
            "DistributedDataParallel is on the way: it copies buffers of the first process into the others before each "
            "forward, which writes them in place. With two forwards before one backward, set `broadcast_buffers=False`."
        )


def _is_weight(saved: re.Match[str]) -> bool:
    op = saved["op"]
    return "Long" not in saved["type"] and (op is None or operation(op) in _WEIGHT_VIEWS)


def _about_saved(saved: re.Match[str]) -> str:
    kind = saved["type"].removeprefix("torch.").removeprefix("cuda.").removesuffix("Tensor").lower()
    shape = f"[{saved['shape']}]"
    times = int(saved["version"]) - int(saved["expected"])
    written = "was written once" if times == 1 else f"was written {times} times"
    if _is_weight(saved):
        return (
            f"The {kind} tensor of shape {shape} {written} after it was saved. Nothing computed it, or it is seen "
            "through a transposing view: most often that is a weight, changed by `optimizer.step()` or by hand between "
            "the forward and this backward."
        )
    if saved["op"] is None:
        return f"The {kind} tensor of shape {shape} {written} after it was saved."
    return f"The result of `{operation(saved['op'])}`, of shape {shape}, {written} after it was saved."
