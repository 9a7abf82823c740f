"""`mindspore.numpy`: NumPy's names and arguments over the ops, differentiable and in both modes.

    from autodiff_compiler import numpy as np

Tensors are promoted to their higher dtype; Python's integers count as int32 and its other numbers as float32, which is
also the dtype of new arrays.  Two things differ from MindSpore: float64 is never rounded to float32 inside a function,
and what MindSpore computes wrongly (`gcd` by quotients in float32, `cbrt(0)`, the variance of integers) is right.

`surface.numpy` has a row for each function that only converts its operands and calls a primitive; the modules define
the others, and are imported at the first access of one of their names.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from ..errors import did_you_mean
from ..surface import row as _row
from ..surface.numpy import ROWS as _ROWS
from . import operands as _operands

#: The names that each module defines.
_MODULES = {
    "creation": (
        "arange array asarray asfarray bartlett blackman empty empty_like eye full full_like geomspace hamming "
        "hanning identity linspace logspace ones ones_like tri zeros zeros_like"
    ),
    "grids": (
        "diag_indices indices ix_ meshgrid mgrid ogrid ravel_multi_index tril_indices tril_indices_from triu_indices "
        "triu_indices_from unravel_index"
    ),
    "indexing": "apply_along_axis apply_over_axes array_str choose piecewise select take take_along_axis where",
    "logic": "array_equal array_equiv in1d isclose isin isneginf isposinf isscalar signbit sometrue",
    "math": (
        "abs absolute around cbrt ceil clip copysign divmod exp2 fabs fix float_power heaviside maximum minimum "
        "positive reciprocal round sign trunc"
    ),
    "padding": "pad",
    "polynomials": "polyadd polyder polyint polymul polysub polyval vander",
    "products": "convolve corrcoef correlate cov cross matrix_power multi_dot outer",
    "random": "rand randint randn",
    "reductions": (
        "amax amin argmax argmin average cumprod cumsum diff ediff1d gradient max mean min nancumsum nanmax nanmean "
        "nanmin nanstd nansum nanvar norm size sum trapz unwrap"
    ),
    "search": (
        "bincount digitize histogram histogram2d histogram_bin_edges histogramdd interp intersect1d searchsorted "
        "setdiff1d unique"
    ),
    "shapes": (
        "append array_split atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_to column_stack concatenate "
        "diag dsplit dstack expand_dims flip fliplr flipud hsplit hstack roll rollaxis rot90 split stack tile tril "
        "triu vsplit vstack"
    ),
    "types": (
        "NINF PINF bool_ float16 float32 float64 float_ inf int16 int32 int64 int8 int_ nan numeric_types pi "
        "promote_types result_type uint uint16 uint32 uint64 uint8"
    ),
}
_WHERE = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__: list[str] = []
__all__ += _WHERE
__all__ += _ROWS


def __lacking__(name: str) -> str | None:
    """Advice on a name that is not here; compiled code asks for it, too."""
    return did_you_mean(name, __all__)


def __getattr__(name: str) -> Any:
    if name == "fft":
        return _module("fft")
    if name not in _WHERE and name not in _ROWS:
        advice = __lacking__(name)
        text = f"module {__name__!r} has no attribute {name!r}" + (f": {advice}" if advice else "")
        raise AttributeError(text, name=name, obj=sys.modules[__name__])
    value = _made(name) if name in _ROWS else getattr(_module(_WHERE[name]), name)
    return globals().setdefault(name, value)  # another thread may have made it meanwhile


def _module(name: str) -> Any:
    return importlib.import_module(f".{name}", __name__)


def _made(name: str) -> Any:
    """The function of a row, the same under all its names."""
    row = _ROWS[name]
    if name != row.name:
        return getattr(sys.modules[__name__], row.name)
    return _row.function(row, __name__, vars(_operands), ">>> from autodiff_compiler import numpy as np")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
