"""Search in sorted sequences, interpolation, histograms, sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dtypes import float16, float32, int32
from ..errors import StaticValueError
from ..ir.core import Value
from ..ir.primitive import call
from ..primitives.family import cast, is_tensor
from ..primitives.requirements import require, require_dtype, static_int
from .creation import linspace
from .operands import given_tensor, operand, together


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Where (int32) numbers would be put into a sorted vector: before equal elements, or behind them ("right").

    `sorter` holds the indices that sort the vector.  ValueError: another side, no vector.

    >>> from autodiff_compiler import numpy as np
    >>> np.searchsorted([1, 2, 3, 4], np.array([2, 5])).tolist()
    [1, 4]
    """
    if side not in ("left", "right"):
        raise ValueError(f"`side` must be 'left' or 'right', not {side!r}")
    a, v = together(a, v)
    require(a.ndim == 1, f"the sorted sequence must be a vector, not of {a.ndim} dimensions")
    if sorter is not None:
        sorter = operand(sorter, "sorter")
        require(tuple(sorter.shape) == tuple(a.shape), "`sorter` must be a vector as long as `a`")
        a = call.gather(a, sorter, 0)
    return cast(call.searchsorted(a, v, side=side), int32)


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """Which bin (int32) numbers are in, for edges that increase or decrease: 0 and `len(bins)` are outside.

    A bin holds its lower edge, with `right` its upper one.

    >>> from autodiff_compiler import numpy as np
    >>> np.digitize(np.array([0.2, 6.4]), [0.0, 1.0, 2.5, 4.0, 10.0]).tolist()
    [1, 4]
    """
    x, bins = together(x, bins)
    require(bins.ndim == 1, f"`bins` must be a vector, not of {bins.ndim} dimensions")
    n = bins.shape[0]
    if n == 0:
        return call.zeros(tuple(x.shape), int32)
    side = "left" if right else "right"
    up = searchsorted(bins, x, side)
    down = call.sub(n, searchsorted(call.flip(bins, 0), x, side))
    first, last = call.squeeze(call.narrow(bins, 0, 0, 1), 0), call.squeeze(call.narrow(bins, 0, n - 1, 1), 0)
    return call.where(call.less_equal(first, last), up, cast(down, int32))


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    """The values at `x` of the lines between the points (xp, fp), in float32 at least; `xp` increases.

    Beyond the ends there are `left` and `right`, by default the outermost values.

    >>> from autodiff_compiler import numpy as np
    >>> np.interp([0.5, 3.0], [0.0, 1.0, 2.0], [0.0, 10.0, 30.0]).tolist()
    [5.0, 30.0]
    """
    x, xp, fp = together(x, xp, fp, floating=True)
    x, xp, fp = (cast(y, float32) if y.dtype is float16 else y for y in (x, xp, fp))
    require(xp.ndim == 1 and fp.ndim == 1, "`xp` and `fp` must be vectors")
    n = xp.shape[0]
    require(fp.shape[0] == n, f"`xp` and `fp` must be equally long, not {n} and {fp.shape[0]}")
    after = call.clamp(searchsorted(xp, x), min(1, n - 1), n - 1)
    before = call.maximum(call.sub(after, 1), 0)
    x0, x1, y0, y1 = (call.take(a, i) for a in (xp, fp) for i in (before, after))
    width = call.sub(x1, x0)
    flat = call.equal(width, 0)
    share = call.div(call.sub(x, x0), call.where(flat, call.ones_like(width), width))
    found = call.where(flat, y0, call.add(y0, call.mul(share, call.sub(y1, y0))))
    ends = [call.squeeze(call.narrow(a, 0, i, 1), 0) for a in (xp, fp) for i in (0, n - 1)]
    left, right = (end if given is None else operand(given) for end, given in zip(ends[2:], (left, right), strict=True))
    found = call.where(call.less(x, ends[0]), cast(left, x.dtype), found)
    return call.where(call.greater(x, ends[1]), cast(right, x.dtype), found)


