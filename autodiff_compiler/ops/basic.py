"""MindSpore's basic functions: arithmetic, comparison, reductions, shapes, creation.

Everything here promotes and broadcasts as `Tensor` operators do, runs on eager Tensors and, in compiled code, on IR
values.  Axes, shapes and dtypes must be Python values; a Tensor there is a StaticValueError in compiled code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..dtypes import dtype_of
from ..errors import ShapeError, UnsupportedCallError
from ..ir.primitive import METHODS, F, call
from ..primitives.family import all_if_none, as_tensor, normal_axis, promoted_dtype, require
from ..runtime.trees import parts, with_parts
from .forwarding import binary, unary

# fmt: off
__all__ = [
    "abs", "absolute", "add", "all", "amax", "amin", "any", "arange", "argmax", "argmin", "bitwise_and",
    "bitwise_or", "bitwise_xor", "broadcast_to", "cast", "cat", "clip_by_value", "concat", "cos",
    "div", "divide", "dot", "eq", "equal", "exp", "expand_dims", "flatten", "floor_div", "floor_divide",
    "floor_mod", "full", "full_like", "gather", "ge", "greater", "greater_equal", "gt", "le", "less",
    "less_equal", "log", "logical_and", "logical_not", "logical_or", "logical_xor", "lt",
    "masked_fill", "matmul", "max", "maximum", "mean", "min", "minimum", "mul", "multiply", "ne", "neg",
    "negative", "not_equal", "one_hot", "ones", "ones_like", "permute", "pow", "rank", "reduce_max",
    "reduce_mean", "reduce_min", "reduce_sum", "relu", "remainder", "reshape", "select", "shape", "sigmoid", "sign",
    "sin", "sqrt", "square", "squeeze", "stack", "stop_gradient", "sub", "subtract", "sum", "swapaxes",
    "tanh", "transpose", "true_divide", "unsqueeze", "where", "zeros", "zeros_like",
]
# fmt: on

_Function = Callable[..., Any]


# ------------------------------------------------------------------------------------------------ elementwise
abs = absolute = unary("abs")
neg = negative = unary("neg")
sign = unary("sign")
exp, log, sqrt = unary("exp"), unary("log"), unary("sqrt", "x")
sin, cos, tanh, sigmoid = unary("sin"), unary("cos"), unary("tanh"), unary("sigmoid")
logical_not = unary("logical_not")

add, mul = binary("add"), binary("mul")
sub = binary("sub")
multiply = mul
floor_div, floor_divide = binary("floordiv", "x"), binary("floordiv")
floor_mod, remainder = binary("mod", "x"), binary("mod")
maximum, minimum = binary("maximum"), binary("minimum")
matmul = binary("matmul")
equal = eq = binary("equal")
not_equal = ne = binary("not_equal")
less = lt = binary("less")
less_equal = le = binary("less_equal")
greater = gt = binary("greater")
greater_equal = ge = binary("greater_equal")
logical_and, logical_or, logical_xor = binary("logical_and"), binary("logical_or"), binary("logical_xor")
bitwise_and, bitwise_or, bitwise_xor = binary("bitwise_and"), binary("bitwise_or"), binary("bitwise_xor")


def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """True quotient; with a `rounding_mode` rounded towards minus infinity ("floor") or towards 0 ("trunc").

    >>> from autodiff_compiler import Tensor
    >>> div(Tensor([7, -7]), 2, rounding_mode="trunc").tolist()
    [3, -3]
    """
    return METHODS["div"](input, other, rounding_mode=rounding_mode)


divide = div


def true_divide(dividend: Any, divisor: Any) -> Any:
    """True quotient; integers become float32 first."""
    return call.div(dividend, divisor)


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


def pow(input: Any, exponent: Any) -> Any:
    """`input` to the power of `exponent`, element by element.

    >>> from autodiff_compiler import Tensor
    >>> pow(Tensor([1.0, 2.0, 3.0]), 2).tolist()
    [1.0, 4.0, 9.0]
    """
    return call.pow(input, exponent)


def square(input: Any) -> Any:
    """The square of every element.

    >>> from autodiff_compiler import Tensor
    >>> square(Tensor([2.0, -3.0])).tolist()
    [4.0, 9.0]
    """
    return call.mul(input, input)


def clip_by_value(x: Any, clip_value_min: Any = None, clip_value_max: Any = None) -> Any:
    """Elements below the lower bound and above the upper one replaced by it; at a bound the cotangent is halved.

    Several tensors in a tuple or list are clipped one by one.

    >>> from autodiff_compiler import Tensor
    >>> [t.tolist() for t in clip_by_value((Tensor([3.0]), Tensor([-2.0])), -1.0, 1.0)]
    [[1.0], [-1.0]]
    """
    return call.clip_by_value(x, clip_value_min, clip_value_max)


def where(condition: Any, input: Any, other: Any) -> Any:
    """The elements of `input` where the condition holds, else those of `other`; both sides are computed.

    >>> from autodiff_compiler import Tensor
    >>> where(Tensor([True, False]), Tensor([1.0, 2.0]), 0.0).tolist()
    [1.0, 0.0]
    """
    return call.where(condition, input, other)


def select(condition: Any, input: Any, other: Any) -> Any:
    """MindSpore's older name of `where`."""
    return call.where(condition, input, other)


