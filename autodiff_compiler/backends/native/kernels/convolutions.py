"""Direct convolutions (no im2col): each tap of the filters reads the image, shifted by the tap.

The image is copied once, padded with zeros, with one plane for every remainder of the stride, so that adjacent windows
read adjacent elements for each tap.  Vectors run over positions across the ends of rows: the results there are not
used, but all vectors are full, whatever the width of the image is.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ....dtypes import uint8
from ....ir.core import Op, Value
from ....ir.sizes import Size, usual
from ....ir.types import tensor
from ..codegen.arithmetic import Kernels, reduce_lanes
from ..codegen.emit import Int, Reg, i64
from ..codegen.lanes import Lane, NotNativeError, computed_in, require_known
from ..codegen.values import Array, part, row_major
from ..loops.loop_nest import LoopNest
from ..lower import OPS
from ..memory.buffer_plan import BufferPlan
from .interrupts import burn_inside, is_long, with_fuel
from .rearrangements import fill
from .structural import constant_array

#: Filters of more taps would be too much code.
_TAPS = 64
#: Positions whose sums are collected before they are copied to the result row by row.
_POSITIONS = 2048
#: The most filters in a tile of `conv_filter`.
_LINES = 8


class _Image(NamedTuple):
    """The padded copy [samples, channels, remainders of the stride..., pitches...]; sizes in elements."""

    array: Array
    #: the sizes of a plane, for each remainder of the stride
    pitches: tuple[int, ...]
    plane: int

    def span(self, counts: Sequence[int]) -> int:
        """How many positions vectors run over for `counts` windows along each dimension."""
        steps = map(usual, row_major(self.pitches, 1))
        return 1 + sum((n - 1) * step for n, step in zip(counts, steps, strict=True))


def _image(
    low: BufferPlan, x: Value, before: Sequence[int], pitches: Sequence[int], stride: Sequence[int], *, slack: int
) -> _Image:
    """Copies a value [samples, channels, ...]: element i is that at i * stride + remainder - before, or 0."""
    source, dtype = low.sliceable(x), computed_in(x.dtype)
    lead, sizes = source.shape[:2], source.shape[2:]
    plane = prod(pitches) * prod(stride)
    flat = low.array(tensor(dtype, (prod(lead) * plane + slack,)))
    whole = (*lead, *stride, *pitches)
    image = flat.in_order(tensor(dtype, whole))
    fill(low, image, 0)
    for remainders in itertools.product(*map(range, stride)):
        to, of = image, source
        for i, r in enumerate(remainders):
            to = part(to, 2 + i, r, 1)
            first = max(0, -(-(before[i] - r) // stride[i]))
            last = min(pitches[i] - 1, (sizes[i] - 1 + before[i] - r) // stride[i])
            count = max(0, last - first + 1)
            to = part(to, 2 + len(stride) + i, first, count)
            of = part(of, 2 + i, min(first * stride[i] + r - before[i], sizes[i] - 1), count, stride[i])
        if 0 not in of.shape:
            spatial = 2 + len(stride)
            to = to.viewed(tensor(dtype, of.shape), (*to.strides[:2], *to.strides[spatial:]))
            low.copy_array(of, to)
    return _Image(flat, tuple(pitches), plane)


# ------------------------------------------------------------------------------------------------ windows
class _Windows:
    """The geometry of a convolution: its windows over `sizes`."""

    def __init__(self, op: Op, sizes: Sequence[Any], kernel: Sequence[Any], counts: Sequence[Any]) -> None:
        self.sizes, self.kernel, self.counts = tuple(sizes), tuple(kernel), tuple(counts)
        self.stride, self.dilation = op.attr("stride"), op.attr("dilation")
        self.before, self.groups = op.attr("padding")[::2], op.attr("groups")
        require_known((*sizes, *kernel, *counts), "a convolution")
        if prod(self.kernel) > _TAPS or 0 in (*sizes, *kernel, *counts):
            raise NotNativeError(f"a convolution of {self.kernel}")
        self.taps = list(itertools.product(*map(range, self.kernel)))

    def pitches(self) -> list[int]:
        return [
            n + (k - 1) * d // s
            for n, k, d, s in zip(self.counts, self.kernel, self.dilation, self.stride, strict=True)
        ]

    def offsets(self, image: _Image) -> list[int]:
        """The offset of each tap's element in the image from the position of the window."""
        steps = row_major((*self.stride, *image.pitches), 1)
        found = []
        for tap in self.taps:
            at = [t * d for t, d in zip(tap, self.dilation, strict=True)]
            within = [a % s for a, s in zip(at, self.stride, strict=True)]
            within += [a // s for a, s in zip(at, self.stride, strict=True)]
            found.append(sum(a * step for a, step in zip(within, steps, strict=True)))
        return found


def _tile(budget: int, count: int, vectors: int) -> tuple[int, int]:
    """The register tile, lines by vectors, that computes the fewest unused elements."""
    wide = min((-(-vectors // v) * v, -v) for v in range(1, min(4, vectors) + 1) if v > 1 or vectors == 1)
    columns = -wide[1]
    blocks = -(-count // (budget // columns))
    return -(-count // blocks), columns


def _registers(low: BufferPlan) -> int:
    """The accumulators of a tile that fit the registers."""
    return 24 if low.machine.vector_bytes >= 64 else 12


# ------------------------------------------------------------------------------------------------ sums over channels
class _Correlation:
    """Sums over channels and taps of an image's elements times weights [groups, lines, channels, taps]."""

    def __init__(
        self,
        low: BufferPlan,
        image: _Image,
        weights: Array,
        taps: Sequence[tuple[int, int]],
        target: Array,
        *,
        looks: bool,
    ) -> None:
        """`taps`: number of the weight, and offset of its element; `target` [samples, groups * lines, ...], in C order.

        `looks`: whether it looks for signals, after a tile.
        """
        self.looks = looks
        self.low, self.image, self.weights, self.taps, self.target = low, image, weights, taps, target
        self.counts: Any = target.shape[2:]  # which are known, as those of the weights
        known: Any = weights.shape
        self.groups, self.lines, self.channels, self.all_taps = known
        self.dtype, self.size = target.dtype, target.dtype.itemsize
        self.width = low.machine.vector_bytes // self.size
        self.step = usual(prod(image.pitches[1:]))
        self.rows = max(1, min(usual(self.counts[0]), _POSITIONS // self.step))
        positions = image.span((self.rows, *map(usual, self.counts[1:])))
        self.block, self.vectors = _tile(_registers(low), self.lines, -(-positions // self.width))
        one = self.vectors * self.width
        self.positions = -(-positions // one) * one

    def write(self) -> None:
        low, size = self.low, self.size
        sums = low.array(tensor(self.dtype, (self.block * self.positions,)))
        nest = self.nest = LoopNest(low, [self.image.array, self.weights, sums, self.target])
        if self.looks:
            with_fuel(nest)
        plane = self.image.plane * size
        out, samples = prod(self.counts) * size, self.target.shape[0]
        own = [self.channels * plane, self.lines * self.channels * self.all_taps * size, self.lines * out]
        image, weights, _, target = nest.places
        nest.over(
            (samples, self.groups),
            [(self.groups * own[0], own[0]), (0, own[1]), (self.groups * own[2], own[2])],
            [image, weights, target],
            self._rows,
        )
        nest.call()

    def _rows(self, at: list[Reg]) -> None:
        """Blocks of rows of windows; the last block overlaps the one before."""
        text, first = self.nest.text, self.counts[0]
        width = prod(self.counts[1:]) * self.size

        def some(i: Int) -> None:
            row = i
            if first % self.rows:
                row = text.call("i64", "llvm.smin.i64", text.whole(i), i64(first - self.rows))
            image = text.at(at[0], text.mul(row, self.step * self.size))
            target = text.at(at[2], text.mul(row, width))
            whole = self.lines // self.block * self.block
            text.repeated(0, whole, self.block, lambda f: self._lines(image, at[1], target, f, self.block))
            if whole < self.lines:
                self._lines(image, at[1], target, whole, self.lines - whole)

        text.repeated(0, first, self.rows, some)

    def _lines(self, image: Reg, weights: Reg, target: Reg, first: Int, count: int) -> None:
        """All positions of some lines, in tiles, and the copy of their rows to the target."""
        text, size, sums = self.nest.text, self.size, self.nest.places[2]
        k, v = self.nest.kernels(self.width), self.nest.kernels(self.width).vectors(self.dtype)
        line = self.channels * self.all_taps * size
        weights = text.at(weights, text.mul(first, line))

        def positions(p: Int) -> None:
            here = text.at(image, text.mul(p, size))

            def channel(c: Int, now: list[Reg]) -> list[Reg]:
                after = list(now)
                x_at = text.at(here, text.mul(c, self.image.plane * size))
                w_at = text.at(weights, text.mul(c, self.all_taps * size))
                for tap, offset in self.taps:
                    xs = [
                        k.load(text.at(x_at, (offset + n * self.width) * size), self.dtype) for n in range(self.vectors)
                    ]
                    for r in range(count):
                        w = k.broadcast(self.nest.one.load(text.at(w_at, r * line + tap * size), self.dtype))
                        for n, x in enumerate(xs):
                            at = r * self.vectors + n
                            after[at] = v.fma(x.reg, w.reg, after[at])
                return after

            totals = text.loop(0, self.channels, 1, [k.number(0, self.dtype).reg] * (count * self.vectors), channel)
            for r in range(count):
                for n in range(self.vectors):
                    place = text.at(sums, text.mul(text.add(p, r * self.positions + n * self.width), size))
                    k.store(Lane(k, totals[r * self.vectors + n], self.dtype), place)

        text.repeated(0, self.positions, self.vectors * self.width, positions)
        if self.looks:
            burn_inside(self.nest, self.positions * count * self.channels * len(self.taps) // self.width)
        shape = (count, *([self.rows] if len(self.counts) > 1 else []), *self.counts[1:-1])
        steps = row_major(self.image.pitches, size)[: len(shape) - 1]
        out = row_major(self.counts, size)[: len(shape) - 1]
        plane = prod(self.counts) * size
        row = (self.counts[-1] if len(self.counts) > 1 else self.rows) * size
        self.nest.over(
            shape,
            [(self.positions * size, *steps), (plane, *out)],
            [sums, text.at(target, text.mul(first, plane))],
            lambda at: self.nest.move(at[0], at[1], row),
        )


def _given(low: BufferPlan, op: Op, write: Callable[[Array], None]) -> None:
    """Writes the op's result by `write`, in f32 and cast where it is of 16 bits."""
    target, dtype = low.target(op.results[0]), computed_in(op.results[0].dtype)
    made = target if target.dtype is dtype and target.contiguous else low.array(tensor(dtype, target.shape))
    write(made)
    low.give(made, target)


def _slack(low: BufferPlan) -> int:
    """Elements behind the image that a vector may read."""
    return 4 * low.machine.vector_bytes


def _conv(low: BufferPlan, op: Op) -> None:
    x, w = op.operands
    found = _Windows(op, x.shape[2:], w.shape[2:], op.results[0].shape[2:])
    require_known((x.shape[1], *w.shape[:2]), "a convolution")
    if 0 in x.shape or 0 in w.shape:
        raise NotNativeError("a convolution of nothing")
    image = _image(low, x, found.before, found.pitches(), found.stride, slack=_slack(low))
    weights = _weights(low, w, found, turned=False)
    taps, looks = list(enumerate(found.offsets(image))), is_long(low, op)
    _given(low, op, lambda target: _Correlation(low, image, weights, taps, target, looks=looks).write())


def _weights(low: BufferPlan, w: Value, found: _Windows, *, turned: bool) -> Array:
    """[groups, filters of a group, channels, taps], or with channels before filters."""
    source, dtype, groups = low.sliceable(w), computed_in(w.dtype), found.groups
    filters, channels, *_ = source.shape
    if not source.contiguous:
        source = low.in_memory(w)
    shape = (groups, filters // groups, channels, prod(found.kernel))
    view = source.in_order(tensor(source.dtype, shape))
    if turned:
        g, f, c, t = view.strides
        shape = (groups, channels, filters // groups, shape[3])
        view = view.viewed(tensor(source.dtype, shape), (g, c, f, t))
    if view.contiguous and source.dtype is dtype:
        return view
    made = low.array(tensor(dtype, shape))
    low.copy_array(view, made)
    return made


# ------------------------------------------------------------------------------------------------ to the input
def _conv_input(low: BufferPlan, op: Op) -> None:
    """A correlation for each remainder of the stride, whose elements get sums over the same taps."""
    g, w = op.operands
    result = op.results[0]
    found = _Windows(op, op.attr("size"), w.shape[2:], g.shape[2:])
    require_known((g.shape[1], *w.shape[:2]), "a convolution")
    if 0 in g.shape or 0 in w.shape or 0 in result.shape:
        raise NotNativeError("a convolution of nothing")
    # By tap t element r + s * m gets the cotangent of window m + (r + before - t * d) / s.
    shifts = [
        [[(r + b - t * d) // s if (r + b - t * d) % s == 0 else None for t in range(k)] for r in range(s)]
        for k, s, d, b in zip(found.kernel, found.stride, found.dilation, found.before, strict=True)
    ]
    ends = [[x for by_tap in axis for x in by_tap if x is not None] for axis in shifts]
    before = [max(0, -min(e)) for e in ends]
    most = [-(-n // s) for n, s in zip(found.sizes, found.stride, strict=True)]
    pitches = [n + b + max(0, *e) for n, b, e in zip(most, before, ends, strict=True)]
    image = _image(low, g, before, pitches, [1] * len(pitches), slack=_slack(low))
    weights = _weights(low, w, found, turned=True)
    steps, looks = row_major(image.pitches, 1), is_long(low, op)

    def write(target: Array) -> None:
        for remainders in itertools.product(*map(range, found.stride)):
            place = target
            for i, (r, s) in enumerate(zip(remainders, found.stride, strict=True)):
                count = max(0, -(-(found.sizes[i] - r) // s))
                place = part(place, 2 + i, min(r, found.sizes[i] - 1), count, s)
            if 0 in place.shape:
                continue
            taps = []
            for number, tap in enumerate(found.taps):
                at = [shifts[i][r][t] for i, (r, t) in enumerate(zip(remainders, tap, strict=True))]
                known = [x for x in at if x is not None]
                if len(known) == len(at):
                    taps.append((number, sum((x + b) * step for x, b, step in zip(known, before, steps, strict=True))))
            made = place if place.contiguous else low.array(place.type)
            if taps:
                _Correlation(low, image, weights, taps, made, looks=looks).write()
            else:
                fill(low, made, 0)
            low.give(made, place)

    _given(low, op, write)


# ------------------------------------------------------------------------------------------------ to the filters
def _conv_filter(low: BufferPlan, op: Op) -> None:
    """Sums over samples and positions, a vector of positions at a time."""
    x, g = op.operands
    found = _Windows(op, x.shape[2:], op.attr("kernel"), g.shape[2:])
    require_known((x.shape[1], g.shape[1]), "a convolution")
    if 0 in x.shape or 0 in g.shape:
        raise NotNativeError("a convolution of nothing")
    width = low.machine.vector_bytes // computed_in(x.dtype).itemsize
    pitches = found.pitches()
    image = _image(low, x, found.before, pitches, found.stride, slack=_slack(low))
    ones = [1] * len(pitches)
    above = _image(low, g, [0] * len(pitches), [found.counts[0], *pitches[1:]], ones, slack=_slack(low))
    positions = -(-above.span(found.counts) // width) * width
    real = np.zeros(above.pitches, bool)
    real[tuple(slice(n) for n in found.counts)] = True
    bits = np.zeros(positions, bool)
    bits[: real.size] = real.reshape(-1)[:positions]
    packed = np.packbits(bits.reshape(-1, width), axis=1, bitorder="little").reshape(-1)  # whole bytes for each vector
    mask = constant_array(low, tensor(uint8, packed.shape), packed)

    def write(target: Array) -> None:
        _Filters(low, found, x.shape[0], image, above, mask, target, positions, looks=is_long(low, op)).write()

    _given(low, op, write)


class _Filters:
    """Writes the loops of `conv_filter`; a mask leaves out elements that no window reads, as they may be infinite."""

    def __init__(
        self,
        low: BufferPlan,
        found: _Windows,
        samples: Size,
        image: _Image,
        above: _Image,
        mask: Array,
        target: Array,
        positions: int,
        *,
        looks: bool,
    ) -> None:
        """`looks`: whether it looks for signals, after a channel."""
        self.samples, self.looks = samples, looks
        self.low, self.image, self.above, self.target, self.positions = low, image, above, target, positions
        self.dtype, self.size = target.dtype, target.dtype.itemsize
        self.width = low.machine.vector_bytes // self.size
        self.groups, self.channels, self.taps = found.groups, target.shape[1], prod(found.kernel)
        self.lines = target.shape[0] // found.groups
        self.offsets = found.offsets(image)
        self.nest = LoopNest(low, [image.array, above.array, mask, target])
        if looks:
            with_fuel(self.nest)
        budget = _registers(low) + 3
        self.together = -(-self.taps // -(-self.taps // (budget // 2)))
        self.block = min(self.lines, budget // self.together, _LINES)

    def write(self) -> None:
        nest, size = self.nest, self.size
        image, above, _, target = nest.places
        line = self.channels * self.taps * size
        nest.over(
            (self.groups,),
            [(self.channels * self.image.plane * size,), (self.lines * self.above.plane * size,), (self.lines * line,)],
            [image, above, target],
            self._group,
        )
        nest.call()

    def _group(self, at: list[Reg]) -> None:
        text = self.nest.text
        line = self.channels * self.taps * self.size

        def lines(first: Int, count: int) -> None:
            above = text.at(at[1], text.mul(first, self.above.plane * self.size))
            target = text.at(at[2], text.mul(first, line))

            def channel(c: Int) -> None:
                image = text.at(at[0], text.mul(c, self.image.plane * self.size))
                to = text.at(target, text.mul(c, self.taps * self.size))
                for tap in range(0, self.taps, self.together):
                    self._sums(image, above, to, range(tap, min(tap + self.together, self.taps)), count, line)
                if self.looks:
                    burn_inside(self.nest, usual(self.samples) * self.positions * count * self.taps // self.width)

            text.repeated(0, self.channels, 1, channel)

        whole = self.lines // self.block * self.block
        text.repeated(0, whole, self.block, lambda f: lines(f, self.block))
        if whole < self.lines:
            lines(whole, self.lines - whole)

    def _sums(self, image: Reg, above: Reg, to: Reg, taps: Sequence[int], count: int, line: int) -> None:
        text, size, nest = self.nest.text, self.size, self.nest
        k = nest.kernels(self.width)
        v, zero = k.vectors(self.dtype), k.number(0, self.dtype)

        def sample(b: Int, now: list[Reg]) -> list[Reg]:
            xs_at = text.at(image, text.mul(b, self.groups * self.channels * self.image.plane * size))
            gs_at = text.at(above, text.mul(b, self.groups * self.lines * self.above.plane * size))

            def vector(i: Int, now: list[Reg]) -> list[Reg]:
                p = text.mul(i, self.width * size)
                mask = self._mask(text.at(nest.places[2], text.mul(i, max(1, self.width // 8))))

                def read(plane: Reg, behind: int) -> Reg:
                    x = k.load(text.at(text.at(plane, behind * size), p), self.dtype)
                    return text.let(x.reg.type, f"select {mask}, {x.reg}, {zero.reg}")

                gs = [read(gs_at, r * self.above.plane) for r in range(count)]
                after = list(now)
                for n, tap in enumerate(taps):
                    x = read(xs_at, self.offsets[tap])
                    for r in range(count):
                        after[r * len(taps) + n] = v.fma(gs[r], x, now[r * len(taps) + n])
                return after

            return text.loop(0, self.positions // self.width, 1, now, vector)

        totals = text.loop(0, self.samples, 1, [zero.reg] * (count * len(taps)), sample)
        for r in range(count):
            for n, tap in enumerate(taps):
                x = Lane(k, totals[r * len(taps) + n], self.dtype)
                nest.one.store(reduce_lanes(x, Kernels.add), text.at(to, r * line + tap * size))

    def _mask(self, at: Reg) -> Reg:
        text, width = self.nest.text, self.width
        bits = text.load(f"i{max(8, width)}", at, 1)
        if width < 8:
            bits = text.let(f"i{width}", f"trunc {bits} to i{width}")
        return text.let(f"<{width} x i1>", f"bitcast {bits} to <{width} x i1>")


OPS.update({"conv": _conv, "conv_input": _conv_input, "conv_filter": _conv_filter})
