"""What "the same result" means for the backend in use.

The NumPy backend runs eager mode's kernels, so that compiled code gives every bit of eager code.  Machine code has
mathematics and orders of summation of its own: what it rounds may differ in the last places, the rest may not.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from autodiff_compiler.config import backends, context

#: The distance from 1 to the next number.
_EPS = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23, "complex64": 2.0**-23}
#: A number within a text, with its sign.
_NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?|[-+]?\b(?:nan|inf)\b")


def bits() -> bool:
    """Whether compiled code must give every bit of eager code."""
    if context.device_target != "CPU" or context.backend == "numpy":
        return True
    return context.backend == "auto" and backends["native"]() is not None


def assert_same(found: Any, expected: Any, what: str = "", *, ulps: float = 4, each: bool = False) -> None:
    """Two arrays are equal in dtype, shape and every bit (NaN is NaN).

    Where `bits` says that they need not be, floats may differ by so many units in the last place: of the largest finite
    element, as sums of parts that large do; with `each` of each element itself.
    """
    a, b = np.asarray(found), np.asarray(expected)
    if (a.dtype.name, b.dtype.name) == ("bfloat16", "bfloat16") and bits():
        a, b = a.astype(np.float32), b.astype(np.float32)  # whose nan NumPy knows
    if bits() or b.dtype.kind not in "fcV" or (a.dtype, a.shape) != (b.dtype, b.shape):
        np.testing.assert_array_equal(a, b, err_msg=what, strict=True)
        return
    wide = np.promote_types(b.dtype, np.float64)
    a, b, eps = a.astype(wide), b.astype(wide), ulps * _EPS.get(b.dtype.name, 2.0**-52)
    finite = np.isfinite(b)
    np.testing.assert_array_equal(a[~finite], b[~finite], err_msg=what)
    largest = 0.0 if each else float(np.max(np.abs(b), initial=0.0, where=finite))
    np.testing.assert_allclose(a[finite], b[finite], rtol=eps if each else 0, atol=eps * largest, err_msg=what)


def same_text(found: str, expected: str, rtol: float = 1e-5) -> bool:
    """Whether two texts are equal; where `bits` says that numbers need not be, those with a point up to `rtol`."""
    if found == expected or bits():
        return found == expected
    numbers = _NUMBER.findall(found), _NUMBER.findall(expected)
    return _words(found) == _words(expected) and all(map(_near, *numbers, [rtol] * len(numbers[0])))


def _words(text: str) -> list[str]:
    """A text without its numbers, and without the spaces that depend on how long these are."""
    return _NUMBER.sub(" # ", text).split()


def _near(a: str, b: str, rtol: float) -> bool:
    return a == b or ("." in a + b and abs(float(a) - float(b)) <= rtol * max(1.0, abs(float(b))))
