"""MindSpore's operator classes for arithmetic, comparison, elementary functions, reductions and matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtypes import dtype_of, int32
from ..ir.primitive import call
from ..primitives.family import all_if_none, as_tensor
from ..primitives.requirements import static_int
from ..surface.table import public
from .array import number_of
from .operation import constant, operation

__all__: list[str] = []

_Function = Callable[..., Any]

#: Classes without constants, and their docstrings.
_FUNCTIONS: dict[str, tuple[Callable[..., _Function], str]] = {
    "Bincount": (
        constant(lambda array, size, weights: _weighted_counts(array, size, weights)),
        "``Bincount()(array, size, weights)``: the sums of the weights per number 0 ... size - 1.",
    ),
    "DivNoNan": (
        constant(lambda x, y: _where_not_zero(y, lambda safe: call.div(x, safe))),
        "``DivNoNan()(x, y)``: x / y, and 0 where y is 0.",
    ),
    "MulNoNan": (
        constant(lambda x, y: _where_not_zero(y, lambda safe: call.mul(x, safe))),
        "``MulNoNan()(x, y)``: x * y, and 0 where y is 0, whatever x is.",
    ),
    "TridiagonalMatMul": (
        constant(lambda superdiag, maindiag, subdiag, rhs: _tridiagonal(superdiag, maindiag, subdiag, rhs)),
        "``TridiagonalMatMul()(superdiag, maindiag, subdiag, rhs)``: tridiagonal matrices times `rhs`.",
    ),
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


def _arg_with_value(function: _Function) -> Callable[..., _Function]:
    def make(axis: int = 0, keep_dims: bool = False) -> _Function:
        def run(x: Any) -> tuple[Any, Any]:
            value, index = function(x, axis, keep_dims)
            return call.cast(index, int32), value

        return run

    return make


# ------------------------------------------------------------------------------------------------ matrices
def _least_squares(x: Any, a: Any, regularizer: float) -> Any:
    if regularizer:
        raise ValueError("Lstsq has no l2_regularizer here: append its rows to the matrix")
    return public.lstsq(x, a)


def _confusion(labels: Any, predictions: Any, weights: Any, count: int, dtype: Any) -> Any:
    """[count, count]: how often (or with what weight) a class was predicted as each."""
    places = call.add(call.mul(call.cast(labels, int32), count), call.cast(predictions, int32))
    found = public.bincount(places, weights, count * count)
    return call.cast(call.reshape(found, (count, count)), dtype_of(dtype))


#: Classes with constants, and their docstrings.
_MAKERS: dict[str, tuple[Callable[..., _Function], str]] = {
    "ArgMaxWithValue": (
        _arg_with_value(call.argmax_with_value),
        """``ArgMaxWithValue(axis=0, keep_dims=False)(x)``: the index (int32) of the greatest element, and that element.

    >>> from autodiff_compiler import Tensor, ops
    >>> [t.tolist() for t in ops.ArgMaxWithValue()(Tensor([1.0, 4.0, 2.0]))]
    [1, 4.0]
    """,
    ),
    "ArgMinWithValue": (
        _arg_with_value(call.argmin_with_value),
        (
            "``ArgMinWithValue(axis=0, keep_dims=False)(x)``: the index (int32) of the smallest element, and "
            "that element."
        ),
    ),
    "ConfusionMatrix": (
        lambda num_classes, dtype="int32": (
            lambda labels, predictions, weights=None: _confusion(labels, predictions, weights, num_classes, dtype)
        ),
        (
            '``ConfusionMatrix(num_classes, dtype="int32")(labels, predictions, weights=None)``: counts '
            "[label, prediction]."
        ),
    ),
    "CumulativeLogsumexp": (
        _log_cumulative,
        "``CumulativeLogsumexp(exclusive=False, reverse=False)(x, axis)``: log of the running sum of exp(x).",
    ),
    "Lstsq": (
        lambda fast=True, l2_regularizer=0.0: lambda x, a: _least_squares(x, a, l2_regularizer),
        (
            "``Lstsq(fast=True, l2_regularizer=0.0)(x, a)``: least squares, see `ops.lstsq`; ValueError for a"
            " regularizer."
        ),
    ),
    "Median": (
        _median,
        (
            "``Median(global_median=False, axis=0, keep_dims=False, ignore_nan=False)(x)``: the lower median "
            "and its index."
        ),
    ),
    "ReduceProd": (
        _reduction(_prod),
        "``ReduceProd(keep_dims=False)(x, axis=())``: the product over axes; integers keep their dtype.",
    ),
    "ReduceSum": (
        _reduce_sum,
        """``ReduceSum(keep_dims=False, skip_mode=False)(x, axis=())``: the sum over axes; integers keep their dtype.

    An empty `axis` means all axes, with `skip_mode` none.

    >>> from autodiff_compiler import Tensor, ops
    >>> ops.ReduceSum(keep_dims=True)(Tensor([[1.0, 2.0], [3.0, 4.0]]), 1).tolist()
    [[3.0], [7.0]]
    """,
    ),
}

_MAKERS |= _FUNCTIONS
for _name, (_make, _doc) in _MAKERS.items():
    globals()[_name] = operation(_name, _make, __name__, _doc)
__all__ += _MAKERS
