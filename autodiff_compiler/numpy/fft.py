"""The part of `mindspore.numpy.fft` that needs no complex numbers; the rest is refused."""

from __future__ import annotations

from typing import Any

from ..ops import spectral

__all__ = ["fftshift", "ifftshift"]

#: What is there under its name in `ops`.
_SAME = (
    *("fft", "fft2", "fftfreq", "fftn", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ihfft", "ihfft2"),
    *("ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn"),
)
for _name in _SAME:
    globals()[_name] = getattr(spectral, _name)
__all__ += _SAME


def fftshift(x: Any, axes: Any = None) -> Any:
    """The halves of axes (all by default) exchanged, so that the frequency 0 comes to the middle.

    >>> from autodiff_compiler import numpy as np
    >>> np.fft.fftshift(np.fft.fftfreq(4)).tolist()
    [-0.5, -0.25, 0.0, 0.25]
    """
    return spectral.fftshift(x, axes)


def ifftshift(x: Any, axes: Any = None) -> Any:
    """The inverse of `fftshift`."""
    return spectral.ifftshift(x, axes)