def masked_fill(input_x: Any, mask: Any, value: Any) -> Any:
    """`input_x` with `value` where the mask holds.

    >>> from autodiff_compiler import Tensor
    >>> masked_fill(Tensor([1.0, 2.0]), Tensor([True, False]), 9.0).tolist()
    [9.0, 2.0]
    """
    return call.masked_fill(input_x, mask, value)


def cast(input: Any, dtype: Any) -> Any:
    """The same numbers in another dtype; a cast of a float to an integer or bool ends its derivative."""
    return call.cast(input, dtype)


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
def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """Sum over dimensions (all by default); smaller integers and bools are summed as int64.

    >>> from autodiff_compiler import Tensor
    >>> sum(Tensor([[1.0, 2.0], [3.0, 4.0]]), 0).tolist()
    [4.0, 6.0]
    """
    return call.sum(input, all_if_none(dim), dtype, keepdim)


def mean(x: Any, axis: Any = None, keep_dims: bool = False) -> Any:
    """Mean over axes (all by default); that of integers is the integer next to it towards 0.

    >>> from autodiff_compiler import Tensor
    >>> mean(Tensor([9, 3, 4, 5])).item(), mean(Tensor([9.0, 3.0, 4.0, 5.0])).item()
    (5, 5.25)
    """
    return METHODS["mean"](x, axis, keep_dims)


def max(
    input: Any, axis: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None
) -> tuple[Any, Any]:
    """Greatest elements along an axis and where they stand (the first of several); the whole cotangent goes there.

    Without an axis: the greatest of all elements, and 0.  Elements count as `initial` where they are less or `where`
    fails; ValueError for `where` without `initial`.
    """
    return _extreme(call.max, call.argmax, call.bounded("max", input, initial, where), axis, keepdims)


def min(
    input: Any, axis: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None
) -> tuple[Any, Any]:
    """Smallest elements along an axis and where they stand (the first of several); see `max`."""
    return _extreme(call.min, call.argmin, call.bounded("min", input, initial, where), axis, keepdims)


def _extreme(of_all: _Function, position: _Function, x: Any, axis: Any, keepdims: bool) -> tuple[Any, Any]:
    x = as_tensor(x, "input")
    if axis is None:
        return of_all(x), call.full((), 0, dtype_of("int64"))
    index = call.cast(position(x, axis, True), dtype_of("int64"))  # `argmin` gives an int32
    values = F.take_along_axis(x, index, axis=normal_axis(axis, x.ndim))
    return (values, index) if keepdims else (call.squeeze(values, axis), call.squeeze(index, axis))


def amax(input: Any, axis: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None) -> Any:
    """Greatest element over axes (all by default) where `where` holds, or `initial` if that is greater.

    Ties share the cotangent evenly.  ValueError for `where` without `initial`.
    """
    return call.amax(input, all_if_none(axis), keepdims, initial=initial, where=where)


