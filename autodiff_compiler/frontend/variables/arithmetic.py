"""Arithmetic of Python numbers that are known only at run time."""

from __future__ import annotations

import operator
from typing import Any

from ...ir.build import current
from ...ir.core import Value
from ...ir.primitive import F
from ..interpreter.interpreter import Lowering
from ..interpreter.joins import NUMBER_DTYPE, kind_of_number, lifted_number
from .values import NewException, Weak

__all__ = ["BINARY", "SLOT", "SYMBOL", "number_binary"]

#: By the syntax tree's name of an operator: what Python does, and the name of its methods.
BINARY = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "Div": operator.truediv,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "Pow": operator.pow,
    "MatMult": operator.matmul,
    "BitAnd": operator.and_,
    "BitOr": operator.or_,
    "BitXor": operator.xor,
    "LShift": operator.lshift,
    "RShift": operator.rshift,
}
SLOT = {
    "Add": "add",
    "Sub": "sub",
    "Mult": "mul",
    "Div": "truediv",
    "FloorDiv": "floordiv",
    "Mod": "mod",
    "Pow": "pow",
    "MatMult": "matmul",
    "BitAnd": "and",
    "BitOr": "or",
    "BitXor": "xor",
    "LShift": "lshift",
    "RShift": "rshift",
}
#: By the name of its methods: an operator as Python's messages write it.
SYMBOL = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "** or pow()",
    "matmul": "@", "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip
_WEAK = {"Add": "add", "Sub": "sub", "Mult": "mul", "Div": "div", "FloorDiv": "floordiv", "Mod": "mod", "Pow": "pow"}


def number_divmod(lw: Lowering, a: Any, b: Any) -> tuple[Weak, Weak]:
    """``divmod(a, b)`` of such numbers."""
    return number_binary(lw, "FloorDiv", a, b, divmod), number_binary(lw, "Mod", a, b, None)


def number_binary(lw: Lowering, op: str, a: Any, b: Any, refuses: Any = ...) -> Weak:
    """Arithmetic of Python numbers of which at least one is known only at run time.

    `refuses`: the function of Python's that raises where the result is not defined; None if that was checked.
    """
    name = _WEAK.get(op)
    if name is None:
        return _bits(lw, op, a, b)
    builder = current()
    kinds = {kind_of_number(a), kind_of_number(b)}
    fraction = op == "Div" or (op == "Pow" and type(b) is int and b < 0)
    kind = float if float in kinds or fraction else int
    x, y = lifted_number(a, _wider(a, kind), builder), lifted_number(b, _wider(b, kind), builder)
    dtype = NUMBER_DTYPE[kind]
    x, y = (v if v.dtype is dtype else F.cast(v, dtype=dtype) for v in (x, y))
    if refuses is not None:
        _check_defined(lw, op, (a, x), (b, y), kind, BINARY[op] if refuses is ... else refuses)
    if op == "Pow":
        return Weak(F.int_pow(x, y), kind) if kind is int else _power(lw, x, y)
    return Weak(getattr(F, name)(x, y), kind)


def _power(lw: Lowering, x: Value, y: Value) -> Weak:
    """A float to the power of a float, as C has it; too large a result is an error in Python."""
    from ..effects.exceptions import emit_check

    result = F.math_function(x, y, function="pow")
    fine = F.logical_or(F.logical_not(F.isinf(result)), F.logical_or(F.isinf(x), F.isinf(y)))
    emit_check(lw, fine, _error(OverflowError, 34, "Numerical result out of range"))
    return Weak(result, float)


_BITS = {
    "BitAnd": ("logical_and", "bitwise_and"), "BitOr": ("logical_or", "bitwise_or"),
    "BitXor": ("not_equal", "bitwise_xor"), "LShift": ("", "left_shift"), "RShift": ("", "right_shift"),
}  # fmt: skip


def _bits(lw: Lowering, op: str, a: Any, b: Any) -> Weak:
    """Bit operations of ints and bools."""
    from ..effects.exceptions import emit_check

    kinds = [kind_of_number(x) or float for x in (a, b)]
    if op not in _BITS or float in kinds:
        BINARY[op](*(kind(1) for kind in kinds))  # raises what Python raises
    of_bools, name = _BITS[op]
    if kinds == [bool, bool] and of_bools:
        return Weak(getattr(F, of_bools)(*(lifted_number(x, bool, current()) for x in (a, b))), bool)
    x, y = (lifted_number(v, int, current()) for v in (a, b))
    if op in ("LShift", "RShift"):
        if type(b) is not Weak and b < 0:
            raise ValueError("negative shift count")
        if type(b) is Weak:
            emit_check(lw, F.greater_equal(y, 0), _error(ValueError, "negative shift count"))
    return Weak(getattr(F, name)(x, y), int)


def _error(cls: type[Exception], *args: Any) -> NewException:
    return NewException(cls, args, {})


def _zero_to_a_negative_power() -> NewException:
    """What Python raises for it; the words differ between its versions."""
    told: tuple[Any, ...] = ()
    try:
        operator.pow(0, -1)
    except ZeroDivisionError as error:
        told = error.args
    return _error(ZeroDivisionError, *told)


def _check_defined(
    lw: Lowering, op: str, left: tuple[Any, Value], right: tuple[Any, Value], kind: type, refuses: Any
) -> None:
    """Emits the check for what Python refuses, or answers with a number of another kind; left, right: with Values."""
    from ..effects.exceptions import emit_check

    (a, x), (b, y) = left, right
    if op in ("Div", "FloorDiv", "Mod"):
        whole = int if kind_of_number(a) is not float and kind_of_number(b) is not float else float
        try:
            refuses(whole(1), whole(0) if type(b) is Weak else b)
        except ZeroDivisionError as error:
            emit_check(lw, F.not_equal(y, 0), _error(ZeroDivisionError, *error.args))
    elif op == "Pow" and kind is int and type(b) is Weak:
        if type(a) is Weak or a == 0:
            fine = F.logical_or(F.not_equal(x, 0), F.greater_equal(y, 0))
            emit_check(lw, fine, _zero_to_a_negative_power())
        why = "an int to a negative power is a float, which is not known at compile time: write float(n) ** m"
        emit_check(lw, F.greater_equal(y, 0), _error(ValueError, why))
    elif op == "Pow" and kind is float:
        if (type(a) is Weak or a == 0) and (type(b) is Weak or b < 0):
            fine = F.logical_or(F.not_equal(x, 0), F.logical_or(F.logical_not(F.less(y, 0)), F.isinf(y)))
            emit_check(lw, fine, _zero_to_a_negative_power())
        if (type(a) is Weak or a < 0) and (type(b) is Weak or b % 1):
            real = F.logical_or(F.logical_not(F.less(x, 0)), F.isinf(x))
            fine = F.logical_or(real, F.logical_or(F.equal(y, F.floor(y)), F.isnan(y)))
            emit_check(lw, fine, _error(ValueError, "a negative number to a fractional power is complex"))


def _wider(x: Any, kind: type) -> type:
    own = kind_of_number(x)
    assert own is not None
    return kind if type(x) is not Weak else own
