"""The plan of a fused loop: its loop nest, its passes over a row, and what each pass computes and stores.

Where a row uses the result of its own reduction, another pass goes over it.  What a later pass needs of an earlier one
is computed again if that is cheap, else kept in a temporary array.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from math import prod

from ....dtypes import DType
from ....ir.build import attrs_key, scalar_key
from ....ir.core import Op, Value
from ....ir.primitive import COSTLY
from ....ir.sizes import Size, usual
from ....ir.types import Shape, TensorType
from ..codegen.emit import Int, Reg
from ..codegen.lanes import Lane
from ..codegen.values import Array
from .clusters import REDUCTIONS, Axes, Cluster

#: Instructions per element that computing a value again may cost.
_CHEAP = 8
#: Bytes of a row that is still in the cache at the next pass.
_CACHE = 1 << 20


@dataclass(eq=False)
class Memory:
    """An array that a fused loop reads or writes: `strides` in bytes, one per axis of the loop."""

    base: Reg
    offset: Int
    strides: Shape
    dtype: DType
    #: an iota (see `Array`)
    is_iota: bool = False
    #: the alignment of non-temporal stores of whole vectors; 0: stores are ordinary ones
    nontemporal: int = 0


@dataclass
class Level:
    """A loop: its trips, and the bytes from one trip to the next for each memory."""

    size: Size
    strides: dict[Memory, Size]


@dataclass
class Layout:
    """The loops of each level, outermost first; the last of `inner` is the one over vectors."""

    batch: list[Level]
    outer: list[Level]
    inner: list[Level]


def collapsed(shape: Shape, axes: Axes, memories: list[Memory]) -> Layout:
    """The loop nest over the axes: neighbours are one loop where the strides of every memory allow it."""
    levels = []
    for group in (axes.batch, axes.outer, axes.inner):
        loops: list[Level] = []
        for axis in group:
            if shape[axis] == 1:
                continue
            strides = {m: m.strides[axis] for m in memories}
            if loops and all(loops[-1].strides[m] == s * shape[axis] for m, s in strides.items()):
                loops[-1] = Level(loops[-1].size * shape[axis], strides)
            else:
                loops.append(Level(shape[axis], strides))
        levels.append(loops)
    batch, outer, inner = levels
    return Layout(batch, outer, inner or [Level(1, dict.fromkeys(memories, 0))])


@dataclass
class Passes:
    """Which pass computes each value, and the reductions and stores of each pass."""

    of: dict[Value, int] = field(default_factory=dict)
    #: the reductions and the stores of each pass
    reductions: list[list[Op]] = field(default_factory=list)
    stores: list[list[Value]] = field(default_factory=list)
    #: values stored for later passes only
    temporaries: list[Value] = field(default_factory=list)
    #: how often values are read again from memory, where the cache does not hold a row
    rereads: dict[Value, int] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return len(self.reductions)


def plan_passes(cluster: Cluster, stored: set[Value], *, held: bool) -> Passes:
    """`stored`: values with one number per element that other ops need; `held`: a row stays in registers."""
    plan = Passes()
    for op in cluster.ops:
        result = op.results[0]
        before = max((plan.of.get(x, 0) for x in op.operands), default=0)
        plan.of[result] = before + 1 if result in cluster.rows and op.defn.name in REDUCTIONS else before
    last = 0
    for op in cluster.ops:
        if op.defn.name in REDUCTIONS:
            last = max(last, plan.of.get(op.operands[0], 0))
        elif op.results[0] in stored:
            last = max(last, plan.of[op.results[0]])
    plan.reductions = [[] for _ in range(last + 1)]
    plan.stores = [[] for _ in range(last + 1)]
    for op in cluster.ops:
        if op.defn.name in REDUCTIONS:
            plan.reductions[plan.of.get(op.operands[0], 0)].append(op)
        elif op.results[0] in stored:
            plan.stores[plan.of[op.results[0]]].append(op.results[0])
    if not held:
        _keep(plan, cluster, set(stored))
    return plan


def reading_passes(plan: Passes, cluster: Cluster, stored: set[Value], *, held: bool) -> dict[Value, list[int]]:
    """The passes that read each value in memory element by element; `stored` and `held` as in `plan_passes`."""
    memory, found = stored.union(plan.temporaries), dict[Value, list[int]]()
    for number in range(plan.count):
        todo = [*[op.operands[0] for op in plan.reductions[number]], *plan.stores[number]]
        seen: set[Value] = set()
        while todo:
            x = todo.pop()
            if x in seen or x in cluster.rows:
                continue
            seen.add(x)
            if x in cluster.full and not (x in memory and plan.of[x] < number):
                todo += x.owner.operands  # type: ignore[union-attr]
            elif not held or x not in found:
                found.setdefault(x, []).append(number)
    return found


def count_rereads(cluster: Cluster, reads: dict[Value, list[int]], sources: set[Value]) -> dict[Value, int]:
    """How often each value is read again from memory; empty if a row fits the cache. `sources`: the loop's inputs."""
    if sum(usual(row_bytes(cluster, x)) for x in reads if x.shape == cluster.shape) <= _CACHE:
        return {}
    return {x: len(passes) - (x in sources) for x, passes in reads.items()}


