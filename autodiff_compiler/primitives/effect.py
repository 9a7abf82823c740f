"""What a program does besides computing: printing, stopping, calling the host.  They keep their mutual order."""

from __future__ import annotations

import numpy as np

from ..dtypes import bool_
from ..errors import NotDifferentiableError
from ..ir.primitive import Effect, Names, Parts, Primitive, Types
from ..ir.types import TensorType, Type, tensor
from .family import require_dtype
from .samples import F2

_BOOL = tensor(bool_, ())


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
        return ()


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
    """`finite`, but False where a device whose results saturate noted an overflow since somebody last asked."""

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
