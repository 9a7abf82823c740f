"""Arithmetic of Python numbers that are known only at run time."""

from __future__ import annotations

import operator
from typing import Any

from ..errors import UnsupportedSyntaxError
from ..ir.build import current
from ..ir.core import Value
from ..ir.primitive import F
from .joins import NUMBER_DTYPE, kind_of_number, lifted_number
from .lowering import Lowering
from .values import Weak, describe

__all__ = ["BINARY", "SLOT", "number_binary"]

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
_WEAK = {"Add": "add", "Sub": "sub", "Mult": "mul", "Div": "div", "FloorDiv": "floordiv", "Mod": "mod", "Pow": "pow"}


def number_binary(lw: Lowering, op: str, a: Any, b: Any) -> Weak:
    """Arithmetic of Python numbers of which at least one is known only at run time."""
    name = _WEAK.get(op)
    if name is None:
        raise UnsupportedSyntaxError(f"operator {SLOT[op]} on {describe(a)} is not supported yet", code="AC1103")
    builder = current()
    kinds = {kind_of_number(a), kind_of_number(b)}
    fraction = op == "Div" or (op == "Pow" and type(b) is int and b < 0)
    kind = float if float in kinds or fraction else int
    x, y = lifted_number(a, _wider(a, kind), builder), lifted_number(b, _wider(b, kind), builder)
    dtype = NUMBER_DTYPE[kind]
    x, y = (v if v.dtype is dtype else F.cast(v, dtype=dtype) for v in (x, y))
    _check_defined(lw, op, (a, x), (b, y), kind)
    return Weak(F.int_pow(x, y) if op == "Pow" and kind is int else getattr(F, name)(x, y), kind)


def _check_defined(lw: Lowering, op: str, left: tuple[Any, Value], right: tuple[Any, Value], kind: type) -> None:
    """Emits the check for what Python refuses, or answers with a number of another kind; left, right: with Values."""
    from .statements import emit_check

    (a, x), (b, y) = left, right
    if op in ("Div", "FloorDiv", "Mod"):
        whole = int if kind_of_number(a) is not float and kind_of_number(b) is not float else float
        try:
            BINARY[op](whole(1), whole(0) if type(b) is Weak else b)
        except ZeroDivisionError as error:
            emit_check(lw, F.not_equal(y, 0), ZeroDivisionError(*error.args))
    elif op == "Pow" and kind is int and type(b) is Weak:
        why = "an int to a negative power is a float, which is not known at compile time: write float(n) ** m"
        emit_check(lw, F.greater_equal(y, 0), ValueError(why))
    elif op == "Pow" and kind is float:
        if (type(a) is Weak or a == 0) and (type(b) is Weak or b < 0):
            fine = F.logical_or(F.not_equal(x, 0), F.greater_equal(y, 0))
            emit_check(lw, fine, ZeroDivisionError("0.0 cannot be raised to a negative power"))
        if (type(a) is Weak or a < 0) and (type(b) is Weak or b % 1):
            fine = F.logical_or(F.greater_equal(x, 0), F.equal(y, F.floor(y)))
            emit_check(lw, fine, ValueError("a negative number to a fractional power is complex"))


def _wider(x: Any, kind: type) -> type:
    own = kind_of_number(x)
    assert own is not None
    return kind if type(x) is not Weak else own
