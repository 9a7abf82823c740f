"""Pooling: maxima, their positions and sums over windows of the last dimensions.

One dimension after the other, as in the NumPy kernels.  Along a dimension, adjacent windows with the same taps inside
the operand are one fused loop, which reads the operand once per tap.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from ....dtypes import DType, int32, int64
from ....ir.build import Builder
from ....ir.core import Block, Op, Value
from ....ir.primitive import F
from ....ir.types import tensor
from ....primitives.window import axis_taps
from ..codegen.emit import pointer
from ..codegen.lanes import computed_in, require_known
from ..codegen.values import Array, part
from ..fusion.clusters import Axes, Cluster
from ..fusion.loop_plan import Passes, Source
from ..loops.fusing import memory_of, source_of, write_fused_loop
from ..lower import OPS
from ..memory.buffer_plan import BufferPlan
from .rearrangements import fill


def compute(
    low: BufferPlan, sources: Sequence[Array], targets: Sequence[Array], build: Callable[..., Sequence[Value]]
) -> None:
    """Writes a fused loop: the ops that `build` makes of values of one shape, element by element."""
    shape = targets[0].shape
    if 0 in shape:
        return
    axes = range(len(shape))
    block = Block([s.type for s in sources])
    with Builder(block):
        results = list(build(*block.args))
    cluster = Cluster(shape, Axes((), (), tuple(axes)))
    read: dict[Value, Source] = {}
    for value, source in zip(block.args, sources, strict=True):
        low.touch(source)
        read[value] = memory_of(source, axes)
    for op in block.ops:
        (made,) = op.results
        for x in op.operands:
            if x not in read and x not in cluster.full:  # a splat from outside
                read[x] = source_of(low, x, cluster)
        if op.defn.name == "const":
            read[made] = op.attr("value")
        else:
            cluster.ops.append(op)
            cluster.full.add(made)
    passes = Passes(dict.fromkeys([*read, *cluster.full], 0), [[]], [results])
    sinks: dict[Value, Any] = {}
    for value, target in zip(results, targets, strict=True):
        low.touch(target)
        sinks[value] = (target, memory_of(target, axes))
    write_fused_loop(low, cluster, passes, read, sinks)


def _numbers(low: BufferPlan, op: Op) -> Array:
    """The operand as an array, 16-bit floats as f32 where the NumPy kernel widens."""
    x = low.sliceable(op.operands[0])
    return low.in_dtype(x, computed_in(x.dtype)) if op.defn.widen else x


def _runs(taps: Sequence[tuple[slice, slice]], count: int) -> list[tuple[int, int, list[int]]]:
    """Runs of windows (first ... end - 1) with the same taps inside the operand, and these taps."""
    met = [[t for t, (windows, _) in enumerate(taps) if windows.start <= w < windows.stop] for w in range(count)]
    runs = []
    for _, group in itertools.groupby(range(count), key=lambda w: met[w]):
        windows = list(group)
        runs.append((windows[0], windows[-1] + 1, met[windows[0]]))
    return runs


def _elements(x: Array, axis: int, tap: tuple[slice, slice], first: int, end: int, stride: int) -> Array:
    """A view of the elements that windows first ... end - 1 read by a tap."""
    windows, elements = tap
    start = elements.start + (first - windows.start) * stride
    return part(x, axis, start, end - first, stride)


class _Slide:
    """The geometry of an op's windows."""

    def __init__(self, op: Op, sizes: Sequence[Any], counts: Sequence[Any]) -> None:
        n = len(op.attr("kernel"))
        self.n, self.stride = n, op.attr("stride")
        dilation = op.attr("dilation") if "dilation" in op.defn.schema else (1,) * n
        require_known((*sizes, *counts), "windows")
        self.counts = counts
        self.taps = [
            axis_taps(*axis)  # type: ignore[no-untyped-call]
            for axis in zip(
                sizes, counts, op.attr("kernel"), self.stride, op.attr("padding")[::2], dilation, strict=True
            )
        ]


def _narrowed(x: Array, axis: int, size: int) -> Any:
    shape = list(x.shape)
    shape[axis] = size
    return tensor(x.dtype, tuple(shape))


def _each(low: BufferPlan, op: Op, combine: Callable[..., Value]) -> None:
    """One number per window: its elements combined."""
    result = op.results[0]
    lead = len(result.shape) - len(op.attr("kernel"))
    slide = _Slide(op, op.operands[0].shape[lead:], result.shape[lead:])
    x = _numbers(low, op)
    target = low.target(result)
    for i in range(slide.n):
        axis = lead + i
        last = i == slide.n - 1 and x.dtype is target.dtype
        made = target if last else low.array(_narrowed(x, axis, slide.counts[i]))
        for first, end, met in _runs(slide.taps[i], slide.counts[i]):
            views = [_elements(x, axis, slide.taps[i][t], first, end, slide.stride[i]) for t in met]
            place = part(made, axis, first, end - first)
            if views:
                compute(low, views, [place], lambda *xs: [combine(*xs)])
            else:
                fill(low, place, 0)
        x = made
    low.give(x, target)