def amin(input: Any, axis: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None) -> Any:
    """Smallest element over axes (all by default) where `where` holds, or `initial` if that is smaller.

    Ties share the cotangent evenly.  ValueError for `where` without `initial`.
    """
    return call.amin(input, all_if_none(axis), keepdims, initial=initial, where=where)


def reduce_sum(x: Any, axis: Any = ()) -> Any:
    """Sum over axes, all for an empty tuple; integers keep their dtype.

    >>> from autodiff_compiler import Tensor
    >>> reduce_sum(Tensor([[1.0, 2.0], [3.0, 4.0]]), 1).tolist()
    [3.0, 7.0]
    """
    x = as_tensor(x)
    total = call.sum(x, all_if_none(axis))
    return call.cast(total, x.dtype) if x.dtype.is_int else total


def reduce_mean(x: Any, axis: Any = ()) -> Any:
    """Mean over axes, all for an empty tuple.

    >>> from autodiff_compiler import Tensor
    >>> reduce_mean(Tensor([[1.0, 3.0], [5.0, 7.0]]), 0).tolist()
    [3.0, 5.0]
    """
    return call.mean(x, all_if_none(axis))


def reduce_max(x: Any, axis: Any = ()) -> Any:
    """Greatest element over axes, all for an empty tuple; ties share the cotangent evenly."""
    return call.max(x, all_if_none(axis))


def reduce_min(x: Any, axis: Any = ()) -> Any:
    """Smallest element over axes, all for an empty tuple; ties share the cotangent evenly."""
    return call.min(x, all_if_none(axis))


def all(input: Any, axis: Any = None, keep_dims: bool = False) -> Any:
    """Whether every element over the axes (all by default) holds; numbers hold where they are not zero."""
    return call.all(input, all_if_none(axis), keep_dims)


def any(input: Any, axis: Any = None, keep_dims: bool = False) -> Any:
    """Whether any element over the axes (all by default) holds; numbers hold where they are not zero."""
    return call.any(input, all_if_none(axis), keep_dims)


