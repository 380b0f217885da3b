"""Lightning, Accelerate, Fabric, GradScaler and other ways to spell a step."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gradsense.machine.graph import Tensor
from gradsense.machine.library import autograd_api, custom_function, nn, optim
from gradsense.machine.library.arguments import flag
from gradsense.machine.outside import Kind
from gradsense.machine.values import ContextValue, Instance, ListValue, Optimizer, Unknown, Value, a_number
from gradsense.machine.walking import SCALE

if TYPE_CHECKING:
    from gradsense.machine.interpreter import Machine

# Classes whose objects prepare, scale and walk for the program.
ENGINES = {
    "Accelerator": "Accelerator",
    "Fabric": "Fabric",
    "GradScaler": "GradScaler",
}
# By the names that this package gives its models; reading its source to find out takes minutes.
_HUB_MODEL = re.compile(r"transformers\.(?!TF|Flax|Auto)\w+(?:Model|For[A-Z]\w+)\.from_(?:pretrained|config)$")
LOADERS = frozenset(("from_pretrained", "from_config", "load_from_checkpoint", "from_name"))
MODULE_FACTORIES = (
    "torchvision.models.",
    "timm.create_model",
    "transformers.AutoModel",
    "segmentation_models_pytorch.",
    "torch.hub.load",
)


def call(
    machine: Machine, name: str, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
) -> tuple[Value] | None:
    """A library class or function that frameworks provide, or None if it is none of those."""
    last = name.rpartition(".")[2]
    if last in ENGINES and name.split(".")[0] in ("accelerate", "lightning", "pytorch_lightning", "lightning_fabric"):
        return (Instance(ENGINES[last], None, machine.here(node)),)
    if (name.startswith(MODULE_FACTORIES) and not last.endswith("Weights")) or _HUB_MODEL.match(name):
        return (foreign_module(machine, name, node),)
    if last == "scale_loss" and arguments:
        return (ContextValue("scale_loss", arguments[0]),)
    if last == "SummaryWriter":
        return (Instance("logger", None, machine.here(node)),)
    if name in ("pytest.raises", "contextlib.suppress"):
        return (ContextValue("raises"),)
    if name.startswith("contextlib."):
        return (ContextValue(last, arguments[0] if arguments else None),)
    return None


def call_outside(
    machine: Machine, name: str, arguments: list[Value], keywords: dict[str, Value], node: ast.AST | None
) -> tuple[Value] | None:
    """A class or function of a package that somebody looked up, or None if nothing is known of it."""
    # What is loaded is of the class that loads it.
    owner, _, last = name.rpartition(".")
    kind = machine.workspace.outside.kind(owner if last in LOADERS else name)
    if kind is Kind.NUMBER:
        return (a_number(),)
    if kind is Kind.OPTIMIZER and (arguments or keywords):
        return (optim.make(machine, last, arguments, keywords, node),)
    if kind is Kind.NETWORK and not any(_may_wrap(value) for value in (*arguments, *keywords.values())):
        return (foreign_module(machine, name, node),)
    return None


def _may_wrap(value: Value) -> bool:
    """Whether a network that is made of this may be little more than it."""
    return isinstance(value, (Instance, Tensor, ListValue)) or (isinstance(value, Unknown) and not value.data)


def foreign_module(machine: Machine, name: str, node: ast.AST | None) -> Instance:
    """A network from a library: a module with parameters, whose inside we do not see."""
    module = Instance(nn.FOREIGN, None, machine.here(node))
    module.is_module = True
    module.attributes["weight"] = nn.parameter(machine)
    module.options["name"] = name
    return module


def object_method(
    machine: Machine,
    instance: Instance,
    name: str,
    arguments: list[Value],
    keywords: dict[str, Value],
    node: ast.AST | None,
) -> tuple[Value] | None:
    """A method of an object of a library class, or None if we know nothing of it."""
    kind = instance.kind
    first = arguments[0] if arguments else None
    if kind == "ctx":
        return (custom_function.context_method(machine, instance, name, arguments),)
    if kind == "hook":
        if name == "remove":
            module, hook = instance.options.get("module"), instance.options.get("hook")
            if isinstance(module, Instance):
                module.forward_hooks = [h for h in module.forward_hooks if h is not hook]
                module.pre_hooks = [h for h in module.pre_hooks if h is not hook]
                module.backward_hooks = [h for h in module.backward_hooks if h is not hook]
        return (None,)
    if kind in ("DataLoader", "TensorDataset", "Dataset", "scheduler"):
        return (a_number() if name in ("__len__", "get_last_lr") else Unknown(data=True),)
    if kind == "logger":
        return (None,)
    if name in ("manual_backward", "backward") and kind != "ctx" and (arguments or kind in ENGINES):
        create = flag(keywords.get("create_graph"), False, False)
        retain = flag(keywords.get("retain_graph"), create, True)
        given = arguments[1] if kind is None and len(arguments) > 1 and isinstance(arguments[1], Tensor) else first
        autograd_api.walk_value(machine, given, retain=retain, create_graph=create)
        return (None,)
    if kind in ENGINES.values():
        return _engine(machine, instance, name, arguments, keywords, node)
    if instance.is_module and name == "optimizers":
        return (_own_optimizers(machine, instance),)
    return None


def _engine(
    machine: Machine,
    instance: Instance,
    name: str,
    arguments: list[Value],
    keywords: dict[str, Value],
    node: ast.AST | None,
) -> tuple[Value] | None:
    first = arguments[0] if arguments else None
    if name == "scale" and isinstance(first, Tensor):
        scales = instance.kind == "GradScaler" and instance.options.get("enabled", True) is not False
        op = SCALE if scales else "mul"
        return (machine.record(op, [first], private=True, shape=first.shape)[0],)
    if name in ("step", "unscale_") and instance.kind == "GradScaler":
        optim.unscale(optim.own(first) or first)
    if name == "step" and isinstance(first, Optimizer):
        optim.step(machine, first, None, node)
        return (None,)
    if name == "step" and optim.own(first) is not None:
        return (machine.call(machine.get_attribute(first, "step"), [], {}, node),)
    if name in ("prepare", "setup", "setup_dataloaders", "prepare_model"):
        return (tuple(arguments) if len(arguments) > 1 else first,)
    if name in ("gather", "gather_for_metrics", "reduce", "unwrap_model", "to_device") and first is not None:
        return (first,)
    if name in ("accumulate", "autocast", "no_sync", "no_backward_sync"):
        return (ContextValue("autocast" if name == "autocast" else name),)
    if name in ("clip_grad_norm_", "clip_gradients", "unscale_", "update", "print", "log", "save", "wait_for_everyone"):
        return (None,)
    return (Unknown(data=True, name=name),)


def _own_optimizers(machine: Machine, instance: Instance) -> Value:
    """Lightning's `self.optimizers()`: what `configure_optimizers` returns."""
    if instance.cls is None or not instance.cls.has("configure_optimizers"):
        return Unknown()
    known = instance.options.get("optimizers")
    if known is None:
        made = machine.call(instance.cls.find("configure_optimizers"), [instance], {}, None)
        if isinstance(made, tuple) and made and isinstance(made[0], ListValue):
            made = made[0]
        known = instance.options["optimizers"] = made
    if isinstance(known, ListValue) and len(known.items) == 1:
        return known.items[0]
    return known
