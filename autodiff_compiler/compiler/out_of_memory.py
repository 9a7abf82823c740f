"""Errors of programs that get no memory: MemoryError with the value, its bytes and the user's line."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..backends.stacks import Stacks
from ..errors import CompileError
from ..ir.core import Module, Op
from ..ir.open_shapes import OpenShapes
from ..ir.sizes import Size, evaluate, symbols_of
from ..ir.types import Seq, TensorType, tensor
from ..ir.walk import ops_of
from ..no_memory import is_refusal, no_memory_for, on_the_way, refusal, told_bytes
from ..source import is_users

_NUMPY = os.path.dirname(np.__file__)


def explained(
    error: BaseException, module: Module, run: object, shapes: Sequence[tuple[int, ...]] = ()
) -> CompileError | None:
    """The error of a program that got no memory, with its cause; None for another error, or one of users' code.

    `shapes`: those of the arguments, which say what the symbolic sizes of the program are in this call.
    """
    if not is_refusal(error) or in_users_code(error):
        return None
    sizes = _sizes(module, shapes)
    shape: Any = getattr(error, "shape", None)
    dtype: Any = getattr(error, "dtype", None)
    values = list(_made(module, sizes))
    for op, type in values:
        if shape == type.shape and dtype == type.dtype.numpy:
            return no_memory_for(type.dtype.numpy, type.shape, op.loc)
    if isinstance(error, ValueError):  # there are more elements than NumPy can count, though one size may be 0
        values = [x for x in values if not x[1].is_countable] or values
    largest = max(values, key=lambda x: _bytes(x[1]), default=None)
    if largest is None:
        return None
    op, type = largest
    if isinstance(error, ValueError):
        return no_memory_for(type.dtype.numpy, type.shape, op.loc)
    signature: Any = getattr(run, "signature", None)
    whole = 0
    if shape is None and signature is not None:
        whole = (_number(signature.frame_bytes, sizes) or 0) + (_number(Stacks(module).whole().known, sizes) or 0)
    if shape is not None:
        whole = math.prod(shape) * dtype.itemsize
    what, most = repr(type), _bytes(type)
    for loop, collected in _collected(module, sizes):
        if collected > most:
            op, what, most = loop, "what a loop keeps of its trips", collected
    note = f"the largest is {what}: {told_bytes(most)}"
    message = on_the_way(whole) if whole else "there is no memory for what the call computes on the way"
    return refusal(f"{message}; {note}", op.loc)


def _sizes(module: Module, shapes: Sequence[tuple[int, ...]]) -> Mapping[str, int]:
    """What the symbols of a program's arguments are in a call whose arguments have these shapes."""
    types = [x.type.shape if isinstance(x.type, TensorType) else () for x in module.entry.args]
    if [len(t) for t in types] != [len(s) for s in shapes]:
        return {}
    return OpenShapes(types).values(shapes) or {}


def _number(size: Size, sizes: Mapping[str, int]) -> int | None:
    """What a size is in the call; None where data decide it."""
    if any(s.name not in sizes for s in symbols_of(size)):
        return None
    return evaluate(size, sizes)


def _made(module: Module, sizes: Mapping[str, int]) -> Iterator[tuple[Op, TensorType]]:
    """The operations with the types of their results, of those whose sizes are known in the call."""
    for function in module:
        for op in ops_of(function.body):
            for x in op.results:
                if isinstance(x.type, TensorType):
                    shape = [n for d in x.type.shape if (n := _number(d, sizes)) is not None]
                    if len(shape) == x.type.ndim:
                        yield op, tensor(x.type.dtype, tuple(shape))


def _collected(module: Module, sizes: Mapping[str, int]) -> Iterator[tuple[Op, int]]:
    """Loops, each with the bytes of a sequence that it collects, where its trips and sizes are known."""
    stacks = Stacks(module)
    for function in module:
        for op in ops_of(function.body):
            for x in op.results if op.blocks else ():
                if isinstance(x.type, Seq) and (known := _number(stacks.of(x).known, sizes)) is not None:
                    yield op, known


def _bytes(type: TensorType) -> int:
    return math.prod(type.shape) * type.dtype.itemsize  # type: ignore[return-value]


def in_users_code(error: BaseException) -> bool:
    """Whether a host function raised it."""
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if is_users(file) and not file.startswith(("<", _NUMPY, "numpy/")):  # what is compiled of it has short names
            return True
        trace = trace.tb_next
    return False
