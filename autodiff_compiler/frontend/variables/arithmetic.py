"""Arithmetic of Python numbers that are known only at run time."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ... import logs
from ...dtypes import uint64
from ...ir.build import Builder, current
from ...ir.core import Value
from ...ir.primitive import F, trace
from ...ir.types import TensorType, tensor
from ...runtime.mutable import NUMBER_DTYPE, too_great
from ...runtime.tensor import no_single
from .interpreter import ValueContext
from .values import NewException, SymScalar, is_dynamic, is_size

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
SLOT = {op: function.__name__.strip("_") for op, function in BINARY.items()}
#: By the syntax tree's name of a comparison: what our ops and NumPy's functions call it.
COMPARISON = {
    "Eq": "equal", "NotEq": "not_equal", "Lt": "less", "LtE": "less_equal", "Gt": "greater", "GtE": "greater_equal",
}  # fmt: skip
#: By the syntax tree's name of an operator of one operand: the name of its method.
UNARY_SLOT = {"USub": "__neg__", "UAdd": "__pos__", "Invert": "__invert__"}
#: By the name of its methods: an operator as Python's messages write it.
SYMBOL = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "** or pow()",
    "matmul": "@", "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip
_WEAK = {"Add": "add", "Sub": "sub", "Mult": "mul", "Div": "div", "FloorDiv": "floordiv", "Mod": "mod", "Pow": "pow"}


def number_binary(ctx: ValueContext, op: str, a: Any, b: Any, refuses: Any = ...) -> SymScalar:
    """Arithmetic of Python numbers of which at least one is known only at run time.

    `refuses`: the function of Python's that raises where the result is not defined; None if that was checked.
    """
    name = _WEAK.get(op)
    if name is None:
        return _bits(ctx, op, a, b)
    builder = current()
    kinds = {kind_of_number(a), kind_of_number(b)}
    fraction = op == "Div" or (op == "Pow" and type(b) is int and b < 0)
    kind = float if float in kinds or fraction else int
    x, y = (lifted_number(v, kind, builder) for v in (a, b))
    if refuses is not None:
        _check_defined(ctx, op, (a, x), (b, y), kind, BINARY[op] if refuses is ... else refuses)
    if op == "Pow":
        return SymScalar(F.int_pow(x, y), kind) if kind is int else _power(ctx, x, y)
    return SymScalar(getattr(F, name)(x, y), kind)


def _power(ctx: ValueContext, x: Value, y: Value) -> SymScalar:
    """A float to the power of a float, as C has it; too large a result is an error in Python."""
    result = F.math_function(x, y, function="pow")
    fine = F.logical_or(F.logical_not(F.isinf(result)), F.logical_or(F.isinf(x), F.isinf(y)))
    ctx.check(fine, _error(OverflowError, 34, "Numerical result out of range"))
    return SymScalar(result, float)


_BITS = {
    "BitAnd": ("logical_and", "bitwise_and"), "BitOr": ("logical_or", "bitwise_or"),
    "BitXor": ("not_equal", "bitwise_xor"), "LShift": ("", "left_shift"), "RShift": ("", "right_shift"),
}  # fmt: skip


def _bits(ctx: ValueContext, op: str, a: Any, b: Any) -> SymScalar:
    """Bit operations of ints and bools."""
    kinds = [kind_of_number(x) or float for x in (a, b)]
    if op not in _BITS or float in kinds:
        BINARY[op](*(kind(1) for kind in kinds))  # raises what Python raises
    of_bools, name = _BITS[op]
    if kinds == [bool, bool] and of_bools:
        return SymScalar(getattr(F, of_bools)(*(lifted_number(x, bool, current()) for x in (a, b))), bool)
    x, y = (lifted_number(v, int, current()) for v in (a, b))
    if op in ("LShift", "RShift"):
        if not _may(b, lambda n: n >= 0):
            raise ValueError("negative shift count")
        if _may(b, _is_negative):
            ctx.check(F.greater_equal(y, 0), _error(ValueError, "negative shift count"))
    return SymScalar(getattr(F, name)(x, y), int)


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
    ctx: ValueContext, op: str, left: tuple[Any, Value], right: tuple[Any, Value], kind: type, refuses: Any
) -> None:
    """Emits the check for operands that Python refuses; `left` and `right` are the operands with their Values."""
    (a, x), (b, y) = left, right
    if op in ("Div", "FloorDiv", "Mod") and _may(b, _is_zero):
        whole = int if kind_of_number(a) is not float and kind_of_number(b) is not float else float
        try:
            refuses(whole(1), whole(0))
        except ZeroDivisionError as error:
            ctx.check(F.not_equal(y, 0), _error(ZeroDivisionError, *error.args))
    elif op == "Pow" and kind is int and _may(b, _is_negative):
        if _may(a, _is_zero):
            fine = F.logical_or(F.not_equal(x, 0), F.greater_equal(y, 0))
            ctx.check(fine, _zero_to_a_negative_power())
        why = "an int to a negative power is a float, which is not known at compile time: write float(n) ** m"
        ctx.check(F.greater_equal(y, 0), _error(ValueError, why))
    elif op == "Pow" and kind is float:
        if _may(a, _is_zero) and _may(b, _is_negative):
            fine = F.logical_or(F.not_equal(x, 0), F.logical_or(F.logical_not(F.less(y, 0)), F.isinf(y)))
            ctx.check(fine, _zero_to_a_negative_power())
        if _may(a, _is_negative) and _may(b, lambda n: n % 1 != 0):
            real = F.logical_or(F.logical_not(F.less(x, 0)), F.isinf(x))
            fine = F.logical_or(real, F.logical_or(F.equal(y, F.floor(y)), F.isnan(y)))
            ctx.check(fine, _error(ValueError, "a negative number to a fractional power is complex"))


def _may(x: Any, test: Callable[[Any], bool]) -> bool:
    """Whether a number may pass a test: one known only at run time always may."""
    return is_dynamic(x) or test(x)


def _is_zero(n: Any) -> bool:
    return bool(n == 0)


def _is_negative(n: Any) -> bool:
    return bool(n < 0)


def kind_of_number(x: Any) -> type | None:
    """bool, int or float for a Python number (known now or at run time), else None."""
    if type(x) is SymScalar:
        return x.kind
    if is_size(x):
        return int
    return type(x) if type(x) in (bool, int, float) else None


def joined_number(a: type, b: type) -> type | None:
    """The kind of number that holds both: equal kinds, or float for int with float."""
    if a is b:
        return a
    return float if {a, b} == {int, float} else None


def lifted_number(x: Any, kind: type, builder: Builder) -> Value:
    """A Python number as a 0-d Value of the dtype that run-time numbers of `kind` have."""
    dtype = NUMBER_DTYPE[kind]
    if is_dynamic(x):
        with builder:
            return x.value if x.value.dtype is dtype else F.cast(x.value, dtype=dtype)
    if is_size(x):
        with builder:
            return F.cast(F.size_value(size=x), dtype=dtype) if kind is not int else F.size_value(size=x)
    if kind is int and not -(2**63) <= int(x) < 2**63:
        raise too_great(x)
    return builder.const(kind(x), tensor(dtype, ()))


_ORDER = {bool: 0, int: 1, float: 2}


def fits_tensor(kind: type, t: TensorType) -> bool:
    """Whether a Python number may become a 0-d Tensor of this type at a join."""
    level = 0 if t.dtype.is_bool else (1 if t.dtype.is_int else 2)
    return t.shape == () and _ORDER[kind] <= level


_BOUND = 2.0**63


def _no_int(x: float) -> Exception:
    """Why a float is no int here: Python's own reason, or ours."""
    try:
        int(x)
    except (ValueError, OverflowError) as error:
        return type(error)(*error.args)
    return OverflowError(f"{x!r} does not fit into 64 bits, the size of an int known only at run time")


