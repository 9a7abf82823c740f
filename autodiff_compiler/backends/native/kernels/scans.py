"""Running sums, products and extremes along an axis (not the op `scan`, a loop: `control.loops`), in registers.

Where the axes behind are contiguous, vectors lie along these; else several rows are scanned in one loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from ....dtypes import DType, bool_, int32, int64
from ....ir.core import Op
from ....ir.sizes import Size, usual
from ....ir.types import TensorType
from ..codegen.arithmetic import Kernels
from ..codegen.emit import Int, Reg
from ..codegen.lanes import Lane, computed_in
from ..codegen.values import Array
from ..loops.loop_nest import LoopNest, row_of
from ..lower import OPS
from ..memory.buffer_plan import BufferPlan

#: Rows that are scanned in one loop, so that their dependency chains overlap.
_ROWS = 4

#: (accumulators, elements, position) -> (next accumulators, what is written).
Step = Callable[[Kernels, list[Lane], list[Lane], Int], tuple[list[Lane], list[Lane]]]
#: The same at position 0: (elements) -> (accumulators, what is written).
First = Callable[[Kernels, list[Lane]], tuple[list[Lane], list[Lane]]]


class _Scan:
    """Writes the loops along an axis over `sources`, of one shape, into `targets`, in C order."""

    def __init__(
        self, low: BufferPlan, sources: Sequence[Array], targets: Sequence[Array], axis: int, *, reverse: bool = False
    ) -> None:
        self.sources, self.targets, self.axis = sources, targets, axis
        self.shape, self.reverse = targets[0].shape, reverse
        self.nest = LoopNest(low, [*sources, *targets])
        self.arrays = [*sources, *targets]

    def write(self, first: First, step: Step, read: Callable[[Lane], Lane]) -> None:
        nest, axis = self.nest, self.axis
        row = prod(self.shape[axis + 1 :])
        strides = [a.strides[:axis] for a in self.arrays]
        before = self.shape[:axis]
        if usual(row) > 1:
            lanes = nest.lanes(*(a.dtype for a in self.arrays))
            body = self._columns(row, lanes, first, step, read)
            nest.over(before, strides, nest.places, body)
        elif axis and usual(before[-1]) >= _ROWS:
            whole = before[-1] // _ROWS * _ROWS
            for start, count, rows in ((0, whole, _ROWS), (whole, before[-1] - whole, 1)):
                if count != 0:
                    steps = [(*s[:-1], s[-1] * rows) for s in strides]
                    places = [nest.text.at(p, start * s[-1]) for p, s in zip(nest.places, strides, strict=True)]
                    body = self._rows([s[-1] for s in strides], rows, first, step, read)
                    nest.over((*before[:-1], count // rows), steps, places, body)
        else:
            body = self._rows([0] * len(strides), 1, first, step, read)
            nest.over(before, strides, nest.places, body)
        nest.call(self.shape[axis])

    def _columns(
        self, row: Size, lanes: int, first: First, step: Step, read: Callable[[Lane], Lane]
    ) -> Callable[[list[Reg]], None]:
        def body(at: list[Reg]) -> None:
            def some(k: Kernels, i: Int) -> None:
                text = self.nest.text
                places = [text.at(p, text.mul(i, a.dtype.itemsize)) for p, a in zip(at, self.arrays, strict=True)]
                self._run([(k, places)], first, step, read)

            self.nest.along(row, lanes, some)

        return body

    def _rows(
        self, apart: Sequence[Size], rows: int, first: First, step: Step, read: Callable[[Lane], Lane]
    ) -> Callable[[list[Reg]], None]:
        def body(at: list[Reg]) -> None:
            text, k = self.nest.text, self.nest.one
            each = [[text.at(p, r * s) for p, s in zip(at, apart, strict=True)] for r in range(rows)]
            self._run([(k, places) for places in each], first, step, read)

        return body

    def _run(
        self, lines: list[tuple[Kernels, list[Reg]]], first: First, step: Step, read: Callable[[Lane], Lane]
    ) -> None:
        """The loop along the axis, for all lines (rows, or vectors of columns) at once."""
        text, size, n = self.nest.text, self.shape[self.axis], len(self.sources)

        def places(at: list[Reg], i: Int) -> list[Reg]:
            here = text.sub(size - 1, i) if self.reverse else i
            return [text.at(p, text.mul(here, a.strides[self.axis])) for p, a in zip(at, self.arrays, strict=True)]

        def here(k: Kernels, at: list[Reg], i: Int) -> tuple[list[Lane], list[Reg]]:
            found = places(at, i)
            return [read(k.load(p, a.dtype)) for p, a in zip(found, self.sources, strict=False)], found[n:]

        def put(k: Kernels, lanes: list[Lane], at: list[Reg]) -> None:
            for lane, place, a in zip(lanes, at, self.targets, strict=True):
                k.store(k.cast(lane, a.dtype), place)

        begin: list[Lane] = []
        for k, at in lines:
            xs, targets = here(k, at, 0)
            carried, written = first(k, xs)
            put(k, written, targets)
            begin += carried
        each = len(begin) // len(lines)

        def trip(i: Int, now: list[Reg]) -> list[Reg]:
            after: list[Reg] = []
            loaded = [here(k, at, i) for k, at in lines]
            for line, ((k, _), (xs, targets)) in enumerate(zip(lines, loaded, strict=True)):
                own = range(line * each, (line + 1) * each)
                carried, written = step(k, [Lane(k, now[j], begin[j].dtype) for j in own], xs, i)
                put(k, written, targets)
                after += [c.reg for c in carried]
            return after

        text.loop(1, size, 1, [b.reg for b in begin], trip)


def _arrays(low: BufferPlan, op: Op) -> tuple[list[Array], int]:
    """The operands, contiguous behind the axis; and the axis, not negative."""
    axis = op.attr("axis") % len(op.operands[0].shape)
    found = [low.in_memory(x, ordered=False) for x in op.operands]
    return [
        a if row_of(a, axis) is not None else low.in_memory(x) for a, x in zip(found, op.operands, strict=True)
    ], axis


def _wide(x: Lane) -> Lane:
    """16-bit floats as f32, without rounding after each step."""
    return Lane(x.kernels, x.reg, computed_in(x.dtype))


# ------------------------------------------------------------------------------------------------ one operand
def _combining(op: Op) -> tuple[Callable[[Kernels, Lane, Lane], Lane], int]:
    name = op.defn.name
    if name == "cumsum":
        return (lambda k, a, b: k.add(a, b)), 0
    if name == "cumprod":
        return (lambda k, a, b: k.multiply(a, b)), 1
    return (lambda k, a, b: k.logaddexp(a, b)), 0


def _accumulated(low: BufferPlan, op: Op) -> None:
    combine, start = _combining(op)
    sources, axis = _arrays(low, op)
    reverse = exclusive = False
    if op.defn.name != "logcumsumexp":
        reverse, exclusive = op.attr("reverse"), op.attr("exclusive")
    target = low.target(op.results[0])

    def first(k: Kernels, xs: list[Lane]) -> tuple[list[Lane], list[Lane]]:
        return xs, ([k.number(start, xs[0].dtype)] if exclusive else xs)

    def step(k: Kernels, so_far: list[Lane], xs: list[Lane], i: Int) -> tuple[list[Lane], list[Lane]]:
        after = [combine(k, so_far[0], xs[0])]
        return after, (so_far if exclusive else after)

    _Scan(low, sources, [target], axis, reverse=reverse).write(first, step, _wide)


def _linear_recurrence(low: BufferPlan, op: Op) -> None:
    sources, axis = _arrays(low, op)
    target = low.target(op.results[0])

    def first(k: Kernels, xs: list[Lane]) -> tuple[list[Lane], list[Lane]]:
        return xs[:1], xs[:1]

    def step(k: Kernels, so_far: list[Lane], xs: list[Lane], i: Int) -> tuple[list[Lane], list[Lane]]:
        after = [k.add(xs[0], k.multiply(xs[1], so_far[0]))]
        return after, after

    _Scan(low, sources, [target], axis, reverse=op.attr("reverse")).write(first, step, _wide)


# ------------------------------------------------------------------------------------------------ extremes
def _extremes(low: BufferPlan, op: Op) -> None:
    """The running extreme, and the last position that has it, if the op's second result is used."""
    sources, axis = _arrays(low, op)
    placed = bool(low.uses.get(op.results[1]))
    type = op.operands[0].type
    assert isinstance(type, TensorType)
    targets = [low.target(r) for r in op.results[: 2 if placed else 1]]
    size = type.shape[axis]
    numbered: DType = int32 if isinstance(size, int) and size < 2**31 else int64
    greatest = op.defn.name == "cummax"

    def first(k: Kernels, xs: list[Lane]) -> tuple[list[Lane], list[Lane]]:
        found = [xs[0], k.number(0, numbered)] if placed else xs
        return found, found

    def step(k: Kernels, so_far: list[Lane], xs: list[Lane], i: Int) -> tuple[list[Lane], list[Lane]]:
        best, (x,), text = so_far[0], xs, k.text
        if x.dtype is bool_:
            best = (k.logical_or if greatest else k.logical_and)(best, x)
        else:
            best = (k.maximum if greatest else k.minimum)(best, x)
        if not placed:
            return [best], [best]
        reached = k.equal(x, best)
        if x.dtype.is_float:
            reached = k.logical_or(reached, k.isnan(x))
        number = text.whole(i)
        if numbered is int32 and isinstance(i, Reg):
            number = text.let("i32", f"trunc {i} to i32")
        here = k.number(i, numbered) if isinstance(i, int) else k.broadcast(Lane(k, number, numbered))
        after = [best, k.where(reached, here, so_far[1])]
        return after, after

    _Scan(low, sources, targets, axis).write(first, step, lambda x: x)


OPS.update(dict.fromkeys(("cumsum", "cumprod", "logcumsumexp"), _accumulated))
OPS.update(dict.fromkeys(("cummax", "cummin"), _extremes))
OPS["linear_recurrence"] = _linear_recurrence
