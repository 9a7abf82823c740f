"""What "the same result" means for the backend in use.

The NumPy backend runs eager mode's kernels, so that compiled code gives every bit of eager code.  Machine code has
mathematics and orders of summation of its own: what it rounds may differ in the last places, the rest may not.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from autodiff_compiler.config import backends, context

#: A number within a text, with its sign.
_NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?|[-+]?\b(?:nan|inf)\b")


def bits() -> bool:
    """Whether compiled code must give every bit of eager code."""
    if context.device_target != "CPU" or context.backend == "numpy":
        return True
    return context.backend == "auto" and backends["native"]() is not None


def assert_same(found: Any, expected: Any, what: str = "", *, ulps: float = 4, scale: float | None = None) -> None:
    """Two arrays are equal in dtype, shape and every bit (NaN is NaN).

    Where `bits` says that they need not be, floats may differ by so many units in the last place of the largest
    finite element; of `scale`, if the elements are sums whose parts are as large as that.
    """
    a, b = np.asarray(found), np.asarray(expected)
    if bits() or b.dtype.kind not in "fcV" or (a.dtype, a.shape) != (b.dtype, b.shape):
        np.testing.assert_array_equal(a, b, err_msg=what, strict=True)
        return
    unit = ulps * unit_of(b, scale)
    finite = np.isfinite(b)
    np.testing.assert_array_equal(a[~finite], b[~finite], err_msg=what)
    wide = np.promote_types(b.dtype, np.float64)
    np.testing.assert_allclose(a[finite].astype(wide), b[finite].astype(wide), rtol=0, atol=unit, err_msg=what)


def unit_of(array: np.ndarray, scale: float | None = None) -> float:
    """A unit in the last place of the largest finite element, or of `scale`."""
    if scale is None:
        parts = np.abs(array).astype(np.float64)
        scale = float(np.max(parts, initial=0.0, where=np.isfinite(parts)))
    eps = {"e": 2.0**-10, "f": 2.0**-23, "F": 2.0**-23}.get(array.dtype.char, 2.0**-52)
    return scale * (2.0**-7 if array.dtype.name == "bfloat16" else eps)


def same_text(found: str, expected: str, rtol: float = 1e-4) -> bool:
    """Whether two texts are equal; where `bits` says that numbers need not be, those with a point up to `rtol`."""
    if found == expected or bits():
        return found == expected
    numbers = _NUMBER.findall(found), _NUMBER.findall(expected)
    return _NUMBER.sub("#", found) == _NUMBER.sub("#", expected) and all(map(_near, *numbers, [rtol] * len(numbers[0])))


def _near(a: str, b: str, rtol: float) -> bool:
    return a == b or ("." in a + b and abs(float(a) - float(b)) <= rtol * max(1.0, abs(float(b))))
