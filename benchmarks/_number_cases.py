"""Rows of `kernels.py` for functions of numbers: element by element, reductions, order, normalization, losses, random.

A peer is what a user of NumPy and SciPy would write: one call where there is one, else the shortest formula.
"""

from __future__ import annotations

import math
from typing import Any

from _cases import Case, Family, Operands, matrices, matrix, vectors, whole, within
from _measure import np
from scipy import special

from autodiff_compiler import ops

CASES: list[Case] = []
FLOAT32 = ("float32",)
INT32 = ("int32",)
BOOL = ("bool",)
_Array = Any


# ------------------------------------------------------------------------------------------------ element by element
elementwise = Family("elementwise", CASES)
elementwise("add", np.add, inputs=vectors)
elementwise("sub", np.subtract, inputs=vectors)
elementwise("mul", np.multiply, inputs=vectors)
elementwise("div", np.divide, inputs=vectors)
elementwise("floor_divide", np.floor_divide, inputs=within(0.5, 9, 2))
elementwise("remainder", np.remainder, inputs=within(0.5, 9, 2))
elementwise("floor_mod", np.mod, inputs=within(0.5, 9, 2))
elementwise("mod", np.mod, inputs=within(0.5, 9, 2))
elementwise("fmod", np.fmod, inputs=within(0.5, 9, 2))
elementwise("pow", np.power, inputs=within(0.5, 2, 2))
elementwise("pow 2", lambda x: x**2, lambda x: ops.pow(x, 2))
elementwise("pow 3", lambda x: x**3, lambda x: ops.pow(x, 3))
elementwise("pow 0.5", lambda x: x**0.5, lambda x: ops.pow(x, 0.5), within(0.5, 2))
elementwise("square", np.square)
elementwise("neg", np.negative)
elementwise("abs", np.abs)
elementwise("sign", np.sign)
elementwise("positive", np.positive)
elementwise("exp", np.exp)
elementwise("log", np.log, inputs=within(0.5, 9))
elementwise("sqrt", np.sqrt, inputs=within(0.5, 9))
elementwise("sin", np.sin)
elementwise("cos", np.cos)
elementwise("tanh", np.tanh)
elementwise("sigmoid", lambda x: 1 / (1 + np.exp(-x)))
elementwise("relu", lambda x: np.maximum(x, 0))
elementwise("maximum", np.maximum, inputs=vectors)
elementwise("minimum", np.minimum, inputs=vectors)
elementwise("fmax", np.fmax, inputs=vectors)
elementwise("fmin", np.fmin, inputs=vectors)
elementwise("where", np.where, inputs=lambda d: [d.bools(), d.vector(), d.vector()])
elementwise("select", np.where, inputs=lambda d: [d.bools(), d.vector(), d.vector()])
elementwise(
    "masked_fill", lambda x, m: np.where(m, x.dtype.type(7), x), lambda x, m: ops.masked_fill(x, m, 7.0),
    lambda d: [d.vector(), d.bools()],
)  # fmt: skip
elementwise("cast", lambda x: x.astype(np.float64), lambda x: ops.cast(x, "float64"), dtypes=FLOAT32)
elementwise("cast to int", lambda x: x.astype(np.int32), lambda x: ops.cast(x, "int32"))
elementwise("lerp", lambda x, y: x + 0.25 * (y - x), lambda x, y: ops.lerp(x, y, 0.25), vectors)
elementwise("addcmul", lambda x, y, z: x + y * z, inputs=within(-2, 2, 3))
elementwise("addcdiv", lambda x, y, z: x + y / z, inputs=within(0.5, 2, 3))
elementwise("add of ints", np.add, inputs=whole(2), dtypes=INT32)
elementwise("floor_divide of ints", np.floor_divide, inputs=whole(2, 1), dtypes=INT32)
elementwise("truncate_div", lambda x, y: np.trunc(x / y), inputs=within(0.5, 9, 2))
elementwise("add a row", lambda x, y: x + y[0], lambda x, y: ops.add(x, y[0]), matrices)

