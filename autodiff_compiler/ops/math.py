"""MindSpore's functional names of special functions, rounding, running sums, norms and statistics.

As everything in `ops` they promote and broadcast as `Tensor` operators do and run in eager mode and in compiled code.
"""

from __future__ import annotations

from typing import Any

from ..ir.primitive import call
from ..primitives.family import all_if_none, as_tensor, is_tensor, promoted
from .forwarding import binary, unary

# fmt: off
__all__ = [
    "acos",
    "acosh",
    "addcdiv",
    "addcmul",
    "aminmax",
    "angle",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_right_shift",
    "cbrt",
    "ceil",
    "clamp",
    "clip",
    "cosh",
    "count_nonzero",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "deg2rad",
    "diff",
    "digamma",
    "erf",
    "erfc",
    "erfinv",
    "exp2",
    "expm1",
    "fix",
    "floor",
    "floormod",
    "fmax",
    "fmin",
    "fmod",
    "frac",
    "gammaln",
    "heaviside",
    "hypot",
    "is_complex",
    "is_floating_point",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "lerp",
    "lgamma",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logaddexp2",
    "logcumsumexp",
    "logit",
    "logsumexp",
    "matrix_norm",
    "median",
    "mod",
    "mvlgamma",
    "nan_to_num",
    "nanmean",
    "nanmedian",
    "nansum",
    "norm",
    "polygamma",
    "positive",
    "prod",
    "rad2deg",
    "reciprocal",
    "reduce_prod",
    "round",
    "rsqrt",
    "sgn",
    "signbit",
    "sinh",
    "softplus",
    "std",
    "std_mean",
    "tan",
    "trunc",
    "truncate_div",
    "truncate_mod",
    "var",
    "var_mean",
    "vector_norm",
    "xlogy",
]
# fmt: on

# ------------------------------------------------------------------------------------------------ functions of a number
expm1, exp2 = unary("expm1"), unary("exp2")
log1p, log2, log10 = unary("log1p"), unary("log2"), unary("log10")
reciprocal, rsqrt, cbrt = unary("reciprocal"), unary("rsqrt"), unary("cbrt")
tan, sinh, cosh = unary("tan"), unary("sinh"), unary("cosh")
asin, arcsin = unary("asin"), unary("asin", "x")
acos = arccos = unary("acos")
atan = arctan = unary("atan")
asinh = arcsinh = unary("asinh")
acosh = arccosh = unary("acosh")
atanh = arctanh = unary("atanh")
erf, erfc, erfinv = unary("erf"), unary("erfc"), unary("erfinv")
lgamma = gammaln = unary("lgamma")
digamma = unary("digamma")
floor, ceil, frac = unary("floor"), unary("ceil"), unary("frac", "x")
trunc = fix = unary("trunc")
sgn = unary("sign")
isnan, isinf, isfinite = unary("isnan"), unary("isinf"), unary("isfinite")
isposinf, isneginf, signbit = unary("isposinf"), unary("isneginf"), unary("signbit")
bitwise_not = unary("invert")
angle = unary("angle")
positive, deg2rad, rad2deg = unary("positive"), unary("deg2rad", "x"), unary("rad2deg", "x")


def round(input: Any, *, decimals: int = 0) -> Any:
    """The nearest number with so many decimals (before the point, if negative), of two the even one."""
    return call.round(input, decimals)


def polygamma(n: int, input: Any) -> Any:
    """The n-th derivative of `digamma`, n >= 0."""
    return call.polygamma(n, input)


def mvlgamma(input: Any, p: int) -> Any:
    """Logarithm of the multivariate gamma function of dimension p, for elements above (p - 1) / 2."""
    return call.mvlgamma(input, p)


def logit(input: Any, eps: float | None = None) -> Any:
    """log(x / (1 - x)); with `eps` elements are first brought into eps ... 1 - eps."""
    return call.logit(input, eps)


def softplus(input: Any, beta: float = 1, threshold: float = 20) -> Any:
    """log(1 + exp(beta x)) / beta without overflow; x itself where beta x exceeds the threshold.

    >>> from autodiff_compiler import Tensor
    >>> softplus(Tensor([0.0, 800.0])).tolist()
    [0.6931471824645996, 800.0]
    """
    return call.softplus(input, beta, threshold)


def is_floating_point(input: Any) -> bool:
    """Whether the elements of a tensor are floats."""
    return bool(input.dtype.is_float)


def is_complex(input: Any) -> bool:
    """False: there are no complex tensors."""
    return False