# ------------------------------------------------------------------------------------------------ counts
def bincount(x: Any, weights: Any = None, minlength: int = 0, length: int | None = None) -> Any:
    """How often (float32) each of the numbers 0, 1, ... occurs, or the sum of its weights.

    Negative numbers count as 0.  There are `length` results, by default up to the greatest number and at least
    `minlength`; greater numbers are left out.  StaticValueError: no `length` in compiled code.

    >>> from autodiff_compiler import numpy as np
    >>> np.bincount(np.array([0, 2, 2])).tolist()
    [1.0, 0.0, 2.0]
    """
    x = operand(x)
    require(x.ndim == 1, f"bincount takes a vector, not {x.ndim} dimensions")
    require_dtype(x.dtype.is_int, f"bincount counts whole numbers, not {x.dtype.name}")
    x = call.maximum(x, 0)
    if length is None:
        if x.__class__ is Value:
            raise StaticValueError("the length of the result is not known in compiled code", hint="give `length`")
        length = max(0, static_int(minlength, "minlength"), int(call.max(x).item()) + 1 if x.shape[0] else 0)
    size = static_int(length, "length")
    if weights is not None:
        weights = operand(weights, "weights")
        require(tuple(weights.shape) == tuple(x.shape), "`x` and `weights` must be equally long")
        weights = weights if weights.dtype.is_float and weights.dtype is not float16 else cast(weights, float32)
    # Numbers that are too great are counted in one more element, which is dropped.
    return call.narrow(call.bincount(call.minimum(x, size), weights, size + 1), 0, 0, size)


def histogram_bin_edges(a: Any, bins: Any = 10, range: Sequence[Any] | None = None, weights: Any = None) -> Any:
    """The edges of equal bins from the least to the greatest element, or over `range`; edges that are given stay.

    ValueError: edges that are no vector, a range that is no pair in order.  NotImplementedError: the name of a rule.

    >>> from autodiff_compiler import numpy as np
    >>> np.histogram_bin_edges(np.array([0.0, 1.0, 4.0]), bins=4).tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    a = operand(a, "a")
    if weights is not None:
        require(tuple(operand(weights).shape) == tuple(a.shape), "`weights` must have the shape of `a`")
    if isinstance(bins, str):
        raise NotImplementedError("histograms take a number of bins or their edges, no rule by name")
    if is_tensor(bins) or isinstance(bins, tuple | list):
        edges = operand(bins, "bins")
        require(edges.ndim == 1, f"the edges must be a vector, not of {edges.ndim} dimensions")
        return edges
    a = a if a.dtype.is_float and a.dtype is not float16 else cast(a, float32)
    if range is None:
        low, high = call.min(a), call.max(a)
    else:
        if not isinstance(range, tuple | list) or len(range) != 2:
            raise ValueError("`range` must be a pair (start, end)")
        if not any(map(is_tensor, range)) and range[0] > range[1]:
            raise ValueError(f"`range` must not fall: {range[0]} > {range[1]}")
        low, high = (cast(operand(x), a.dtype) for x in range)
    equal = cast(call.equal(low, high), a.dtype)
    half = call.mul(equal, 0.5)
    return linspace(call.sub(low, half), call.add(high, half), static_int(bins, "bins") + 1, dtype=a.dtype)


def _bins_of(a: Any, edges: Any) -> Any:
    """The number of the bin from 1 on; 0 and the number of edges are outside, the last bin has both its edges."""
    n = edges.shape[0]
    a, edges = together(a, edges)
    last = call.equal(a, call.narrow(edges, 0, n - 1, 1))
    return call.where(last, n - 1, searchsorted(edges, a, "right"))


def histogram(
    a: Any, bins: Any = 10, range: Sequence[Any] | None = None, weights: Any = None, density: bool = False
) -> tuple[Any, Any]:
    """How many elements (float32) lie in each bin, and the edges of the bins; see `histogram_bin_edges`.

    With weights their sums; with `density` divided by the total and by the widths.

    >>> from autodiff_compiler import numpy as np
    >>> [x.tolist() for x in np.histogram(np.array([1, 2, 1]), bins=[0, 1, 2, 3])]
    [[0.0, 2.0, 1.0], [0, 1, 2, 3]]
    """
    a = operand(a, "a")
    edges = histogram_bin_edges(a, bins, range, weights)
    weights = None if weights is None else call.reshape(operand(weights), (-1,))
    n = edges.shape[0]
    count = bincount(_bins_of(call.reshape(a, (-1,)), edges), weights, length=n)
    count = call.narrow(count, 0, 1, n - 1)
    return (_dense(count, [edges]) if density else count), edges


def _dense(count: Any, edges: list[Any]) -> Any:
    total = call.sum(count)
    for i, e in enumerate(edges):
        n = e.shape[0]
        width = call.sub(call.narrow(e, 0, 1, n - 1), call.narrow(e, 0, 0, n - 1))
        count = call.div(count, call.reshape(width, tuple(-1 if j == i else 1 for j, _ in enumerate(edges))))
    return call.div(count, total)


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False
) -> tuple[Any, list[Any]]:
    """How many points (float32) lie in each cell of a grid, and the list of the edges along its dimensions.

    `sample` holds the points as rows, or is a sequence of one vector for each dimension; `bins` is a number, or one
    entry for each dimension: see `histogram_bin_edges`.

    >>> from autodiff_compiler import numpy as np
    >>> np.histogramdd(np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 0.9]]), bins=2)[0].tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    if isinstance(sample, tuple | list):
        sample = call.stack(together(*sample), -1)
    sample = given_tensor(sample, "sample")
    require(sample.ndim == 2, f"`sample` must be a matrix of points, not of {sample.ndim} dimensions")
    columns = call.unbind(sample, 1)
    d = len(columns)
    bins = [bins] * d if isinstance(bins, int) else list(call.unbind(bins, 0) if is_tensor(bins) else bins)
    ranges = [None] * d if range is None else list(range)
    require(len(bins) == d and len(ranges) == d, f"`bins` and `range` need one entry for each of {d} dimensions")
    edges = [histogram_bin_edges(x, b, r) for x, b, r in zip(columns, bins, ranges, strict=True)]
    return _counted(columns, edges, weights, density), edges