transcendental = Family("transcendental", CASES)
for _name in ("expm1", "exp2", "tan", "sinh", "cosh", "arctan", "arcsinh", "cbrt"):
    transcendental(_name, getattr(np, _name))
for _name in ("log1p", "log2", "log10", "reciprocal", "deg2rad", "rad2deg"):
    transcendental(_name, getattr(np, _name), inputs=within(0.5, 9))
for _name in ("arcsin", "arccos", "arctanh"):
    transcendental(_name, getattr(np, _name), inputs=within(-0.9, 0.9))
transcendental("arccosh", np.arccosh, inputs=within(1.1, 9))
transcendental("rsqrt", lambda x: 1 / np.sqrt(x), inputs=within(0.5, 9))
for _name in ("logaddexp", "logaddexp2", "hypot", "arctan2"):
    transcendental(_name, getattr(np, _name), inputs=vectors)

functions = Family("special", CASES)
functions("erf", special.erf)
functions("erfc", special.erfc)
functions("erfinv", special.erfinv, inputs=within(-0.9, 0.9))
functions("lgamma", special.gammaln, inputs=within(0.5, 9))
functions("digamma", special.digamma, inputs=within(0.5, 9))
functions("polygamma 1", lambda x: special.polygamma(1, x), lambda x: ops.polygamma(1, x), within(0.5, 9))
functions("mvlgamma", lambda x: special.multigammaln(x, 2), lambda x: ops.mvlgamma(x, 2), within(1.5, 9))
functions("xlogy", special.xlogy, inputs=within(0.5, 9, 2))
functions("logit", special.logit, inputs=within(0.1, 0.9))

# ------------------------------------------------------------------------------------------------ yes or no
compare = Family("compare", CASES, vectors)
for _name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
    compare(_name, getattr(np, _name))
for _name in ("logical_and", "logical_or", "logical_xor"):
    compare(_name, getattr(np, _name), inputs=lambda d: [d.bools(), d.bools()], dtypes=BOOL)
compare("logical_not", np.logical_not, inputs=lambda d: [d.bools()], dtypes=BOOL)
compare("logical_and of numbers", np.logical_and)
for _name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    compare(_name, getattr(np, _name), inputs=whole(2), dtypes=INT32)
compare("bitwise_not", np.invert, inputs=whole(), dtypes=INT32)
compare("bitwise_left_shift", np.left_shift, inputs=whole(2, 0, 8), dtypes=INT32)
compare("bitwise_right_shift", np.right_shift, inputs=whole(2, 0, 8), dtypes=INT32)
compare("isclose", np.isclose)
compare("isnan", np.isnan, inputs=within(-2, 2))
compare("isinf", np.isinf, inputs=within(-2, 2))
compare("isfinite", np.isfinite, inputs=within(-2, 2))
compare("isposinf", np.isposinf, inputs=within(-2, 2))
compare("isneginf", np.isneginf, inputs=within(-2, 2))
compare("signbit", np.signbit, inputs=within(-2, 2))

rounding = Family("rounding", CASES, within(-9, 9))
for _name in ("floor", "ceil", "trunc", "round"):
    rounding(_name, getattr(np, _name))
rounding("round 2", lambda x: np.round(x, 2), lambda x: ops.round(x, decimals=2))
rounding("frac", lambda x: np.modf(x)[0])
rounding("clamp", lambda x: np.clip(x, -1, 1), lambda x: ops.clamp(x, -1, 1))
rounding("clamp below", lambda x: np.maximum(x, -1), lambda x: ops.clamp(x, -1))
rounding("clamp to tensors", np.clip, inputs=lambda d: [d.vector(), d.vector(-2, -1), d.vector(1, 2)])
rounding("clip_by_value", lambda x: np.clip(x, -1, 1), lambda x: ops.clip_by_value(x, -1, 1))
rounding("nan_to_num", np.nan_to_num)
rounding("heaviside", np.heaviside, inputs=vectors)


# ------------------------------------------------------------------------------------------------ reductions
def _over(function: Any, axis: int) -> Any:
    return lambda x: function(x, axis)


