"""Polynomials as vectors of their coefficients, the highest power first."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..dtypes import float32
from ..ir.primitive import call
from ..ir.types import tensor
from ..primitives.family import cast, constant
from ..primitives.requirements import require, static_int
from .operands import operand, together
from .products import convolve


def _coefficients(p: Any) -> Any:
    p = operand(p, "p")
    require(p.ndim <= 1, f"a polynomial is a vector, not of {p.ndim} dimensions")
    return p if p.ndim else call.reshape(p, (1,))


def _aligned(a1: Any, a2: Any) -> list[Any]:
    a, b = together(_coefficients(a1), _coefficients(a2))
    n = max(a.shape[0], b.shape[0])
    return [call.pad(x, (n - x.shape[0], 0)) if x.shape[0] < n else x for x in (a, b)]


def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of two polynomials.

    >>> from autodiff_compiler import numpy as np
    >>> np.polyadd([1, 2], [9, 5, 4]).tolist()
    [9, 6, 6]
    """
    return call.add(*_aligned(a1, a2))


def polysub(a1: Any, a2: Any) -> Any:
    """The difference of two polynomials."""
    return call.sub(*_aligned(a1, a2))


def polymul(a1: Any, a2: Any) -> Any:
    """The product of two polynomials.

    >>> from autodiff_compiler import numpy as np
    >>> np.polymul([3, 1, 2], [2, 5]).tolist()
    [6, 17, 9, 10]
    """
    return convolve(_coefficients(a1), _coefficients(a2))


def polyval(p: Any, x: Any) -> Any:
    """A polynomial at the elements of an array, in float32 at least, by Horner's scheme.

    >>> from autodiff_compiler import numpy as np
    >>> np.polyval([3.0, 0.0, 1.0], np.array([5.0, 0.0])).tolist()
    [76.0, 1.0]
    """
    p, x = together(_coefficients(p), x, floating=True)
    total = call.zeros_like(x)
    for coefficient in call.unbind(p, 0):
        total = call.add(call.mul(total, x), coefficient)
    return total


def _factors(numbers: Any, like: Any) -> Any:
    values = np.array(list(numbers), like.dtype.numpy)
    return constant(values, tensor(like.dtype, values.shape))


def polyder(p: Any, m: int = 1) -> Any:
    """The m-th derivative of a polynomial; empty if nothing is left.  ValueError: a negative m.

    >>> from autodiff_compiler import numpy as np
    >>> np.polyder([1, 1, 1, 1]).tolist()
    [3, 2, 1]
    """
    p, m = _coefficients(p), static_int(m, "m")
    require(m >= 0, f"the order of a derivative must not be negative, but is {m}")
    n = p.shape[0]
    if m >= n:
        return call.zeros((0,), float32)
    falling = [math.perm(power, m) for power in range(n - 1, m - 1, -1)]
    return call.mul(call.narrow(p, 0, 0, n - m), _factors(falling, p)) if m else p


def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The m-th integral of a polynomial, in float32 at least; `k` are the constants, in their order (0 by default).

    >>> from autodiff_compiler import numpy as np
    >>> np.polyint([2.0, 1.0], k=5.0).tolist()
    [1.0, 1.0, 5.0]
    """
    p, m = _coefficients(p), static_int(m, "m")
    require(m >= 0, f"the order of an integral must not be negative, but is {m}")
    if m == 0:
        return p
    p = p if p.dtype.is_float else cast(p, float32)
    constants = call.zeros((m,), p.dtype) if k is None else cast(_coefficients(k), p.dtype)
    constants = call.broadcast_to(constants, (m,)) if constants.shape[0] == 1 else constants
    require(constants.shape[0] == m, f"{m} integrals have {m} constants, not {constants.shape[0]}")
    for i in range(m):
        divided = call.div(p, _factors(range(p.shape[0], 0, -1), p))
        p = call.concat([divided, call.narrow(constants, 0, i, 1)], 0)
    return p


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The Vandermonde matrix of a vector: its powers N - 1, ..., 0 as columns, or 0, ..., N - 1 with `increasing`.

    ValueError: N is not positive.

    >>> from autodiff_compiler import numpy as np
    >>> np.vander([1, 2, 3]).tolist()
    [[1, 1, 1], [4, 2, 1], [9, 3, 1]]
    """
    if not isinstance(increasing, bool):
        raise TypeError(f"`increasing` must be a bool, not a {type(increasing).__name__}")
    x = operand(x)
    require(x.ndim == 1, f"vander takes a vector, not {x.ndim} dimensions")
    count = static_int(N, "N") if N else x.shape[0]
    require(count > 0, f"`N` must be positive, not {count}")
    powers = call.vander(x, count)
    return call.flip(powers, 1) if increasing else powers
