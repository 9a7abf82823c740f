"""The functions of `math` on Python numbers known only at run time.

They raise what Python raises.  One difference: an int has 64 bits, and what does not fit is an OverflowError.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ...errors import StaticValueError
from ...ir.build import current
from ...ir.core import Value
from ...ir.primitive import REGISTRY, F
from ..effects.effects import EffectContext
from ..effects.exceptions import emit_check
from ..variables import operators
from ..variables.arithmetic import checked_int, kind_of_number, lifted_number
from ..variables.base import variable_of
from ..variables.foreign import foreign_call
from ..variables.rules import intrinsic
from ..variables.structure import is_static
from ..variables.values import NewException, SymScalar, describe, is_tensor

_OPS = {defn.python.__name__: defn for defn in REGISTRY.values() if defn.python is not None}
#: The numbers of arguments that a function takes: of an op its operands.
_ARITIES = {name: (len(defn.operand_names),) for name, defn in _OPS.items()} | {
    "copysign": (2,),
    "degrees": (1,),
    "gamma": (1,),
    "log": (1, 2),
    "radians": (1,),
    "remainder": (2,),
}
#: Those that give a number for every number.
_TOTAL = {"copysign", "degrees", "radians"} | {name for name, defn in _OPS.items() if defn.total}


def _number(ctx: EffectContext, x: Any) -> Value:
    """An argument of a function of `math` as a float."""
    x = variable_of(x).number(ctx, float) if is_tensor(x) else x
    if kind_of_number(x) is None:
        raise TypeError(f"must be real number, not {describe(x)}")
    return lifted_number(x, float, current())


def _nan(x: Value) -> Value:
    return F.not_equal(x, x)


def math_function(ctx: EffectContext, name: str, *args: Any) -> SymScalar:
    """``math.name(*args)`` of numbers known at run time."""
    xs = [_number(ctx, x) for x in args]
    if name == "log" and len(xs) == 2:
        top, bottom = math_function(ctx, "log", args[0]), math_function(ctx, "log", args[1])
        return operators.binary(ctx, "Div", top, bottom)
    result = F.math_function(*xs, function=name)
    if name not in _TOTAL:
        # As CPython: a result that is not finite, though the arguments are, means an exception.
        fine = F.logical_or(
            F.isfinite(result), F.logical_and(_nan(result), functools.reduce(F.logical_or, map(_nan, xs)))
        )
        fine = F.logical_or(fine, F.logical_and(F.isinf(result), functools.reduce(F.logical_or, map(F.isinf, xs))))
        failure: Any = lambda *values: _failure(name, *values)  # noqa: E731
        failure.spelling = "ValueError('math domain error')"
        emit_check(ctx, fine, NewException(failure, tuple(SymScalar(x, float) for x in xs), {}))
    return SymScalar(result, float)


def _failure(name: str, *values: float) -> Exception:
    try:
        getattr(math, name)(*values)
    except (ValueError, OverflowError) as error:
        return type(error)(*error.args)
    return ValueError("math domain error")


def _of_arity(ctx: EffectContext, name: str, *args: Any, **kwargs: Any) -> SymScalar:
    if kwargs or len(args) not in _ARITIES[name]:
        raise StaticValueError(f"math.{name}() of run-time numbers takes fewer arguments")
    return math_function(ctx, name, *args)


def _whole(ctx: EffectContext, name: str, x: Any) -> Any:
    kind = kind_of_number(x)
    if name == "trunc" and kind is None:
        raise TypeError("type Tensor doesn't define __trunc__ method")
    if kind not in (None, float):
        return variable_of(x).number(ctx, int)
    return checked_int(ctx, getattr(F, name)(_number(ctx, x)))


def _test(ctx: EffectContext, name: str, x: Any) -> SymScalar:
    return SymScalar(getattr(F, name)(_number(ctx, x)), bool)


def _register(name: str, emitted: Callable[..., Any]) -> None:
    """A function of `math` is called while compiling where its arguments are known; else ops are emitted."""
    fn = getattr(math, name)

    @intrinsic(fn)
    def rule(ctx: EffectContext, *args: Any, **kwargs: Any) -> Any:
        if is_static((args, kwargs)):
            return foreign_call(ctx, fn, list(args), kwargs)
        return emitted(ctx, name, *args, **kwargs)


for _names, _emitted in (
    (_ARITIES, _of_arity), (("ceil", "floor", "trunc"), _whole), (("isfinite", "isinf", "isnan"), _test)
):  # fmt: skip
    for _name in _names:
        _register(_name, _emitted)