reduce = Family("reduce", CASES, matrix)
for _name, _peer in {"sum": np.sum, "amax": np.max, "amin": np.min, "mean": np.mean, "prod": np.prod}.items():
    reduce(_name, _peer, inputs=within(0.9, 1.1))
    for _what, _axis in {"columns": 0, "rows": -1}.items():
        reduce(
            f"{_name} of {_what}", _over(_peer, _axis), _over(getattr(ops, _name), _axis),
            lambda d: [d.matrix(0.9, 1.1)],
        )  # fmt: skip
reduce("max", np.max, lambda x: ops.max(x)[0])
reduce("min", np.min, lambda x: ops.min(x)[0])
reduce("max of rows", lambda x: (x.max(-1), x.argmax(-1)), lambda x: ops.max(x, -1))
reduce("min of columns", lambda x: (x.min(0), x.argmin(0)), lambda x: ops.min(x, 0))
reduce("reduce_sum", np.sum)
reduce("reduce_mean", np.mean)
reduce("reduce_max", np.max)
reduce("reduce_min", np.min)
reduce("reduce_prod", np.prod)
reduce("sum of ints", np.sum, inputs=whole(), dtypes=INT32)
reduce("any", np.any, inputs=lambda d: [d.bools() & False], dtypes=BOOL)
reduce("all", np.all, inputs=lambda d: [d.bools() | True], dtypes=BOOL)
for _name in ("argmax", "argmin"):
    reduce(_name, getattr(np, _name))
    reduce(f"{_name} of rows", _over(getattr(np, _name), -1), _over(getattr(ops, _name), -1))
reduce("logsumexp", special.logsumexp, lambda x: ops.logsumexp(x, None))
reduce("logsumexp of rows", lambda x: special.logsumexp(x, -1), lambda x: ops.logsumexp(x, -1))
reduce("logsumexp of columns", lambda x: special.logsumexp(x, 0), lambda x: ops.logsumexp(x, 0))
reduce("aminmax", lambda x: (np.min(x, 0), np.max(x, 0)))

statistics = Family("statistics", CASES, matrix)
for _name in ("var", "std"):
    statistics(_name, getattr(np, _name))
    statistics(f"{_name} of rows", _over(getattr(np, _name), -1), _over(getattr(ops, _name), -1))
statistics("var of columns", lambda x: np.var(x, 0), lambda x: ops.var(x, 0))
statistics("var_mean", lambda x: (np.var(x, 0), np.mean(x, 0)), lambda x: ops.var_mean(x, 0))
statistics("std_mean", lambda x: (np.std(x, 0), np.mean(x, 0)), lambda x: ops.std_mean(x, 0))
statistics("norm", np.linalg.norm)
statistics("norm of rows", lambda x: np.linalg.norm(x, axis=-1), lambda x: ops.norm(x, dim=-1))
statistics("norm 1", lambda x: np.linalg.norm(x, 1, -1), lambda x: ops.norm(x, 1, -1))
statistics("norm inf", lambda x: np.linalg.norm(x, np.inf, -1), lambda x: ops.norm(x, math.inf, -1))
statistics("vector_norm 3", lambda x: np.linalg.norm(x, 3, -1), lambda x: ops.vector_norm(x, 3, -1))
statistics("matrix_norm", np.linalg.norm)
statistics("matrix_norm 1", lambda x: np.linalg.norm(x, 1), lambda x: ops.matrix_norm(x, 1))
# NumPy's median of an even count is a mean, ours one of the elements: `partition` is what finds it.
statistics("median", lambda x: np.median(x, -1), lambda x: ops.median(x, -1)[0], lambda d: [_odd(d)])
statistics(
    "median of all", np.median, lambda x: ops.median(x, 0)[0], lambda d: [_odd(d).reshape(-1)[: d.n - d.rows - 1 | 1]]
)
statistics("nanmedian", lambda x: np.nanmedian(x, -1), lambda x: ops.nanmedian(x, -1)[0], lambda d: [_odd(d)])
statistics("nansum", np.nansum)
statistics("nansum of rows", lambda x: np.nansum(x, -1), lambda x: ops.nansum(x, -1))
statistics("nanmean", np.nanmean)
statistics("count_nonzero", np.count_nonzero)


