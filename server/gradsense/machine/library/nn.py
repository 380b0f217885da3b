"""`torch.nn` modules: what they hold, and what calling them does in terms of ops."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gradsense.machine.books import SavedSpec
from gradsense.machine.graph import Cut, Shape, Tensor
from gradsense.machine.library import attention, in_place, layer_shapes, ops
from gradsense.machine.library.arguments import argument
from gradsense.machine.library.module_table import ACTIVATIONS, DROPOUTS, LOSSES, OPTION_NAMES, PLAIN
from gradsense.machine.tri import NO, YES
from gradsense.machine.values import DictValue, Instance, ListValue, Unknown, Value, tensors_in

if TYPE_CHECKING:
    from gradsense.machine.interpreter import Machine

CONTAINER_KINDS = ("Sequential", "ModuleList", "ParameterList", "ModuleDict", "ParameterDict")
RECURRENT = ("LSTM", "GRU", "RNN", "LSTMCell", "GRUCell", "RNNCell")
FOREIGN = "Foreign"
"""The kind of a network from a library."""


def make(
    machine: Machine, kind: str, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
) -> Instance:
    """`nn.<kind>(…)`."""
    module = Instance(kind, None, machine.here(node))
    module.is_module = True
    initialise(machine, module, kind, arguments, keywords, node)
    return module


def make_parameter(machine: Machine, name: str, arguments: list[Value], keywords: dict[str, Value]) -> Tensor:
    """`nn.Parameter(data, requires_grad)` shares the storage of its data."""
    data = argument(arguments, keywords, 0, "data")
    requires = argument(arguments, keywords, 1, "requires_grad", True)
    made = machine.tensor()
    if isinstance(data, Tensor):
        made.shape, made.dtype = data.shape, data.dtype
        if machine.needs_grad(data) is NO:
            made.storage = data.storage
        else:
            made.cuts = (Cut("nn.Parameter", machine.here(), (data,)),)
    elif isinstance(data, Unknown):
        made.dtype = None
    made.parameter = name != "Buffer"
    made.needs = NO if name == "Buffer" or requires is False else YES
    if made.parameter:
        machine.loose.append(made)
    return made


def parameter(machine: Machine, shape: Shape | None = None) -> Tensor:
    """A parameter that a module makes for itself."""
    made = machine.tensor(shape)
    made.parameter = True
    made.needs = YES
    return made


def _size(value: Value) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def initialise(
    machine: Machine,
    module: Instance,
    kind: str,
    arguments: list[Value],
    keywords: dict[str, Value],
    node: ast.AST | None,
) -> None:
    """What `nn.<kind>.__init__` puts into the module."""
    module.kind = kind
    module.is_module = True
    names = OPTION_NAMES.get(kind) or attention.OPTION_NAMES.get(kind, ())
    module.options = {**dict(zip(names, arguments, strict=False)), **keywords}
    held = module.attributes
    options = module.options
    held.update({k: v for k, v in options.items() if not isinstance(v, (Tensor, Instance))})
    if kind in CONTAINER_KINDS:
        _fill_container(machine, module, kind, arguments, node)
        return
    bias = options.get("bias", True) is not False
    if kind in ("Linear", "LazyLinear", "NonDynamicallyQuantizableLinear"):
        inside, outside = _size(options.get("in_features")), _size(options.get("out_features"))
        held["weight"] = parameter(machine, (outside, inside))
        held["bias"] = parameter(machine, (outside,)) if bias else None
    elif kind == "Bilinear" or kind.startswith(("Conv", "LazyConv")):
        held["weight"] = parameter(machine)
        held["bias"] = parameter(machine) if bias else None
    elif "BatchNorm" in kind or "InstanceNorm" in kind:
        affine = options.get("affine", "Batch" in kind) is not False
        held["weight"] = parameter(machine) if affine else None
        held["bias"] = parameter(machine) if affine else None
        if "Batch" in kind:
            held["running_mean"], held["running_var"] = machine.tensor(), machine.tensor()
    elif kind in ("LayerNorm", "GroupNorm", "RMSNorm"):
        affine = options.get("elementwise_affine", options.get("affine", True)) is not False
        held["weight"] = parameter(machine) if affine else None
        held["bias"] = parameter(machine) if affine and bias and kind != "RMSNorm" else None
    elif kind in ("Embedding", "EmbeddingBag"):
        shape = (_size(options.get("num_embeddings")), _size(options.get("embedding_dim")))
        held["weight"] = parameter(machine, shape)
    elif kind in RECURRENT:
        _fill_recurrent(machine, held, kind, options)
    elif kind == "PReLU":
        held["weight"] = parameter(machine)
    elif kind in attention.KINDS:
        attention.fill(machine, module, kind)


def _fill_container(
    machine: Machine, module: Instance, kind: str, arguments: list[Value], node: ast.AST | None
) -> None:
    first = arguments[0] if arguments else None
    if kind in ("ModuleDict", "ParameterDict"):
        module.children = DictValue(first.items if isinstance(first, DictValue) else {}, machine.here(node))
        return
    if kind == "Sequential" and not (len(arguments) == 1 and isinstance(first, DictValue)):
        module.children = ListValue(arguments, machine.here(node))
        return
    if isinstance(first, DictValue):
        module.children = ListValue(first.items.values(), machine.here(node))
        for name, child in first.items.items():
            if isinstance(name, str):
                module.child_names[name] = child
        return
    items = machine.items_of(first, node)[0] if first is not None else []
    if isinstance(first, Unknown):
        module.opaque = True
        items = []
    module.children = ListValue(items, machine.here(node))


def _fill_recurrent(machine: Machine, held: dict[str, Value], kind: str, options: dict[str, Value]) -> None:
    layers = 1
    if "Cell" not in kind:
        given = options.get("num_layers", 1)
        layers = min(given, 4) if isinstance(given, int) else 1
    for layer in range(layers):
        suffix = "" if "Cell" in kind else f"_l{layer}"
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            held[name + suffix] = parameter(machine)
    held.setdefault("num_layers", 1)


def forward(
    machine: Machine, module: Instance, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
) -> Value:
    """What calling an `nn` module computes."""
    kind = module.kind or ""
    held = module.attributes
    first = arguments[0] if arguments else keywords.get("input")
    if kind == "Sequential":
        value: Value = first
        children = module.children.items if isinstance(module.children, ListValue) else []
        if module.opaque and not children:
            return black_box(machine, kind, tensors_in(tuple(arguments)), sure=False)
        for position, child in enumerate(children):
            machine.module = None
            value = machine.call(child, list(arguments) if position == 0 else [value], {}, node)
        return value
    if kind in ("Identity", "DataParallel", "DistributedDataParallel"):
        return first
    if kind in LOSSES:
        return _loss(machine, module, LOSSES[kind], arguments, keywords)
    if kind in attention.KINDS:
        machine.module = None
        return attention.forward(machine, module, arguments, keywords)
    tensor = machine.as_tensor(first)
    if tensor is None:
        tensors = tensors_in(tuple(arguments))
        if not tensors:
            return black_box(machine, kind, [t for t in held.values() if isinstance(t, Tensor)])
        tensor = tensors[0]
    if kind in ACTIVATIONS:
        return _activation(machine, module, ACTIVATIONS[kind], tensor)
    if kind in DROPOUTS:
        p = module.options.get("p", 0.5)
        return apply_dropout(machine, tensor, p, module.training, module.options.get("inplace") is True)
    if kind in PLAIN:
        name, names = PLAIN[kind]
        extra = {n: module.options[n] for n in names if n in module.options}
        if kind == "Flatten":
            extra.setdefault("start_dim", 1)
        weight = held.get("weight") if kind == "PReLU" else None
        shape = _plain_shape(kind, module, tensor)
        return ops.operate(
            machine, name, [tensor, *([weight] if weight is not None else arguments[1:])], extra, shape=shape
        )
    return _layer(machine, module, kind, tensor, arguments, keywords)


def _plain_shape(kind: str, module: Instance, tensor: Tensor) -> Shape | None:
    """The size of a pooling's or shuffle's result; None leaves it to the op."""
    if "Pool" in kind and kind[-2:-1].isdigit():
        dims = int(kind[-2])
        if kind.startswith("Adaptive"):
            return layer_shapes.adaptive(tensor.shape, module.options, dims)
        return layer_shapes.pooling(tensor.shape, module.options, dims)
    if kind == "PixelShuffle":
        return layer_shapes.pixel_shuffle(tensor.shape, module.options.get("upscale_factor"))
    return None


def _layer(
    machine: Machine, module: Instance, kind: str, tensor: Tensor, arguments: list[Value], keywords: dict[str, Value]
) -> Value:
    held = module.attributes
    weight, bias = held.get("weight"), held.get("bias")
    if kind in ("Linear", "LazyLinear", "NonDynamicallyQuantizableLinear"):
        return ops.operate(machine, "nn.functional.linear", [tensor, weight, bias])
    if kind == "Bilinear":
        return ops.operate(machine, "nn.functional.bilinear", [*arguments[:2], weight, bias])
    if kind.startswith(("Conv", "LazyConv")):
        name = kind.removeprefix("Lazy")
        dims = name[-2:].lower()
        op = f"conv_transpose{dims}" if "Transpose" in name else f"conv{dims}"
        count = int(dims[0])
        shape = layer_shapes.convolution(tensor.shape, module.options, count, transpose="Transpose" in name)
        return ops.operate(machine, f"nn.functional.{op}", [tensor, weight, bias], shape=shape)
    if "Norm" in kind and kind not in ("LocalResponseNorm", "CrossMapLRN2d"):
        return _norm(machine, module, kind, tensor)
    if kind in ("Embedding", "EmbeddingBag"):
        if (
            isinstance(weight, Tensor)
            and module.options.get("max_norm") is not None
            and not isinstance(module.options.get("max_norm"), Unknown)
        ):
            inner, machine.module = machine.module, None
            machine.mark_write(weight, "max_norm")
            machine.module = inner
        name = "nn.functional.embedding" if kind == "Embedding" else "nn.functional.embedding_bag"
        return ops.operate(machine, name, [tensor, weight])
    if kind in RECURRENT:
        return _recurrent(machine, module, kind, tensor, arguments, keywords)
    return _other(machine, module, kind, arguments, keywords)


def _other(machine: Machine, module: Instance, kind: str, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """A module that the table lacks: differentiable, and saving what we cannot say."""
    inputs = tensors_in(tuple(arguments)) + tensors_in(tuple(keywords.values()))
    inputs += [t for a in arguments if isinstance(a, Unknown) and (t := machine.as_tensor(a)) is not None]
    weights = [v for v in module.attributes.values() if isinstance(v, Tensor)]
    saved: list[SavedSpec] = [(t, False) for t in inputs]
    dtype = inputs[0].dtype if inputs else "float32"
    # A network whose code we do not see has a graph by its parameters; it may well detach what it is given.
    sure = kind != FOREIGN or all(machine.needs_grad(t) is NO for t in inputs)
    return machine.record(kind, [*inputs, *weights], saved, private=True, dtype=dtype, sure=sure)[0]


def black_box(machine: Machine, name: str, inputs: Sequence[Tensor], *, sure: bool = True) -> Tensor:
    """The result of something differentiable that saves what we cannot say."""
    saved: list[SavedSpec] = [(t, False) for t in inputs]
    return machine.record(name, list(inputs), saved, private=True, sure=sure)[0]


def _norm(machine: Machine, module: Instance, kind: str, tensor: Tensor) -> Value:
    held = module.attributes
    weight, bias = held.get("weight"), held.get("bias")
    inputs = [t for t in (tensor, weight, bias) if isinstance(t, Tensor)]
    saved: list[SavedSpec] = [(tensor, True)]
    if isinstance(weight, Tensor):
        saved.append((weight, True))
    if "Batch" in kind:
        # Saved in training too; its own updates of them do not count as writes.
        saved += [(t, True) for n in ("running_mean", "running_var") if isinstance(t := held.get(n), Tensor)]
    return machine.record(kind, inputs, saved, private=True, shape=tensor.shape, dtype=tensor.dtype)[0]


def apply_dropout(machine: Machine, tensor: Tensor, p: Value, training: bool | None, written: bool) -> Value:
    """Dropout: the same tensor when it does nothing, else a product with a mask of its own."""
    if training is False or p == 0:
        return tensor
    if written:
        needs = machine.needs_grad(tensor)
        machine.check_in_place(tensor, needs)
        machine.mark_write(tensor, "activation", sure=training is True)
        if needs is not NO and machine.grad_mode is not NO:
            machine.rebase(tensor, "dropout_", [machine.edge(tensor)], [], True, needs is YES)
        return tensor
    return machine.record("dropout", [tensor], private=True, shape=tensor.shape, dtype=tensor.dtype)[0]


def _activation(machine: Machine, module: Instance, name: str, tensor: Tensor) -> Value:
    if module.options.get("inplace") is True:
        return in_place.write(machine, tensor, name)
    return ops.operate(machine, f"nn.functional.{name}", [tensor], shape=tensor.shape)


def _loss(machine: Machine, module: Instance, name: str, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    options: dict[str, Value] = {
        k: module.options[k] for k in ("reduction", "margin", "weight", "pos_weight") if k in module.options
    }
    values = [v if (t := machine.as_tensor(v)) is None else t for v in arguments]

    if name not in ("cross_entropy", "nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits"):
        options.pop("weight", None)
    if name != "binary_cross_entropy_with_logits":
        options.pop("pos_weight", None)
    return ops.operate(machine, f"nn.functional.{name}", values, {**options, **keywords})


def _recurrent(
    machine: Machine, module: Instance, kind: str, tensor: Tensor, arguments: list[Value], keywords: dict[str, Value]
) -> Value:
    weights = {n: v for n, v in module.attributes.items() if isinstance(v, Tensor)}
    state = argument(arguments, keywords, 1, "hx")
    states = tensors_in(state)
    if isinstance(state, Unknown) and (stand_in := machine.as_tensor(state)) is not None:
        states = [stand_in]
    every = [tensor, *states, *weights.values()]
    hidden_weights = [v for n, v in weights.items() if n.startswith("weight")]
    size = module.options.get("hidden_size")
    hidden = size if isinstance(size, int) else None
    # Measured on CPU: a batch-first input is copied first, and a bidirectional output is put together from two.
    kept_input = [tensor] if module.options.get("batch_first") is not True else []
    if kind == "LSTM":
        saved: list[SavedSpec] = [(t, True) for t in [*kept_input, *states, *weights.values()]]
        if module.options.get("bidirectional") is not True:
            saved.append((0, True))
        sizes = layer_shapes.recurrent(tensor.shape, module.options)
        out, h, c = machine.record(
            "lstm", every, saved, private=True, shapes=[sizes[0], sizes[1], sizes[1]], differentiable=(True, True, True)
        )
        return out, (h, c)
    if "Cell" in kind:
        saved = [(t, True) for t in [tensor, *states]]
        # A weight is saved for the gradient of what it multiplies.
        for name, source in (("weight_ih", [tensor]), ("weight_hh", states[:1])):
            weight = weights.get(name)
            if weight is not None and source and machine.needs_grad(source[0]) is not NO:
                saved.append((weight, machine.needs_grad(source[0]) is YES))
    if kind == "LSTMCell":
        shape = (tensor.shape[0], hidden) if tensor.shape and len(tensor.shape) == 2 else None
        h, c = machine.record(
            "lstm_cell", every, saved, private=True, shapes=[shape, shape], differentiable=(True, True)
        )
        return h, c
    if "Cell" in kind:
        if kind == "RNNCell":
            saved.append((0, True))
        shape = (tensor.shape[0], hidden) if tensor.shape and len(tensor.shape) == 2 else None
        return machine.record(kind.lower(), every, saved, private=True, shape=shape)[0]
    saved = [(t, True) for t in [*hidden_weights, *states, *kept_input]]
    sizes = layer_shapes.recurrent(tensor.shape, module.options)
    out, h = machine.record(kind.lower(), every, saved, private=True, shapes=list(sizes), differentiable=(True, True))
    return out, h
