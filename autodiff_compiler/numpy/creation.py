"""New arrays: of given elements, filled, counted, spaced; windows.

The default dtype is float32; Python's integers make int32 and its other numbers float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Never

import numpy as np

from ..dtypes import float32, float64, int32
from ..ir.primitive import call, distinct
from ..ir.types import tensor
from ..keywords import answering, refuse_unknown
from ..no_memory import naming_memory
from ..primitives.family import broadcast_shapes, broadcast_to, cast, constant, in_dtype, is_tensor
from ..primitives.requirements import SymScalar, require, static_int, static_number
from ..runtime.tensor import Tensor
from .operands import converted, dtype_named, operand


# ------------------------------------------------------------------------------------------------ of elements
def asarray(a: Any, dtype: Any = None) -> Any:
    """A Tensor of the same elements, or of numbers and nested lists; `dtype` converts.

    >>> from autodiff_compiler import numpy as np
    >>> np.asarray([1, 2, 3]).dtype, np.asarray([1, 2.5]).dtype
    (autodiff_compiler.int32, autodiff_compiler.float32)
    """
    if dtype is not None and not _has_tensors(a):
        named = dtype_named(dtype)
        return in_dtype(a, named) if not isinstance(a, tuple | list) else _listed(a, named)
    return distinct(converted(operand(a, "a"), dtype), a)


def _has_tensors(a: Any) -> bool:
    return any(map(_has_tensors, a)) if isinstance(a, tuple | list) else is_tensor(a) or a.__class__ is SymScalar


def _listed(a: Sequence[Any], dtype: Any) -> Any:
    operand(a, "a")  # refuses what is no array
    values = np.array(a).astype(dtype.numpy)
    return constant(values, tensor(dtype, values.shape))


def array(obj: Any, dtype: Any = None, copy: bool = True, ndmin: int = 0) -> Any:
    """A new Tensor of a Tensor, a number or nested lists, with `ndmin` dimensions at least (new ones come first).

    `copy` changes nothing: the elements are copied when one of the two is written.

    >>> from autodiff_compiler import numpy as np
    >>> np.array([[1, 2], [3, 4]]).shape, np.array([1.5], ndmin=2).shape
    ((2, 2), (1, 1))
    """
    found = asarray(obj, dtype)
    if ndmin > found.ndim:
        found = call.reshape(found, (1,) * (ndmin - found.ndim) + tuple(found.shape))
    return found


def asfarray(a: Any, dtype: Any = float32) -> Any:
    """`asarray` in a float dtype; float32 where another one is named.

    >>> from autodiff_compiler import numpy as np
    >>> np.asfarray([1, 2]).tolist()
    [1.0, 2.0]
    """
    if dtype is None:
        return asarray(a)
    named = dtype_named(dtype)
    return asarray(a, named if named.is_float else float32)


# ------------------------------------------------------------------------------------------------ filled
def _sizes(shape: Any) -> tuple[int, ...]:
    shape = shape.tolist() if isinstance(shape, Tensor) else shape
    sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    sizes = tuple(static_int(n, "shape") for n in sizes)
    require(all(n >= 0 for n in sizes), f"a shape has no negative sizes: {list(sizes)}")
    return sizes


def ones(shape: Any, dtype: Any = float32) -> Any:
    """An array of ones.

    >>> from autodiff_compiler import numpy as np
    >>> np.ones((2, 2)).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    return call.ones(_sizes(shape), dtype_named(dtype))


def zeros(shape: Any, dtype: Any = float32) -> Any:
    """An array of zeros."""
    return call.zeros(_sizes(shape), dtype_named(dtype))


def empty(shape: Any, dtype: Any = float32) -> Any:
    """An array whose elements are to be set: zeros."""
    return zeros(shape, dtype)


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    """An array of one value, or of values that are broadcast.

    >>> from autodiff_compiler import numpy as np
    >>> np.full((2, 2), [1, 2]).tolist()
    [[1, 2], [1, 2]]
    """
    return call.broadcast_to(asarray(fill_value, dtype), _sizes(shape))


