"""Emits the fused loop of a cluster: where it reads and writes, and which results may be written over its operands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import Any

from .... import logs
from ....errors import InternalCompilerError
from ....ir.core import Op, Value
from ....ir.sizes import Size, bounds
from ....ir.types import Shape, TensorType, tensor
from ..codegen.arithmetic import Kernels
from ..codegen.emit import Reg, Text
from ..codegen.lanes import Lane
from ..codegen.values import FUSED, HOST, Array, Spread, Undefined, roots_of
from ..fusion.clusters import REDUCTIONS, Axes, Cluster, reduced_axes
from ..fusion.loop_plan import (
    Memory,
    Passes,
    Sinks,
    Source,
    collapsed,
    count_rereads,
    loop_fingerprint,
    plan_passes,
    reading_passes,
    row_bytes,
)
from ..memory.buffer_plan import BufferPlan
from ..memory.last_uses import last_use
from ..memory.wishes import Carried
from .fused_loop import FusedLoop, held_row, vectors_together
from .nontemporal import fence_stores, mark_nontemporal
from .transposes import worth_transposing

#: Loops of one vector that are inlined in a driver: LLVM takes long for a long one, and calls share code.
_MOST_INLINE = 64


def write_cluster(low: BufferPlan, cluster: Cluster) -> None:
    """Emits the fused loop of a cluster, and notes which of its results may be written in place."""
    shape = cluster.shape
    for op in cluster.ops:
        if low.ways.get(op.defn.name) != HOST:
            low.ways[op.defn.name] = FUSED
    if cluster.axes is None:
        cluster.axes = Axes((), (), tuple(range(len(shape))))
    members = set(cluster.ops)
    wanted = {r for op in cluster.ops for r in op.results if any(by not in members for by, _ in low.uses.get(r, ()))}
    elements = wanted & cluster.full
    lanes = _lanes(low, cluster)
    passes = plan_passes(cluster, elements, held=True)
    held = _held(cluster, passes, lanes)
    if not held:
        passes = plan_passes(cluster, elements, held=False)
    sources: dict[Value, Source] = {}
    for op in cluster.ops:
        for x in op.operands:
            if x not in cluster.full and x not in cluster.rows and x not in sources:
                sources[x] = source_of(low, x, cluster)
    reads = reading_passes(passes, cluster, elements, held=held)
    short = None if held or not _may_be_short(low, cluster, lanes) else plan_passes(cluster, elements, held=True)
    if short is not None:  # it may read in later passes what the others keep in a temporary
        for x, found in reading_passes(short, cluster, elements, held=True).items():
            reads.setdefault(x, []).extend(found)
    reading = _Reading(cluster, passes, sources, reads)
    sinks = {
        x: _sink(low, x, cluster, over=_over_version(low, x, reading))
        for op in cluster.ops
        for x in op.results
        if x in wanted or x in cluster.ends
    }
    _note_overwrites(low, reading, sinks)
    sinks |= _temporaries(low, reading, sinks)
    passes.rereads = count_rereads(cluster, reads, set(sources))
    write_fused_loop(low, cluster, passes, sources, sinks, held=held, short=short)


def write_copies(low: BufferPlan, copies: Mapping[Value, Array]) -> None:
    """Copies values of one type in one fused loop, which reads an element of each before it writes any."""
    values = list(copies)
    shape = copies[values[0]].shape
    axes = range(len(shape))
    cluster = Cluster(shape, Axes((), (), tuple(axes)))
    passes = Passes(dict.fromkeys(values, 0), [[]], [values])
    sources = {x: source_of(low, x, cluster) for x in values}
    write_fused_loop(low, cluster, passes, sources, {x: (to, memory_of(to, axes)) for x, to in copies.items()})


def _lanes(low: BufferPlan, cluster: Cluster) -> int:
    """The elements of a vector: as many of the widest dtype as fill a register."""
    values = [x for op in cluster.ops for x in (*op.operands, *op.results)]
    return low.machine.vector_bytes // (8 if any(x.dtype.itemsize == 8 for x in values) else 4)


def _held(cluster: Cluster, passes: Passes, lanes: int) -> bool:
    """Whether the passes over a row keep it in registers."""
    assert cluster.axes is not None
    inner = [cluster.shape[a] for a in cluster.axes.inner if cluster.shape[a] != 1]
    length = inner[0] if inner else 1
    return isinstance(length, int) and held_row(length, passes.count, lanes, max(1, len(inner)))


def _may_be_short(low: BufferPlan, cluster: Cluster, lanes: int) -> bool:
    """Whether rows that are reduced, of a length that only a call knows, get code of their own for short ones."""
    assert cluster.axes is not None
    inner = prod(cluster.shape[a] for a in cluster.axes.inner)
    reduces = any(op.defn.name in REDUCTIONS for op in cluster.ops)
    return low.machine.masked and reduces and not isinstance(inner, int) and bounds(inner)[0] <= lanes


def source_of(low: BufferPlan, x: Value, cluster: Cluster) -> Source:
    """What a fused loop reads for an operand: memory, or a number for all elements."""
    operand = low.env[x]
    if isinstance(operand, Spread):
        return operand.number
    if isinstance(operand, Undefined):
        return 0
    if not isinstance(operand, Array):
        raise InternalCompilerError(f"a fused loop reads {operand!r}")
    if worth_transposing(operand):
        operand = low.in_memory(x)
    low.touch(operand)
    return memory_of(operand, _axes_of(x, cluster), len(cluster.shape))


def _axes_of(x: Value, cluster: Cluster) -> Iterable[int]:
    """For each axis of a value, the axis of the fused loop."""
    if len(x.shape) == len(cluster.shape):
        return range(len(x.shape))
    assert cluster.axes is not None
    return [a for a in range(len(cluster.shape)) if a not in cluster.axes.inner]


def memory_of(array: Array, axes: Iterable[int], ndim: int | None = None) -> Memory:
    """An array as memory of a loop nest: a stride for each axis of the loop, 0 where the array is broadcast."""
    strides: list[Size] = [0] * (len(array.shape) if ndim is None else ndim)
    for axis, d, stride in zip(axes, array.shape, array.strides, strict=True):
        strides[axis] = 0 if d == 1 else stride
    return Memory(array.base, array.offset, tuple(strides), array.dtype, array.is_iota)


def _sink(low: BufferPlan, x: Value, cluster: Cluster, *, over: bool) -> tuple[Array, Memory]:
    """Where a fused loop writes a result; `over`: perhaps in place of the carry whose next version it is."""
    made = low.target(x, over=over)
    ndim = len(cluster.shape)
    op = x.owner
    assert isinstance(op, Op)
    if x in cluster.ends and len(x.shape) != ndim:
        axes: Iterable[int] = [a for a in range(ndim) if a not in reduced_axes(op)]
    else:
        axes = _axes_of(x, cluster)
    return made, memory_of(made, axes, ndim)


@dataclass
class _Reading:
    """What a fused loop reads, and which passes read it."""

    cluster: Cluster
    passes: Passes
    sources: dict[Value, Source]
    reads: dict[Value, list[int]]

    def until(self, x: Value) -> dict[Value, Source]:
        """The operands that no pass reads after the one that writes a value."""
        cluster, last = self.cluster, self.passes.of[x]
        numbers = [op for op in cluster.ops if op.results[0] in cluster.rows and op.defn.name not in REDUCTIONS]
        of_rows = {y for op in numbers for y in op.operands}
        kept = {y: s for y, s in self.sources.items() if y not in of_rows}
        return {y: s for y, s in kept.items() if all(n <= last for n in self.reads.get(y, ()))}


@dataclass
class _Room:
    """Memory for a row that one pass spills for later ones; `until`: the pass that writes a result there."""

    array: Array
    memory: Memory
    until: float
    #: the last pass that reads what was spilled there last
    taken: int = -1


def _temporaries(low: BufferPlan, reading: _Reading, sinks: Sinks) -> Sinks:
    """Where rows are spilled that only later passes read: in memory of results not yet written, or in scratch."""
    cluster, passes = reading.cluster, reading.passes
    if not passes.temporaries:
        return {}
    own = _row_strides(cluster, 1)
    rooms: list[_Room] = []
    for x, (array, memory) in sinks.items():
        step = memory.dtype.itemsize
        ordered = all(memory.strides[a] in (step * own[a], 0) for a in cluster.axes.inner)  # type: ignore[union-attr]
        if x in cluster.full and ordered and _lies_alone(low, x, array):
            rooms.append(_Room(array, memory, passes.of[x]))
    found = {}
    for x in sorted(passes.temporaries, key=passes.of.__getitem__):
        assert isinstance(x.type, TensorType)
        size, last = x.type.dtype.itemsize, max(reading.reads.get(x, [passes.of[x]]))
        fits = (r for r in rooms if r.memory.dtype.itemsize == size and r.taken <= passes.of[x] and last <= r.until)
        room = next(fits, None)
        if room is None:
            buffer, strides = low.buffer(row_bytes(cluster, x)), _row_strides(cluster, size)
            array = Array(x.type, buffer.base, strides, 0, (buffer,))
            room = _Room(array, Memory(buffer.base, 0, strides, x.type.dtype), inf)
            rooms.append(room)
        room.taken = last
        memory = room.memory
        found[x] = room.array, Memory(memory.base, memory.offset, memory.strides, x.type.dtype)
    return found


def _lies_alone(low: BufferPlan, x: Value, made: Array) -> bool:
    """Whether the memory that a value is written to cannot alias any operand of the fused loop."""
    if x in low.carried or len(made.roots) != 1:
        return False
    (new,) = made.roots
    olds = [old for old, tick in new.over if tick == low.tick]
    if new.result is not None:
        return not any(old.argument == low.versions.next_of.get(new.result, -1) for old in olds)
    return all(old.argument is not None or old.result is not None for old in olds)


def _row_strides(cluster: Cluster, itemsize: int) -> Shape:
    """The strides, in bytes, of a row in C order; 0 for the outer axes."""
    assert cluster.axes is not None
    strides: list[Size] = [0] * len(cluster.shape)
    step: Size = itemsize
    for a in reversed(cluster.axes.inner):
        strides[a] = step
        step *= cluster.shape[a]
    return tuple(strides)


def _note_overwrites(low: BufferPlan, reading: _Reading, sinks: Sinks) -> None:
    """Notes which results may be written in place over operands: those that no later pass reads, elements in step."""
    for x, (made, memory) in sinks.items():
        if x not in reading.cluster.full:
            continue
        read = reading.until(x)
        for y, source in read.items():
            operand = low.env[y]
            if isinstance(source, Memory) and isinstance(operand, Array) and operand.roots:
                same = source.strides == memory.strides and source.offset == 0 and operand.dtype is made.dtype
                for root in operand.roots if same else ():  # it may be any of them
                    if sum(1 for z in reading.sources if isinstance(o := low.env[z], Array) and root in o.roots) == 1:
                        made.roots[0].over[root, low.tick] = None
        carried = low.carried.get(x)
        if carried is not None and not carried.in_place:
            carried.in_place = _in_place(low, carried, reading, read, memory)


def _over_version(low: BufferPlan, x: Value, reading: _Reading) -> bool:
    """Whether a value is the next version of a carry and may be written in place over this trip's version."""
    place, cluster = low.wanted.get(x), reading.cluster
    if place is None or place.carried is None or x not in cluster.full:
        return False
    memory = memory_of(place.array, _axes_of(x, cluster), len(cluster.shape))
    return _in_place(low, place.carried, reading, reading.until(x), memory)


