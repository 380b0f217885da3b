"""`nn.MultiheadAttention` and the transformer modules, in terms of ops and of the modules that they are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gradsense.machine.graph import Shape, Tensor
from gradsense.machine.library import nn, ops, stdlib
from gradsense.machine.library.arguments import argument
from gradsense.machine.values import Instance, ListValue, Unknown, Value, tensors_in

if TYPE_CHECKING:
    from gradsense.machine.interpreter import Machine

# Of a stack of layers that are alike so many are made.
MOST_LAYERS = 3
KINDS = (
    "MultiheadAttention",
    "TransformerEncoderLayer",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerDecoder",
    "Transformer",
)
_LAYER = ("d_model", "nhead", "dim_feedforward", "dropout", "activation", "layer_norm_eps", "batch_first", "norm_first")
OPTION_NAMES: dict[str, tuple[str, ...]] = {
    "MultiheadAttention": ("embed_dim", "num_heads", "dropout", "bias", "add_bias_kv", "add_zero_attn", "kdim", "vdim"),
    "TransformerEncoderLayer": _LAYER,
    "TransformerDecoderLayer": _LAYER,
    "TransformerEncoder": ("encoder_layer", "num_layers", "norm"),
    "TransformerDecoder": ("decoder_layer", "num_layers", "norm"),
    "Transformer": ("d_model", "nhead", "num_encoder_layers", "num_decoder_layers", *_LAYER[2:]),
}


def fill(machine: Machine, module: Instance, kind: str) -> None:
    """What the constructor puts into the module."""
    _FILL[kind](machine, module)


def forward(machine: Machine, module: Instance, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """What calling the module computes."""
    return _FORWARD[module.kind or ""](machine, module, arguments, keywords)


def _size(value: Value) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _fill_attention(machine: Machine, module: Instance) -> None:
    options, held = module.options, module.attributes
    width = _size(options.get("embed_dim"))
    bias = options.get("bias", True) is not False
    total = None if width is None else 3 * width
    if options.get("kdim") is None and options.get("vdim") is None:
        held["in_proj_weight"] = nn.parameter(machine, (total, width))
    else:
        for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
            held[name] = nn.parameter(machine)
    held["in_proj_bias"] = nn.parameter(machine, (total,)) if bias else None
    held["out_proj"] = nn.make(machine, "NonDynamicallyQuantizableLinear", [], {"bias": bias}, None)
    out = held["out_proj"]
    if isinstance(out, Instance):
        out.attributes["weight"] = nn.parameter(machine, (width, width))


def _fill_layer(machine: Machine, module: Instance) -> None:
    options, held = module.options, module.attributes
    decoder = module.kind == "TransformerDecoderLayer"
    model, inner = options.get("d_model"), options.get("dim_feedforward", 2048)
    rate, bias = options.get("dropout", 0.1), options.get("bias", True)
    attention = {"dropout": rate, "bias": bias}
    for name in ("self_attn", "multihead_attn") if decoder else ("self_attn",):
        held[name] = nn.make(machine, "MultiheadAttention", [model, options.get("nhead")], dict(attention), None)
    held["linear1"] = nn.make(machine, "Linear", [model, inner], {"bias": bias}, None)
    held["linear2"] = nn.make(machine, "Linear", [inner, model], {"bias": bias}, None)
    for name in ("norm1", "norm2", *(("norm3",) if decoder else ())):
        held[name] = nn.make(machine, "LayerNorm", [model], {"bias": bias}, None)
    for name in ("dropout", "dropout1", "dropout2", *(("dropout3",) if decoder else ())):
        held[name] = nn.make(machine, "Dropout", [rate], {}, None)


def _fill_stack(machine: Machine, module: Instance) -> None:
    options, held = module.options, module.attributes
    given = options.get("encoder_layer", options.get("decoder_layer"))
    count = _size(options.get("num_layers")) or 1
    layers = [stdlib.deepcopy(machine, given, {}) for _ in range(min(count, MOST_LAYERS))]
    held["layers"] = nn.make(machine, "ModuleList", [ListValue(layers)], {}, None)
    held["norm"] = options.get("norm")
    for name in ("encoder_layer", "decoder_layer"):
        held.pop(name, None)


def _fill_transformer(machine: Machine, module: Instance) -> None:
    options = dict(module.options)
    for part in ("Encoder", "Decoder"):
        count = options.pop(f"num_{part.lower()}_layers", 6)
        own = options.pop(f"custom_{part.lower()}", None)
        if own is None:
            layer = nn.make(machine, f"Transformer{part}Layer", [], dict(options), None)
            norm = nn.make(machine, "LayerNorm", [options.get("d_model")], {}, None)
            own = nn.make(machine, f"Transformer{part}", [layer, count, norm], {}, None)
        module.attributes[part.lower()] = own


def _attend(machine: Machine, module: Instance, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """Attention, and its weights unless `need_weights=False`.

    The projections keep what they are given and the weights; all between them is the module's own.
    """
    held = module.attributes
    given = [argument(arguments, keywords, i, n) for i, n in enumerate(("query", "key", "value"))]
    inputs = [t for v in given if (t := machine.as_tensor(v)) is not None]
    if len(inputs) < 3:
        return nn.black_box(machine, "attention", tensors_in(tuple(arguments)))
    if all(isinstance(v, Tensor) and v is given[0] for v in given):
        inputs = [inputs[0]] * 3
    projected: list[Tensor] = []
    for tensor, name in zip(inputs, ("q_proj_weight", "k_proj_weight", "v_proj_weight"), strict=True):
        weight = held.get(name, held.get("in_proj_weight"))
        made = ops.operate(machine, "nn.functional.linear", [tensor, weight, held.get("in_proj_bias")])
        if isinstance(made, Tensor):
            projected.append(made)
        if inputs[1] is tensor and inputs[2] is tensor and inputs[0] is tensor:
            # One projection of all three.
            projected *= 3
            break
    query, key, value = projected
    shape = inputs[0].shape
    weights: Value = None
    if argument(arguments, keywords, 4, "need_weights", True) is False:
        mixed = machine.record("attention", [query, key, value], private=True)[0]
    else:
        scores = machine.record("softmax", [query, key], private=True)[0]
        mixed = machine.record("bmm", [scores, value], private=True)[0]
        weights = machine.record("mean", [scores], shape=_weights_shape(shape, inputs[1].shape, module))[0]
    mixed.shape = shape
    return machine.call(held.get("out_proj"), [mixed], {}, None), weights


def _weights_shape(query: Shape | None, key: Shape | None, module: Instance) -> Shape | None:
    if query is None or key is None or len(query) != len(key) or len(query) not in (2, 3):
        return None
    if len(query) == 2:
        return (query[0], key[0])
    batch, length = (0, 1) if module.options.get("batch_first") is True else (1, 0)
    return (query[batch], query[length], key[length])


def _layer(machine: Machine, module: Instance, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """One layer of an encoder or a decoder: blocks, each with a sum around it and a norm before or after."""
    held = module.attributes

    def run(name: str, *values: Value, **named: Value) -> Value:
        return machine.call(held.get(name), list(values), named, None)

    def attended(name: str, value: Value, other: Value) -> Value:
        result = run(name, value, other, other, need_weights=False)
        return result[0] if isinstance(result, tuple) else result

    def fed_forward(value: Value) -> Value:
        hidden = run("linear1", value)
        wanted = module.options.get("activation", "relu")
        if isinstance(wanted, str):
            hidden = ops.operate(machine, f"nn.functional.{wanted}", [hidden])
        elif not isinstance(wanted, Unknown):
            hidden = machine.call(wanted, [hidden], {}, None)
        return run("linear2", run("dropout", hidden))

    decoder = module.kind == "TransformerDecoderLayer"
    x = argument(arguments, keywords, 0, "tgt" if decoder else "src")
    memory = argument(arguments, keywords, 1, "memory")
    blocks: list[Callable[[Value], Value]] = [lambda v: attended("self_attn", v, v)]
    if decoder:
        blocks.append(lambda v: attended("multihead_attn", v, memory))
    blocks.append(fed_forward)
    first = module.options.get("norm_first") is True
    for number, block in enumerate(blocks, 1):
        inner = block(run(f"norm{number}", x) if first else x)
        x = ops.arithmetic(machine, "add", x, run(f"dropout{number}", inner))
        if not first:
            x = run(f"norm{number}", x)
    return x


def _stack(machine: Machine, module: Instance, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    held = module.attributes
    decoder = module.kind == "TransformerDecoder"
    x = argument(arguments, keywords, 0, "tgt" if decoder else "src")
    rest = [argument(arguments, keywords, 1, "memory")] if decoder else []
    layers = held.get("layers")
    for layer in machine.items_of(layers)[0] if isinstance(layers, Instance) else []:
        x = machine.call(layer, [x, *rest], {}, None)
    norm = held.get("norm")
    return machine.call(norm, [x], {}, None) if isinstance(norm, Instance) else x


def _transformer(machine: Machine, module: Instance, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    source, target = argument(arguments, keywords, 0, "src"), argument(arguments, keywords, 1, "tgt")
    memory = machine.call(module.attributes.get("encoder"), [source], {}, None)
    return machine.call(module.attributes.get("decoder"), [target, memory], {}, None)


_FILL: dict[str, Callable[[Machine, Instance], None]] = {
    "MultiheadAttention": _fill_attention,
    "TransformerEncoderLayer": _fill_layer,
    "TransformerDecoderLayer": _fill_layer,
    "TransformerEncoder": _fill_stack,
    "TransformerDecoder": _fill_stack,
    "Transformer": _fill_transformer,
}
_FORWARD: dict[str, Callable[[Machine, Instance, list[Value], dict[str, Value]], Value]] = {
    "MultiheadAttention": _attend,
    "TransformerEncoderLayer": _layer,
    "TransformerDecoderLayer": _layer,
    "TransformerEncoder": _stack,
    "TransformerDecoder": _stack,
    "Transformer": _transformer,
}
