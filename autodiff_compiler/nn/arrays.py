"""Functions of arrays as Cells: shapes, parts, norms, one-hot codes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import ops
from ..dtypes import dtype_of, float32
from ..runtime.tensor import Tensor
from .arguments import flag, integer, number
from .cell import Cell
from .layer import Layer


class Identity(Cell):
    """Returns its argument unchanged; arguments of the constructor are ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def construct(self, x: Any) -> Any:
        return x


class Unflatten(Cell):
    """A dimension made several, of the sizes `unflattened_size`, one of which may be -1.

    >>> from autodiff_compiler import ops
    >>> Unflatten(1, (3, -1))(ops.ones((2, 12))).shape
    (2, 3, 4)
    """

    def __init__(self, axis: int, unflattened_size: Any) -> None:
        super().__init__()
        self.axis = integer("axis", axis)
        if not isinstance(unflattened_size, tuple | list):
            raise TypeError(f"`unflattened_size` must be a tuple or a list, not a {type(unflattened_size).__name__}")
        self.unflattened_size = tuple(unflattened_size)

    def construct(self, x: Any) -> Any:
        axis = self.axis + x.ndim if self.axis < 0 else self.axis
        return ops.reshape(x, (*x.shape[:axis], *self.unflattened_size, *x.shape[axis + 1 :]))


class OneHot(Cell):
    """`on_value` at the position that an integer names along a new axis of size `depth`, elsewhere `off_value`.

    >>> from autodiff_compiler import Tensor
    >>> OneHot(depth=3)(Tensor([0, 2])).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """

    def __init__(
        self, axis: int = -1, depth: int = 1, on_value: float = 1.0, off_value: float = 0.0, dtype: Any = float32
    ) -> None:
        super().__init__()
        self.axis, self.depth = integer("axis", axis), integer("depth", depth, 0)
        self.dtype = dtype_of(dtype)
        self.on_value, self.off_value = on_value, off_value

    def construct(self, indices: Any) -> Any:
        on, off = Tensor(self.on_value, self.dtype), Tensor(self.off_value, self.dtype)
        return ops.one_hot(indices, self.depth, on, off, self.axis)


class Range(Cell):
    """The numbers from `start` up to `limit`, or from 0 up to `start` without a limit, in steps of `delta`.

    >>> Range(1, 8, 2)().tolist()
    [1, 3, 5, 7]
    """

    def __init__(self, start: float, limit: float | None = None, delta: float = 1) -> None:
        super().__init__()
        if number("delta", delta) == 0:
            raise ValueError("`delta` must not be 0")
        first, end = (0, number("start", start)) if limit is None else (number("start", start), number("limit", limit))
        kind = np.float32 if any(isinstance(v, float) for v in (first, end, delta)) else np.int32
        self.result_tensor = Tensor(np.arange(first, end, delta, dtype=kind))

    def construct(self) -> Any:
        return self.result_tensor


class MatMul(Layer, parameters="transpose_x1: flag = False, transpose_x2: flag = False"):
    """The matrix product of two inputs, with the last two dimensions of one exchanged first by its `transpose_x...`.

    >>> from autodiff_compiler import ops
    >>> MatMul(transpose_x2=True)(ops.ones((5, 2, 3)), ops.ones((4, 3))).shape
    (5, 2, 4)
    """

    def construct(self, x1: Any, x2: Any) -> Any:
        if self.transpose_x1 and x1.ndim > 1:
            x1 = ops.swapaxes(x1, -1, -2)
        if self.transpose_x2 and x2.ndim > 1:
            x2 = ops.swapaxes(x2, -1, -2)
        return ops.matmul(x1, x2)


class Norm(Layer, parameters="axis=(), keep_dims: flag = False", shown="axis, keep_dims"):
    """The root of the sum of squares over axes, by default over all.

    >>> from autodiff_compiler import Tensor
    >>> Norm()(Tensor([3.0, 4.0])).item()
    5.0
    """

    def _make(self, axis: Any) -> None:
        self.axis = None if axis == () else axis

    def construct(self, x: Any) -> Any:
        return ops.sqrt(ops.sum(ops.square(x), self.axis, self.keep_dims))


class Moments(Cell):
    """The mean and the (biased) variance over axes, by default over all."""

    def __init__(self, axis: Any = None, keep_dims: bool | None = None) -> None:
        super().__init__()
        self.axis = None if axis == () else axis
        self.keep_dims = False if keep_dims is None else flag("keep_dims", keep_dims)

    def construct(self, x: Any) -> Any:
        center = ops.mean(x, self.axis, True)
        variance = ops.mean(ops.square(x - center), self.axis, self.keep_dims)
        return ops.mean(x, self.axis, self.keep_dims), variance


class ReduceLogSumExp(Layer, parameters="axis, keep_dims: flag = False"):
    """log of the sum of exp(x) over axes, without overflow."""

    def construct(self, x: Any) -> Any:
        axis = tuple(range(x.ndim)) if self.axis == () else self.axis
        return ops.logsumexp(x, axis, self.keep_dims)


class ClipByNorm(Cell):
    """x scaled so that its norm over axes (by default all) is not greater than `clip_norm`.

    >>> from autodiff_compiler import Tensor
    >>> ClipByNorm()(Tensor([3.0, 4.0]), Tensor(1.0)).tolist()
    [0.6..., 0.8...]
    """

    def __init__(self, axis: Any = None) -> None:
        super().__init__()
        self.axis = None if axis == () else axis

    def construct(self, x: Any, clip_norm: Any) -> Any:
        squares = ops.sum(ops.square(x), self.axis, True)
        norm = ops.sqrt(ops.where(squares > 0, squares, ops.ones_like(squares)))
        norm = ops.where(squares > 0, norm, squares)
        return x * clip_norm / ops.maximum(norm, clip_norm)


class L1Regularizer(Layer, parameters="scale: number"):
    """`scale` times the sum of absolute values of the weights; TypeError, ValueError: no finite positive number."""

    def _make(self) -> None:
        if not self.scale > 0 or math.isinf(self.scale):
            raise ValueError(f"`scale` must be a finite number greater than 0, not {self.scale}")

    def construct(self, weights: Any) -> Any:
        return ops.sum(ops.abs(weights)) * self.scale