def _greatest(*xs: Value) -> Value:
    best = xs[0]
    for x in xs[1:]:
        best = F.maximum(best, x)
    return best


def _total(*xs: Value) -> Value:
    total: Value = F.add(xs[0], 0.0)
    for x in xs[1:]:
        total = F.add(total, x)
    return total


def _scatter_windows(low: BufferPlan, op: Op) -> None:
    """Adds every window's number to all elements of the window."""
    result = op.results[0]
    lead = len(result.shape) - len(op.attr("kernel"))
    slide = _Slide(op, result.shape[lead:], op.operands[0].shape[lead:])
    g = _numbers(low, op)
    target = low.target(result)
    for i in range(slide.n):
        axis, size = lead + i, int(result.shape[lead + i])
        made = target if i == slide.n - 1 and g.dtype is target.dtype else low.array(_narrowed(g, axis, size))
        fill(low, made, 0)
        for windows, elements in slide.taps[i]:
            count = windows.stop - windows.start
            if count:
                place = part(made, axis, elements.start, count, slide.stride[i])
                compute(low, [place, part(g, axis, windows.start, count)], [place], lambda a, b: [a + b])
        g = made
    low.give(g, target)


def _sum_windows(low: BufferPlan, op: Op) -> None:
    """Adds the elements of windows where they came from (the transpose of extracting windows)."""
    n = len(op.attr("kernel"))
    lead = len(op.operands[0].shape) - 2 * n
    counts = op.operands[0].shape[lead + n :]
    require_known((*counts, *op.results[0].shape[lead:]), "windows")
    x, target = _numbers(low, op), low.target(op.results[0])
    made = low.new_in_dtype(target, x.dtype)
    fill(low, made, 0)
    for place in itertools.product(*[range(k) for k in op.attr("kernel")]):
        to, source = made, x
        for i, p in enumerate(place):
            to = part(to, lead + i, p * op.attr("dilation")[i], counts[i], op.attr("stride")[i])
            source = part(source, lead + i, p, 1)
        shape = (*source.shape[:lead], *counts)
        source = source.viewed(tensor(x.dtype, shape), (*source.strides[:lead], *source.strides[lead + n :]))
        compute(low, [to, source], [to], lambda a, b: [a + b])
    low.give(made, target)


def _greatest_places(low: BufferPlan, op: Op) -> None:
    """Positions of maxima; the last dimension first, so that of equal elements the first in C order wins."""
    result = op.results[0]
    lead = len(result.shape) - len(op.attr("kernel"))
    sizes: Any = op.operands[0].shape[lead:]
    slide = _Slide(op, sizes, result.shape[lead:])
    x = _numbers(low, op)
    steps, step = [0] * len(x.shape), 1
    for i in reversed(range(slide.n)):
        steps[lead + i], step = step, step * sizes[i]
    dtype = int32 if step < 2**31 else int64
    where = Array(tensor(dtype, x.shape), pointer("null"), tuple(steps), 0, (), is_iota=True)
    target = low.target(result)
    for i in reversed(range(slide.n)):
        axis = lead + i
        best = low.array(_narrowed(x, axis, slide.counts[i]))
        place = low.array(_narrowed(where, axis, slide.counts[i])) if i else target
        for first, end, met in _runs(slide.taps[i], slide.counts[i]):
            views = [_elements(a, axis, slide.taps[i][t], first, end, slide.stride[i]) for t in met for a in (x, where)]
            wanted = [part(a, axis, first, end - first) for a in (best, place)]
            compute(low, views, wanted, lambda *xs, dtype=place.dtype: _better(dtype, *xs))
        x, where = best, place


def _better(dtype: DType, best: Value, where: Value, *others: Value) -> list[Value]:
    """The maximum, or the first nan, and its position."""
    for x, place in zip(others[::2], others[1::2], strict=True):
        better = F.logical_not(F.less_equal(x, best))
        if x.dtype.is_float:
            better = F.logical_and(better, F.equal(best, best))
        where, best = F.select(better, place, where), F.maximum(best, x)
    return [best, where if where.dtype is dtype else F.cast(where, dtype=dtype)]


OPS["max_pool"] = lambda low, op: _each(low, op, _greatest)
OPS["window_sum"] = lambda low, op: _each(low, op, _total)
OPS["window_spread"] = _scatter_windows
OPS["sum_windows"] = _sum_windows
OPS["max_pool_index"] = _greatest_places