def _like(a: Any, dtype: Any, shape: Any) -> tuple[Any, Any]:
    prototype = operand(a, "a")
    given = shape is not None and not (isinstance(shape, tuple | list) and not shape)
    return (shape if given else tuple(prototype.shape)), (prototype.dtype if dtype is None else dtype)


def ones_like(a: Any, dtype: Any = None, shape: Any = None) -> Any:
    """An array of ones with the shape and dtype of another, unless they are given."""
    return ones(*_like(a, dtype, shape))


def zeros_like(a: Any, dtype: Any = None, shape: Any = None) -> Any:
    """An array of zeros with the shape and dtype of another, unless they are given."""
    return zeros(*_like(a, dtype, shape))


def empty_like(prototype: Any, dtype: Any = None, shape: Any = None) -> Any:
    """An array to be set, with the shape and dtype of another, unless they are given: zeros."""
    return zeros_like(prototype, dtype, shape)


def full_like(a: Any, fill_value: Any, dtype: Any = None, shape: Any = None) -> Any:
    """An array of one value with the shape and dtype of another, unless they are given."""
    sizes, named = _like(a, dtype, shape)
    return full(sizes, converted(operand(fill_value), named))


# ------------------------------------------------------------------------------------------------ diagonals
def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = float32) -> Any:
    """An N x M matrix (square by default) with ones on its k-th diagonal.

    >>> from autodiff_compiler import numpy as np
    >>> np.eye(2, 3, 1, np.int32).tolist()
    [[0, 1, 0], [0, 0, 1]]
    """
    rows, columns, diagonal = _int(N, "N"), _int(N if M is None else M, "M"), _int(k, "k")
    return _matrix(lambda: np.eye(rows, columns, diagonal), dtype)


def _int(x: Any, parameter: str) -> int:
    n = static_int(x, parameter)
    require(parameter == "k" or n >= 0, f"`{parameter}` must not be negative, but is {n}")
    return n


def _matrix(make: Callable[[], np.ndarray[Any, Any]], dtype: Any) -> Any:
    named = dtype_named(dtype)
    with naming_memory():
        values = make().astype(named.numpy)
    return constant(values, tensor(named, values.shape))


