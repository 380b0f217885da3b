"""How each of torch's in-place methods is written out of place."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


# `x.add_(y)` is `x.add(y)`: same arguments, same type of result.
DROP_UNDERSCORE = words(
    """
    abs absolute acos acosh add addbmm addcdiv addcmul addmm addmv addr arccos arccosh arcsin arcsinh arctan2 arctan
    arctanh asin asinh atan2 atan atanh baddbmm bitwise_and bitwise_left_shift bitwise_not bitwise_or
    bitwise_right_shift bitwise_xor ceil clamp clamp_max clamp_min clip conj_physical copysign cos cosh cumprod cumsum
    deg2rad detach digamma div divide erf erfc erfinv exp2 exp expm1 fix floor floor_divide fmod frac gcd heaviside
    hypot i0 igamma igammac index_add index_copy index_fill index_put index_reduce lcm ldexp lerp lgamma log10 log1p
    log2 log logit masked_fill masked_scatter mul multiply mvlgamma nan_to_num neg negative nextafter polygamma pow put
    rad2deg reciprocal relu remainder renorm round rsqrt scatter scatter_add scatter_reduce sgn sigmoid sign sin sinc
    sinh sqrt square squeeze sub subtract swapaxes swapdims t tan tanh transpose tril triu true_divide trunc unsqueeze
    xlogy
    """
)

# These give the old value up, so that they can fill a new tensor of the same kind.
OVERWRITING = words("bernoulli cauchy copy exponential fill geometric log_normal normal random uniform zero")

# These keep the old type (`x.eq_(y)` leaves numbers, `x.eq(y)` gives booleans) or have no other form: the write goes
# to a copy.
ON_A_COPY = words(
    """
    eq fill_diagonal float_power ge greater greater_equal gt le less less_equal logical_and logical_not logical_or
    logical_xor lt ne not_equal
    """
)

# In-place functions of `torch` and `torch.nn.functional` that are no methods; each has a form without the underscore.
FUNCTIONS = words(
    """
    alpha_dropout celu dropout elu feature_alpha_dropout feature_dropout hardtanh leaky_relu relu rrelu selu threshold
    """
)


def stem(name: str) -> str | None:
    """`add` for `add_`, where that is one of torch's in-place names; None otherwise."""
    base = name[:-1] if name.endswith("_") and not name.endswith("__") else ""
    known = DROP_UNDERSCORE | OVERWRITING | ON_A_COPY | FUNCTIONS
    return base if base in known else None