def _counted(columns: Sequence[Any], edges: list[Any], weights: Any, density: bool) -> Any:
    cell, sizes = None, [e.shape[0] + 1 for e in edges]
    for x, e, size in zip(columns, edges, sizes, strict=True):
        place = _bins_of(x, e)
        cell = place if cell is None else call.add(call.mul(cell, size), place)
    cells = 1
    for size in sizes:
        cells *= size
    count = call.reshape(bincount(cell, weights, length=cells), tuple(sizes))
    for axis, size in enumerate(sizes):
        count = call.narrow(count, axis, 1, size - 2)  # without what lies outside
    return _dense(count, edges) if density else count


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False
) -> tuple[Any, Any, Any]:
    """`histogramdd` of the points (x, y): the counts, the edges along x, and those along y."""
    count, edges = histogramdd((x, y), bins, range, weights, density)
    return count, edges[0], edges[1]


# ------------------------------------------------------------------------------------------------ sets


def unique(x: Any, return_inverse: bool = False) -> Any:
    """The distinct elements in the order of their first appearance, on demand the position of each element among them.

    >>> from autodiff_compiler import numpy as np
    >>> np.unique(np.array([2, 1, 2])).tolist()
    [2, 1]
    """
    values, positions = call.unique(call.reshape(given_tensor(x), (-1,)))
    return (values, positions) if return_inverse else values


def _distinct(x: Any) -> Any:
    return call.sort(call.unique(call.reshape(x, (-1,)))[0], 0)[0]


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """The distinct elements of `ar1`, in order, that `ar2` does not have.

    With `assume_unique` they are taken as they stand.

    >>> from autodiff_compiler import numpy as np
    >>> np.setdiff1d(np.array([3, 1, 2, 1]), np.array([2])).tolist()
    [1, 3]
    """
    _require_bool(assume_unique, "assume_unique")
    x, y = together(ar1, ar2)
    x = call.reshape(x, (-1,)) if assume_unique else _distinct(x)
    inside = call.any(call.equal(call.reshape(x, (-1, 1)), call.reshape(y, (1, -1))), 1)
    return call.masked_select(x, call.logical_not(inside))


def _require_bool(x: Any, parameter: str) -> None:
    if not isinstance(x, bool):
        raise TypeError(f"`{parameter}` must be a bool, not a {type(x).__name__}")


def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """The distinct elements that both have, sorted, on demand their first indices (int32) in both.

    >>> from autodiff_compiler import numpy as np
    >>> np.intersect1d(np.array([5, 1, 3]), np.array([3, 5, 7])).tolist()
    [3, 5]
    """
    _require_bool(assume_unique, "assume_unique")
    _require_bool(return_indices, "return_indices")
    x, y = (call.reshape(a, (-1,)) for a in together(ar1, ar2))
    same = call.equal(call.reshape(_distinct(x), (-1, 1)), call.reshape(y, (1, -1)))
    common = call.masked_select(_distinct(x), call.any(same, 1))
    if not return_indices:
        return common
    first = [call.argmax(cast(call.equal(call.reshape(common, (-1, 1)), a), int32), 1) for a in (x, y)]
    return common, *(cast(i, int32) for i in first)
