"""The elementary functions over registers of W lanes, by their NumPy or SciPy names.

`docs/accuracy.md` has their errors.  None calls a library or traps, and their bits do not depend on the width.
"""

from __future__ import annotations

from collections.abc import Callable

from ..emit import Reg
from .error_function import erf, erfc
from .exponential import exp, exp2, expm1, sigmoid
from .hyperbolic import arccosh, arcsinh, arctanh, cosh, sinh, tanh
from .inverse_trigonometric import arccos, arcsin, arctan, arctan2
from .logarithm import log, log1p, log2, log10, logaddexp
from .power import cbrt, hypot, power, rsqrt
from .trigonometric import cos, sin, tan

__all__ = ["FUNCTIONS"]

#: Name -> the function, of a `Vectors` and one or two arguments.
FUNCTIONS: dict[str, Callable[..., Reg]] = {
    "arccos": arccos,
    "arccosh": arccosh,
    "arcsin": arcsin,
    "arcsinh": arcsinh,
    "arctan": arctan,
    "arctan2": arctan2,
    "arctanh": arctanh,
    "cbrt": cbrt,
    "cos": cos,
    "cosh": cosh,
    "erf": erf,
    "erfc": erfc,
    "exp": exp,
    "exp2": exp2,
    "expm1": expm1,
    "hypot": hypot,
    "log": log,
    "log10": log10,
    "log1p": log1p,
    "log2": log2,
    "logaddexp": logaddexp,
    "power": power,
    "rsqrt": rsqrt,
    "sigmoid": sigmoid,
    "sin": sin,
    "sinh": sinh,
    "tan": tan,
    "tanh": tanh,
}
