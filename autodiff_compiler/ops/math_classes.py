"""MindSpore's operator classes for arithmetic, comparison, elementary functions, reductions and matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtypes import dtype_of, int32
from ..ir.primitive import call
from ..primitives.family import all_if_none, as_tensor, static_int
from ..surface.table import public
from . import basic
from .array import number_of
from .operation import constant, operation

__all__: list[str] = []

_Function = Callable[..., Any]

#: Classes without constants whose function is written here or has a name of its own.
_FUNCTIONS: dict[str, _Function] = {
    "Bincount": lambda array, size, weights: _weighted_counts(array, size, weights),
    "DivNoNan": lambda x, y: _where_not_zero(y, lambda safe: call.div(x, safe)),
    "MulNoNan": lambda x, y: _where_not_zero(y, lambda safe: call.mul(x, safe)),
    "TridiagonalMatMul": lambda superdiag, maindiag, subdiag, rhs: _tridiagonal(superdiag, maindiag, subdiag, rhs),
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
    "BatchMatMul": _mat_mul,
    "ConfusionMatrix": lambda num_classes, dtype="int32": (
        lambda labels, predictions, weights=None: _confusion(labels, predictions, weights, num_classes, dtype)
    ),
    "CountNonZero": _count_non_zero,
    "CumulativeLogsumexp": _log_cumulative,
    "EuclideanNorm": lambda keep_dims=False: lambda x, axes: call.vector_norm(x, 2, all_if_none(axes), keep_dims),
    "L2Normalize": _l2_normalize,
    "MatMul": _mat_mul,
    "MatrixInverse": lambda adjoint=False: lambda x: call.inverse(_transposed(x) if adjoint else x),
    "Lstsq": lambda fast=True, l2_regularizer=0.0: lambda x, a: _least_squares(x, a, l2_regularizer),
    "Median": _median,
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

_MAKERS |= {name: constant(function) for name, function in _FUNCTIONS.items()}
for _name, _make in _MAKERS.items():
    globals()[_name] = operation(_name, _make, __name__)
__all__ += _MAKERS
