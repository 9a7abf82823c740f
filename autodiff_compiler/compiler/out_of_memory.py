"""Errors of programs that get no memory: MemoryError with the value, its bytes and the user's line."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..backends.stacks import Stacks
from ..errors import CompileError
from ..ir.core import Module, Op
from ..ir.types import Seq, TensorType
from ..ir.walk import ops_of
from ..no_memory import is_refusal, no_memory_for, on_the_way, refusal, told_bytes
from ..source import is_users

_NUMPY = os.path.dirname(np.__file__)


def explained(error: BaseException, module: Module, run: object) -> CompileError | None:
    """The error of a program that got no memory, with its cause; None for another error, or one of users' code."""
    if not is_refusal(error) or _in_users_code(error):
        return None
    shape: Any = getattr(error, "shape", None)
    dtype: Any = getattr(error, "dtype", None)
    made = list(_made(module))
    for op, type in made:
        if shape == type.shape and dtype == type.dtype.numpy:
            return no_memory_for(type.dtype.numpy, type.shape, op.loc)
    if isinstance(error, ValueError):  # there are more elements than NumPy can count, though one size may be 0
        made = [x for x in made if not x[1].is_countable] or made
    largest = max(made, key=lambda x: _bytes(x[1]), default=None)
    if largest is None:
        return None
    op, type = largest
    if isinstance(error, ValueError):
        return no_memory_for(type.dtype.numpy, type.shape, op.loc)
    signature: Any = getattr(run, "signature", None)
    whole = 0
    if shape is None and signature is not None:
        stacks = Stacks(module).whole().known
        whole = signature.frame_bytes + (stacks if isinstance(stacks, int) else 0)
    if shape is not None:
        whole = math.prod(shape) * dtype.itemsize
    what, most = repr(type), _bytes(type)
    for loop, collected in _collected(module):
        if collected > most:
            op, what, most = loop, "what a loop keeps of its trips", collected
    note = f"the largest is {what}: {told_bytes(most)}"
    message = on_the_way(whole) if whole else "there is no memory for what the call computes on the way"
    return refusal(f"{message}; {note}", op.loc)


def _made(module: Module) -> Iterator[tuple[Op, TensorType]]:
    for function in module:
        for op in ops_of(function.body):
            for x in op.results:
                if isinstance(x.type, TensorType) and all(isinstance(n, int) for n in x.type.shape):
                    yield op, x.type


def _collected(module: Module) -> Iterator[tuple[Op, int]]:
    """Loops, each with the bytes of a sequence that it collects, where its trips and sizes are known."""
    stacks = Stacks(module)
    for function in module:
        for op in ops_of(function.body):
            for x in op.results if op.blocks else ():
                if isinstance(x.type, Seq) and isinstance(known := stacks.of(x).known, int):
                    yield op, known


def _bytes(type: TensorType) -> int:
    return math.prod(type.shape) * type.dtype.itemsize  # type: ignore[return-value]


def _in_users_code(error: BaseException) -> bool:
    """Whether a host function raised it."""
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if is_users(file) and not file.startswith(("<", _NUMPY, "numpy/")):  # what is compiled of it has short names
            return True
        trace = trace.tb_next
    return False