def _in_place(low: BufferPlan, carried: Carried, reading: _Reading, read: dict[Value, Source], memory: Memory) -> bool:
    """Whether the next version of a carry may be written in place; `read`: operands that no later pass reads."""
    now, following = low.env[carried.arg], carried.following.roots
    # In the first trip it lies where it was before the loop, which is not written over unless a result goes there.
    under = {low.versions.next_of.get(r.result) for r in following if r.result is not None}
    mine = {r for r in roots_of(now) if r in following or (r.argument is not None and r.argument in under) or r.virtual}
    shared = [z for z in reading.sources if z is carried.arg or not mine.isdisjoint(roots_of(low.env[z]))]
    if len(shared) != 1 or not isinstance(source := read.get(shared[0]), Memory):
        return False
    operand = low.env[shared[0]]
    same = source.strides == memory.strides and source.offset == 0
    return (
        same and isinstance(operand, Array) and operand.contiguous and last_use(low, carried.arg, reading.cluster.ops)
    )


def _tell(low: BufferPlan, name: str, cluster: Cluster) -> None:
    """Notes a line for the log of fusion: where the ops come from, the shape, and the ops."""
    if logs.listener("fusion") is None or not cluster.ops:
        return
    ops, shape = cluster.ops, ",".join(map(str, cluster.shape))
    lines = dict.fromkeys(logs.place(op.loc)[:-2] for op in ops if op.loc is not None)
    where = f"{', '.join(lines)}: " if lines else ""
    kinds = ", ".join([op.defn.name for op in ops])
    what = f"the kernel {name} is one loop" if name else "code without a loop"
    low.told.append(f"{where}{what} over [{shape}] for {len(ops)} operation{'s' * (len(ops) > 1)}: {kinds}")


