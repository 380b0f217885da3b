"""The texts of torch 2.13's errors, as far as they are known before the program runs; `[…]` stands for what is not."""

from __future__ import annotations

from gradsense.machine.events import SavedModified
from gradsense.machine.graph import Node, Tensor

UNKNOWN = "[…]"
_TYPES = {
    "float32": "Float",
    "float64": "Double",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "int64": "Long",
    "int32": "Int",
    "uint8": "Byte",
    "complex64": "ComplexFloat",
}

# These save a tensor in another shape than they were given.
_RESHAPING = frozenset({
    "linear", "matmul", "bilinear", "einsum", "lstm", "gru", "rnn", "cross_entropy", "nll_loss", "multi_head_attention",
    "scaled_dot_product_attention",
})  # fmt: skip
DETACHED = (
    "RuntimeError: Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not "
    "supported, please use out-of-place `.detach()` instead"
)
# Writes to views that torch refuses, by the reason.
VIEWS = {
    "multi": (
        "RuntimeError: Output […] of […] is a view and is being modified inplace. This view is the output of a "
        "function that returns multiple views. Such functions do not allow the output views to be modified "
        "inplace. You should replace the inplace operation by an out-of-place one."
    ),
    "no_grad": (
        "RuntimeError: A view was created in no_grad mode and is being modified inplace with grad mode enabled. "
        "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by "
        "moving both the view and the inplace either both inside the no_grad block (if you don't want the inplace"
        " to be tracked) or both outside (if you want the inplace to be tracked)."
    ),
    "inference": (
        "RuntimeError: A view was created in inference mode and is being modified inplace in normal mode. Given that "
        "this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the "
        "view and the inplace either both inside the inference_mode block (if you don't want the inplace to be tracked)"
        " or both outside (if you want the inplace to be tracked)."
    ),
    "custom": (
        "RuntimeError: Output […] of […] is a view and is being modified inplace. This view was created inside a custom"
        " Function (or because an input was returned as-is) and the autograd logic to handle view+inplace would "
        "override the custom backward associated with the custom Function, leading to incorrect gradients. This "
        "behavior is forbidden. You can fix this by cloning the output of the custom Function."
    ),
    "hook": (
        "RuntimeError: Output 0 of BackwardHookFunction is a view and is being modified inplace. This view was "
        "created inside a custom Function (or because an input was returned as-is) and the autograd logic to "
        "handle view+inplace would override the custom backward associated with the custom Function, leading to "
        "incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom "
        "Function."
    ),
    "detach": (
        "RuntimeError: Can't detach views in-place. Use detach() instead. If you are using "
        "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as True, gradients are "
        "views of DDP buckets, and hence detach_() cannot be called on these gradients. To fix this error, please"
        " refer to the Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution."
    ),
    "expanded": (
        "RuntimeError: unsupported operation: more than one element of the written-to tensor refers to a single "
        "memory location. Please clone() the tensor before performing the operation."
    ),
}

# The same views when their base or another view of it was written, and they are used.
_BASE_WRITTEN = "its base or another view of its base has been modified inplace"
STALE_VIEWS = {
    why: VIEWS[why].replace("is being modified inplace", _BASE_WRITTEN) for why in ("multi", "no_grad", "inference")
}


def modified(event: SavedModified) -> str:
    """The error of a walk that finds a saved tensor at another version.

    The versions of parameters and buffers are left out: they count from the writes that initialised them. So are those
    of recurrent states, which torch's own code writes to as well.
    """
    if event.write.kind == "detach_":
        return DETACHED
    tensor, node = event.saved.tensor, event.node
    versions = (UNKNOWN, UNKNOWN)
    buffer = not tensor.stores and tensor is not node.output and tensor not in node.inputs
    recurrent = any(kind in maker.op for maker in (node, *node.parents) for kind in ("gru", "rnn", "lstm"))
    counted = event.version is not None and event.manner not in ("step", "update", "carried", "outside_loop")
    if counted and not buffer and not recurrent:
        versions = (str(event.version), str(event.saved.version))
    return (
        "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"{_described(tensor, node)} is at version {versions[0]}; expected version {versions[1]} instead. "
        "Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )


def _described(tensor: Tensor, node: Node) -> str:
    """`[torch.FloatTensor [2, 3]]` and, unknown, which operation's output it now is."""
    kind = _TYPES.get(tensor.dtype or "")
    unsure = tensor.parameter or tensor.base is not None or node.op in _RESHAPING
    if kind is None or tensor.shape is None or None in tensor.shape or unsure:
        return UNKNOWN
    place = "torch.cuda" if tensor.device == "cuda" else "torch"
    return f"[{place}.{kind}Tensor {list(tensor.shape)}]{UNKNOWN}"
