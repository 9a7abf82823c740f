"""Polls: long loops look for signals (Ctrl-C) now and then, and let other threads run.

The fuel, a register, counts the estimated nanoseconds until the next poll.  Loops carry it, and pass it on to the next,
so that many short loops poll as often as one long one.  Very long products and convolutions poll between their tiles;
kernels have fuel of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....ir.core import Block, Op
from ....ir.loops import known_trips
from ....ir.sizes import usual
from ....ir.types import TensorType
from ....primitives.flops import flops_of
from ..codegen.emit import Reg, Text, i64
from ..codegen.formulas import has_formula
from ..codegen.values import size_of
from ..lower import OPS
from ..memory.buffer_plan import BufferPlan

if TYPE_CHECKING:
    from ..loops.loop_nest import LoopNest

#: Nanoseconds of estimated work between two polls.
_PATIENCE = 10_000_000
#: Loops of less estimated work do not poll.
_SHORT = 100_000
#: Single ops poll from that much estimated work on: programs that poll are entered more slowly, and may not overwrite
#: states in place before the last poll.
_LONG = 100_000_000
#: Ops that are computed in tiles.
_TILED = frozenset({"matmul", "conv", "conv_input", "conv_filter"})

_POLL = """define internal i32 @poll() noinline cold {
  %state = call i32 @PyGILState_Ensure()
  %result = call i32 @PyErr_CheckSignals()
  %held = icmp eq i32 %state, 0
  br i1 %held, label %share, label %done
share:
  %thread = call ptr @PyEval_SaveThread()
  call void @PyEval_RestoreThread(ptr %thread)
  br label %done
done:
  call void @PyGILState_Release(i32 %state)
  ret i32 %result
}"""
_DECLARES = {
    "declare i32 @PyGILState_Ensure()",
    "declare void @PyGILState_Release(i32)",
    "declare i32 @PyErr_CheckSignals()",
    "declare ptr @PyEval_SaveThread()",
    "declare void @PyEval_RestoreThread(ptr)",
}


def has_loops(low: BufferPlan, block: Block) -> bool:
    """Whether there may be loops in it, and so polls."""
    known = low.looping.get(block)
    if known is None:
        known = low.looping[block] = any(
            op.defn.name in ("while", "scan", "call")
            or is_long(low, op)
            or any(has_loops(low, inner) for inner in op.blocks)
            for op in block.ops
        )
    return known


def cost_of(block: Block, vector_bytes: int) -> int:
    """Estimated nanoseconds of a block, within a factor of about four; a loop of unknown length counts as one trip."""
    total = 0
    for op in block.ops:
        if not op.blocks:
            total += _cost_of(op, vector_bytes)
            continue
        known = known_trips(op)
        trips = 1 if known is None else known
        total += 2 + trips * sum(cost_of(inner, vector_bytes) for inner in op.blocks)
    return total


def _cost_of(op: Op, vector_bytes: int) -> int:
    types = [x.type for x in (*op.operands, *op.results) if isinstance(x.type, TensorType)]
    flops = usual(flops_of(op))
    if op.defn.name not in OPS and not has_formula(op):  # a call of Python
        return 5000 + flops // 8
    if all(type.shape == () for type in types):  # a dependency chain: latency counts
        return 1 + flops * 3 // 4
    lanes = vector_bytes // max([4, *(type.dtype.itemsize for type in types)])
    return 1 + max(max(map(size_of, types)) // vector_bytes, flops // (2 * lanes))


def is_short(trips: int | None, cost: int) -> bool:
    """Whether a loop is too short to poll."""
    return trips is not None and trips * cost <= _SHORT


def is_long(low: BufferPlan, op: Op) -> bool:
    """Whether an op polls: it is computed in tiles, and takes long."""
    return op.defn.name in _TILED and _cost_of(op, low.machine.vector_bytes) >= _LONG


def burn(low: BufferPlan, cost: int) -> None:
    """At the end of a trip of `cost` nanoseconds: polls if the fuel is used up."""
    low.fuel = _burnt(low, low.text, low.fuel, cost)


_FUEL = Reg("%fuel", "ptr")


def with_fuel(nest: LoopNest) -> LoopNest:
    """The kernel, of which nothing is written yet, with fuel in its stack frame."""
    nest.text.do(f"{_FUEL.text} = alloca i64, align 8")
    nest.text.store(i64(_PATIENCE), _FUEL, 8)
    return nest


def burn_inside(nest: LoopNest, cost: int) -> None:
    """`burn` at the end of a tile, in a kernel `with_fuel`."""
    text, fuel = nest.text, _FUEL
    text.store(_burnt(nest.low, text, text.load("i64", fuel, 8), cost), fuel, 8)


def _burnt(low: BufferPlan, text: Text, fuel: Reg, cost: int) -> Reg:
    """The fuel that is left; after a poll it is full again."""
    left = text.make("i64", f"sub {fuel}, {max(1, cost)}")
    text.needs["poll"] = _POLL
    text.declares |= _DECLARES
    low.polls = True
    low.may_fail()

    def look() -> list[Reg]:
        failed = text.make("i32", "call i32 @poll()")
        text.leave_if(text.make("i1", f"icmp ne {failed}, 0"))
        return [i64(_PATIENCE)]

    (found,) = text.branch(text.make("i1", f"icmp slt {left}, 0"), look, lambda: [left], rare=True)
    return found
