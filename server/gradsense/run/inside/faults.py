"""Tells autograd's own errors from all others, and finds the lines of their story."""

from __future__ import annotations

import linecache
import re
from typing import Any

from .books import Books
from .places import Place, Places
from .walks import Failure

NAN = re.compile(r"returned nan values in its \d+th output")
AUTOGRAD = re.compile(
    "|".join(
        (
            "backward through the graph a second time",
            "modified by an inplace operation",
            "modified inplace",
            "saved tensor that has been detached in-place",
            "directly access saved (tensors|variables) after they have already been freed",
            "does not require grad and does not have a grad_fn",
            "grad can be implicitly created only for",
            "(leaf Variable|leaf variable) that requires grad",
            "Can't detach views in-place",
            "marked as dirty during the forward",
            "don't support automatic differentiation",
            r"Can't call numpy\(\) on Tensor that requires grad",
            "appears to not have been used in the graph",
            "is not differentiable with respect to argument",
            "Only Tensors created explicitly by the user",
            "Inference tensors cannot be saved for backward",
            "Inplace update to inference tensor",
            "Setting requires_grad=True on inference tensor",
            "you can only change requires_grad flags of leaf variables",
            "Mismatch in shape: grad_output",
            "returned an invalid gradient",
            "returned an incorrect number of gradients",
            "must implement either the backward or vjp method",
            "differentiate twice a function that was marked",
            "only Tensors of floating point",
            "One of the differentiated Tensors does not require grad",
            "element 0 of tensors does not require grad",
            "leaf variable has been moved into the graph interior",
            "expected to have finished reduction in the prior iteration",
            "marked ready twice",
            "more than one element of the written-to tensor refers to a single memory location",
            "can't optimize a non-leaf Tensor",
            "cannot register a hook on a tensor that doesn't require gradient",
            "can't retain_grad on Tensor that has requires_grad=False",
            "incompatible with .grad\\(\\) or passing an `inputs` parameter",
            "Checkpointing is not compatible with .grad\\(\\)",
            "invalid index of a 0-dim tensor",
            NAN.pattern,
        )
    )
)
WRITES = re.compile(
    "leaf Variable that requires grad|modified inplace|Can't detach views in-place|don't support automatic "
    "differentiation|Inplace update to inference tensor|more than one element of the written-to tensor"
)
OWN_OPERATIONS = 8  # writes named at most


class Story:
    """The places of an error.

    Attributes:
        walk: the user's line where it surfaced.
        saved: the forward line whose operation's backward failed, with the operation.
        written: the lines that wrote what it had saved.
        freed: the line of the walk that freed the graph before.
        forward, backward: both tracebacks.
    """

    def __init__(self) -> None:
        self.walk: dict[str, Any] | None = None
        self.saved: dict[str, Any] | None = None
        self.written: list[dict[str, Any]] = []
        self.freed: dict[str, Any] | None = None
        self.forward: list[Place] = []
        self.backward: list[Place] = []


def outcome_of(error: BaseException, through_walk: bool) -> str:
    """`nan`, `raises` (an error of autograd's) or `failed` (any other)."""
    text = str(error)
    if isinstance(error, RuntimeError) and NAN.search(text):
        return "nan"
    if isinstance(error, (RuntimeError, ValueError, TypeError, AttributeError, IndexError)) and AUTOGRAD.search(text):
        return "raises"
    if isinstance(error, (TypeError, AttributeError)) and "NoneType" in text and _speaks_of_grad(error):
        return "raises"  # the gradient of a tensor that is not a leaf
    if through_walk and isinstance(error, RuntimeError) and type(error).__name__ == "RuntimeError":
        return "raises"
    return "failed"


def story_of(error: BaseException, failure: Failure | None, books: Books, places: Places) -> Story:
    """The places of an error."""
    story = Story()
    story.backward = places.of_traceback(error.__traceback__)
    users = [place for place in story.backward if place.user]
    if isinstance(error, SyntaxError) and error.filename and places.is_user(error.filename):
        story.walk = {"path": error.filename, "line": error.lineno or 1}
    elif users:
        story.walk = users[-1].spot()
    if WRITES.search(str(error)) and story.walk is not None and failure is None:
        story.written.append({**story.walk, "op": None})
    if failure is None or failure.note is None:
        return story
    note = failure.note
    story.forward = places.unfold(note.stack)
    maker = places.innermost(note.stack)
    if maker is not None:
        story.saved = {**maker.spot(), "op": plain_name(failure.name)}
    if note.freed_by is not None and "second time" in str(error):
        freed = places.innermost(note.freed_by)
        story.freed = freed.spot() if freed is not None else None
    expected = re.search(r"expected version (\d+)", str(error))
    for storage, _ in failure.memory:
        for write in books.writes_since(storage, note.tick):
            if expected is not None and write.version <= int(expected.group(1)):
                continue
            place = places.innermost(write.stack)
            entry = {**place.spot(), "op": plain_operation(write.op)} if place is not None else None
            if entry is not None and entry not in story.written and len(story.written) < OWN_OPERATIONS:
                story.written.append(entry)
    return story


def plain_name(node: str) -> str:
    """`sigmoid` of `SigmoidBackward0`."""
    name = re.sub(r"Backward\d*$", "", node.rpartition("::")[2])
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower() if name else node


def plain_operation(name: str) -> str:
    """`add_` of `aten.add_.Tensor`."""
    parts = name.split(".")
    return parts[1] if len(parts) == 3 else name


def _speaks_of_grad(error: BaseException) -> bool:
    traceback = error.__traceback__
    line = ""
    while traceback is not None:
        line = linecache.getline(traceback.tb_frame.f_code.co_filename, traceback.tb_lineno) or line
        traceback = traceback.tb_next
    return ".grad" in line
