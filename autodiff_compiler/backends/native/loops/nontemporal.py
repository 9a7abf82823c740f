"""Non-temporal stores, for results that are larger than the caches and not read again by the program.

An ordinary store first reads the cache line that it writes, and evicts others.
"""

from __future__ import annotations

from ....ir.core import Block, Value
from ....ir.sizes import usual
from ..codegen.emit import Text
from ..codegen.values import Array, size_of
from ..fusion.clusters import Cluster
from ..fusion.loop_plan import Layout, Memory, Passes, Sinks
from ..memory.buffer_plan import BufferPlan

#: Bytes of a result from which on its stores are non-temporal.
NONTEMPORAL_FROM = 16 << 20
#: Bytes that one such store can have.
_SIZES = (16, 32, 64)


def mark_nontemporal(
    low: BufferPlan, cluster: Cluster, passes: Passes, layout: Layout, sinks: Sinks, lanes: int
) -> bool:
    """Marks the sinks whose stores are non-temporal; whether there are any.  `lanes`: elements of one store."""
    for x, (array, memory) in sinks.items():
        unread = _unread(low, cluster, passes, x) if cluster.ops else low.leaving
        marked = unread and is_nontemporal(low, array) and _aligned(layout, memory, lanes)
        memory.nontemporal = lanes * memory.dtype.itemsize if marked else 0
    return any(memory.nontemporal for _, memory in sinks.values())


def is_nontemporal(low: BufferPlan, array: Array) -> bool:
    """Whether an array is a new result large enough for non-temporal stores, on a processor that has them.

    Such a result is an aligned block of the pool.  One of symbolic size may be small in some calls, and is not aligned.
    """
    if "x86" not in low.machine.triple or low.depth or len(array.roots) != 1:
        return False
    result = array.roots[0].result
    nbytes = size_of(array.type)
    large = isinstance(nbytes, int) and nbytes >= NONTEMPORAL_FROM
    return large and result is not None and result not in low.versions.next_of


def _unread(low: BufferPlan, cluster: Cluster, passes: Passes, x: Value) -> bool:
    """Whether neither an op nor a later pass reads a value: it only is a result."""
    users = low.uses.get(x, ())
    only = bool(users) and all(isinstance(user, Block) for user, _ in users)
    return only and x in cluster.full and passes.of[x] == passes.count - 1


def _aligned(layout: Layout, memory: Memory, lanes: int) -> bool:
    """Whether every whole vector is aligned to its size; results themselves are."""
    size = lanes * memory.dtype.itemsize
    levels = [*layout.batch, *layout.outer, *layout.inner[:-1]]
    starts = [memory.offset, *(level.strides[memory] for level in levels)]
    adjacent = layout.inner[-1].strides[memory] == memory.dtype.itemsize and usual(layout.inner[-1].size) >= lanes
    return adjacent and size in _SIZES and all(isinstance(s, int) and s % size == 0 for s in starts)


def fence_stores(text: Text) -> None:
    """A store fence, at the end of a function with non-temporal stores: they are not ordered with later ones."""
    text.call("void", "llvm.x86.sse.sfence", pure=False)
