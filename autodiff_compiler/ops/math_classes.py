"""MindSpore's operator classes for arithmetic, comparison, elementary functions, reductions and matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtypes import dtype_of, float32, int32
from ..ir.primitive import call
from ..primitives.family import all_if_none, as_tensor, static_int
from ..surface.table import public
from . import basic, linalg, math
from .array import number_of
from .operation import constant, operation

__all__: list[str] = []

_Function = Callable[..., Any]

#: Classes without constants that apply what `ops` has under another name.
_SAME = {
    "ACos": "acos", "Abs": "abs", "Acosh": "acosh", "Add": "add", "Addcdiv": "addcdiv", "Addcmul": "addcmul",
    "Angle": "angle", "Asin": "asin", "Asinh": "asinh", "Atan": "atan", "Atan2": "atan2", "Atanh": "atanh",
    "BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor", "Ceil": "ceil", "Cos": "cos",
    "Cosh": "cosh", "Digamma": "digamma", "Div": "div", "Equal": "equal", "Erf": "erf", "Erfc": "erfc",
    "Erfinv": "erfinv", "Exp": "exp", "Expm1": "expm1", "Floor": "floor", "FloorDiv": "floordiv", "FloorMod": "mod",
    "Fmax": "fmax", "Fmin": "fmin", "Ger": "outer", "Greater": "greater", "GreaterEqual": "greater_equal",
    "Heaviside": "heaviside", "Hypot": "hypot", "IsFinite": "isfinite", "IsInf": "isinf", "IsNan": "isnan",
    "LeftShift": "left_shift", "Lerp": "lerp", "LerpScalar": "lerp", "Less": "less", "LessEqual": "less_equal",
    "Lgamma": "lgamma", "Log": "log", "Log1p": "log1p", "LogicalAnd": "logical_and", "LogicalNot": "logical_not",
    "LogicalOr": "logical_or", "LogicalXor": "logical_xor", "Maximum": "maximum", "Minimum": "minimum", "Mod": "fmod",
    "Mul": "mul", "Neg": "neg", "NotEqual": "not_equal", "Pow": "pow", "RealDiv": "div", "Reciprocal": "reciprocal",
    "RightShift": "right_shift", "Rsqrt": "rsqrt", "Sigmoid": "sigmoid", "Sign": "sign", "Sin": "sin", "Sinh": "sinh",
    "Sqrt": "sqrt", "Square": "square", "Sub": "sub", "Tan": "tan", "Tanh": "tanh",
    "Trace": "trace", "TruncateMod": "fmod", "Trunc": "trunc", "Xlogy": "xlogy",
}  # fmt: skip

#: Classes without constants whose function is written here or has a name of its own.
_FUNCTIONS: dict[str, _Function] = {
    "Bincount": lambda array, size, weights: _weighted_counts(array, size, weights),
    "Diag": linalg.diag,
    "DivNoNan": lambda x, y: _where_not_zero(y, lambda safe: call.div(x, safe)),
    "EqualCount": lambda x, y: call.reshape(call.cast(call.sum(call.equal(x, y)), as_tensor(x).dtype), (1,)),
    "FloatStatus": lambda x: call.reshape(call.cast(call.any(call.logical_not(call.isfinite(x))), float32), (1,)),
    "Geqrf": linalg.geqrf,
    "L2Loss": lambda input_x: call.div(call.sum(call.square(input_x)), 2),
    "LogMatrixDeterminant": public.log_matrix_determinant,
    "LuSolve": public.lu_solve,
    "MatrixDeterminant": public.matrix_determinant,
    "MatrixExp": public.matrix_exp,
    "MulNoNan": lambda x, y: _where_not_zero(y, lambda safe: call.mul(x, safe)),
    "Orgqr": public.orgqr,
    "Polygamma": lambda a, x: public.polygamma(a, x),
    "Rint": lambda input_x: call.round(input_x),
    "Round": lambda input_x, decimals=0: call.round(input_x, decimals),
    "SquareSumAll": lambda x, y: (call.sum(call.square(x)), call.sum(call.square(y))),
    "SquaredDifference": lambda x, y: call.square(call.sub(x, y)),
    "StopGradient": basic.stop_gradient,
    "TridiagonalMatMul": lambda superdiag, maindiag, subdiag, rhs: _tridiagonal(superdiag, maindiag, subdiag, rhs),
    "TruncateDiv": math.truncate_div,
}


def _weighted_counts(numbers: Any, size: Any, weights: Any) -> Any:
    """The sums of the weights per number 0 ... size - 1 (`bincount`); greater numbers do not count."""
    size = static_int(number_of(size), "size")
    if size < 0:
        raise ValueError(f"`size` of Bincount must not be negative, but it is {size}")
    numbers, weights = call.reshape(numbers, (-1,)), call.reshape(weights, (-1,))
    dtype = as_tensor(weights).dtype
    if size == 0:
        return call.zeros((0,), dtype)
    counts = call.less(numbers, size)
    numbers, weights = call.where(counts, numbers, 0), call.where(counts, weights, 0)
    return call.cast(public.bincount(numbers, weights, size), dtype)


def _where_not_zero(y: Any, of: Callable[[Any], Any]) -> Any:
    """``of(y)``, and 0 where y is 0, also if `of` is not finite there."""
    zero = call.equal(y, 0)
    found = of(call.where(zero, call.ones_like(as_tensor(y)), y))
    return call.where(zero, call.zeros_like(found), found)


def _tridiagonal(superdiag: Any, maindiag: Any, subdiag: Any, rhs: Any) -> Any:
    """Tridiagonal matrices times `rhs`; the last number above and the first below the diagonal are not read."""
    rhs = as_tensor(rhs)
    above, main, below = (call.swapaxes(d, -1, -2) for d in (superdiag, maindiag, subdiag))
    none, n = call.zeros_like(call.narrow(rhs, -2, 0, 1)), rhs.shape[-2]
    after = call.concat([call.narrow(rhs, -2, 1, n - 1), none], -2)
    before = call.concat([none, call.narrow(rhs, -2, 0, n - 1)], -2)
    return call.add(call.add(call.mul(main, rhs), call.mul(above, after)), call.mul(below, before))


# ------------------------------------------------------------------------------------------------ reductions
def _reduction(reduce: _Function) -> Callable[..., _Function]:
    return lambda keep_dims=False: lambda x, axis=(): reduce(as_tensor(x), all_if_none(axis), keep_dims)


def _sum(x: Any, axis: Any, keep_dims: bool) -> Any:
    total = call.sum(x, axis, keepdims=keep_dims)
    return call.cast(total, x.dtype) if x.dtype.is_int else total


def _prod(x: Any, axis: Any, keep_dims: bool) -> Any:
    return call.prod(x, axis, keep_dims, None if x.dtype.is_bool else x.dtype)


def _reduce_sum(keep_dims: bool = False, skip_mode: bool = False) -> _Function:
    def reduce(x: Any, axis: Any = ()) -> Any:
        nothing = skip_mode and isinstance(axis, tuple | list) and len(axis) == 0
        return x if nothing else _sum(as_tensor(x), all_if_none(axis), keep_dims)

    return reduce


def _reduce_std(axis: Any = (), unbiased: bool = True, keep_dims: bool = False) -> _Function:
    over = all_if_none(axis)
    return lambda x: (call.std(x, over, int(unbiased), keep_dims), call.mean(x, over, keep_dims))


def _count_non_zero(dims: Any = None) -> _Function:
    return lambda x: call.count_nonzero(x, all_if_none(dims), False, dtype_of("int64"))


def _median(global_median: bool = False, axis: int = 0, keep_dims: bool = False, ignore_nan: bool = False) -> _Function:
    along = public.nanmedian if ignore_nan else public.median

    def run(x: Any) -> Any:
        if not global_median:
            return along(x, axis, keep_dims)
        value, place = along(call.reshape(x, (-1,)), 0)
        return value, call.zeros_like(place)  # of all elements, no position along an axis exists

    return run


def _log_cumulative(exclusive: bool = False, reverse: bool = False) -> _Function:
    def run(x: Any, axis: int) -> Any:
        x = call.flip(x, axis) if reverse else as_tensor(x)
        y = call.logcumsumexp(x, axis)
        if exclusive:  # before the first element the sum is empty, and the least finite number stands for log(0)
            lowest = {"f16": -65500.0, "bf16": -3.38e38, "f32": -3.4028235e38, "f64": -1.7976931348623157e308}
            first = call.full_like(call.narrow(y, axis, 0, 1), lowest[y.dtype.short])
            y = call.concat((first, call.narrow(y, axis, 0, y.shape[axis] - 1)), axis)
        return call.flip(y, axis) if reverse else y

    return run


def _l2_normalize(axis: Any = 0, epsilon: float = 1e-4) -> _Function:
    return lambda x: call.div(x, call.sqrt(call.maximum(call.sum(call.square(x), axis, keepdims=True), epsilon)))


def _arg(function: _Function) -> Callable[..., _Function]:
    return lambda axis=-1, output_type=int32: lambda x: call.cast(function(x, axis), dtype_of(output_type))


def _arg_with_value(function: _Function) -> Callable[..., _Function]:
    def make(axis: int = 0, keep_dims: bool = False) -> _Function:
        def run(x: Any) -> tuple[Any, Any]:
            value, index = function(x, axis, keep_dims)
            return call.cast(index, int32), value

        return run

    return make


# ------------------------------------------------------------------------------------------------ matrices
def _mat_mul(transpose_a: bool = False, transpose_b: bool = False) -> _Function:
    def product(x: Any, y: Any) -> Any:
        a = call.matrix_transpose(as_tensor(x)) if transpose_a else x
        return call.matmul(a, call.matrix_transpose(as_tensor(y)) if transpose_b else y)

    return product


def _transposed(x: Any) -> Any:
    return call.matrix_transpose(as_tensor(x))


def _least_squares(x: Any, a: Any, regularizer: float) -> Any:
    if regularizer:
        raise ValueError("Lstsq has no l2_regularizer here: append its rows to the matrix")
    return public.lstsq(x, a)


def _confusion(labels: Any, predictions: Any, weights: Any, count: int, dtype: Any) -> Any:
    """[count, count]: how often (or with what weight) a class was predicted as each."""
    places = call.add(call.mul(call.cast(labels, int32), count), call.cast(predictions, int32))
    found = public.bincount(places, weights, count * count)
    return call.cast(call.reshape(found, (count, count)), dtype_of(dtype))


def _svd(full_matrices: bool = False, compute_uv: bool = True) -> _Function:
    return lambda x: public.svd(x, full_matrices, compute_uv)


#: Classes with constants.
_MAKERS: dict[str, Callable[..., _Function]] = {
    "ArgMaxWithValue": _arg_with_value(call.argmax_with_value),
    "ArgMinWithValue": _arg_with_value(call.argmin_with_value),
    "Argmax": _arg(call.argmax),
    "Argmin": _arg(call.argmin),
    "BartlettWindow": lambda periodic=True, dtype=float32: lambda n: public.bartlett_window(n, periodic, dtype=dtype),
    "BatchMatMul": _mat_mul,
    "BlackmanWindow": lambda periodic=True, dtype=float32: lambda n: public.blackman_window(n, periodic, dtype=dtype),
    "Cholesky": lambda upper=False: lambda input_x: public.cholesky(input_x, upper),
    "CholeskyInverse": lambda upper=False: lambda x: public.cholesky_inverse(x, upper),
    "CholeskySolve": lambda upper=False: lambda x1, x2: public.cholesky_solve(x1, x2, upper),
    "ConfusionMatrix": lambda num_classes, dtype="int32": (
        lambda labels, predictions, weights=None: _confusion(labels, predictions, weights, num_classes, dtype)
    ),
    "CountNonZero": _count_non_zero,
    "Cross": lambda dim=-65530: lambda x1, x2: call.cross(x1, x2, None if dim == -65530 else dim),
    "CumProd": lambda exclusive=False, reverse=False: (
        lambda x, axis: call.cumprod(x, axis, reverse=reverse, exclusive=exclusive)
    ),
    "CumSum": lambda exclusive=False, reverse=False: (
        lambda x, axis: call.cumsum(x, axis, reverse=reverse, exclusive=exclusive)
    ),
    "Cummax": lambda axis: lambda x: public.cummax(x, axis),
    "Cummin": lambda axis: lambda x: public.cummin(x, axis),
    "CumulativeLogsumexp": _log_cumulative,
    "Einsum": lambda equation: lambda inputs: call.einsum(equation, *inputs),
    "EuclideanNorm": lambda keep_dims=False: lambda x, axes: call.vector_norm(x, 2, all_if_none(axes), keep_dims),
    "HammingWindow": lambda periodic=True, alpha=0.54, beta=0.46, dtype=float32: (
        lambda n: public.hamming_window(n, periodic, alpha, beta, dtype=dtype)
    ),
    "IsClose": lambda rtol=1e-5, atol=1e-8, equal_nan=False: lambda x, y: call.isclose(x, y, rtol, atol, equal_nan),
    "L2Normalize": _l2_normalize,
    "LogSpace": lambda steps=10, base=10, dtype=float32: (
        lambda start, end: public.logspace(start, end, steps, base, dtype=dtype)
    ),
    "Logit": lambda eps=-1.0: lambda x: call.logit(x, None if eps < 0 else eps),
    "LpNorm": lambda axis, p=2, keep_dims=False, epsilon=1e-12: lambda x: call.vector_norm(x, p, axis, keep_dims),
    "LuUnpack": lambda unpack_data=True, unpack_pivots=True: (
        lambda data, pivots: linalg.lu_unpack(data, pivots, unpack_data, unpack_pivots)
    ),
    "MatMul": _mat_mul,
    "MatrixInverse": lambda adjoint=False: lambda x: call.inverse(_transposed(x) if adjoint else x),
    "MatrixPower": lambda n: lambda x: public.matrix_power(x, n),
    "MatrixSolve": lambda adjoint=False: lambda matrix, rhs: linalg.matrix_solve(matrix, rhs, adjoint),
    "MatrixTriangularSolve": lambda lower=True, adjoint=False: (
        lambda matrix, rhs: call.triangular_solve(matrix, rhs, lower, adjoint)
    ),
    "Lstsq": lambda fast=True, l2_regularizer=0.0: lambda x, a: _least_squares(x, a, l2_regularizer),
    "Median": _median,
    "Mvlgamma": lambda p: lambda x: public.mvlgamma(x, p),
    "NanToNum": lambda nan=None, posinf=None, neginf=None: lambda x: public.nan_to_num(x, nan, posinf, neginf),
    "NuclearNorm": lambda dim=None, keepdim=False: (
        lambda x: call.matrix_norm(x, "nuc", (-2, -1) if dim is None else tuple(dim), keepdim)
    ),
    "Ormqr": lambda left=True, transpose=False: lambda x, tau, other: public.ormqr(x, tau, other, left, transpose),
    "Qr": lambda full_matrices=False: lambda x: linalg.qr(x, "complete" if full_matrices else "reduced"),
    "ReduceAll": _reduction(call.all),
    "ReduceAny": _reduction(call.any),
    "ReduceMax": _reduction(call.max),
    "ReduceMean": _reduction(basic.mean),
    "ReduceMin": _reduction(call.min),
    "ReduceProd": _reduction(_prod),
    "ReduceStd": _reduce_std,
    "ReduceSum": _reduce_sum,
    "Svd": _svd,
}

_MAKERS |= {name: constant(getattr(call, function)) for name, function in _SAME.items()}
_MAKERS |= {name: constant(function) for name, function in _FUNCTIONS.items()}
for _name, _make in _MAKERS.items():
    globals()[_name] = operation(_name, _make, __name__)
__all__ += _MAKERS