def write_fused_loop(
    low: BufferPlan,
    cluster: Cluster,
    passes: Passes,
    sources: dict[Value, Source],
    sinks: Sinks,
    *,
    held: bool = False,
    short: Passes | None = None,
) -> None:
    """Emits a fused loop: straight-line code if it is one vector, else a function and its call.

    `short`: the passes over rows that turn out to be one vector.
    """
    memories = [s for s in sources.values() if isinstance(s, Memory)] + [m for _, m in sinks.values()]
    assert cluster.axes is not None
    layout = collapsed(cluster.shape, cluster.axes, memories)
    lanes = _lanes(low, cluster)
    if not cluster.ops:
        lanes = low.machine.vector_bytes // max(4, max(m.dtype.itemsize for m in memories))
    loops = len(layout.batch) + len(layout.outer) + len(layout.inner) - 1
    length = layout.inner[-1].size
    inline = loops == 0 and isinstance(length, int) and length <= 2 * lanes and low.inlined < _MOST_INLINE
    plain = {x: m for x, (_, m) in sinks.items()}
    low.trace.fused_loop(sources, plain, cluster.shape, passes)
    together = 1 if held else vectors_together(cluster, layout, lanes, low.machine.few_registers)
    more: dict[str, Any] = {"lanes": together * lanes, "masked": low.machine.masked, "held": held}
    if inline:
        low.inlined += 1
        _tell(low, "", cluster)
        walk = FusedLoop(low.text, cluster, passes, layout, sources, plain, **more)
        walk.write()
        for x in sinks:
            if x in cluster.rows and x.type is tensor(x.dtype, ()) and x not in low.results:
                low.env[x] = Spread(x.type, walk.row[x])
        return
    outside = _outside(sources, plain)
    text = Text.kernel(len(low.kernels), [r.type for r in outside])
    text.maths_out_of_line = low.maths_out_of_line
    inside = {r: Reg(f"%p{i}", r.type) for i, r in enumerate(outside)}
    k = Kernels(text, 1)
    for s in memories:
        s.base = inside.get(s.base, s.base)
    moved = {x: Lane(k, inside[s.reg], s.dtype) if isinstance(s, Lane) else s for x, s in sources.items()}
    nontemporal = mark_nontemporal(low, cluster, passes, layout, sinks, lanes)
    fingerprint = (*loop_fingerprint(cluster, passes, moved, plain), *more.values())
    if fingerprint not in low.written_for:
        loop = FusedLoop(text, cluster, passes, layout, moved, plain, **more)
        _write_by_length(text, [*_shorter(loop, short, lanes), loop])
        if nontemporal:
            fence_stores(text)
        text.ret()
        low.written_for[fingerprint] = low.kernel(text)
    text = low.written_for[fingerprint]
    low.trace.calls(text)
    _tell(low, text.name, cluster)
    places = dict.fromkeys(str(op.loc) for op in cluster.ops if op.loc)
    low.text.note(f"{text.name}: {', '.join(places)}" if places else text.name)
    low.text.do(f"call void @{text.name}({', '.join(map(str, [*outside, *low.text.sizes_for(text)]))})")
    for x, (array, _) in sinks.items():
        if x not in low.results:
            low.load_scalar(x, array)