def _odd(d: Operands) -> _Array:
    return np.ascontiguousarray(d.matrix()[:, : d.columns - 1])


# ------------------------------------------------------------------------------------------------ along an axis
def _last_place(ufunc: Any, x: _Array) -> tuple[_Array, _Array]:
    """The running extreme along rows and where it stands, of equal ones the last."""
    best = ufunc.accumulate(x, -1)
    return best, np.maximum.accumulate(np.where(x == best, np.arange(x.shape[-1]), 0), -1)


scan = Family("scan", CASES, lambda d: [d.matrix(0.9, 1.1)])
scan("cumsum", lambda x: np.cumsum(x, -1), lambda x: ops.cumsum(x, -1))
scan("cumsum of columns", lambda x: np.cumsum(x, 0), lambda x: ops.cumsum(x, 0))
scan("CumSum", lambda x: np.cumsum(x[:, ::-1], -1)[:, ::-1], lambda x: ops.CumSum(reverse=True)(x, -1))
scan("cumprod", lambda x: np.cumprod(x, -1), lambda x: ops.cumprod(x, -1))
scan("CumProd", lambda x: np.cumprod(x[:, ::-1], -1)[:, ::-1], lambda x: ops.CumProd(reverse=True)(x, -1))
scan("cummax", lambda x: _last_place(np.maximum, x), lambda x: ops.cummax(x, -1))
scan("cummin", lambda x: _last_place(np.minimum, x), lambda x: ops.cummin(x, -1))
scan(
    "cummax values", lambda x: np.maximum.accumulate(x, -1), lambda x: ops.cummax(x, -1)[0],
    note="ours finds the places too",
)  # fmt: skip
scan("logcumsumexp", lambda x: np.logaddexp.accumulate(x, -1), lambda x: ops.logcumsumexp(x, -1))
scan("diff", lambda x: np.diff(x, axis=-1))

# Ours is stable and says where the elements stood.  Of different elements NumPy's fastest order is as good.
sorting = Family("sorting", CASES, lambda d: [_distinct(d).reshape(d.rows, d.columns)])
sorting("sort", lambda x: _sorted(x, -1), lambda x: ops.sort(x, -1))
sorting("sort of columns", lambda x: _sorted(x, 0), lambda x: ops.sort(x, 0))
sorting("sort descending", lambda x: _sorted(-x, -1, -1), lambda x: ops.sort(x, -1, True))
sorting("sort of all", lambda x: _sorted(x, -1), lambda x: ops.sort(x), lambda d: [_distinct(d)])
sorting("sort with ties", lambda x: _stable(x, -1), lambda x: ops.sort(x), whole())
sorting("argsort", lambda x: np.argsort(x, -1), lambda x: ops.argsort(x, -1))
sorting("argsort of ints", lambda x: np.argsort(x, -1, kind="stable"), inputs=whole(), dtypes=INT32)
sorting("msort", lambda x: np.sort(x, 0))
sorting("topk", lambda x: _greatest(x, 10), lambda x: ops.topk(x, 10))
sorting("top_k", lambda x: _greatest(x, 10), lambda x: ops.top_k(x, 10))
sorting("topk of all", lambda x: _greatest(x, 10), lambda x: ops.topk(x, 10), lambda d: [_distinct(d)])
sorting(
    "searchsorted", lambda s, x: np.searchsorted(s, x), inputs=lambda d: [np.sort(d.array(1000)), d.vector()],
)  # fmt: skip
sorting(
    "bucketize", lambda x: np.digitize(x, [-1.0, 0.0, 1.0]), lambda x: ops.bucketize(x, [-1.0, 0.0, 1.0]), within(-2, 2)
)


def _sorted(x: _Array, axis: int, sign: int = 1) -> tuple[_Array, _Array]:
    order = np.argsort(x, axis)
    return sign * np.take_along_axis(x, order, axis), order


def _distinct(d: Operands) -> _Array:
    return (d.rng.permutation(d.n) + 0.1).astype(d.dtype)


