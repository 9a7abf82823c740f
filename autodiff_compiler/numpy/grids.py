"""Coordinates: grids over vectors, indices of triangles and diagonals, flat and multiple indices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import float32, int32
from ..ir.primitive import call
from ..ir.types import tensor
from ..no_memory import naming_memory
from ..primitives.family import cast, constant, is_tensor
from ..primitives.requirements import require, require_dtype, static_int
from .creation import arange, linspace
from .operands import dtype_named, given_tensor, operand


def meshgrid(*xi: Any, sparse: bool = False, indexing: str = "xy") -> list[Any]:
    """The coordinates of a grid over vectors, one array for each; "xy" exchanges the first two dimensions of "ij".

    With `sparse` every array has the size 1 in the dimensions of the others.

    >>> from autodiff_compiler import numpy as np
    >>> [x.tolist() for x in np.meshgrid(np.array([1, 2]), np.array([5]))]
    [[[1, 2]], [[5, 5]]]
    """
    if not isinstance(sparse, bool):
        raise TypeError(f"`sparse` must be a bool, not a {type(sparse).__name__}")
    if indexing not in ("xy", "ij"):
        raise TypeError(f"`indexing` must be 'xy' or 'ij', not {indexing!r}")
    n, swapped = len(xi), {0: 1, 1: 0} if indexing == "xy" and len(xi) > 1 else {}
    places = [swapped.get(i, i) for i in range(n)]
    columns = [
        call.reshape(given_tensor(x, "xi"), tuple(-1 if i == place else 1 for i in range(n)))
        for x, place in zip(xi, places, strict=True)
    ]
    shape = tuple(columns[places.index(i)].shape[i] for i in range(n))
    return columns if sparse else [call.broadcast_to(x, shape) for x in columns]


def indices(dimensions: Sequence[int], dtype: Any = int32, sparse: bool = False) -> list[Any]:
    """The indices of the elements of an array of that shape, one array for each dimension.

    >>> from autodiff_compiler import numpy as np
    >>> [x.tolist() for x in np.indices((2, 2))]
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """
    if not isinstance(dimensions, tuple | list):
        raise TypeError(f"`dimensions` must be a tuple or list, not a {type(dimensions).__name__}")
    return meshgrid(*(arange(d, dtype=dtype_named(dtype)) for d in dimensions), sparse=sparse, indexing="ij")


class _Grid:
    """`meshgrid` by subscripts: ``[start:stop:step, ...]``, where a step ``3j`` asks for 3 points with both ends."""

    __graph_natively__ = True  # compiled code lowers the subscript as a call

    def __init__(self, sparse: bool) -> None:
        self._sparse = sparse

    def __getitem__(self, keys: Any) -> Any:
        vectors = [self._points(key) for key in (keys if isinstance(keys, tuple) else (keys,))]
        grids = meshgrid(*vectors, sparse=self._sparse, indexing="ij")
        if len(grids) == 1:
            return grids[0]
        return grids if self._sparse else call.stack(grids, 0)

    @staticmethod
    def _points(key: Any) -> Any:
        if not isinstance(key, slice) or not isinstance(key.start, int) or not isinstance(key.stop, int):
            raise TypeError("a grid takes slices with whole numbers at both ends: [0:5, 1:3]")
        if isinstance(key.step, complex):
            return linspace(key.start, key.stop, int(abs(key.step)))
        return arange(key.start, key.stop, key.step or 1)


#: Grids by subscripts, all dimensions in one array: ``mgrid[0:2, 0:3].shape == (2, 2, 3)``.
mgrid = _Grid(sparse=False)
#: Grids by subscripts, one array with sizes of 1 for each dimension.
ogrid = _Grid(sparse=True)


def ix_(*args: Any) -> tuple[Any, ...]:
    """Vectors as an open mesh of indices (``a[ix_(rows, columns)]``): each along a dimension of its own.

    >>> from autodiff_compiler import numpy as np
    >>> [x.shape for x in np.ix_(np.array([0, 1]), np.array([2, 4, 5]))]
    [(2, 1), (1, 3)]
    """
    n = len(args)
    for x in args:
        require(given_tensor(x, "args").ndim == 1, f"ix_ takes vectors, not {x.ndim} dimensions")
    return tuple(call.reshape(x, tuple(-1 if i == place else 1 for i in range(n))) for place, x in enumerate(args))


# ------------------------------------------------------------------------------------------------ triangles
def diag_indices(n: int, ndim: int = 2) -> tuple[Any, ...]:
    """The indices of the diagonal of an array with `ndim` dimensions of size n."""
    if not isinstance(n, int) or not isinstance(ndim, int):
        raise TypeError("`n` and `ndim` must be ints")
    return (arange(n),) * ndim


def _triangle(places: Any, n: Any, k: Any, m: Any) -> tuple[Any, ...]:
    for x, parameter in ((n, "n"), (k, "k"), (m, "m")):
        if not isinstance(x, int | float) and not (parameter == "m" and x is None):
            raise TypeError(f"`{parameter}` must be a number, not a {type(x).__name__}")
    with naming_memory():
        found = [x.astype(np.int32) for x in places(math.ceil(n), math.ceil(k), None if m is None else math.ceil(m))]
    return tuple(constant(x, tensor(int32, x.shape)) for x in found)


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """The rows and columns (int32) on and below the k-th diagonal of an n x m matrix.

    >>> from autodiff_compiler import numpy as np
    >>> [x.tolist() for x in np.tril_indices(2)]
    [[0, 1, 1], [0, 0, 1]]
    """
    return _triangle(lambda n, k, m: np.tril_indices(n, k, m), n, k, m)


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """The rows and columns (int32) on and above the k-th diagonal of an n x m matrix."""
    return _triangle(lambda n, k, m: np.triu_indices(n, k, m), n, k, m)


def _matrix(arr: Any) -> tuple[int, ...]:
    shape = tuple(operand(arr, "arr").shape)
    require(len(shape) == 2, f"the array must be a matrix, not of {len(shape)} dimensions")
    return shape


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """`tril_indices` for the shape of a matrix."""
    rows, columns = _matrix(arr)
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """`triu_indices` for the shape of a matrix."""
    rows, columns = _matrix(arr)
    return triu_indices(rows, k, columns)


# ------------------------------------------------------------------------------------------------ flat places
def _strides(sizes: Sequence[int], order: str) -> list[int]:
    if order not in ("C", "F"):
        raise ValueError(f"`order` must be 'C' or 'F', not {order!r}")
    if order == "F":
        return [math.prod(sizes[:i]) for i in range(len(sizes))]
    return [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]


def _sizes(shape: Any, parameter: str) -> tuple[int, ...]:
    if is_tensor(shape):
        require_dtype(shape.dtype.is_int, f"`{parameter}` must be whole numbers, not {shape.dtype.name}")
        shape = shape.tolist()
    sizes = shape if isinstance(shape, tuple | list) else (shape,)
    return tuple(static_int(n, parameter) for n in sizes)


def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """Flat indices as indices of an array of that shape, one array for each dimension; order "C" or "F".

    Negative ones count from the end; those out of range are clipped.

    >>> from autodiff_compiler import numpy as np
    >>> [x.tolist() for x in np.unravel_index(np.array([5, 2]), (2, 3))]
    [[1, 0], [2, 2]]
    """
    flat, sizes = operand(indices, "indices"), _sizes(shape, "shape")
    require_dtype(flat.dtype.is_int, f"places are whole numbers, not {flat.dtype.name}")
    total = math.prod(sizes)
    flat = call.mod(call.clamp(flat, -total, total - 1), total)
    strides = _strides(sizes, order)
    found = tuple(call.mod(call.floordiv(flat, s), n) for s, n in zip(strides, sizes, strict=True))
    return call.reshape(found[0], (-1,)) if flat.ndim == 0 and len(found) == 1 else found


def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "clip", order: str = "C") -> Any:
    """Indices of an array of the shape `dims`, one row for each dimension, as flat indices (float32, as in MindSpore).

    Those out of range are clipped ("clip") or wrapped ("wrap").

    >>> from autodiff_compiler import numpy as np
    >>> np.ravel_multi_index(np.array([[1, 0], [2, 1]]), (2, 3)).tolist()
    [5.0, 1.0]
    """
    if mode == "raise":
        raise NotImplementedError("ravel_multi_index has the modes 'clip' and 'wrap'")
    if mode not in ("clip", "wrap"):
        raise ValueError(f"`mode` must be 'clip' or 'wrap', not {mode!r}")
    index, sizes = operand(multi_index, "multi_index"), _sizes(dims, "dims")
    if not index.dtype.is_int:
        raise TypeError(f"`multi_index` must be whole numbers, not {index.dtype.name}")
    rows = call.unbind(index, 0)
    require(len(rows) == len(sizes), f"`multi_index` needs one row for each of {len(sizes)} dimensions")
    total: Any = 0
    for row, n, stride in zip(rows, sizes, _strides(sizes, order), strict=True):
        place = call.clamp(row, 0, n - 1) if mode == "clip" else call.mod(row, n)
        total = call.add(call.mul(place, stride), total)
    # MindSpore 2.10: flat indices are float32.
    return cast(total, float32)
