"""Products of vectors, matrices and arrays; correlations and covariances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Never

from ..dtypes import float32, float64
from ..ir.primitive import call
from ..keywords import answering, refuse_unknown
from ..primitives.family import cast, is_tensor, normal_axis
from ..primitives.requirements import require, require_dtype
from .operands import converted, given_tensor, operand, operands, together


def outer(a: Any, b: Any) -> Any:
    """The products of all elements of `a`, in rows, with all elements of `b`, in columns."""
    a, b = given_tensor(a, "a"), given_tensor(b, "b")
    return call.mul(call.reshape(a, (-1, 1)), call.reshape(b, (1, -1)))


def multi_dot(arrays: Sequence[Any]) -> Any:
    """The product of several matrices, in the cheapest order; the first and the last may be vectors.

    ValueError: fewer than two, or matrices that do not fit.  The order is found by dynamic programming (Cormen et al.,
    Introduction to Algorithms, 15.2).

    >>> from autodiff_compiler import numpy as np
    >>> np.multi_dot([np.ones((10, 20)), np.ones((20, 5)), np.ones((5, 3))]).shape
    (10, 3)
    """
    parts = operands(*(call.unbind(arrays, 0) if is_tensor(arrays) else arrays))
    require(len(parts) >= 2, f"multi_dot takes at least 2 arrays, not {len(parts)}")
    if len(parts) == 2:
        return call.dot(*together(*parts))
    ends = () if parts[0].ndim == 1 else (parts[0].shape[0],)
    ends = ends if parts[-1].ndim == 1 else (*ends, parts[-1].shape[-1])
    parts[0] = call.reshape(parts[0], (1, -1)) if parts[0].ndim == 1 else parts[0]
    parts[-1] = call.reshape(parts[-1], (-1, 1)) if parts[-1].ndim == 1 else parts[-1]
    require(all(x.ndim == 2 for x in parts), "multi_dot takes matrices, and vectors at its ends")
    splits = _best_splits([x.shape[0] for x in parts] + [parts[-1].shape[1]])
    return call.reshape(_product(parts, splits, 0, len(parts) - 1), ends)


def _best_splits(sizes: list[int]) -> dict[tuple[int, int], int]:
    """For every product of the matrices i ... j, after which of them to split it for the fewest multiplications."""
    count = len(sizes) - 1
    cost: dict[tuple[int, int], int] = {}
    split: dict[tuple[int, int], int] = {}
    for length in range(count):
        for i in range(count - length):
            j = i + length
            found = [
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            ] or [(0, i)]
            cost[i, j], split[i, j] = min(found)
    return split


def _product(parts: list[Any], splits: dict[tuple[int, int], int], i: int, j: int) -> Any:
    if i == j:
        return parts[i]
    k = splits[i, j]
    return call.dot(*together(_product(parts, splits, i, k), _product(parts, splits, k + 1, j)))


def matrix_power(a: Any, n: int) -> Any:
    """Square matrices multiplied n times; ValueError if n is negative.

    >>> from autodiff_compiler import numpy as np
    >>> np.matrix_power(np.array([[1.0, 1.0], [0.0, 1.0]]), 3).tolist()
    [[1.0, 3.0], [0.0, 1.0]]
    """
    if not isinstance(n, int):
        raise TypeError(f"`n` must be an int, not a {type(n).__name__}")
    require(n >= 0, f"`n` must not be negative, but is {n}")
    return call.matrix_power(operand(a, "a"), n)


@answering
def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None, **unknown: Never
) -> Any:
    """Cross products of vectors of 2 or 3 elements, which lie along `axisa` and `axisb`, in the axis `axisc`.

    A third element that is missing is 0; where both are, the result is the third element alone.

    >>> from autodiff_compiler import numpy as np
    >>> np.cross(np.array([1, 2, 3]), np.array([4, 5, 6])).tolist()
    [-3, 6, -3]
    """
    if unknown:
        refuse_unknown(cross, unknown)
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis, axis, axis)
    a, b = together(a, b)
    a, b = call.moveaxis(a, axisa, -1), call.moveaxis(b, axisb, -1)
    sizes = a.shape[-1], b.shape[-1]
    require(all(n in (2, 3) for n in sizes), f"cross takes vectors of 2 or 3 elements, not {sizes[0]} and {sizes[1]}")
    (a0, a1, *a2), (b0, b1, *b2) = call.unbind(a, -1), call.unbind(b, -1)
    third = call.sub(call.mul(a0, b1), call.mul(a1, b0))
    if sizes == (2, 2):
        return third
    x = [call.mul(a1, b2[0])] if b2 else []
    y = [call.neg(call.mul(a0, b2[0]))] if b2 else []
    if a2:
        x.append(call.neg(call.mul(a2[0], b1)))
        y.append(call.mul(a2[0], b0))
    found = call.stack([x[0] if len(x) == 1 else call.add(*x), y[0] if len(y) == 1 else call.add(*y), third], -1)
    return call.moveaxis(found, -1, normal_axis(axisc, found.ndim))


# ------------------------------------------------------------------------------------------------ sliding
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """The discrete convolution of two vectors: "full", "same" (as long as the longer one) or "valid".

    >>> from autodiff_compiler import numpy as np
    >>> np.convolve([1, 2, 3], [0, 1, 0.5]).tolist()
    [0.0, 1.0, 2.5, 4.0, 1.5]
    """
    return _sliding_products(a, v, mode)


def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """The cross-correlation of two vectors: "valid", "same" (as long as the longer one) or "full".

    >>> from autodiff_compiler import numpy as np
    >>> np.correlate([1, 2, 3], [0, 1, 0.5]).tolist()
    [3.5]
    """
    a, v = operand(a, "a"), operand(v, "v")
    require(v.ndim == 1, f"correlate takes vectors, not {v.ndim} dimensions")
    return _sliding_products(a, call.flip(v, 0), mode, late=a.ndim == 1 and a.shape[0] < v.shape[0])


def _sliding_products(a: Any, v: Any, mode: str, late: bool = False) -> Any:
    """The convolution; "same" takes its middle part, with `late` the later of two equally central ones."""
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"`mode` must be 'full', 'same' or 'valid', not {mode!r}")
    a, v = (x if x.ndim else call.reshape(x, (1,)) for x in together(a, v))
    require(a.ndim == v.ndim == 1, "vectors are convolved")
    require(a.shape[0] > 0 and v.shape[0] > 0, "an empty vector cannot be convolved")
    longer, shorter = (v, a) if a.shape[0] < v.shape[0] else (a, v)
    n, m = longer.shape[0], shorter.shape[0]
    padded = call.pad(longer, (m - 1, m - 1))
    # A matrix with all windows of the padded vector as rows, times the shorter vector reversed.
    windows = call.stack([call.narrow(padded, 0, i, n + m - 1) for i in range(m)], 1)
    full = call.sum(call.mul(windows, call.flip(shorter, 0)), 1, longer.dtype)
    length = {"full": n + m - 1, "same": n, "valid": n - m + 1}[mode]
    return call.narrow(full, 0, (n + m - 1 - length + late) // 2, length)


# ------------------------------------------------------------------------------------------------ statistics
@answering
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    dtype: Any = None,
    **unknown: Never,
) -> Any:
    """Covariances of variables, which are the rows of `m` and `y` (columns without `rowvar`), in float32 at least.

    The sums are divided by the number of observations less `ddof`, which is 1, or 0 with `bias`.  `fweights` are whole
    numbers that say how often each observation was made, `aweights` say how much it counts.

    >>> from autodiff_compiler import numpy as np
    >>> np.cov(np.array([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    if unknown:
        refuse_unknown(cov, unknown)
    if not isinstance(rowvar, bool):
        raise TypeError(f"`rowvar` must be a bool, not a {type(rowvar).__name__}")
    rows = _variables(m, rowvar)
    if y is not None:
        rows = call.concat([rows, _variables(y, rowvar)], 0)
    weights = [None if w is None else operand(w, "weights") for w in (fweights, aweights)]
    if weights[0] is not None:
        require_dtype(weights[0].dtype.is_int, "`fweights` must be whole numbers")
    correction = (0 if bias else 1) if ddof is None else ddof
    return converted(call.cov(rows, correction, *weights), dtype)


def _variables(m: Any, rowvar: bool) -> Any:
    m = operand(m, "m")
    require(m.ndim <= 2, f"cov takes a matrix or a vector, not {m.ndim} dimensions")
    m = m if m.dtype is float64 else cast(m, float32)
    if m.ndim < 2:
        return call.reshape(m, (1, -1))
    return m if rowvar or m.shape[0] == 1 else call.transpose(m, (1, 0))


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Any:
    """Correlation coefficients of variables, from -1 to 1; see `cov`."""
    c = cov(x, y, rowvar)
    if c.ndim == 0:
        return converted(call.div(c, c), dtype)
    deviation = call.sqrt(call.diagonal(c))
    found = call.div(call.div(c, call.expand_dims(deviation, -1)), call.expand_dims(deviation, 0))
    return converted(call.clamp(found, -1, 1), dtype)
