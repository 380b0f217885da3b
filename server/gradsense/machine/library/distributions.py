"""`torch.distributions`: what sampling cuts and what log-probabilities build."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradsense.machine.graph import Tensor
from gradsense.machine.library import ops
from gradsense.machine.tri import NO
from gradsense.machine.values import ClassValue, Distribution, Instance, LibraryMethod, Unknown, Value

if TYPE_CHECKING:
    from gradsense.machine.interpreter import Machine

NAMES: dict[str, tuple[str, ...]] = {
    "Categorical": ("probs", "logits"),
    "OneHotCategorical": ("probs", "logits"),
    "Bernoulli": ("probs", "logits"),
    "Binomial": ("total_count", "probs", "logits"),
    "Geometric": ("probs", "logits"),
    "Multinomial": ("total_count", "probs", "logits"),
    "Normal": ("loc", "scale"),
    "LogNormal": ("loc", "scale"),
    "Laplace": ("loc", "scale"),
    "Cauchy": ("loc", "scale"),
    "Gumbel": ("loc", "scale"),
    "Uniform": ("low", "high"),
    "Beta": ("concentration1", "concentration0"),
    "Gamma": ("concentration", "rate"),
    "Dirichlet": ("concentration",),
    "Poisson": ("rate",),
    "Exponential": ("rate",),
    "MultivariateNormal": ("loc", "covariance_matrix", "precision_matrix", "scale_tril"),
    "RelaxedBernoulli": ("temperature", "probs", "logits"),
    "RelaxedOneHotCategorical": ("temperature", "probs", "logits"),
    "Independent": ("base_distribution", "reinterpreted_batch_ndims"),
    "TransformedDistribution": ("base_distribution", "transforms"),
    "MixtureSameFamily": ("mixture_distribution", "component_distribution"),
}
NORMALISED = (
    "Categorical",
    "OneHotCategorical",
    "Multinomial",
    "RelaxedOneHotCategorical",
    "OneHotCategoricalStraightThrough",
)
REPARAMETERIZABLE = frozenset(
    """Normal LogNormal Laplace Cauchy Gumbel Uniform Beta Gamma Dirichlet Exponential MultivariateNormal
    RelaxedBernoulli RelaxedOneHotCategorical""".split()
)
DIFFERENTIABLE = ("rsample", "entropy", "cdf", "icdf", "perplexity")


def make(machine: Machine, name: str, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """`torch.distributions.<name>(…)`."""
    if name in ("kl_divergence", "register_kl"):
        tensors = [t for a in arguments if isinstance(a, Distribution) for t in a.tensors()]
        return machine.record("kl_divergence", tensors, private=True)[0] if tensors else Unknown()
    names = NAMES.get(name, ())
    given = {**{names[i] if i < len(names) else f"argument{i}": a for i, a in enumerate(arguments)}, **keywords}
    parameters: dict[str, Value] = {}
    for key, value in given.items():
        if isinstance(value, Unknown) and not value.number:
            value = machine.as_tensor(value) or value
        if isinstance(value, Tensor) and name in NORMALISED and key in ("probs", "logits"):
            # The constructor normalises: one node over the parameter, which keeps a result of its own.
            saved: list[tuple[Tensor | int, bool]] = [(value, True)] if key == "probs" else []
            value = machine.record("normalise", [value], saved, private=True, shape=value.shape)[0]
        parameters[key] = value
    return Distribution(name, parameters)


def initialise(machine: Machine, made: Instance, name: str, arguments: list[Value], keywords: dict[str, Value]) -> None:
    """What the constructor of a class of torch does for a class of the program that is derived from it.

    Args:
        name: the class of `torch.distributions`.
    """
    made.options["distribution"] = make(machine, name, arguments, keywords)


def within(value: Instance) -> Distribution | None:
    """The distribution that an object of a derived class is."""
    known = value.options.get("distribution")
    return known if isinstance(known, Distribution) else None


def base_of(cls: ClassValue) -> str | None:
    """The class of `torch.distributions` that a class of the program is derived from."""
    for base in cls.library_bases():
        if base.startswith("torch.distributions."):
            return base.rpartition(".")[2]
    return None


def attribute(machine: Machine, value: Distribution, name: str) -> Value:
    """`distribution.<name>`."""
    if name in value.parameters:
        return value.parameters[name]
    if name in ("mean", "stddev", "variance", "probs", "logits", "mode"):
        same = (
            value.parameters.get("loc")
            if name in ("mean", "mode")
            else value.parameters.get("scale")
            if name == "stddev"
            else None
        )
        if isinstance(same, Tensor):
            return same
        tensors = value.tensors()
        return machine.record(name, tensors, private=True)[0] if tensors else Unknown(data=True)
    if name == "base_dist":
        return value.parameters.get("base_distribution", Unknown())
    return LibraryMethod(value, name)


def _is_reparameterizable(value: Distribution) -> bool:
    """Whether it has an `rsample()`."""
    base = value.parameters.get("base_distribution")
    return _is_reparameterizable(base) if isinstance(base, Distribution) else value.name in REPARAMETERIZABLE


def method(
    machine: Machine, value: Distribution, name: str, arguments: list[Value], keywords: dict[str, Value]
) -> Value:
    """`distribution.<name>(…)`."""
    tensors = value.tensors()
    reparametrised = value.name.startswith("Relaxed")
    if name == "sample":
        shape = None
        first = tensors[0].shape if tensors else None
        if first and value.name in NORMALISED and not arguments:
            shape = first[:-1] if value.name == "Categorical" else first
        elif not arguments:
            shape = first
        made = machine.constant("sample", tensors, shape, "int64" if value.name == "Categorical" else "float32")
        if _is_reparameterizable(value) and made.cuts and made.cuts[-1].how == "sample":
            machine.samples[id(made.cuts[-1])] = made.cuts[-1]
        return made
    if name in DIFFERENTIABLE:
        if name == "rsample" and not reparametrised and value.name in ("Categorical", "Bernoulli"):
            return Unknown()
        shape = tensors[0].shape if tensors and name == "rsample" else None
        if name == "entropy" and tensors and tensors[0].shape:
            shape = tensors[0].shape[:-1] if value.name == "Categorical" else tensors[0].shape
        return machine.record(name, tensors, private=True, shape=shape)[0] if tensors else machine.tensor()
    if name == "log_prob":
        at = [a for a in arguments if isinstance(a, Tensor)]
        if any(machine.needs_grad(t) is not NO for t in tensors):
            machine.scored.update((id(cut), cut) for a in at for cut in a.cuts)
        shape = at[0].shape if at and value.name != "Independent" else None
        saved: list[tuple[Tensor | int, bool]] = []
        if value.name == "Normal":
            saved = [(a, True) for a in at if a.floating and any(machine.needs_grad(t) is not NO for t in tensors)]
            saved = [(t, False) for t, _ in saved]
        inputs = [*tensors, *(a for a in at if machine.needs_grad(a) is not NO)]
        return (
            machine.record("log_prob", inputs, saved, private=True, shape=shape)[0] if inputs else machine.tensor(shape)
        )
    if name == "expand":
        return value
    return machine.constant(name, tensors, None, "float32") if tensors else Unknown(data=True)


__all__ = ["attribute", "make", "method", "ops"]