def argmax(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Index (int64) of the greatest element along a dimension, of the flat tensor by default.

    >>> from autodiff_compiler import Tensor
    >>> argmax(Tensor([[1.0, 3.0], [4.0, 2.0]]), 1).tolist()
    [1, 0]
    """
    return call.argmax(input, dim, keepdim)


def argmin(input: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Index (int32) of the smallest element along an axis, of the flat tensor by default."""
    return call.argmin(input, axis, keepdims)


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


def reshape(input: Any, shape: Any) -> Any:
    """The same elements in row-major order under another shape; one size may be -1.

    >>> from autodiff_compiler import Tensor
    >>> reshape(Tensor([[1, 2, 3], [4, 5, 6]]), (3, -1)).tolist()
    [[1, 2], [3, 4], [5, 6]]
    """
    return call.reshape(input, shape)


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


def transpose(input: Any, dims: Any) -> Any:
    """The dimensions in the order `dims`.

    >>> from autodiff_compiler import Tensor
    >>> transpose(Tensor([[1, 2, 3], [4, 5, 6]]), (1, 0)).tolist()
    [[1, 4], [2, 5], [3, 6]]
    """
    return call.transpose(input, dims)


def permute(input: Any, axis: Any) -> Any:
    """The dimensions in the order `axis`."""
    return call.transpose(input, axis)


def swapaxes(input: Any, axis0: int, axis1: int) -> Any:
    """Two dimensions exchanged."""
    return call.swapaxes(input, axis0, axis1)


def broadcast_to(input: Any, shape: Any) -> Any:
    """The tensor repeated along new leading dimensions and those of size 1; -1 keeps a size.

    >>> from autodiff_compiler import Tensor
    >>> broadcast_to(Tensor([1, 2]), (2, -1)).tolist()
    [[1, 2], [1, 2]]
    """
    return call.broadcast_to(input, shape)


def squeeze(input: Any, axis: Any = None) -> Any:
    """Dimensions of size 1 removed, all of them by default.

    >>> from autodiff_compiler import Tensor
    >>> squeeze(Tensor([[1, 2]])).tolist()
    [1, 2]
    """
    return call.squeeze(input, axis)


def expand_dims(input_x: Any, axis: Any) -> Any:
    """A new dimension of size 1 at `axis` of the result.

    >>> from autodiff_compiler import Tensor
    >>> expand_dims(Tensor([1, 2]), 0).tolist()
    [[1, 2]]
    """
    return call.expand_dims(input_x, axis)


def unsqueeze(input: Any, dim: Any) -> Any:
    """A new dimension of size 1 at `dim` of the result."""
    return call.expand_dims(input, dim)


def concat(tensors: Sequence[Any], axis: int = 0) -> Any:
    """Tensors joined along an existing dimension.

    >>> from autodiff_compiler import Tensor
    >>> concat((Tensor([[1, 2]]), Tensor([[3, 4]])), axis=1).tolist()
    [[1, 2, 3, 4]]
    """
    return call.concat(tensors, axis)


cat = concat


def stack(tensors: Sequence[Any], axis: int = 0) -> Any:
    """Tensors of one shape joined along a new dimension.

    >>> from autodiff_compiler import Tensor
    >>> stack((Tensor([1, 2]), Tensor([3, 4]))).tolist()
    [[1, 2], [3, 4]]
    """
    return call.stack(tensors, axis)


def gather(input_params: Any, input_indices: Any, axis: int, batch_dims: int = 0) -> Any:
    """Slices along an axis at the given positions, whose shape takes the axis' place; IndexError outside.

    The first `batch_dims` dimensions of both run together.

    >>> from autodiff_compiler import Tensor
    >>> gather(Tensor([[1, 2], [3, 4], [5, 6]]), Tensor([2, 0]), 0).tolist()
    [[5, 6], [1, 2]]
    """
    return call.gather(input_params, input_indices, axis, batch_dims)


# ------------------------------------------------------------------------------------------------ creation
def zeros(size: Any, dtype: Any = None) -> Any:
    """A tensor of zeros, float32 by default.

    >>> zeros((2, 2)).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    return call.zeros(size, dtype)


def ones(shape: Any, dtype: Any = None) -> Any:
    """A tensor of ones, float32 by default.

    >>> ones((2, 2)).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    return call.ones(shape, dtype)


def full(size: Any, fill_value: Any, *, dtype: Any = None) -> Any:
    """A tensor whose elements all are `fill_value`."""
    return call.full(size, fill_value, dtype)


def zeros_like(input: Any, *, dtype: Any = None) -> Any:
    """Zeros of the shape of `input`, and of its dtype by default.

    >>> from autodiff_compiler import Tensor
    >>> zeros_like(Tensor([1, 2])).tolist()
    [0, 0]
    """
    return call.zeros_like(input, dtype)


def ones_like(input: Any, *, dtype: Any = None) -> Any:
    """Ones of the shape of `input`, and of its dtype by default."""
    return call.ones_like(input, dtype)


def full_like(input: Any, fill_value: Any, *, dtype: Any = None) -> Any:
    """`fill_value` in the shape of `input`, and of its dtype by default."""
    return call.full_like(input, fill_value, dtype)


def arange(start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any = None) -> Any:
    """The numbers from start (0 if only one argument is given) up to before end.

    >>> arange(1, 6, 2).tolist()
    [1, 3, 5]
    """
    return call.arange(start, end, step, dtype)


def one_hot(indices: Any, depth: int, on_value: Any = 1, off_value: Any = 0, axis: int = -1) -> Any:
    """A new dimension of size `depth` at `axis`: `on_value` at the position each index names, elsewhere `off_value`.

    An index outside of 0 ... depth - 1 names no position.

    >>> from autodiff_compiler import Tensor
    >>> one_hot(Tensor([1, 3]), 3).tolist()
    [[0, 1, 0], [0, 0, 0]]
    """
    return call.one_hot(indices, depth, on_value, off_value, axis)
