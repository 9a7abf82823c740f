"""The same elements in another order or shape, repeated, joined, split."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Never

from ..ir.primitive import call, distinct
from ..keywords import answering, refuse_unknown
from ..primitives.family import broadcast_shapes, is_tensor, normal_axes, normal_axis
from ..primitives.rearrange import at_least
from ..primitives.requirements import require, static_int
from .operands import given_tensor, operand, together

# MindSpore 2.10: an axis number from 32 on flattens the arrays.
_MOST_AXES = 32


# ------------------------------------------------------------------------------------------------ order and shape


@answering
def rollaxis(x: Any, axis: int, start: int = 0, **unknown: Never) -> Any:
    """An axis moved before the axis `start`; see `moveaxis`.

    >>> from autodiff_compiler import numpy as np
    >>> np.rollaxis(np.ones((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    if unknown:
        refuse_unknown(rollaxis, unknown)
    n = given_tensor(x).ndim
    for value, parameter in ((axis, "axis"), (start, "start")):
        if not isinstance(value, int):
            raise TypeError(f"`{parameter}` must be an int, not a {type(value).__name__}")
    place = normal_axis(axis, n) + n
    require(-n <= start <= n, f"`start` must be from {-n} to {n}, not {start}")
    start = start + n if start < 0 else start
    return call.moveaxis(x, place, start - 1 if place < start else start)


@answering
def expand_dims(a: Any, axis: Any, **unknown: Never) -> Any:
    """New axes of size 1 at the given places of the result.

    >>> from autodiff_compiler import numpy as np
    >>> np.expand_dims(np.ones((2, 2)), (0, -1)).shape
    (1, 2, 2, 1)
    """
    if unknown:
        refuse_unknown(expand_dims, unknown)
    if not isinstance(axis, int | tuple | list):
        raise TypeError(f"`axis` must be an int, tuple or list, not a {type(axis).__name__}")
    return call.expand_dims(given_tensor(a, "a"), tuple(axis) if isinstance(axis, list) else axis)


def _at_least(arys: Sequence[Any], ndim: int) -> Any:
    found = [distinct(at_least(given_tensor(x, "arys"), ndim), x) for x in arys]
    return found[0] if len(found) == 1 else found


def atleast_1d(*arys: Any) -> Any:
    """Arrays with one dimension at least; a list for several."""
    return _at_least(arys, 1)


def atleast_2d(*arys: Any) -> Any:
    """Arrays with two dimensions at least: vectors are rows."""
    return _at_least(arys, 2)


def atleast_3d(*arys: Any) -> Any:
    """Arrays with three dimensions at least: a vector lies in the middle one, a matrix in the first two.

    >>> from autodiff_compiler import numpy as np
    >>> np.atleast_3d(np.ones(4)).shape, np.atleast_3d(np.ones((4, 2))).shape
    ((1, 4, 1), (4, 2, 1))
    """
    return _at_least(arys, 3)


@answering
def flip(m: Any, axis: Any = None, **unknown: Never) -> Any:
    """The elements in reverse order along axes, by default along all.

    >>> from autodiff_compiler import numpy as np
    >>> np.flip(np.array([[1, 2], [3, 4]]), 1).tolist()
    [[2, 1], [4, 3]]
    """
    if unknown:
        refuse_unknown(flip, unknown)
    return call.flip(given_tensor(m, "m"), normal_axes(axis, m.ndim))


def fliplr(m: Any) -> Any:
    """The elements in reverse order along the second axis."""
    return flip(m, 1)


def flipud(m: Any) -> Any:
    """The elements in reverse order along the first axis."""
    return flip(m, 0)


@answering
def roll(a: Any, shift: Any, axis: Any = None, **unknown: Never) -> Any:
    """The elements moved along axes (in the flat array by default); what leaves the end comes back in front.

    >>> from autodiff_compiler import numpy as np
    >>> np.roll(np.array([0, 1, 2, 3]), 1).tolist()
    [3, 0, 1, 2]
    """
    if unknown:
        refuse_unknown(roll, unknown)
    a = given_tensor(a, "a")
    if axis is not None and isinstance(shift, tuple | list) is not isinstance(axis, tuple | list):
        shift, axis = ((x if isinstance(x, tuple | list) else (x,)) for x in (shift, axis))
        n = max(len(shift), len(axis))
        shift, axis = (tuple(x) * n if len(x) == 1 else tuple(x) for x in (shift, axis))
    return call.roll(a, shift, axis)


def rot90(a: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Any:
    """The plane of two axes rotated k times by 90 degrees, from the first towards the second."""
    if not isinstance(k, int):
        raise TypeError(f"`k` must be an int, not a {type(k).__name__}")
    return call.rot90(given_tensor(a, "a"), k, tuple(axes))


# ------------------------------------------------------------------------------------------------ repeated
def tile(a: Any, reps: Any) -> Any:
    """The whole array repeated ``reps[i]`` times along axis i; missing axes come first.

    >>> from autodiff_compiler import numpy as np
    >>> np.tile(np.array([0, 2]), (2, 2)).tolist()
    [[0, 2, 0, 2], [0, 2, 0, 2]]
    """
    return call.tile(given_tensor(a, "a"), tuple(reps) if isinstance(reps, tuple | list) else (reps,))


def broadcast_to(array: Any, shape: Sequence[int]) -> Any:
    """The array broadcast to a shape.

    >>> from autodiff_compiler import numpy as np
    >>> np.broadcast_to(np.array([1, 2]), (2, 2)).tolist()
    [[1, 2], [1, 2]]
    """
    return call.broadcast_to(operand(array, "array"), tuple(shape) if isinstance(shape, list) else shape)


def broadcast_arrays(*args: Any) -> list[Any]:
    """Arrays broadcast to their common shape."""
    xs = [given_tensor(x, "args") for x in args]
    shape = broadcast_shapes([x.shape for x in xs], "arrays")
    return [call.broadcast_to(x, shape) for x in xs]


# ------------------------------------------------------------------------------------------------ joined
@answering
def concatenate(arrays: Any, axis: int | None = 0, **unknown: Never) -> Any:
    """Arrays joined along an axis, or flat for None, in their common dtype; of one array its slices.

    >>> from autodiff_compiler import numpy as np
    >>> np.concatenate((np.ones((1, 2)), np.zeros((1, 2)))).tolist()
    [[1.0, 1.0], [0.0, 0.0]]
    """
    if unknown:
        refuse_unknown(concatenate, unknown)
    if arrays is None:
        raise TypeError("`arrays` must be a Tensor or a sequence of Tensors, not None")
    parts = call.unbind(arrays, 0) if is_tensor(arrays) else list(arrays)
    if axis is None or axis >= _MOST_AXES:
        parts, axis = [call.reshape(x, (-1,)) for x in parts], 0
    return distinct(parts[0], *parts) if len(parts) == 1 else call.concat(together(*parts), axis)


@answering
def append(arr: Any, values: Any, axis: int | None = None, **unknown: Never) -> Any:
    """The elements of `values` behind those of `arr`, flat or along an axis."""
    if unknown:
        refuse_unknown(append, unknown)
    arr, values = given_tensor(arr, "arr"), given_tensor(values, "values")
    if axis is not None:
        require(arr.ndim == values.ndim, f"the arrays must have as many dimensions, not {arr.ndim} and {values.ndim}")
    return concatenate((arr, values), axis)


@answering
def stack(arrays: Any, axis: int = 0, **unknown: Never) -> Any:
    """Arrays of one shape along a new axis; the slices of one array likewise.

    >>> from autodiff_compiler import numpy as np
    >>> np.stack((np.array([1, 2]), np.array([3, 4])), -1).tolist()
    [[1, 3], [2, 4]]
    """
    if unknown:
        refuse_unknown(stack, unknown)
    return call.stack(_several(arrays), axis)


def _several(tup: Any) -> Any:
    if is_tensor(tup):
        return list(call.unbind(tup, 0))
    if not isinstance(tup, tuple | list):
        raise TypeError(f"several arrays are given in a tuple or list, not in a {type(tup).__name__}")
    require(len(tup) > 0, "at least one array is needed")
    return together(*tup)


def column_stack(tup: Any) -> Any:
    """Vectors as columns, and matrices, side by side; a Tensor as it is."""
    return distinct(tup, tup) if is_tensor(tup) else call.column_stack(_several(tup))


def vstack(tup: Any) -> Any:
    """Arrays joined along the first axis; vectors are rows; a Tensor as it is."""
    return distinct(tup, tup) if is_tensor(tup) else call.vstack(_several(tup))


def hstack(tup: Any) -> Any:
    """Arrays joined along the second axis, vectors along their only one; a Tensor as it is.

    >>> from autodiff_compiler import numpy as np
    >>> np.hstack((np.array([1, 2]), np.array([3]))).tolist()
    [1, 2, 3]
    """
    return distinct(tup, tup) if is_tensor(tup) else call.hstack(_several(tup))


def dstack(tup: Any) -> Any:
    """Arrays joined along the third axis; a Tensor as it is."""
    return distinct(tup, tup) if is_tensor(tup) else call.dstack(_several(tup))


# ------------------------------------------------------------------------------------------------ split
def _split(x: Any, cuts: Any, axis: int, even: bool) -> Any:
    x = given_tensor(x)
    n = x.shape[normal_axis(axis, x.ndim)]
    if isinstance(cuts, int):
        require(0 < cuts <= n, f"{n} elements cannot be split into {cuts} parts that are not empty")
        require(not even or n % cuts == 0, f"{n} elements cannot be split into {cuts} equal parts")
        return tuple(call.tensor_split(x, cuts, axis))
    if not isinstance(cuts, tuple | list):
        raise TypeError(f"`indices_or_sections` must be an int, or a tuple or list of them, not {type(cuts).__name__}")
    ends = [static_int(i, "indices_or_sections") for i in cuts]
    ends = [0, *(i + n if i < 0 else i for i in ends), n]
    require(all(a < b for a, b in itertools.pairwise(ends)), "one of the parts would be empty")
    return list(call.tensor_split(x, tuple(ends[1:-1]), axis))


@answering
def split(x: Any, indices_or_sections: Any, axis: int = 0, **unknown: Never) -> Any:
    """Neighbouring parts along an axis: a tuple of equal ones, or a list of those between the given positions.

    ValueError: parts that are not equal, or empty.

    >>> from autodiff_compiler import numpy as np
    >>> [x.tolist() for x in np.split(np.arange(6), (2, 3))]
    [[0, 1], [2], [3, 4, 5]]
    """
    if unknown:
        refuse_unknown(split, unknown)
    return _split(x, indices_or_sections, axis, even=True)


@answering
def array_split(x: Any, indices_or_sections: Any, axis: int = 0, **unknown: Never) -> Any:
    """`split` into parts that are only as equal as possible."""
    if unknown:
        refuse_unknown(array_split, unknown)
    return _split(x, indices_or_sections, axis, even=False)


def vsplit(x: Any, indices_or_sections: Any) -> Any:
    """`split` along the first axis."""
    return split(x, indices_or_sections, 0)


def hsplit(x: Any, indices_or_sections: Any) -> Any:
    """`split` along the second axis."""
    return split(x, indices_or_sections, 1)


def dsplit(x: Any, indices_or_sections: Any) -> Any:
    """`split` along the third axis."""
    return split(x, indices_or_sections, 2)


# ------------------------------------------------------------------------------------------------ diagonals
def diag(v: Any, k: int = 0) -> Any:
    """The k-th diagonal of a matrix, or the matrix with a vector on it.

    >>> from autodiff_compiler import numpy as np
    >>> np.diag(np.array([1, 2])).tolist(), np.diag(np.array([[1, 2], [3, 4]])).tolist()
    ([[1, 0], [0, 2]], [1, 4])
    """
    require(given_tensor(v, "v").ndim in (1, 2), f"diag takes a vector or a matrix, not {v.ndim} dimensions")
    return call.diag(v, k)


def _triangle(name: str, m: Any, k: int) -> Any:
    m = operand(m, "m")
    require(m.ndim > 0, "a single number has no triangles")
    return getattr(call, name)(call.broadcast_to(m, (m.shape[0], m.shape[0])) if m.ndim == 1 else m, k)


def tril(m: Any, k: int = 0) -> Any:
    """The elements of matrices on and below the k-th diagonal, zeros above; a vector counts for all rows.

    >>> from autodiff_compiler import numpy as np
    >>> np.tril(np.ones((2, 2))).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    return _triangle("tril", m, k)


def triu(m: Any, k: int = 0) -> Any:
    """The elements of matrices on and above the k-th diagonal, zeros below; a vector counts for all rows."""
    return _triangle("triu", m, k)
