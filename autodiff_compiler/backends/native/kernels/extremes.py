"""argmax and argmin: the first of several extremes, or the first nan.

A long row is reduced once, block by block; then the position is searched in the first block that has the extreme.
Along other axes every column carries its extreme and its position.
"""

from __future__ import annotations

from math import prod

from ....dtypes import DType, bool_, int32, int64, uint8
from ....ir.core import Op
from ..codegen.arithmetic import Kernels, reduce_lanes
from ..codegen.emit import Int, Reg, i64
from ..codegen.lanes import Lane, require_known
from ..loops.loop_nest import LoopNest, row_of
from ..lower import OPS
from ..memory.buffer_plan import BufferPlan
from .indexing import rows_before

#: Elements of a block.
_BLOCK = 4096
#: Independent accumulators of a reduction.
_TOGETHER = 4


class _Search:
    """Writes the kernel of one op."""

    def __init__(self, low: BufferPlan, op: Op) -> None:
        (x,), (result,) = op.operands, op.results
        axis = op.attr("axis") % len(x.shape)
        if prod(x.shape[axis + 1 :]) == 1:
            require_known([x.shape[axis]], "an extreme")
        self.greatest = op.defn.name == "argmax"
        self.axis = axis
        source = low.in_memory(x, ordered=False)
        row = row_of(source, self.axis)
        if row is None or (row == 1 and source.strides[self.axis] != source.dtype.itemsize):
            source = low.in_memory(x)
        self.source, self.target = source, low.target(result)
        self.dtype: DType = uint8 if source.dtype is bool_ else source.dtype
        self.size = source.shape[self.axis]
        self.nest = LoopNest(low, [source, self.target])
        self.lanes = self.nest.lanes(self.dtype)

    def write(self) -> None:
        shape, nest = self.source.shape, self.nest
        before, row = shape[: self.axis], prod(shape[self.axis + 1 :])
        strides = [self.source.strides[: self.axis], rows_before([*before, row * self.target.dtype.itemsize])]
        nest.over(before, strides, nest.places, self._along if row == 1 else self._columns)
        nest.call(self.size)

    # ------------------------------------------------------------------------------------------- a row
    def _along(self, at: list[Reg]) -> None:
        k, text = self.nest.one, self.nest.text
        if self.size <= _BLOCK:
            best, start, count = self._extreme(at[0], self.size), i64(0), self.size
        else:
            best, start = self._blocks(at[0])
            # The last block may be shorter: the search ends where the row does.
            start = text.call("i64", "llvm.smin.i64", start, i64(self.size - _BLOCK))
            count = _BLOCK
        found = self._first(text.at(at[0], text.mul(start, self.dtype.itemsize)), count, best)
        place = text.whole(text.add(start, found))
        k.store(k.cast(Lane(k, place, int64), self.target.dtype), at[1])

    def _blocks(self, at: Reg) -> tuple[Lane, Reg]:
        """The extreme of a long row, and the start of the first block that has it."""
        k, text = self.nest.one, self.nest.text

        def join(best: Lane, start: Reg, i: Int, count: int) -> list[Reg]:
            x = self._extreme(text.at(at, text.mul(i, self.dtype.itemsize)), count)
            better = self._better(k, x, best)
            place = text.let("i64", f"select {better.reg}, {text.whole(i)}, {start}")
            return [k.where(better, x, best).reg, place]

        whole = self.size // _BLOCK * _BLOCK
        first = self._extreme(at, _BLOCK)
        found = text.loop(
            _BLOCK, whole, _BLOCK, [first.reg, i64(0)],
            lambda i, now: join(Lane(k, now[0], self.dtype), now[1], i, _BLOCK),
        )  # fmt: skip
        if whole < self.size:
            found = join(Lane(k, found[0], self.dtype), found[1], whole, self.size - whole)
        return Lane(k, found[0], self.dtype), found[1]

    def _extreme(self, at: Reg, count: int) -> Lane:
        """The extreme of adjacent elements; nan if one is."""
        text, width = self.nest.text, self._width(count)
        k = self.nest.kernels(width)

        def load(i: Int) -> Lane:
            return k.load(text.at(at, text.mul(i, self.dtype.itemsize)), self.dtype)

        vectors = -(-count // width)
        lines = min(_TOGETHER, vectors)
        best = [load(min(n * width, count - width)).reg for n in range(lines)]
        step = lines * width
        whole = count // step * step

        def trip(i: Int, now: list[Reg]) -> list[Reg]:
            found = [load(text.add(i, n * width)) for n in range(lines)]
            return [self._join(k, Lane(k, b, self.dtype), x).reg for b, x in zip(now, found, strict=True)]

        best = text.loop(step, whole, step, best, trip) if whole > step else best
        found = [Lane(k, b, self.dtype) for b in best]
        # The remainder; its last vector overlaps the one before.
        found += [load(min(i, count - width)) for i in range(max(whole, step), count, width)]
        total = found[0]
        for x in found[1:]:
            total = self._join(k, total, x)
        return Lane(self.nest.one, reduce_lanes(total, self._join).reg, self.dtype)

    def _first(self, at: Reg, count: int, best: Lane) -> Reg:
        """The position of the first element that is the extreme; there is one."""
        text, width = self.nest.text, self._width(count)
        k, last = self.nest.kernels(width), count - width
        if width == 1:
            return i64(0)
        wanted = k.broadcast(best)

        def begin(i: Reg) -> Int:
            return text.call("i64", "llvm.smin.i64", i, i64(last)) if count % width else i

        def hits(i: Reg) -> Reg:
            x = k.load(text.at(at, text.mul(begin(i), self.dtype.itemsize)), self.dtype)
            same = k.equal(x, wanted)
            same = k.logical_or(same, k.isnan(x)) if self.dtype.is_float else same
            return text.make(f"i{width}", f"bitcast {same.reg} to i{width}")

        (found,) = text.repeat(
            [i64(0)],
            lambda now: text.let("i1", f"icmp eq {hits(now[0])}, 0"),
            lambda now: [text.whole(text.add(now[0], width))],
        )
        lane = text.call(f"i{width}", f"llvm.cttz.i{width}", hits(found), Reg("true", "i1"))
        if width != 64:
            lane = text.let("i64", f"zext {lane} to i64")
        return text.whole(text.add(begin(found), lane))

    def _width(self, count: int) -> int:
        return min(self.lanes, 1 << (count.bit_length() - 1))

    # ------------------------------------------------------------------------------------------- columns
    def _columns(self, at: list[Reg]) -> None:
        """Several vectors of columns at a time, row by row."""
        text, step = self.nest.text, self.source.strides[self.axis]
        numbered = int32 if isinstance(self.size, int) and self.size < 2**31 else int64

        def some(k: Kernels, j: Int) -> None:
            place = text.at(at[0], text.mul(j, self.dtype.itemsize))

            def trip(i: Int, now: list[Reg]) -> list[Reg]:
                best, where = Lane(k, now[0], self.dtype), Lane(k, now[1], numbered)
                x = k.load(text.at(place, text.mul(i, step)), self.dtype)
                better = self._better(k, x, best)
                here = Lane(self.nest.one, text.whole(i), int64)
                here = k.broadcast(self.nest.one.cast(here, numbered))
                return [k.where(better, x, best).reg, k.where(better, here, where).reg]

            start = [k.load(place, self.dtype).reg, k.number(0, numbered).reg]
            _, where = text.loop(1, self.size, 1, start, trip)
            to = self.target.dtype
            k.store(k.cast(Lane(k, where, numbered), to), text.at(at[1], text.mul(j, to.itemsize)))

        row = prod(self.source.shape[self.axis + 1 :])
        self.nest.along(row, _TOGETHER * self.lanes, some)

    # ------------------------------------------------------------------------------------------- order
    def _join(self, k: Kernels, a: Lane, b: Lane) -> Lane:
        return k.maximum(a, b) if self.greatest else k.minimum(a, b)

    def _better(self, k: Kernels, x: Lane, best: Lane) -> Lane:
        """Whether an element replaces the extreme of earlier ones: it is beyond it, or the first nan."""
        if not self.dtype.is_float:
            return k.greater(x, best) if self.greatest else k.less(x, best)
        within = k.less_equal(x, best) if self.greatest else k.greater_equal(x, best)
        return k.logical_and(k.logical_not(within), k.equal(best, best))


def _place(low: BufferPlan, op: Op) -> None:
    _Search(low, op).write()


OPS.update({"argmax": _place, "argmin": _place})
