"""The elementary functions over registers of W lanes, by their NumPy or SciPy names, inlined or called.

`docs/accuracy.md` has their errors.  None calls a library or traps, and their bits do not depend on the width.

A module that uses a lot of them has each once and calls it.  Inlined, a function costs its 20 to 60 instructions at
each use, and most of the time of a compilation is theirs.  A call costs 5 to 20 % of a fused loop that does little else
(60 % of one that is a single `exp` of f32), as it clobbers all registers; in a large module it is 0 to 3 %, as inlined
code does not fit the instruction cache.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence

from .....ir.core import Op
from ...jit.machine import Machine, machine
from ..emit import Reg, Text
from ..vectors import Vectors
from .error_function import erf, erfc
from .exponential import exp, exp2, expm1, sigmoid
from .hyperbolic import arccosh, arcsinh, arctanh, cosh, sinh, tanh
from .logarithm import log, log1p, log2, log10, logaddexp
from .power import cbrt, hypot, power, rsqrt
from .trigonometric import arccos, arcsin, arctan, arctan2, cos, sin, tan

__all__ = ["FUNCTIONS", "many", "written"]

#: Name -> the function, of a `Vectors` and one or two arguments.
FUNCTIONS: dict[str, Callable[..., Reg]] = {
    function.__name__: function
    for function in (
        arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh, cbrt, cos, cosh, erf, erfc, exp, exp2, expm1, hypot,
        log, log10, log1p, log2, logaddexp, power, rsqrt, sigmoid, sin, sinh, tan, tanh
    )
}  # fmt: skip
#: Uses of such functions up to which a module inlines them: one fused loop may have as many.
_FEW = 48


def many(ops: Iterable[Op]) -> bool:
    """Whether ops use so many elementary functions that these are called."""
    return sum(op.defn.name in FUNCTIONS for op in ops) > _FEW


def written(name: str, v: Vectors, args: Sequence[Reg]) -> Reg:
    """The value of a function of `FUNCTIONS`: inlined, or a call where `Text.maths_out_of_line` is set."""
    if not v.text.maths_out_of_line or v.width == 1:
        return FUNCTIONS[name](v, *args)
    own, text, declares, needs = _function(name, len(args), v.width, v.single, v.low_latency, machine())
    v.text.needs |= {**needs, own: text}
    v.text.declares |= declares
    return v.text.let(v.type, f"call {v.type} @{own}({', '.join(map(str, args))})")


@functools.cache
def _function(
    name: str, count: int, width: int, single: bool, low_latency: bool, host: Machine
) -> tuple[str, str, frozenset[str], dict[str, str]]:
    """Its name and text for the target processor (`host`), and the declarations and definitions that the text needs."""
    own = f"{name}_{'f32' if single else 'f64'}x{width}{'_low_latency' if low_latency else ''}"
    type = Vectors(Text("", []), width, single=single).type
    text = Text(own, [(type, f"x{i}") for i in range(count)], f"internal {type}", "noinline ")
    v = Vectors(text, width, single=single, low_latency=low_latency)
    text.ret(str(FUNCTIONS[name](v, *[Reg(f"%x{i}", type) for i in range(count)])))
    return own, str(text), frozenset(text.declares), text.needs