def _keep(plan: Passes, cluster: Cluster, memory: set[Value]) -> None:
    """Finds the temporaries: values that a later pass needs and cannot cheaply compute again."""
    for number in range(1, plan.count):
        todo = [op.operands[0] for op in plan.reductions[number]] + list(plan.stores[number])
        seen: set[Value] = set()
        while todo:
            x = todo.pop()
            if x in seen or x not in cluster.full or (x in memory and plan.of[x] < number):
                continue
            seen.add(x)
            assert isinstance(x.owner, Op)
            if plan.of[x] < number and _cost(x, cluster, memory, number, plan) > _CHEAP:
                memory.add(x)
                plan.temporaries.append(x)
                plan.stores[plan.of[x]].append(x)
                continue
            todo += x.owner.operands


def _cost(x: Value, cluster: Cluster, memory: set[Value], number: int, plan: Passes) -> int:
    """Instructions per element to compute a value again."""
    total, todo, seen = 0, [x], set[Value]()
    while todo and total <= _CHEAP:
        y = todo.pop()
        if y in seen or y not in cluster.full or (y is not x and y in memory and plan.of[y] < number):
            continue
        seen.add(y)
        assert isinstance(y.owner, Op)
        cost = y.owner.defn.cost
        total += COSTLY if cost is None else cost
        todo += y.owner.operands
    return total


def row_bytes(cluster: Cluster, x: Value) -> Size:
    """Bytes of one row of a value."""
    assert cluster.axes is not None
    assert isinstance(x.type, TensorType)
    return prod(cluster.shape[a] for a in cluster.axes.inner) * x.type.dtype.itemsize


def loop_fingerprint(
    cluster: Cluster, passes: Passes, sources: dict[Value, Source], sinks: dict[Value, Memory]
) -> tuple[Hashable, ...]:
    """All that the code of a fused loop depends on: its plan, with values by the order in which they are met."""
    number: dict[Value, int] = {}

    def of(x: Value) -> int:
        return number.setdefault(x, len(number))

    # 1, 1.0 and True are equal, but are written in other ways
    attrs = {op: (*map(type, op.attrs), attrs_key(op.attrs)) for op in cluster.ops}
    ops = {op: (op.defn.name, attrs[op], *map(of, op.operands), of(op.results[0])) for op in cluster.ops}
    position = {op: i for i, op in enumerate(ops)}
    steps = [
        (tuple(map(position.__getitem__, reductions)), tuple(map(of, stores)))
        for reductions, stores in zip(passes.reductions, passes.stores, strict=True)
    ]
    read = [(of(x), _source_key(source)) for x, source in sources.items()]
    written = [(of(x), _source_key(sink)) for x, sink in sinks.items()]
    kinds = [(x.type, x in cluster.full, x in cluster.rows, x in cluster.ends, passes.of.get(x)) for x in number]
    return cluster.shape, cluster.axes, *ops.values(), *steps, *read, *written, *kinds


def _source_key(source: Source) -> Hashable:
    if isinstance(source, Memory):
        return source.base, source.offset, source.strides, source.dtype, source.is_iota, source.nontemporal
    if isinstance(source, Lane):
        return source.reg, source.dtype
    return type(source), scalar_key(source)


#: What a fused loop reads: an array, one number in a register, or a constant.
Source = Memory | Lane | bool | int | float
#: Where results are written, or values spilled.
Sinks = dict[Value, tuple[Array, Memory]]
