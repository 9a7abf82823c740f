"""Ops with effects: printing, exceptions, calls of host functions, states.  They keep their order."""

from __future__ import annotations

import numpy as np

from ..dtypes import bool_
from ..errors import NotDifferentiableError
from ..ir.primitive import Effect, Names, Parts, Primitive, Types
from ..ir.types import TensorType, Type, tensor
from .requirements import require_dtype
from .samples import F2

_BOOL = tensor(bool_, ())
_STREAMS = ("stdout", "stderr")
_WAYS = ("str", "repr", "array", "scalar", "number")
_OF_WAYS = f"the ways of a print are one of {', '.join(_WAYS)} for each operand"
_OF_PARTS = "the parts of a print are texts, numbers of operands, and lists of a format string and such parts"


class Print(Primitive):
    """Prints its parts: literal texts, numbers of operands, and tuples of a Python format string and its arguments.

    Such arguments are numbers of operands or such tuples again.  `ways` says what an operand is: a Tensor by its `str`
    (all are, if it is empty) or its `repr`, an `array` or `scalar` of NumPy's, or a Python `number`.
    """

    internal = True
    effect = Effect.IO

    def infer(
        *operands: Type,
        parts: Parts,
        sep: str = " ",
        end: str = "\n",
        ways: Names = (),
        flush: bool = False,
        stream: str = "stdout",
    ):
        require_dtype(stream in _STREAMS, f"print writes to {' or '.join(_STREAMS)}, not to {stream!r}")
        require_dtype(len(ways) in (0, len(operands)) and all(way in _WAYS for way in ways), _OF_WAYS)
        require_dtype(all(_is_part(part, len(operands)) for part in parts), _OF_PARTS)
        return ()


def _is_part(part: object, operands: int) -> bool:
    if type(part) is tuple:
        return len(part) > 0 and type(part[0]) is str and all(_is_part(x, operands) for x in part[1:])
    return type(part) is str or (type(part) is int and 0 <= part < operands)


class Raise(Primitive):
    """Raises the exception that the host function `exception` builds (from the operands)."""

    internal = True
    effect = Effect.IO

    def infer(*operands: Type, exception: str):
        return ()


class Assert(Primitive):
    """Raises the exception that the host function `exception` builds unless the condition holds."""

    internal = True
    effect = Effect.IO

    def infer(condition: TensorType, *operands: Type, exception: str):
        require_dtype(condition is _BOOL, f"the condition of an assert must be bool[], not {condition}")
        return ()


class HostCall(Primitive):
    """Calls a Python function with NumPy arrays; `types` are the types it promises to return."""

    internal = True
    effect = Effect.IO
    multiple = True

    def infer(*operands: Type, fn: str, types: Types):
        return types

    def vjp(c, gs, *operands):
        raise NotDifferentiableError(
            "py_call has no derivative, and a gradient arrives at its result",
            hint="give it one with `bprop=`, or put stop_gradient around the result if none is meant",
        )


class WithoutOverflow(Primitive):
    """`finite`, but False if a device whose results saturate has recorded an overflow since the last query."""

    internal = True
    effect = Effect.IO

    def infer(finite: TensorType):
        require_dtype(finite.dtype.is_bool, f"whether numbers are finite is a bool, not {finite.dtype.name}")
        return finite

    def numpy(finite):
        return np.array(finite)  # the host has infinities

    def samples(rng):
        yield (np.array(True),)
        yield (np.array(False),)

    errors = [((F2,), {}, "whether numbers are finite is a bool")]


# ------------------------------------------------------------------------------------------------ states
# Cells that outlive a call: read and written by name until `passes.state` turns them into values.
class StateRead(Primitive):
    """The current value of a state cell."""

    internal = True
    effect = Effect.READ

    def infer(*, state: str, type: Type):
        return type


class StateWrite(Primitive):
    """Replaces the value of a state cell."""

    internal = True
    effect = Effect.WRITE

    def infer(x: Type, *, state: str, type: Type):
        require_dtype(x is type, f"state {state} holds {type}, not {x}")
        return ()
