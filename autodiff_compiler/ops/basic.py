"""MindSpore's basic functions: arithmetic, comparison, reductions, shapes, creation.

Everything here promotes and broadcasts as `Tensor` operators do, runs on eager Tensors and, in compiled code, on IR
values.  Axes, shapes and dtypes must be Python values; a Tensor there is a StaticValueError in compiled code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Never

from ..dtypes import dtype_of
from ..errors import ShapeError, UnsupportedCallError
from ..ir.primitive import METHODS, F, call
from ..keywords import answering, refuse_unknown
from ..primitives.family import all_if_none, as_tensor, normal_axis, promoted_dtype
from ..primitives.requirements import require
from ..runtime.trees import parts, with_parts

__all__ = [
    "div",
    "divide",
    "dot",
    "flatten",
    "max",
    "mean",
    "min",
    "rank",
    "reduce_sum",
    "relu",
    "shape",
    "stop_gradient",
    "subtract",
]

_Function = Callable[..., Any]


# ------------------------------------------------------------------------------------------------ elementwise


def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """True quotient; with a `rounding_mode` rounded towards minus infinity ("floor") or towards 0 ("trunc").

    >>> from autodiff_compiler import Tensor
    >>> div(Tensor([7, -7]), 2, rounding_mode="trunc").tolist()
    [3, -3]
    """
    return METHODS["div"](input, other, rounding_mode=rounding_mode)


divide = div


def subtract(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """input - alpha * other.

    >>> from autodiff_compiler import Tensor
    >>> subtract(Tensor([5, 7]), Tensor([1, 2]), alpha=2).tolist()
    [3, 3]
    """
    return call.sub(input, other if type(alpha) is int and alpha == 1 else call.mul(other, alpha))


def relu(input: Any, inplace: bool = False) -> Any:
    """max(x, 0); its derivative at 0 is 0.  With `inplace` the tensor given is changed and returned.

    >>> from autodiff_compiler import Tensor
    >>> relu(Tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    return _relu_in_place(input) if inplace else call.relu(input)


def _relu_in_place(x: Any) -> Any:
    x[...] = call.relu(x)
    return x


def _relu_in_compiled_code(ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    def bound(input: Any, inplace: bool = False) -> Any:
        return ctx.call_python(_relu_in_place, [input], {}) if inplace else ctx.call(call.relu, [input], {})

    return bound(*args, **kwargs)


relu.__graph_call__ = _relu_in_compiled_code  # type: ignore[attr-defined]


def stop_gradient(value: Any) -> Any:
    """The same value; no derivative passes through it, at any order.  What is no number has none and stays as it is.

    Of a tuple, list or dict it is the same with such values.  TypeError: something else than Tensors, numbers, strings,
    None and these.

    >>> from autodiff_compiler import Tensor
    >>> stop_gradient(Tensor([1.0, 2.0])).tolist()
    [1.0, 2.0]
    >>> [x.tolist() for x in stop_gradient([Tensor(1.0), Tensor(2.0)])]
    [1.0, 2.0]
    """
    if isinstance(value, bool | int | float | str | None):
        return value
    if isinstance(value, tuple | list | dict):
        return with_parts(value, [stop_gradient(x) for x in parts(value) or ()])
    return call.stop_gradient(as_tensor(value, "value"))


# ------------------------------------------------------------------------------------------------ reductions


@answering
def mean(x: Any, axis: Any = None, keep_dims: bool = False, **unknown: Never) -> Any:
    """Mean over axes (all by default); that of integers is the integer next to it towards 0.

    >>> from autodiff_compiler import Tensor
    >>> mean(Tensor([9, 3, 4, 5])).item(), mean(Tensor([9.0, 3.0, 4.0, 5.0])).item()
    (5, 5.25)
    """
    if unknown:
        refuse_unknown(mean, unknown)
    return METHODS["mean"](x, axis, keep_dims)


@answering
def max(
    input: Any, axis: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None, **unknown: Never
) -> tuple[Any, Any]:
    """Greatest elements along an axis and where they stand (the first of several); the whole cotangent goes there.

    Without an axis: the greatest of all elements, and 0.  Elements count as `initial` where they are less or `where`
    fails; ValueError for `where` without `initial`.
    """
    if unknown:
        refuse_unknown(max, unknown)
    return _extreme(call.max, call.argmax, call.bounded("max", input, initial, where), axis, keepdims)


@answering
def min(
    input: Any, axis: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None, **unknown: Never
) -> tuple[Any, Any]:
    """Smallest elements along an axis and where they stand (the first of several); see `max`."""
    if unknown:
        refuse_unknown(min, unknown)
    return _extreme(call.min, call.argmin, call.bounded("min", input, initial, where), axis, keepdims)


def _extreme(of_all: _Function, position: _Function, x: Any, axis: Any, keepdims: bool) -> tuple[Any, Any]:
    x = as_tensor(x, "input")
    if axis is None:
        return of_all(x), call.full((), 0, dtype_of("int64"))
    index = call.cast(position(x, axis, True), dtype_of("int64"))  # `argmin` gives an int32
    values = F.take_along_axis(x, index, axis=normal_axis(axis, x.ndim))
    return (values, index) if keepdims else (call.squeeze(values, axis), call.squeeze(index, axis))


@answering
def reduce_sum(x: Any, axis: Any = (), **unknown: Never) -> Any:
    """Sum over axes, all for an empty tuple; integers keep their dtype.

    >>> from autodiff_compiler import Tensor
    >>> reduce_sum(Tensor([[1.0, 2.0], [3.0, 4.0]]), 1).tolist()
    [3.0, 7.0]
    """
    if unknown:
        refuse_unknown(reduce_sum, unknown)
    x = as_tensor(x)
    total = call.sum(x, all_if_none(axis))
    return call.cast(total, x.dtype) if x.dtype.is_int else total


def dot(input: Any, other: Any) -> Any:
    """Sums of products over the last dimension of `input` and the last but one (or only) dimension of `other`.

    The result has the other dimensions of both: the product of vectors and matrices, as `matmul`, but of tensors of
    more dimensions every matrix with every matrix.  ShapeError for numbers.

    >>> from autodiff_compiler import ops
    >>> dot(ops.ones((2, 3)), ops.ones((4, 3, 5))).shape
    (2, 4, 5)
    """
    x, y = promoted_dtype(input, other)
    if x.ndim < 1 or y.ndim < 1:
        raise ShapeError(f"dot takes vectors, matrices and more, not tensors of {x.ndim} and {y.ndim} dimensions")
    if x.ndim <= 2 and y.ndim <= 2:
        return call.matmul(x, y)
    return call.tensordot(x, y, ((-1,), (y.ndim - 2 if y.ndim > 1 else 0,)))


# ------------------------------------------------------------------------------------------------ shapes
def shape(input_x: Any) -> tuple[Any, ...]:
    """The sizes of the dimensions.

    >>> from autodiff_compiler import Tensor
    >>> shape(Tensor([[1, 2, 3], [4, 5, 6]]))
    (2, 3)
    """
    return tuple(input_x.shape)


def rank(input_x: Any) -> int:
    """The number of dimensions."""
    return len(input_x.shape)


def flatten(input: Any, order: str = "C", *, start_dim: int = 1, end_dim: int = -1) -> Any:
    """The dimensions from `start_dim` to `end_dim` made one; a tensor with less than two stays in one dimension.

    >>> from autodiff_compiler import Tensor
    >>> flatten(Tensor([[[1, 2], [3, 4]]])).tolist()
    [[1, 2, 3, 4]]
    """
    if order != "C":
        raise UnsupportedCallError(f"flatten in the order {order!r} is not available", hint="transpose first")
    x = as_tensor(input, "input")
    if x.ndim < 2:
        return call.reshape(x, (-1,))
    first, last = start_dim % x.ndim, end_dim % x.ndim
    bounds_exist = -x.ndim <= start_dim < x.ndim and -x.ndim <= end_dim < x.ndim
    require(bounds_exist and first <= last, f"dimensions {start_dim} to {end_dim} do not exist in {x.ndim} dimensions")
    return call.reshape(x, (*x.shape[:first], -1, *x.shape[last + 1 :]))
