"""What a program does besides computing: printing, stopping, calling the host.  They keep their mutual order."""

from __future__ import annotations

from ..dtypes import bool_
from ..ir.primitive import Effect, Parts, Primitive, Types
from ..ir.types import TensorType, Type, tensor
from .family import require_dtype

_BOOL = tensor(bool_, ())


class Print(Primitive):
    """Prints its operands: `parts` are literal texts and operand numbers in the order they appear."""

    effect = Effect.IO

    def infer(*operands: Type, parts: Parts, sep: str = " ", end: str = "\n"):
        return ()


class Raise(Primitive):
    """Raises the exception that the host function `exception` builds (from the operands)."""

    effect = Effect.IO

    def infer(*operands: Type, exception: str):
        return ()


class Assert(Primitive):
    """Raises the exception that the host function `exception` builds unless the condition holds."""

    effect = Effect.IO

    def infer(condition: TensorType, *operands: Type, exception: str):
        require_dtype(condition is _BOOL, f"the condition of an assert must be bool[], not {condition}")
        return ()


class HostCall(Primitive):
    """Calls a Python function with NumPy arrays; `types` are the types it promises to return."""

    effect = Effect.IO
    multiple = True

    def infer(*operands: Type, fn: str, types: Types):
        return types
