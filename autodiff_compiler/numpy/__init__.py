"""`mindspore.numpy`: NumPy's names and arguments over the ops, differentiable and in both modes.

    from autodiff_compiler import numpy as np

Tensors are promoted to their higher dtype; Python's integers count as int32 and its other numbers as float32, which is
also the dtype of new arrays.  Two things differ from MindSpore: float64 is never rounded to float32 inside a function,
and what MindSpore computes wrongly (`gcd` by quotients in float32, `cbrt(0)`, the variance of integers) is right.

Submodules are imported at the first access of one of their names.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from ..errors import did_you_mean

if TYPE_CHECKING:
    from .creation import *  # noqa: F403
    from .grids import *  # noqa: F403
    from .indexing import *  # noqa: F403
    from .logic import *  # noqa: F403
    from .math import *  # noqa: F403
    from .padding import *  # noqa: F403
    from .polynomials import *  # noqa: F403
    from .products import *  # noqa: F403
    from .random import *  # noqa: F403
    from .reductions import *  # noqa: F403
    from .search import *  # noqa: F403
    from .shapes import *  # noqa: F403
    from .types import *  # noqa: F403

#: The modules of the names that are imported lazily.
# fmt: off
_MODULES = {
    "creation": (
        "arange", "array", "asarray", "asfarray", "bartlett", "blackman", "copy", "empty", "empty_like", "eye",
        "full", "full_like", "geomspace", "hamming", "hanning", "identity", "linspace", "logspace", "ones",
        "ones_like", "tri", "zeros", "zeros_like",
    ),
    "grids": (
        "diag_indices", "indices", "ix_", "meshgrid", "mgrid", "ogrid", "ravel_multi_index", "tril_indices",
        "tril_indices_from", "triu_indices", "triu_indices_from", "unravel_index",
    ),
    "indexing": (
        "apply_along_axis", "apply_over_axes", "array_str", "choose", "piecewise", "select", "take",
        "take_along_axis", "where",
    ),
    "logic": (
        "array_equal", "array_equiv", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "equal",
        "greater", "greater_equal", "in1d", "invert", "isclose", "isfinite", "isin", "isinf", "isnan",
        "isneginf", "isposinf", "isscalar", "less", "less_equal", "logical_and", "logical_not", "logical_or",
        "logical_xor", "not_equal", "signbit", "sometrue",
    ),
    "math": (
        "abs", "absolute", "add", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh",
        "around", "cbrt", "ceil", "clip", "copysign", "cos", "cosh", "deg2rad", "divide", "divmod", "exp",
        "exp2", "expm1", "fabs", "fix", "float_power", "floor", "floor_divide", "fmod", "gcd", "heaviside",
        "hypot", "lcm", "log", "log10", "log1p", "log2", "logaddexp", "logaddexp2", "maximum", "minimum", "mod",
        "multiply", "negative", "positive", "power", "rad2deg", "radians", "reciprocal", "remainder", "rint",
        "round", "sign", "sin", "sinh", "sqrt", "square", "subtract", "tan", "tanh", "true_divide", "trunc",
    ),
    "padding": (
        "pad",
    ),
    "polynomials": (
        "polyadd", "polyder", "polyint", "polymul", "polysub", "polyval", "vander",
    ),
    "products": (
        "convolve", "corrcoef", "correlate", "cov", "cross", "dot", "inner", "kron", "matmul", "matrix_power",
        "multi_dot", "outer", "tensordot", "trace",
    ),
    "random": (
        "rand", "randint", "randn",
    ),
    "reductions": (
        "amax", "amin", "argmax", "argmin", "average", "count_nonzero", "cumprod", "cumsum", "diff", "ediff1d",
        "gradient", "max", "mean", "min", "nancumsum", "nanmax", "nanmean", "nanmin", "nanstd", "nansum",
        "nanvar", "norm", "ptp", "size", "std", "sum", "trapz", "unwrap", "var",
    ),
    "search": (
        "argwhere", "bincount", "digitize", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd",
        "interp", "intersect1d", "searchsorted", "setdiff1d", "unique",
    ),
    "shapes": (
        "append", "array_split", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_to",
        "column_stack", "concatenate", "diag", "diagflat", "diagonal", "dsplit", "dstack", "expand_dims",
        "flip", "fliplr", "flipud", "hsplit", "hstack", "moveaxis", "ravel", "repeat", "reshape", "roll",
        "rollaxis", "rot90", "split", "squeeze", "stack", "swapaxes", "tile", "transpose", "tril", "triu",
        "vsplit", "vstack",
    ),
    "types": (
        "NINF", "PINF", "bool_", "float16", "float32", "float64", "float_", "inf", "int16", "int32", "int64",
        "int8", "int_", "nan", "numeric_types", "pi", "promote_types", "result_type", "uint", "uint16",
        "uint32", "uint64", "uint8",
    ),
}
# fmt: on
_WHERE = {name: module for module, names in _MODULES.items() for name in names}

__all__ = []
__all__ += _WHERE


def __lacking__(name: str) -> str | None:
    """Advice on a name that is not here; compiled code asks for it, too."""
    return did_you_mean(name, __all__)


def __getattr__(name: str) -> Any:
    if name == "fft":
        return importlib.import_module(".fft", __name__)
    if name not in _WHERE:
        advice = __lacking__(name)
        text = f"module {__name__!r} has no attribute {name!r}" + (f": {advice}" if advice else "")
        raise AttributeError(text, name=name, obj=sys.modules[__name__])
    value = getattr(importlib.import_module(f".{_WHERE[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
