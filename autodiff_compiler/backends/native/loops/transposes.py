"""Transposed copies: square tiles of elements are transposed in registers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from ....ir.sizes import Size, usual
from ..codegen.emit import Int, Reg, Text, vector
from ..codegen.values import Array, size_of
from ..jit.machine import Machine
from ..jit.shared import SYMBOL, share
from ..memory.buffer_plan import BufferPlan
from .loop_nest import LoopNest

#: A copy element by element is as fast below these: bytes of the array, sizes of its axes.
_SMALL, _NARROW = 512, 4
#: Adjacent tiles along the rows of the source, which use up its cache lines.
_TOGETHER = 2
#: Bytes from which on an operand that is read across its order had better be copied first.
_READ_ACROSS = 1 << 14


class _Axis(NamedTuple):
    size: Size
    #: bytes from one element to the next
    source: Size
    to: Size


def is_transposed(source: Array, to: Array) -> bool:
    """Whether a copy transposes: the contiguous axis of one array is strided in the other, and both are wide."""
    if source.dtype is not to.dtype or source.is_iota or usual(size_of(to.type)) < _SMALL:
        return False
    return _across(_axes(source, to), source.dtype.itemsize) is not None


def worth_transposing(array: Array) -> bool:
    """Whether loops in C order over an array should read a transposed copy of it."""
    spread = any(d != 1 and s == 0 for d, s in zip(array.shape, array.strides, strict=True))
    if spread or usual(size_of(array.type)) < _READ_ACROSS:
        return False
    return is_transposed(array, array.in_order(array.type))


def _axes(source: Array, to: Array) -> list[_Axis]:
    """The axes of the copy, without those of size 1, neighbours collapsed where the strides of both arrays allow it."""
    axes: list[_Axis] = []
    for size, s, t in zip(to.shape, source.strides, to.strides, strict=True):
        if size == 1:
            continue
        if axes and axes[-1].source == s * size and axes[-1].to == t * size:
            axes[-1] = _Axis(axes[-1].size * size, s, t)
        else:
            axes.append(_Axis(size, s, t))
    return axes


def _across(axes: list[_Axis], itemsize: int) -> tuple[int, int] | None:
    """The contiguous axis of the target and that of the source; None if the copy does not transpose."""
    to = next((i for i, a in enumerate(axes) if a.to == itemsize), None)
    source = next((i for i, a in enumerate(axes) if a.source in (itemsize, -itemsize)), None)
    if to is None or source is None:
        return None
    if any(isinstance(s, int) and abs(s) <= itemsize for s in (axes[to].source, axes[source].to)):
        return None
    sizes = axes[to].size, axes[source].size
    if not all(isinstance(d, int) for d in sizes):
        return None  # tiles have a known size
    return (to, source) if min(sizes) >= _NARROW else None


def transpose(low: BufferPlan, source: Array, to: Array) -> None:
    """Writes a transposed copy."""
    axes, itemsize = _axes(source, to), source.dtype.itemsize
    found = _across(axes, itemsize)
    assert found is not None
    nest = LoopNest(low, [source, to])
    nest.write_once((transpose, *axes, itemsize), lambda: _write(nest, axes, found, itemsize))
    nest.call()


def _write(nest: LoopNest, axes: Sequence[_Axis], found: tuple[int, int], itemsize: int) -> None:
    columns, rows = (axes[i] for i in found)
    others = [a for i, a in enumerate(axes) if i not in found]
    start = nest.places
    if rows.source < 0:  # a negative stride: from the other end
        text, last = nest.text, rows.size - 1
        start = [text.at(p, last * step) for p, step in zip(start, (rows.source, rows.to), strict=True)]
        rows = _Axis(rows.size, -rows.source, -rows.to)
    nest.over(
        [a.size for a in others],
        [[a.source for a in others], [a.to for a in others]],
        start,
        lambda at: _tiles(nest, at, rows, columns, itemsize),
    )


def _tiles(nest: LoopNest, at: list[Reg], rows: _Axis, columns: _Axis, itemsize: int) -> None:
    """All tiles of one matrix; the last of a row or column overlaps the one before."""
    text = nest.text
    least = min(usual(rows.size), usual(columns.size))  # which are known
    width = min(16, nest.low.machine.vector_bytes // itemsize, 1 << (least.bit_length() - 1))

    function = nest.low.shared(_TILES[width, itemsize], text)

    def begin(i: Int, size: Size) -> Int:
        if size % width == 0:
            return i
        return text.call("i64", "llvm.smin.i64", text.whole(i), text.whole(size - width))

    def tile(i: Int, j: Int) -> None:
        r, c = begin(i, rows.size), begin(j, columns.size)
        source = text.at(text.along(at[0], r, rows.source), text.mul(c, columns.source))
        to = text.at(text.along(at[1], r, rows.to), text.mul(c, columns.to))
        steps = text.whole(columns.source), text.whole(rows.to)
        text.do(f"call void {function.text}({source}, {steps[0]}, {to}, {steps[1]})")

    def band(first: Int, count: int) -> None:
        def across(j: Int) -> None:
            for n in range(count):
                tile(text.add(first, n * width), j)

        text.repeated(0, columns.size, width, across)

    step = _TOGETHER * width
    whole = rows.size // step * step
    text.repeated(0, whole, step, lambda i: band(i, _TOGETHER))
    text.repeated(whole, rows.size, width, lambda i: band(i, 1))


def _written(width: int, itemsize: int, _: Machine) -> str:
    """The function ``void (ptr source, i64 source_step, ptr to, i64 to_step)`` of a tile."""
    places = [("ptr", "source"), ("i64", "source_step"), ("ptr", "to"), ("i64", "to_step")]
    text = Text(SYMBOL, places)
    _tile(text, width, itemsize, *(Reg(f"%{name}", type) for type, name in places))
    text.ret()
    return text.module()


#: Functions that transpose tiles, by their width and the bytes of an element.
_TILES = {
    (width, itemsize): share(f"transpose {width} x {width} of {itemsize} bytes", partial(_written, width, itemsize))
    for width in (1, 2, 4, 8, 16)
    for itemsize in (1, 2, 4, 8, 16)
}


def _tile(text: Text, width: int, itemsize: int, source: Reg, source_step: Reg, to: Reg, to_step: Reg) -> None:
    """Transposes `width` vectors of `width` lanes; the vectors lie `source_step` and `to_step` bytes apart."""
    kind = vector(f"i{8 * itemsize}", width)
    text.aligned |= width > 1
    lines = [text.load(kind, text.along(source, n, source_step), itemsize) for n in range(width)]
    step = 1
    while step < width:
        # Of each pair of vectors, blocks of `step` lanes off the diagonal change places.
        lower = [e if not e & step else e - step + width for e in range(width)]
        upper = [e + step if not e & step else e + width for e in range(width)]
        for n in range(width):
            if not n & step:
                a, b = lines[n], lines[n + step]
                lines[n], lines[n + step] = (text.shuffled(a, b, m) for m in (lower, upper))
        step *= 2
    for n, line in enumerate(lines):
        text.store(line, text.along(to, n, to_step), itemsize)