#: How the text of a program tells it.
_no_int.spelling = (  # type: ignore[attr-defined]
    "ValueError('cannot convert float NaN to integer') if {0} != {0} else "
    "OverflowError('cannot convert {{}} to an integer of 64 bits'.format({0}))"
)


def checked_int(ctx: ValueContext, x: Value) -> SymScalar:
    """The int that a float known at run time becomes when it is cut; raises where there is none."""
    x = x if x.dtype is NUMBER_DTYPE[float] else F.cast(x, dtype=NUMBER_DTYPE[float])
    fine = F.logical_and(F.greater_equal(x, -_BOUND), F.less(x, _BOUND))
    ctx.check(fine, NewException(_no_int, (SymScalar(x, float),), {}))  # type: ignore[arg-type]
    return SymScalar(F.cast(x, dtype=NUMBER_DTYPE[int]), int)


def _too_great(x: int) -> Exception:
    return OverflowError(f"{x + 2**64} does not fit into 64 bits, the size of an int known only at run time")


_too_great.spelling = (  # type: ignore[attr-defined]
    "OverflowError('cannot convert {{}} to an integer of 64 bits'.format({0} + 2**64))"
)


def checked_unsigned(ctx: ValueContext, x: Value) -> SymScalar:
    """The int that a uint64 known at run time is; raises where it has no place in 64 bits with a sign."""
    signed = F.cast(x, dtype=NUMBER_DTYPE[int])
    fine = F.greater_equal(signed, 0)
    ctx.check(fine, NewException(_too_great, (SymScalar(signed, int),), {}))  # type: ignore[arg-type]
    return SymScalar(signed, int)


def leaves_derivative(ctx: ValueContext, form: str) -> None:
    """Tells listeners that a float becomes a number or an array here: now, or when a derivative is taken."""
    if ctx.differentiated:
        logs.leaves_derivative(ctx.here, form)
    else:
        trace.builder.module.leaving[ctx.here] = form


def to_number(ctx: ValueContext, x: Any, kind: type | None) -> SymScalar:
    """A one-element Tensor as a Python number known at run time; it carries no derivative."""
    value = ctx.unwrap(x)
    if any(isinstance(d, int) and d != 1 for d in value.shape):
        raise no_single(value.shape)
    own = bool if value.dtype.is_bool else (int if value.dtype.is_int else float)
    kind = kind or own
    if value.shape != ():
        value = F.reshape(value, shape=())
    if value.dtype.is_float and kind is not bool:
        leaves_derivative(ctx, "a number")
    value = F.stop_gradient(value)
    if kind is bool and not value.dtype.is_bool:
        return SymScalar(F.not_equal(value, 0), bool)
    if kind is int and value.dtype.is_float:
        return checked_int(ctx, value)
    if kind is int and value.dtype is uint64:
        return checked_unsigned(ctx, value)
    dtype = NUMBER_DTYPE[kind]
    return SymScalar(value if value.dtype is dtype else F.cast(value, dtype=dtype), kind)