# ------------------------------------------------------------------------------------------------ of two numbers
logaddexp, logaddexp2 = binary("logaddexp"), binary("logaddexp2")
xlogy, hypot = binary("xlogy"), binary("hypot")
fmax, fmin = binary("fmax"), binary("fmin")
atan2 = arctan2 = binary("atan2")
fmod, truncate_mod = binary("fmod"), binary("fmod", "x")
mod, floormod = binary("mod"), binary("mod", "x")
bitwise_left_shift, bitwise_right_shift = binary("left_shift"), binary("right_shift")


def heaviside(input: Any, values: Any) -> Any:
    """0 for negative elements, 1 for positive ones, `values` for zeros.

    >>> from autodiff_compiler import Tensor
    >>> heaviside(Tensor([-3.0, 0.0, 2.0]), Tensor(0.5)).tolist()
    [0.0, 0.5, 1.0]
    """
    return call.heaviside(input, values)


def truncate_div(x: Any, y: Any) -> Any:
    """Quotient rounded towards 0; integers keep their dtype."""
    x, y = promoted(x, y)
    if (x if is_tensor(x) else y).dtype.is_float:
        return call.trunc(call.div(x, y))
    # The floor of a quotient of different signs is one less, unless nothing remains.
    exact = call.logical_or(call.equal(call.mod(x, y), 0), call.equal(call.less(x, 0), call.less(y, 0)))
    floor = call.floordiv(x, y)
    return call.where(exact, floor, call.add(floor, 1))


def lerp(input: Any, end: Any, weight: Any) -> Any:
    """input + weight * (end - input), element by element."""
    return call.lerp(input, end, weight)