def _shorter(loop: FusedLoop, passes: Passes | None, lanes: int) -> list[FusedLoop]:
    """The same loop for rows that turn out to be one vector, half and whole."""
    layout = loop.layout
    if passes is None or not (layout.batch or layout.outer) or len(layout.inner) > 1 or not loop.adjacent:
        return []
    sinks = {x: m for x, m in loop.sinks.items() if x not in loop.passes.temporaries}
    given = loop.text, loop.cluster, passes, layout, loop.sources, sinks
    return [FusedLoop(*given, lanes=n, masked=loop.masked, held=True, short=True) for n in (lanes // 2, lanes)]


def _outside(sources: Mapping[Value, Source], sinks: Mapping[Value, Memory]) -> list[Reg]:
    """The registers that a kernel takes: places of arrays, and numbers."""
    found: list[Reg] = []
    for s in sources.values():
        if isinstance(s, Memory | Lane):
            found.append(s.base if isinstance(s, Memory) else s.reg)
    found = list(dict.fromkeys([*found, *(m.base for m in sinks.values())]))
    return [r for r in found if r.text != "null"]


def _write_by_length(text: Text, loops: Sequence[FusedLoop]) -> None:
    """Writes the loops, of which a call takes the first for rows as long as its own."""
    first, *others = loops

    def written() -> tuple[()]:
        first.write()
        return ()

    def otherwise() -> tuple[()]:
        _write_by_length(text, others)
        return ()

    if others:
        text.branch(text.let("i1", f"icmp sle {text.whole(first.length)}, {first.most}"), written, otherwise)
    else:
        first.write()
