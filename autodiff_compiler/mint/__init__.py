"""MindSpore's `mint`: the functions of `ops` with `dim` and `keepdim`.  Imported at the first access."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from .. import ops
from ..errors import did_you_mean
from . import functions
from .functions import *  # noqa: F403

# fmt: off
#: The functions that `ops` has under the same name with the same arguments.
_SAME = (
    "abs", "absolute", "acos", "acosh", "addbmm", "addmm", "addmv", "arange", "arccos", "arccosh", "arcsin",
    "arcsinh", "arctan", "arctan2", "arctanh", "argmax", "asin", "asinh", "atan", "atan2", "atanh", "baddbmm",
    "bincount", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "ceil", "clamp", "clip", "cos", "cosh",
    "cross", "cumprod", "div", "divide", "dot", "dstack", "einsum", "eq", "equal", "erf", "erfc", "erfinv", "exp",
    "exp2", "expm1", "eye", "fix", "flip", "float_power", "floor", "floor_divide", "fmod", "full", "full_like", "gcd",
    "greater", "greater_equal", "gt", "ge", "histc", "hstack", "inverse", "isclose", "isfinite", "isinf", "isneginf",
    "kthvalue", "le", "lerp", "less", "less_equal", "linspace", "log", "log10", "log1p", "log2", "logaddexp",
    "logaddexp2", "logical_and", "logical_not", "logical_or", "logical_xor", "logsumexp", "lt", "masked_select",
    "matmul", "maximum", "minimum", "mm", "mul", "nan_to_num", "ne", "neg", "negative", "nonzero", "not_equal", "ones",
    "ones_like", "outer", "pow", "ravel", "reciprocal", "remainder", "roll", "round", "rsqrt", "searchsorted",
    "sigmoid", "sign", "sin", "sinc", "sinh", "square", "sum", "swapaxes", "t", "take", "tan", "tanh", "tile", "trace",
    "tril", "triu", "trunc", "unbind", "unique_consecutive", "unsqueeze", "xlogy", "zeros_like",
)
# fmt: on
_MODULES = ("linalg", "nn", "special")

__all__: list[str] = []
__all__ += _MODULES
__all__ += functions.__all__
__all__ += _SAME


def __lacking__(name: str) -> str | None:
    """Advice on a name that is not here: the function of `ops`, or what comes near."""
    if hasattr(ops, name):
        return f"`ops.{name}` does it, perhaps with other names of arguments"
    return did_you_mean(name, __all__)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name not in _SAME:
        advice = None if name.startswith("__") else __lacking__(name)
        text = f"module {__name__!r} has no attribute {name!r}" + (f": {advice}" if advice else "")
        raise AttributeError(text, name=name, obj=sys.modules[__name__])
    value = globals()[name] = getattr(ops, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