def _stable(x: _Array, axis: int) -> tuple[_Array, _Array]:
    order = np.argsort(x, axis, kind="stable")
    return np.take_along_axis(x, order, axis), order


def _greatest(x: _Array, k: int) -> tuple[_Array, _Array]:
    some = np.argpartition(x, -k, -1)[..., -k:]
    values = np.take_along_axis(x, some, -1)
    order = np.argsort(-values, -1)
    return np.take_along_axis(values, order, -1), np.take_along_axis(some, order, -1)


# ------------------------------------------------------------------------------------------------ networks
activation = Family("activation", CASES)
activation("softplus", lambda x: np.logaddexp(x, 0))
activation("relu6", lambda x: np.clip(x, 0, 6))
activation("hardtanh", lambda x: np.clip(x, -1, 1))
activation("hardsigmoid", lambda x: np.clip(x + 3, 0, 6) / 6)
activation("hardswish", lambda x: x * np.clip(x + 3, 0, 6) / 6)
activation("hardshrink", lambda x: np.where(np.abs(x) > 0.5, x, 0).astype(x.dtype))
activation("softshrink", lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0))
activation("soft_shrink", lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0))
activation("softsign", lambda x: x / (1 + np.abs(x)))
activation("tanhshrink", lambda x: _tanhshrink(x), note="x - np.tanh(x) would cancel near 0")
activation("threshold", lambda x: np.where(x > 0.1, x, x.dtype.type(9)), lambda x: ops.threshold(x, 0.1, 9.0))
activation("leaky_relu", lambda x: np.where(x > 0, x, 0.2 * x))
activation("prelu", lambda x, w: np.where(x > 0, x, w * x), inputs=lambda d: [d.matrix(), d.array(1, low=0, high=1)])
activation("elu", lambda x: np.where(x > 0, x, np.expm1(x)))
activation("celu", lambda x: np.where(x > 0, x, np.expm1(x)))
activation("selu", lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)))
activation("gelu", lambda x: 0.5 * x * (1 + special.erf(x / math.sqrt(2))))
activation(
    "gelu tanh", lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    lambda x: ops.gelu(x, "tanh"),
)  # fmt: skip
activation("silu", lambda x: x / (1 + np.exp(-x)))
activation("fast_gelu", lambda x: x / (1 + np.exp(-1.702 * x)))
activation("mish", lambda x: x * np.tanh(np.logaddexp(x, 0)))
activation("logsigmoid", lambda x: -np.logaddexp(-x, 0))
activation("glu", lambda x: x[:, : x.shape[1] // 2] / (1 + np.exp(-x[:, x.shape[1] // 2 :])), inputs=matrix)
activation(
    "swiglu", lambda x: (a := x[:, : x.shape[1] // 2]) / (1 + np.exp(-a)) * x[:, x.shape[1] // 2 :], inputs=matrix
)
activation("bias_add", lambda x, b: x + b, inputs=lambda d: [d.matrix(), d.array(d.columns)])
activation("softmax", lambda x: special.softmax(x, -1), inputs=matrix)
activation("softmax of columns", lambda x: special.softmax(x, 0), lambda x: ops.softmax(x, 0), matrix)
activation("softmin", lambda x: special.softmax(-x, -1), inputs=matrix)
activation("log_softmax", lambda x: special.log_softmax(x, -1), inputs=matrix)


def _tanhshrink(x: _Array) -> _Array:
    """x - tanh(x), near 0 by a continued fraction."""
    s = np.minimum(x * x, 1)
    above = s * (((s * 44 + 12870) * s + 810810) * s + 11486475)
    below = (((s * 45 + 13860) * s + 945945) * s + 16216200) * s + 34459425
    return np.where(np.abs(x) < 1, x * (above / below), x - np.tanh(x))


def _standardized(x: _Array, axes: Any) -> _Array:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)


def _channels(d: Operands) -> list[_Array]:
    """Images, and a mean, variance, weight and bias per channel."""
    return [d.images(), *(d.array(16, low=0.5, high=1.5) for _ in range(4))]


def _per_channel(v: _Array) -> _Array:
    return v[:, None, None]


normalization = Family("normalization", CASES)
normalization(
    "layer_norm", lambda x, w, b: _standardized(x, -1) * w + b,
    lambda x, w, b: ops.layer_norm(x, (x.shape[1],), w, b),
    lambda d: [d.matrix(), d.array(d.columns), d.array(d.columns)],
)  # fmt: skip
normalization(
    "batch_norm", lambda x, m, v, w, b: (x - _per_channel(m)) / np.sqrt(_per_channel(v) + 1e-5) * _per_channel(w)
    + _per_channel(b), inputs=_channels,
)  # fmt: skip
normalization(
    "group_norm", lambda x: _standardized(x.reshape(4, 4, -1), -1).reshape(x.shape), lambda x: ops.group_norm(x, 4),
    lambda d: [d.images()],
)  # fmt: skip
normalization(
    "rms_norm", lambda x, w: x / np.sqrt(np.mean(x * x, -1, keepdims=True) + 1e-6) * w,
    lambda x, w: ops.rms_norm(x, w)[0], lambda d: [d.matrix(), d.array(d.columns)],
)  # fmt: skip


def _signed(d: Operands) -> list[_Array]:
    """Numbers, and targets 1 or -1."""
    return [d.vector(), np.where(d.bools(), 1, -1).astype(d.dtype)]


def _nll(x: _Array, labels: _Array) -> _Array:
    counted = labels != -100
    picked = x[np.arange(len(labels)), np.where(counted, labels, 0)]
    return -np.sum(np.where(counted, picked, 0)) / np.sum(counted)


losses = Family("losses", CASES, vectors)
losses("mse_loss", lambda x, y: np.mean((x - y) ** 2))
losses("l1_loss", lambda x, y: np.mean(np.abs(x - y)))
losses(
    "smooth_l1_loss", lambda x, y: np.where(np.abs(x - y) < 1, 0.5 * (x - y) ** 2, np.abs(x - y) - 0.5),
)  # fmt: skip
losses("huber_loss", lambda x, y: np.mean(special.huber(1.0, x - y)))
losses("kl_div", lambda x, y: np.mean(special.xlogy(y, y) - y * x), inputs=within(0.1, 0.9, 2))
losses(
    "binary_cross_entropy", lambda x, y: -np.mean(y * np.log(x) + (1 - y) * np.log(1 - x)), inputs=within(0.1, 0.9, 2)
)
losses("binary_cross_entropy_with_logits", lambda x, y: np.mean(np.logaddexp(x, 0) - x * y), inputs=within(0.1, 0.9, 2))
losses(
    "cross_entropy", lambda x, t: -np.mean(special.log_softmax(x, -1)[np.arange(len(t)), t]),
    inputs=lambda d: [d.matrix(), d.positions(d.columns, d.rows)],
)  # fmt: skip
losses(
    "nll_loss", lambda x, t: _nll(x, t), inputs=lambda d: [d.matrix(), d.positions(d.columns, d.rows)],
    note="labels of -100 count as no sample",
)  # fmt: skip
losses("gaussian_nll_loss", lambda x, y, v: np.mean(0.5 * (np.log(v) + (x - y) ** 2 / v)), inputs=within(0.5, 2, 3))
losses(
    "cosine_similarity", lambda x, y: (x * y).sum(1) / (np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)),
    inputs=matrices,
)  # fmt: skip
losses("hinge_embedding_loss", lambda x, t: np.mean(np.where(t == 1, x, np.maximum(0, 1 - x))), inputs=_signed)
losses(
    "cosine_embedding_loss", lambda x, y: np.mean(1 - (x * y).sum(1) / np.sqrt((x * x).sum(1) * (y * y).sum(1))),
    lambda x, y: ops.cosine_embedding_loss(x, y, ops.ones(x.shape[:1])), matrices,
)  # fmt: skip
losses(
    "triplet_margin_loss",
    lambda a, p, n: np.mean(
        np.maximum(0, 1 + np.linalg.norm(a - p + 1e-6, axis=1) - np.linalg.norm(a - n + 1e-6, axis=1))
    ),
    inputs=lambda d: [d.matrix(), d.matrix(), d.matrix()],
)
losses("soft_margin_loss", lambda x, y: np.mean(np.logaddexp(-y * x, 0)), inputs=vectors)
losses("margin_ranking_loss", lambda x, y, t: np.mean(np.maximum(-t * (x - y), 0)), inputs=within(-2, 2, 3))

# ------------------------------------------------------------------------------------------------ random
_philox = np.random.Generator(np.random.Philox(0))


def _like(f: Any) -> Any:
    """Our draws and the peer's are shaped by an operand and differ."""
    return lambda x: f(x.shape, x.dtype)


random = Family("random", CASES, comparable=False)
random("rand", _like(lambda s, t: _philox.random(s, t)), lambda x: ops.rand(*x.shape, dtype=x.dtype))
random("rand_like", _like(lambda s, t: _philox.random(s, t)))
random("randn", _like(lambda s, t: _philox.standard_normal(s, t)), lambda x: ops.randn(*x.shape, dtype=x.dtype))
random("randn_like", _like(lambda s, t: _philox.standard_normal(s, t)))
random(
    "standard_normal", _like(lambda s, t: _philox.standard_normal(s, np.float32)),
    lambda x: ops.standard_normal(x.shape), dtypes=FLOAT32,
)  # fmt: skip
random(
    "normal", _like(lambda s, t: _philox.standard_normal(s, np.float32) * np.float32(2) + np.float32(1)),
    lambda x: ops.normal(x.shape, 1.0, 2.0), dtypes=FLOAT32,
)  # fmt: skip
random(
    "uniform", _like(lambda s, t: _philox.random(s, np.float32) * np.float32(2) + np.float32(1)),
    lambda x: ops.uniform(x.shape, 1.0, 3.0), dtypes=FLOAT32,
)  # fmt: skip
random(
    "randint", _like(lambda s, t: _philox.integers(0, 100, s)), lambda x: ops.randint(0, 100, x.shape), dtypes=FLOAT32
)
random("randint_like", _like(lambda s, t: _philox.integers(0, 100, s).astype(t)), lambda x: ops.randint_like(x, 0, 100))
random(
    "gamma", _like(lambda s, t: _philox.standard_gamma(2.0, s).astype(t)), lambda x: ops.gamma(x.shape, 2.0, 1.0),
    dtypes=FLOAT32, note="drawn as float64",
)  # fmt: skip
random("poisson", _like(lambda s, t: _philox.poisson(3.0, s)), lambda x: ops.poisson(x.shape, 3.0), dtypes=FLOAT32)
random(
    "bernoulli", _like(lambda s, t: (_philox.random(s) < 0.5).astype(t)), lambda x: ops.bernoulli(x, 0.5),
    dtypes=FLOAT32,
)  # fmt: skip
random("randperm", lambda x: _philox.permutation(x.size), lambda x: ops.randperm(x.shape[0]), dtypes=FLOAT32)
random("shuffle", lambda x: _philox.permutation(x), lambda x: ops.shuffle(x), dtypes=FLOAT32)
random(
    "dropout", lambda x: x * (_philox.random(x.shape) >= 0.5) * np.float32(2),
    lambda x: ops.dropout(x, 0.5), dtypes=FLOAT32,
)  # fmt: skip
random(
    "laplace",
    _like(lambda s, t: _philox.laplace(0, 1, s).astype(t)),
    lambda x: ops.laplace(x.shape, 0.0, 1.0),
    dtypes=FLOAT32,
)
random(
    "random_gamma", _like(lambda s, t: _philox.standard_gamma(2.0, s).astype(t)),
    lambda x: ops.random_gamma(x.shape, 2.0), dtypes=FLOAT32, note="drawn as float64",
)  # fmt: skip
random(
    "random_poisson", _like(lambda s, t: _philox.poisson(3.0, s)), lambda x: ops.random_poisson(x.shape, 3.0),
    dtypes=FLOAT32,
)  # fmt: skip
random(
    "standard_laplace", _like(lambda s, t: _philox.laplace(0, 1, s).astype(t)),
    lambda x: ops.standard_laplace(x.shape), dtypes=FLOAT32,
)  # fmt: skip
