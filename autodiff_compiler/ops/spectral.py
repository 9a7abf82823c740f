"""Fourier transforms: the functions with real results; those with complex ones are refused, as Tensors are real."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Never

import numpy as np

from ..dtypes import dtype_of, float32
from ..errors import UnsupportedCallError
from ..ir.primitive import call, distinct
from ..ir.types import tensor
from ..keywords import answering, refuse_unknown
from ..primitives.family import constant, normal_axes
from ..primitives.requirements import require, static_int, static_number

#: Functions whose operands or results are complex.
_COMPLEX = (
    *("complex", "eig", "fft", "fft2", "fftn", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ihfft", "ihfft2"),
    *("ihfftn", "irfft", "irfft2", "irfftn", "polar", "rfft", "rfft2", "rfftn", "stft", "view_as_complex"),
    "view_as_real",
)

__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq", *_COMPLEX]


def _refused(name: str) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        raise UnsupportedCallError(
            f"{name} works with complex numbers, which are not supported",
            hint="carry real and imaginary parts in two Tensors, or call NumPy through py_call",
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Refused with UnsupportedCallError: complex numbers are not supported."
    return function


for _name in _COMPLEX:
    globals()[_name] = _refused(_name)


# ------------------------------------------------------------------------------------------------ frequencies
def _frequencies(numbers: Any, n: int, d: float, dtype: Any) -> Any:
    dtype = float32 if dtype is None else dtype_of(dtype)
    values = (numbers / (n * static_number(d, "d"))).astype(dtype.numpy)
    return constant(values, tensor(dtype, values.shape))


def fftfreq(n: int, d: float = 1.0, dtype: Any = None) -> Any:
    """The frequencies of a discrete Fourier transform of n samples with the spacing d; float32 by default.

    >>> fftfreq(4).tolist()
    [0.0, 0.25, -0.5, -0.25]
    """
    n = static_int(n, "n")
    require(n > 0, f"`n` must be positive, not {n}")
    return _frequencies(np.fft.ifftshift(np.arange(n) - n // 2), n, d, dtype)


def rfftfreq(n: int, d: float = 1.0, dtype: Any = None) -> Any:
    """The frequencies of a transform of n real samples with the spacing d, those from 0 on; float32 by default.

    >>> rfftfreq(4).tolist()
    [0.0, 0.25, 0.5]
    """
    n = static_int(n, "n")
    require(n > 0, f"`n` must be positive, not {n}")
    return _frequencies(np.arange(n // 2 + 1), n, d, dtype)


@answering
def fftshift(input: Any, dim: int | Sequence[int] | None = None, **unknown: Never) -> Any:
    """The halves of dimensions (all by default) exchanged, so that the frequency 0 comes to the middle.

    >>> fftshift(fftfreq(4)).tolist()
    [-0.5, -0.25, 0.0, 0.25]
    """
    if unknown:
        refuse_unknown(fftshift, unknown)
    return _shifted(input, dim, lambda size: size // 2)


@answering
def ifftshift(input: Any, dim: int | Sequence[int] | None = None, **unknown: Never) -> Any:
    """The inverse of `fftshift`.

    >>> ifftshift(fftshift(fftfreq(5))).tolist() == fftfreq(5).tolist()
    True
    """
    if unknown:
        refuse_unknown(ifftshift, unknown)
    return _shifted(input, dim, lambda size: -(size // 2))


def _shifted(x: Any, dim: Any, shift: Callable[[int], int]) -> Any:
    axes = normal_axes(dim, x.ndim)
    return call.roll(x, tuple([shift(x.shape[a]) for a in axes]), axes) if axes else distinct(x, x)
