"""The cost model: a piece takes the slower of arithmetic and memory traffic, and its calls.

Symbolic sizes are taken to be what they usually are: for shares of a program's time, whatever the sizes of its calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from ..backends.base import Move, Piece
from ..backends.native.kernels.blas import SMALL_PRODUCT
from ..ir.core import Op, Value
from ..ir.sizes import usual
from ..ir.types import TensorType
from ..primitives.flops import flops_of, functions_of, size_of_type
from .kernel_speeds import kernel_seconds
from .machine_limits import MachineLimits

#: Matrix products, which run at `MachineLimits.product`.
_PRODUCTS = frozenset({"matmul", "conv", "conv_input", "conv_filter"})
#: The share of the peak that small products reach.
_SMALL_PRODUCT = 0.6
#: Other arithmetic does one operation where a multiply-add does two: half of the peak.
_PLAIN = 0.5
#: What an instruction on scalars takes, in latencies of a multiply-add: some overlap.
_WAITING = 0.22
#: The cost of vector divisions and roots, in additions.
_SLOW = {"divide": 10, "truediv": 10, "true_divide": 10, "sqrt": 12, "reciprocal": 10}
#: Seconds: a call of a loop over memory, a trip of a loop, Python between two pieces of machine code, a trip of Python.
_CALL, _TRIP, _HOST, _PYTHON_TRIP = 5e-9, 1e-9, 3e-6, 1e-7
#: Calls of NumPy in those of a ufunc: of other functions, and of an operator between single numbers.
_KERNEL, _NUMBERS = 4.0, 0.25
#: Bytes of a result from which on NumPy's memory comes from the system and goes back there, where a program has more
#: than `_ROOM` such arrays at once: the C library keeps no more than that.  The share `_NEW` of results is new memory,
#: others are written over operands.
_FRESH, _ROOM, _NEW = 256 << 10, 2, 0.5


@dataclass
class Seconds:
    """What an op takes of the time of its piece: for arithmetic, for memory, and for calls."""

    compute: float = 0.0
    memory: float = 0.0
    calls: float = 0.0

    @classmethod
    def of(cls, parts: Iterable[Seconds]) -> Seconds:
        """The sum of several."""
        whole = cls()
        for part in parts:
            whole.add(part)
        return whole

    def add(self, other: Seconds, times: int = 1) -> None:
        self.compute += other.compute * times
        self.memory += other.memory * times
        self.calls += other.calls * times

    def within(self, piece: Seconds) -> float:
        """The seconds in a piece: the slower of compute and memory, shared out as if each ran alone, and the calls."""
        alone = piece.compute + piece.memory
        return self.calls + max(piece.compute, piece.memory) * (self.compute + self.memory) / (alone or 1)

    @property
    def bound(self) -> str:
        """What takes most of it: "compute", "memory" or "calls"; empty where nothing does."""
        parts = {"compute": self.compute, "memory": self.memory, "calls": self.calls}
        return max(parts, key=lambda name: parts[name]) if any(parts.values()) else ""


#: Seconds of each op of a piece as if it ran alone; None: work that belongs to no op.
Model: TypeAlias = Callable[[Piece], dict[Op | None, Seconds]]


def model_of(limits: MachineLimits, arena: int) -> tuple[Model, float, float]:
    """The model for a program with an arena of so many bytes; with it the seconds of a call and of a trip of a loop."""
    if limits.backend == "native":
        return _Native(limits), limits.call, _TRIP
    return _Numpy(limits, arena), limits.call, _PYTHON_TRIP


class _Native:
    def __init__(self, limits: MachineLimits) -> None:
        self.limits = limits

    def __call__(self, piece: Piece) -> dict[Op | None, Seconds]:
        limits, found = self.limits, {op: Seconds() for op in (*piece.ops, None)}
        speed = limits.bandwidth_of(sum(usual(m.read + m.written) for m in piece.moves))
        for op in piece.ops:
            found[op].compute = self._arithmetic(op, piece)
        for move in piece.moves:
            found[move.op].memory += usual(move.read + move.written) / speed
        if any(op.defn.name == "host_call" for op in piece.ops):
            found[piece.ops[0]].calls += _HOST
        elif piece.calls:
            found[piece.ops[0] if piece.ops else None].calls += piece.calls * _HOST
        elif piece.moves:
            found[piece.moves[0].op].calls += _CALL
        return found

    def _arithmetic(self, op: Op, piece: Piece) -> float:
        limits, flops = self.limits, usual(flops_of(op))
        if piece.scalar:
            return flops * limits.latency * _WAITING
        dtype = _dtype_of(op)
        if piece.calls and (known := kernel_seconds(op, limits.kernels.get(dtype, {}))) is not None:
            return known
        if op.defn.name in _PRODUCTS:
            if flops > 2 * SMALL_PRODUCT:
                return flops / limits.product[dtype]
            return flops / (limits.operations[dtype] * _SMALL_PRODUCT)
        elements = _elements(op)
        slow = sum(_SLOW.get(f, 1) - 1 for f in functions_of(op))
        return (flops + slow * elements) / (limits.operations[dtype] * _PLAIN)


class _Numpy:
    """NumPy runs one function after the other: each costs a call and its memory traffic."""

    def __init__(self, limits: MachineLimits, arena: int) -> None:
        self.limits, self.arena = limits, arena

    def __call__(self, piece: Piece) -> dict[Op | None, Seconds]:
        found = {op: Seconds() for op in (*piece.ops, None)}
        for op in piece.ops:
            each = _NUMBERS if piece.scalar else 1.0 if "kernel" not in functions_of(op) else _KERNEL
            found[op].calls = piece.calls * self.limits.call * each
            if not piece.scalar:
                found[op].compute = self._arithmetic(op)
        for move in piece.moves:
            found[move.op].memory += self._memory(move, max(1, piece.calls))
        return found

    def _arithmetic(self, op: Op) -> float:
        dtype, flops = _dtype_of(op), usual(flops_of(op))
        if op.defn.name in _PRODUCTS:
            return flops / self.limits.product[dtype]
        rates, known = self.limits.functions[dtype], kernel_seconds(op, self.limits.kernels.get(dtype, {}))
        elements = _elements(op)
        functions = functions_of(op)
        if op.defn.name in rates:
            return elements * rates[op.defn.name]
        if known is not None:
            return known
        if "kernel" in functions:  # of whose arithmetic only the amount is known
            return flops * rates["add"]
        return elements * sum(rates.get(f, rates["add"]) for f in functions)

    def _memory(self, move: Move, calls: int) -> float:
        limits, moved = self.limits, usual(move.read + move.written)
        each = usual(move.written) // calls
        fresh = _NEW * each * limits.fresh if each >= _FRESH and self.arena > _ROOM * each else 0.0
        return moved / limits.bandwidth_of(moved // calls) + fresh


def _elements(op: Op) -> int:
    """The elements of the largest operand or result."""
    return max((usual(size_of_type(x.type)) for x in _tensors(op)), default=0)


def _tensors(op: Op) -> list[Value]:
    return [x for x in (*op.operands, *op.results) if isinstance(x.type, TensorType)]


def _dtype_of(op: Op) -> str:
    """The dtype of the vectors: double precision if any operand has it, else single."""
    wide = any(x.dtype.itemsize == 8 for x in _tensors(op))
    return "f64" if wide else "f32"