def addcmul(input: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Any:
    """input + value * tensor1 * tensor2."""
    return call.addcmul(input, tensor1, tensor2, value)


def addcdiv(input: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Any:
    """input + value * tensor1 / tensor2."""
    return call.addcdiv(input, tensor1, tensor2, value)


def isclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """Whether |input - other| <= atol + rtol * |other|; equal infinities are close, nans only with `equal_nan`."""
    return call.isclose(input, other, rtol, atol, equal_nan)


# ------------------------------------------------------------------------------------------------ bounds
def clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    """Elements below `min` and above `max` replaced by these; at a bound the whole cotangent goes to the element.

    ValueError without any bound.  `clip_by_value` differs at the bounds: it halves the cotangent.

    >>> from autodiff_compiler import Tensor
    >>> clamp(Tensor([-3.0, 0.5, 3.0]), -1, 1).tolist()
    [-1.0, 0.5, 1.0]
    """
    return call.clamp(input, min, max)


clip = clamp


def nan_to_num(input: Any, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> Any:
    """nan replaced by `nan` (0) and infinities by `posinf` and `neginf` (the greatest and smallest finite number)."""
    return call.nan_to_num(input, nan, posinf, neginf)


# ------------------------------------------------------------------------------------------------ along an axis
def cumsum(x: Any, axis: int, dtype: Any = None) -> Any:
    """Running sum along an axis; integers keep their dtype.

    >>> from autodiff_compiler import Tensor
    >>> cumsum(Tensor([1, 2, 3]), 0).tolist()
    [1, 3, 6]
    """
    return call.cumsum(x, axis, dtype)


def cumprod(input: Any, dim: int, dtype: Any = None) -> Any:
    """Running product along a dimension; integers keep their dtype."""
    return call.cumprod(input, dim, dtype)


def cummax(input: Any, axis: int) -> tuple[Any, Any]:
    """The greatest element so far along an axis, and its index (int64): of several the last.

    >>> from autodiff_compiler import Tensor
    >>> [t.tolist() for t in cummax(Tensor([1, 3, 2, 3]), 0)]
    [[1, 3, 3, 3], [0, 1, 1, 3]]
    """
    return call.cummax(input, axis)


def cummin(input: Any, axis: int) -> tuple[Any, Any]:
    """The smallest element so far along an axis, and its index (int64): of several the last."""
    return call.cummin(input, axis)


def logcumsumexp(input: Any, axis: int) -> Any:
    """Logarithm of the running sum of exp(input) along an axis, without overflow."""
    return call.logcumsumexp(input, axis)


def diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbours along an axis, n times; of bools whether they differ.

    `prepend` and `append` are Tensors that extend x along the axis first.
    """
    return call.diff(x, n, axis, prepend, append)


# ------------------------------------------------------------------------------------------------ reductions
def prod(input: Any, axis: Any = None, keep_dims: bool = False, dtype: Any = None) -> Any:
    """Product over axes (all by default); smaller integers and bools are multiplied as int64.

    >>> from autodiff_compiler import Tensor
    >>> prod(Tensor([1.0, 2.0, 4.0])).item()
    8.0
    """
    return call.prod(input, all_if_none(axis), keep_dims, dtype)


def reduce_prod(x: Any, axis: Any = ()) -> Any:
    """Product over axes, all for an empty tuple; integers keep their dtype."""
    x = as_tensor(x)
    return call.prod(x, all_if_none(axis), dtype=None if x.dtype.is_bool else x.dtype)


def logsumexp(input: Any, dim: Any, keepdim: bool = False) -> Any:
    """log(sum(exp(input))) over dimensions (all for an empty tuple), without overflow.

    >>> from autodiff_compiler import Tensor
    >>> logsumexp(Tensor([1000.0, 1000.0]), 0)
    Tensor(shape=[], dtype=Float32, value= 1000.69)
    """
    return call.logsumexp(input, all_if_none(dim), keepdim)


def norm(A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """Norm of the vectors in one dimension or of the matrices in two; by default the Euclidean norm of all numbers.

    Vectors have norms of every order, matrices "fro", "nuc", inf, -inf, 1, -1, 2, -2.  Where all numbers are 0 the
    derivative of a vector's norm is 0.

    >>> from autodiff_compiler import Tensor
    >>> norm(Tensor([3.0, -4.0])).item(), norm(Tensor([3.0, -4.0]), 1).item()
    (5.0, 7.0)
    """
    return call.norm(A, ord, dim, keepdim, dtype=dtype)


def vector_norm(x: Any, ord: Any = 2, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Any:
    """Norm of the numbers over axes (all by default), of any order."""
    return call.vector_norm(x, ord, axis, keepdims, dtype)


def matrix_norm(A: Any, ord: Any = "fro", axis: Any = (-2, -1), keepdims: bool = False, *, dtype: Any = None) -> Any:
    """Norm of matrices, which lie in two axes: "fro", "nuc", inf, -inf, 1, -1, 2, -2."""
    return call.matrix_norm(A, ord, axis, keepdims, dtype)


def var(input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """Mean squared deviation from the mean over axes (all by default), divided by the count less `ddof`.

    >>> from autodiff_compiler import Tensor
    >>> var(Tensor([1.0, 3.0])).item()
    1.0
    """
    return call.var(input, all_if_none(axis), ddof, keepdims)


def std(input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """Square root of `var`; where all numbers are equal its derivative is 0."""
    return call.std(input, all_if_none(axis), ddof, keepdims)


def var_mean(input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> tuple[Any, Any]:
    """`var` and `mean` at once."""
    return call.var_mean(input, all_if_none(axis), ddof, keepdims)


def std_mean(input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> tuple[Any, Any]:
    """`std` and `mean` at once."""
    return call.std_mean(input, all_if_none(axis), ddof, keepdims)


def median(input: Any, axis: int = -1, keepdims: bool = False) -> tuple[Any, Any]:
    """The median along an axis and its index (int64); of two middle elements the lower, nan if there is one.

    >>> from autodiff_compiler import Tensor
    >>> [t.item() for t in median(Tensor([4.0, 1.0, 3.0, 2.0]))]
    [2.0, 3]
    """
    return call.median(input, axis, keepdims)


def nanmedian(input: Any, axis: int = -1, keepdims: bool = False) -> tuple[Any, Any]:
    """The `median` of the elements that are not nan, and its index."""
    return call.nanmedian(input, axis, keepdims)


def nansum(input: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Any:
    """Sum over axes (all by default) of the elements that are not nan."""
    return call.nansum(input, all_if_none(axis), keepdims, dtype=dtype)


def nanmean(input: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Any:
    """Mean over axes (all by default) of the elements that are not nan; nan where there is none."""
    return call.nanmean(input, all_if_none(axis), keepdims, dtype=dtype)


def count_nonzero(x: Any, axis: Any = (), keep_dims: bool = False, dtype: Any = "int32") -> Any:
    """How many elements over axes (all for an empty tuple) differ from 0."""
    return call.count_nonzero(x, all_if_none(axis), keep_dims, dtype)


def aminmax(input: Any, *, axis: int | None = 0, keepdims: bool = False) -> tuple[Any, Any]:
    """Smallest and greatest element along an axis; ties share the cotangent evenly."""
    lowest, greatest = call.aminmax(input, axis=axis, keepdims=keepdims)
    return lowest, greatest
