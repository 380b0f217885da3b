"""What torch's messages about gradients mean: each kind of error, by the texts that versions of torch gave it.

Texts of torch 2.13 are produced by the tests. Older ones are those of the releases named beside them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Cause:
    """One kind of error.

    Args:
        name: what it goes by in JSON.
        title: the same in a few words.
        pattern: finds its message.
        codes: the rules that tell its story, the likeliest first.
        meaning: what torch says with it.
        advice: what to look for where the check of the program does not find the line.
        in_frame: what the failing line must hold, for a message that says too little.
        everywhere: whether a finding anywhere in the files may be to blame, and not only one whose story passes the
            line that failed.
    """

    name: str
    title: str
    pattern: re.Pattern[str]
    codes: tuple[str, ...]
    meaning: str
    advice: str
    in_frame: str = ""
    everywhere: bool = False


def _cause(
    name: str,
    title: str,
    pattern: str,
    codes: str,
    meaning: str,
    advice: str,
    in_frame: str = "",
    *,
    everywhere: bool = False,
) -> Cause:
    return Cause(
        name, title, re.compile(pattern, re.IGNORECASE), tuple(codes.split()), meaning, advice, in_frame, everywhere
    )


CAUSES = (
    _cause(
        "backward-twice",
        "a graph is walked a second time",
        # "…, but the buffers have already been freed" until 1.5, "saved intermediate results" until 1.8,
        # "(or directly access saved variables" in 1.9, "tensors" since.
        r"Trying to backward through the graph (?:a )?second time",
        "GS101 GS102 GS103 GS104 GS105 GS106",
        "A `backward()` frees what the operations of its graph saved. This walk came to an operation that an earlier "
        "walk had freed already.",
        "Look for what is older than this pass of the loop: a hidden state or a loss carried over (detach it), a "
        "tensor computed before the loop (compute it inside), or a second `backward()` over the same forward (add the "
        "losses first). `retain_graph=True` is right only where the same forward is meant to be walked again.",
    ),
    _cause(
        "modified-in-place",
        "a tensor that a backward still needed was written in place",
        r"one of the variables needed for gradient computation has been modified by an in-?place operation",
        "GS201 GS205 GS204 GS202 GS102 GS105",
        "An operation saved this tensor for its backward; before the backward came, something wrote into the tensor's "
        "memory.",
        "Look between the forward and this line for `+=` and its kind, methods that end in `_`, `inplace=True`, "
        "assignments to slices, and an `optimizer.step()`. `gradsense run` names the line that wrote.",
    ),
    _cause(
        "detached-in-place",
        "a saved tensor was detached in place",
        r"saved tensor that has been detached in-place",
        "GS201 GS204",
        "An operation saved this tensor for its backward, and `detach_()` took it out of the graph before.",
        "Use `detach()`, which leaves the tensor in the graph alone, or call `detach_()` after the backward.",
    ),
    _cause(
        "write-to-leaf",
        "a leaf that requires grad was written in place",
        # "leaf variable has been moved into the graph interior" until 1.8, for a write through a view.
        r"leaf variable that requires grad (?:is being|has been) used in an in-?place operation|"
        r"leaf variable has been moved into the graph interior",
        "GS203",
        "A tensor made with `requires_grad=True`, such as a parameter, may not be written while gradients are "
        "recorded.",
        "Write it inside `with torch.no_grad():`, or make a new tensor.",
    ),
    _cause(
        "write-to-view",
        "a view was written that torch lets nobody write to",
        r"is a view and (?:is being|its base or another view of its base has been) modified in-?place|"
        r"view was created in (?:no_grad|inference) mode and (?:is being|its base or another view)|"
        r"more than one element of the written-to tensor refers to a single memory location|"
        r"Can't detach views in-place",
        "GS206 GS202",
        "Outputs of `unbind`, `split`, `chunk`, of iterating over a tensor, views made under `no_grad` and expanded "
        "tensors must not be written in place.",
        "Write it out of place (`y = y + 1`), or write to a `clone()`.",
    ),
    _cause(
        "no-graph",
        "backward of something that has no graph",
        # "element 0 of variables" until 0.3.
        r"element \d+ of (?:tensors|variables)(?: tuple)? (?:does not require grad|is volatile)|"
        r"there are no graph nodes that require computing gradients|"
        r"'(?:float|int)' object has no attribute 'backward'",
        "GS401 GS402 GS413",
        "Nothing in how this value was computed leads to a tensor that requires grad.",
        "Look upwards for `.item()`, `.data`, `.detach()`, `.numpy()`, `torch.tensor(loss)`, `argmax`, a comparison, a "
        "`no_grad` block, `set_grad_enabled(False)`, or a model whose parameters are all frozen.",
    ),
    _cause(
        "not-a-scalar",
        "backward of a tensor with more than one element",
        r"grad can be implicitly created only for (?:scalar outputs|real scalar outputs)",
        "GS403",
        "`backward()` without a gradient is defined for a single number.",
        "Reduce the loss with `.mean()` or `.sum()`, look for `reduction='none'`, or give `backward` a gradient.",
    ),
    _cause(
        "numpy-of-graph",
        "`numpy()` of a tensor that requires grad",
        r"Can't call numpy\(\) on (?:Tensor|Variable) that requires grad",
        "GS409",
        "NumPy would share the tensor's memory and could not tell autograd what it does there.",
        "Call `.detach()` first, and `.cpu()` where it is on a GPU.",
    ),
    _cause(
        "deepcopy-of-graph",
        "`copy.deepcopy` of a tensor that was computed",
        r"Only (?:Tensors|Variables) created explicitly by the user \(graph leaves\) support the deepcopy protocol",
        "GS410",
        "A computed tensor belongs to a graph, and a graph cannot be copied. Often a module holds one in an attribute.",
        "Copy `state_dict()`, or detach what is kept in the attribute.",
    ),
    _cause(
        "input-not-in-graph",
        "a gradient was asked for that the graph does not lead to",
        r"differentiated (?:Tensors?|Variables?)(?: at index \d+)? (?:appears? to not have been used in the graph|"
        r"does not require grad)|One of the differentiated (?:Tensors|Variables)",
        "GS412 GS402 GS401",
        "`autograd.grad` was given an input that its outputs were not computed from, or that needs no grad.",
        "Give the very tensor that went into the forward, not a copy or a view made later; call `requires_grad_()` on "
        "it before the forward. `allow_unused=True` only where none is right.",
    ),
    _cause(
        "requires-grad-of-non-leaf",
        "`requires_grad` of a computed tensor was changed",
        r"you can only change requires_grad flags of leaf variables",
        "GS413",
        "Only a leaf has a flag of its own; a computed tensor has it from what it was computed from.",
        "Use `detach()` to cut it off.",
    ),
    _cause(
        "inference-tensor",
        "a tensor made in inference mode is used where autograd needs it",
        r"Inference tensors cannot be saved for backward|Inplace update to inference tensor outside InferenceMode|"
        r"Setting requires_grad=True on inference tensor|Inference tensors do not track version counter",
        "GS414",
        "What was made under `torch.inference_mode()` can never take part in a graph.",
        "Use `torch.no_grad()` instead, or `clone()` it outside.",
    ),
    _cause(
        "out-with-grad",
        "`out=` with tensors that require grad",
        r"functions with out=\.\.\. arguments don't support automatic differentiation",
        "GS207",
        "A function that writes to `out=` is not recorded.",
        "Drop `out=` and use the result.",
    ),
    _cause(
        "dirty-not-returned",
        "a custom Function marks an input dirty and returns another tensor",
        r"Some elements marked as dirty during the forward method were not returned as output",
        "GS208",
        "What `mark_dirty` was given must be among the outputs.",
        "Return the same tensor object that was written.",
    ),
    _cause(
        "grad-is-none",
        "`.grad` is None",
        r"NoneType",
        "GS404 GS420 GS401 GS411 GS407",
        "No backward has put a gradient there.",
        "Only leaves get a `.grad`: a tensor that was computed (also by `* 2` or `.to(device)` after "
        "`requires_grad=True`) needs `retain_grad()`. For a parameter: no walk came before this, it took no part in "
        "the loss, or `zero_grad()` has set its gradient to None.",
        in_frame=".grad",
    ),
    _cause(
        "nan-in-backward",
        "a gradient became NaN",
        r"Function '?(\w+)'? returned nan values in its \d+\w* output",
        "",
        "Anomaly detection stopped at the first operation whose gradient is NaN.",
        "At the forward line, look for a division by zero, `log` or `sqrt` of zero, `norm` of a zero vector, or an "
        "overflow in half precision; keep the argument away from it with a small epsilon.",
    ),
    _cause(
        "ddp-marked-ready-twice",
        "DistributedDataParallel: a parameter got its gradient twice",
        r"Expected to mark a variable ready only once|has been marked as ready twice",
        "",
        "DDP expects one gradient a parameter and backward: here a parameter was used in two walks, or its forward was "
        "run again in one.",
        "Look for several `forward` calls of the wrapped model before one `backward`, two `backward()` in one step, "
        "parameters shared by two modules, and activation checkpointing: there use `use_reentrant=False`.",
    ),
    _cause(
        "ddp-unfinished-reduction",
        "DistributedDataParallel: a parameter got no gradient",
        r"Expected to have finished reduction in the prior iteration before starting a new one",
        "GS411 GS407",
        "In the step before, some parameters took no part in the loss, and DDP still waits for their gradients.",
        "Find the parameters that the loss does not reach (`TORCH_DISTRIBUTED_DEBUG=DETAIL` names them): a branch that "
        "was not taken, an output that the loss leaves out, a forward that is never followed by a backward. "
        "`find_unused_parameters=True` where that is meant.",
    ),
    _cause(
        "non-leaf-optimized",
        "an optimizer was given a computed tensor",
        r"can't optimize a non-leaf (?:Tensor|Variable)",
        "GS417",
        "An optimizer steps leaves only. A tensor that was moved or scaled after `requires_grad=True` is not one.",
        "Make it with its final device and value, then call `requires_grad_()`, or use `nn.Parameter`.",
    ),
    _cause(
        "no-derivative",
        "an argument requires grad for which there is no derivative",
        r"is not differentiable with respect to argument",
        "GS423",
        "The function is differentiable by its input, and not by this argument: the weights of classes, as a rule.",
        "Hand the argument over detached. Weights that should learn are multiplied with the losses that "
        '`reduction="none"` gives.',
    ),
    _cause(
        "custom-backward",
        "the backward of a custom Function cannot do what the walk asks of it",
        r"returned an incorrect number of gradients|"
        r"You must implement (?:either )?the backward|"
        r"trying to differentiate twice a function that was marked with @?once_differentiable",
        "GS424",
        "A `torch.autograd.Function` takes part in this walk. Its `backward` returns too few or too many gradients, is "
        "not there, or may be differentiated once only.",
        "Return one gradient for each argument of `forward` after `ctx`, and `None` for what has none. Write the "
        "formula with differentiable operations, of saved inputs and outputs, before `once_differentiable` goes.",
    ),
    _cause(
        "hook-without-grad",
        "a hook, or `retain_grad()`, on a tensor that does not require grad",
        # "a variable" and "a volatile variable" until 0.3.
        r"cannot register a hook on a (?:tensor|variable) that doesn't require gradient|"
        r"cannot register a hook on a volatile variable|"
        r"can't retain_grad on (?:Tensor|Variable) that has requires_grad=False",
        "GS416",
        "The tensor never gets a gradient, so there is nothing that a hook could see or that could be kept.",
        "Call `requires_grad_()` on data before the forward; look for `no_grad`, `.detach()` and frozen parameters "
        "where the tensor was computed; guard a forward that is used in evaluation too by `if h.requires_grad:`.",
    ),
    _cause(
        "reentrant-checkpoint",
        "gradients of some inputs were asked for through a reentrant checkpoint",
        # "Checkpointing is not compatible with .grad()" until 2.0.
        r"use_reentrant=True, torch\.utils\.checkpoint is incompatible with \.grad\(\)|"
        r"Checkpointing is not compatible with \.grad\(\)",
        "GS418",
        "A checkpoint with `use_reentrant=True` runs a whole backward of its own within the backward, which cannot be "
        "done for some inputs only.",
        "Pass `use_reentrant=False` to `checkpoint`, or walk with a plain `backward()`.",
    ),
    _cause(
        "index-of-scalar",
        "a tensor without dimensions was indexed",
        r"invalid index of a 0-dim tensor",
        "GS415",
        "A loss is one number, and a tensor without dimensions since torch 0.4: `loss.data[0]` has nothing to index.",
        "Use `loss.item()` for the number.",
    ),
    _cause(
        "out-of-memory",
        "out of memory",
        r"(?:CUDA|HIP|MPS backend|XPU) out of memory|CUDA error: out of memory|OutOfMemoryError|"
        r"DefaultCPUAllocator: (?:can't allocate|not enough) memory",
        "GS301 GS302 GS305 GS303 GS304",
        "The device has no room for what this line needs. Where the first steps ran and a later one fails, something "
        "keeps the graphs of steps that are over.",
        "If it fails in the first step, the step is too large: a smaller batch, checkpointing, mixed precision. If it "
        "fails later, look for losses or outputs that are summed or stored without `.item()` or `.detach()`, and for "
        "an evaluation without `no_grad`. `gradsense run` measures it pass by pass.",
        everywhere=True,
    ),
)