def identity(n: int, dtype: Any = float32) -> Any:
    """A square matrix with ones on its diagonal."""
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float32) -> Any:
    """An N x M matrix (square by default) with ones on and below its k-th diagonal.

    >>> from autodiff_compiler import numpy as np
    >>> np.tri(2).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    rows, columns, diagonal = _int(N, "N"), _int(N if M is None else M, "M"), _int(k, "k")
    return _matrix(lambda: np.tri(rows, columns, diagonal), dtype)


# ------------------------------------------------------------------------------------------------ counted, spaced
def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> Any:
    """The numbers from `start` (or 0) up to before `stop`, `step` apart: int32 for integers, else float32.

    >>> from autodiff_compiler import numpy as np
    >>> np.arange(0, 5, 2).tolist(), np.arange(3.0).tolist()
    ([0, 2, 4], [0.0, 1.0, 2.0])
    """
    given = [static_number(x, p) for x, p in ((start, "start"), (stop, "stop"), (step, "step")) if x is not None]
    given = [x.item() if is_tensor(x) and x.size == 1 else x for x in given]
    default = int32 if all(isinstance(x, int) for x in given) else float32
    given = given if stop is not None else [0, given[0], *given[1:]]
    return call.arange(*given, dtype=default if dtype is None else dtype_named(dtype))


def _ends(start: Any, stop: Any, num: Any, endpoint: Any) -> tuple[Any, Any, int]:
    if not isinstance(endpoint, bool):
        raise TypeError(f"`endpoint` must be a bool, not a {type(endpoint).__name__}")
    count = static_int(num, "num")
    require(count > 0, f"`num` must be positive, not {count}")
    low, high = (operand(x, p) for x, p in ((start, "start"), (stop, "stop")))
    dtype = float64 if float64 in (low.dtype, high.dtype) else float32
    shape = broadcast_shapes([low.shape, high.shape], "start and stop")
    return broadcast_to(cast(low, dtype), shape), broadcast_to(cast(high, dtype), shape), count


def _column(count: int, parts: int, like: Any) -> Any:
    """0, 1, ... divided by a number of parts, of the dtype of an array and along a new first axis of it."""
    with naming_memory():
        values = (np.arange(count) / parts).astype(like.dtype.numpy)
    column = constant(values, tensor(like.dtype, values.shape))
    return call.reshape(column, (-1,) + (1,) * like.ndim)


@answering
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    **unknown: Never,
) -> Any:
    """`num` numbers from `start` to `stop`, in float32 at least, at equal distances.

    Without `endpoint` they stop before `stop`.  Both ends may be arrays, for which `axis` is the new axis.  With
    `retstep` also the distance.

    >>> from autodiff_compiler import numpy as np
    >>> np.linspace(0, 1, 5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    if unknown:
        refuse_unknown(linspace, unknown)
    low, high, count = _ends(start, stop, num, endpoint)
    parts = count - 1 if endpoint else count
    step = call.div(call.sub(high, low), parts) if parts else call.full_like(low, math.nan)
    if parts:
        # Whole steps are exact where thirds and the like would not be; the last point is `stop` itself.
        numbers = _column(count, 1, low)
        points = call.add(low, call.mul(step, numbers))
        points = call.where(call.equal(numbers, parts), high, points)
    else:
        points = call.expand_dims(low, 0)
    found = converted(call.moveaxis(points, 0, axis), dtype)
    if not isinstance(retstep, bool):
        raise TypeError(f"`retstep` must be a bool, not a {type(retstep).__name__}")
    return (found, step) if retstep else found


@answering
def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
    **unknown: Never,
) -> Any:
    """`base` to the powers of `linspace`.

    >>> from autodiff_compiler import numpy as np
    >>> np.logspace(0, 3, 4, base=2.0).tolist()
    [1.0, 2.0, 4.0, 8.0]
    """
    if unknown:
        refuse_unknown(logspace, unknown)
    if not isinstance(base, int | float):
        raise TypeError(f"`base` must be a number, not a {type(base).__name__}")
    powers = linspace(start, stop, num, endpoint, axis=axis)
    return converted(call.pow(float(base), powers), dtype)


@answering
def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0, **unknown: Never
) -> Any:
    """`num` numbers from `start` to `stop`, in float32 at least, with equal quotients; both have the same sign.

    >>> from autodiff_compiler import numpy as np
    >>> np.geomspace(1, 16, 5).tolist()
    [1.0, 2.0, 4.0, 8.0, 16.0]
    """
    if unknown:
        refuse_unknown(geomspace, unknown)
    low, high, count = _ends(start, stop, num, endpoint)
    parts = (count - 1 if endpoint else count) or 1
    points = call.mul(low, call.pow(call.div(high, low), _column(count, parts, low)))
    return converted(call.moveaxis(points, 0, axis), dtype)


# ------------------------------------------------------------------------------------------------ windows
def _window(values: Any, M: int) -> Any:
    if not isinstance(M, int):
        raise TypeError(f"a window has a whole number of points, not a {type(M).__name__}")
    return _matrix(lambda: values(M), float32)


def bartlett(M: int) -> Any:
    """The triangular window of M points, 0 at its ends.

    >>> from autodiff_compiler import numpy as np
    >>> np.bartlett(5).tolist()
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    return _window(np.bartlett, M)


def blackman(M: int) -> Any:
    """The Blackman window of M points."""
    return _window(np.blackman, M)


def hamming(M: int) -> Any:
    """The Hamming window of M points."""
    return _window(np.hamming, M)


def hanning(M: int) -> Any:
    """The Hann window of M points."""
    return _window(np.hanning, M)
