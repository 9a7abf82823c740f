"""Results that are written past the caches: they are larger than these, and nobody reads them soon.

An ordinary store reads the line that it writes to first, and drives from the caches what could be read again.
"""

from __future__ import annotations

from ....ir.core import Block, Value
from ..codegen.emit import Text
from ..codegen.values import Array, size_of
from ..fusion.clusters import Cluster
from ..fusion.loop_plan import Layout, Memory, Passes
from ..memory.buffer_plan import BufferPlan

__all__ = ["STREAMED_FROM", "close_streams", "note_streams", "streamed"]

#: From how many bytes on.
STREAMED_FROM = 16 << 20
#: What one such store writes at once.
_SIZES = (16, 32, 64)


def note_streams(
    low: BufferPlan,
    cluster: Cluster,
    passes: Passes,
    layout: Layout,
    sinks: dict[Value, tuple[Array, Memory]],
    lanes: int,
) -> bool:
    """Notes which sinks are written past the caches; whether there are any.  `lanes`: elements of one such store."""
    for x, (array, memory) in sinks.items():
        # no later pass reads it, nor any op
        unread = _unread(low, cluster, passes, x) if cluster.ops else low.leaving
        streams = unread and streamed(low, array) and _aligned(layout, memory, lanes)
        memory.streams = lanes * memory.dtype.itemsize if streams else 0
    return any(memory.streams for _, memory in sinks.values())


def streamed(low: BufferPlan, array: Array) -> bool:
    """Whether elements are those of a large new result."""
    if "x86" not in low.machine.triple or low.depth or len(array.roots) != 1:
        return False
    result = array.roots[0].result
    return result is not None and result not in low.versions.next_of and size_of(array.type) >= STREAMED_FROM


def _unread(low: BufferPlan, cluster: Cluster, passes: Passes, x: Value) -> bool:
    """Whether a value is a result and nothing else."""
    users = low.uses.get(x, ())
    only = bool(users) and all(isinstance(user, Block) for user, _ in users)
    return only and x in cluster.full and passes.of[x] == passes.count - 1


def _aligned(layout: Layout, memory: Memory, lanes: int) -> bool:
    """Whether every whole vector begins at a multiple of its size, as the result does."""
    size = lanes * memory.dtype.itemsize
    levels = [*layout.batch, *layout.outer, *layout.inner[:-1]]
    starts = [memory.offset, *(level.strides[memory] for level in levels)]
    together = layout.inner[-1].strides[memory] == memory.dtype.itemsize and layout.inner[-1].size >= lanes
    return together and size in _SIZES and all(isinstance(s, int) and s % size == 0 for s in starts)


def close_streams(text: Text) -> None:
    """The end of a function that wrote past the caches: others see that before they see what comes after."""
    text.call("void", "llvm.x86.sse.sfence", pure=False)
