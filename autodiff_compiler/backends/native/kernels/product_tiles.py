"""Small matrix products in tiles of C, rows by vectors, which stay in registers along k."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from ....dtypes import DType
from ....ir.sizes import Size, usual
from ..codegen.arithmetic import Kernels, reduce_lanes
from ..codegen.emit import Int, Reg, Text, of_lane, vector
from ..codegen.lanes import Lane, memory_type
from ..codegen.values import Array
from ..jit.machine import Machine
from ..loops.loop_nest import LoopNest
from ..memory.buffer_plan import BufferPlan

#: Fewer rows than the first times a transposed matrix are dot products along k, so many columns at a time.
FEW_ROWS, _COLUMNS = 4, 4


def is_dots(left: Array, right: Array, rows: Size) -> bool:
    """Whether both operands are contiguous along k, and the rows few: dot products are faster than tiles."""
    size = left.dtype.itemsize
    few = isinstance(rows, int) and rows < FEW_ROWS
    return few and left.strides[-1] == size and right.strides[-2] == size and left.dtype.is_float


def write_product(low: BufferPlan, a: Array, b: Array, c: Array) -> None:
    """Writes a kernel for the product of two arrays of matrices, and its call."""
    nest = LoopNest(low, [a, b, c])
    product = Product(low.machine, nest.text, a, b, c)
    nest.write_once(
        (Product, *[(x.type, x.strides) for x in nest.arrays]),
        lambda: nest.over(c.shape[:-2], [x.strides[:-2] for x in nest.arrays], nest.places, product.write),
    )
    nest.call()


class Product:
    """Writes the loops of one product into `text`."""

    def __init__(self, machine: Machine, text: Text, a: Array, b: Array, c: Array) -> None:
        self.machine, self.text, self.a, self.b, self.c = machine, text, a, b, c
        self.m, self.k, self.n = c.shape[-2], a.shape[-1], c.shape[-1]
        self.dtype = c.dtype
        lanes = machine.vector_bytes // max(4, self.dtype.itemsize)
        self.width = min(lanes, 1 << (self.n - 1).bit_length()) if isinstance(self.n, int) else lanes
        self.masked = machine.masked
        wide = machine.vector_bytes >= 64
        # few vectors of columns whose number only a call knows, as less than that many are the rest
        most = 8 if self.m == 1 else 4 if wide and isinstance(self.n, int) else 2
        self.vectors = min(max(1, -(-usual(self.n) // self.width)), most)
        #: vectors of C in registers
        self.held = 24 if wide else 12
        rows = self.held // self.vectors
        self.rows = min(self.m, rows) if isinstance(self.m, int) else rows

    def write(self, at: list[Reg]) -> None:
        """Writes one product of matrices at these places."""
        dots = is_dots(self.a, self.b, self.m) and self.b.strides[-1] != self.dtype.itemsize
        if dots:
            _along_k(self, at, int(self.m))
        else:
            _tiles(self, at)

    def join(self, k: Kernels, x: Lane, y: Lane, total: Reg) -> Reg:
        """total + x * y"""
        if self.dtype.is_float:
            return k.vectors(self.dtype).fma(x.reg, y.reg, total)
        return k.add(Lane(k, total, self.dtype), k.multiply(x, y)).reg


def _tiles(p: Product, at: list[Reg]) -> None:
    """All tiles of one product."""
    text, step = p.text, p.vectors * p.width
    whole = p.n // step * step

    def columns(j: Int, vectors: int, rest: Int) -> None:
        rows = _tiles_below(p, at, j, vectors, rest)
        full = p.m // p.rows * p.rows
        text.repeated(0, full, p.rows, partial(rows, p.rows))
        if isinstance(p.m, int) and isinstance(full, int):
            if full < p.m:
                rows(p.m - full, full)
            return
        count = 1 << ((p.rows - 1).bit_length() - 1) if p.rows > 1 else 0
        while count:  # the rest in ever fewer rows
            end = full + (p.m - full) // count * count
            text.repeated(full, end, count, partial(rows, count))
            full, count = end, count // 2

    text.repeated(0, whole, step, lambda j: columns(j, p.vectors, 0))
    if isinstance(p.n, int) and isinstance(whole, int):
        if whole < p.n:
            left = p.n - whole
            columns(whole, -(-left // p.width), left % p.width)
        return
    vectors = whole + (p.n - whole) // p.width * p.width
    if p.vectors > 1:
        text.repeated(whole, vectors, p.width, lambda j: columns(j, 1, 0))
    if p.n - vectors != 0:
        _last_columns(p, vectors, columns)


def _tiles_below(p: Product, at: list[Reg], j: Int, vectors: int, rest: Int) -> Callable[[int, Int], None]:
    """What writes a tile of so many rows from row i on, for the columns from j on."""
    text = p.text
    b, c = (text.along(x, j, p.dtype.itemsize) for x in at[1:])

    def rows(count: int, i: Int) -> None:
        a, at_c = text.along(at[0], i, p.a.strides[-2]), text.along(c, i, p.c.strides[-2])
        _tile(p, a, b, at_c, count, vectors, rest)

    return rows


def any_tiles(p: Product, at: list[Reg]) -> None:
    """The tiles of a product of which only a call knows the sizes: four vectors of columns, then two, then one."""
    if not p.masked:
        _tiles(p, at)
        return
    text = p.text

    def columns(j: Int, vectors: int) -> None:
        rest = text.whole(text.sub(text.sub(p.n, j), (vectors - 1) * p.width))
        rows = _tiles_below(p, at, j, vectors, rest)
        first: Size = 0
        for count in _halves(p.held // max(2, vectors)):
            stop = first + (p.m - first) // count * count
            text.repeated(first, stop, count, partial(rows, count))
            first = stop

    start: Size = 0
    for vectors in (4, 2, 1):  # while there are columns for the last of these vectors
        step = vectors * p.width
        stop = start + (p.n - start + p.width - 1) // step * step
        text.repeated(start, stop, step, partial(columns, vectors=vectors))
        start = stop


def _halves(rows: int) -> Iterator[int]:
    """Numbers of rows: the most, then powers of two."""
    yield rows
    if rows > 1:
        yield from (1 << i for i in reversed(range((rows - 1).bit_length())))


def _last_columns(p: Product, start: Size, columns: Callable[[Int, int, Int], None]) -> None:
    """Less than a vector of columns, how many only a call knows."""
    text, left = p.text, p.text.whole(p.n - start)

    def write() -> tuple[()]:
        columns(start, 1, left)
        return ()

    text.branch(text.let("i1", f"icmp sgt {left}, 0"), write)


def _tile(p: Product, a: Reg, b: Reg, c: Reg, rows: int, vectors: int, rest: Int) -> None:
    """A tile of C, `rows` by `vectors`; of the last vector only `rest` lanes if that is not 0."""
    text, k, one = p.text, Kernels(p.text, p.width), Kernels(p.text, 1)
    size, dtype = p.dtype.itemsize, p.dtype
    mask = None
    if isinstance(rest, Reg):
        mask = k.mask_up_to(rest)
    elif rest:
        mask = k.mask(usual(rest))

    def load(place: Reg, v: int) -> Lane:
        if mask is None or v < vectors - 1:
            return k.load(text.at(place, v * p.width * size), dtype)
        if p.masked:
            return k.load_masked(text.at(place, v * p.width * size), dtype, mask)
        return _some_lanes(k, text.at(place, v * p.width * size), dtype, rest)

    def trip(i: Int, now: list[Reg]) -> list[Reg]:
        row = text.along(b, i, p.b.strides[-2])
        columns = [load(row, v) for v in range(vectors)]
        after = []
        for r in range(rows):
            place = text.at(a, text.add(text.mul(i, p.a.strides[-1]), r * p.a.strides[-2]))
            x = k.broadcast(one.load(place, dtype))
            after += [p.join(k, x, columns[v], now[r * vectors + v]) for v in range(vectors)]
        return after

    none = -0.0 if isinstance(p.k, int) else 0.0  # the sum of no numbers is 0.0
    zero = k.number(none if dtype.is_float else 0, dtype).reg
    totals = text.loop(0, p.k, 1, [zero] * (rows * vectors), trip)
    for r in range(rows):
        for v in range(vectors):
            place = text.at(c, r * p.c.strides[-2] + v * p.width * size)
            x = Lane(k, totals[r * vectors + v], dtype)
            if mask is None or v < vectors - 1:
                k.store(x, place)
            elif p.masked:
                k.store_masked(x, place, mask)
            else:
                _store_some(k, x, place, size, rest)


def _some_lanes(k: Kernels, place: Reg, dtype: DType, rest: Int) -> Lane:
    """The first `rest` elements, one by one."""
    size = dtype.itemsize
    if not isinstance(rest, Reg):
        return k.load_strided(place, dtype, size, usual(rest))
    text, of = k.text, memory_type(dtype)
    total = Reg("zeroinitializer", vector(of, k.width))

    def trip(i: Int, now: list[Reg]) -> list[Reg]:
        one = text.load(of, text.along(place, i, size), size)
        return [text.make(total.type, f"insertelement {now[0]}, {one}, {text.whole(i)}")]

    return k.held(text.loop(0, rest, 1, [total], trip, runs=True)[0], dtype)


def _store_some(k: Kernels, x: Lane, place: Reg, size: int, rest: Int) -> None:
    """Stores the first `rest` elements, one by one."""
    if not isinstance(rest, Reg):
        k.store_strided(x, place, size, usual(rest))
        return
    text, raw = k.text, k.stored(x)

    def one(i: Int) -> None:
        element = text.make(of_lane(raw.type), f"extractelement {raw}, {text.whole(i)}")
        text.store(element, text.along(place, i, size), size)

    text.repeated(0, rest, 1, one)


def any_dots(p: Product, at: list[Reg]) -> None:
    """Dot products of rows, how many only a call knows, with a transposed matrix: row by row."""
    text = p.text

    def row(i: Int) -> None:
        _along_k(p, [text.along(at[0], i, p.a.strides[-2]), at[1], text.along(at[2], i, p.c.strides[-2])], 1)

    text.repeated(0, p.m, 1, row)


def _along_k(p: Product, at: list[Reg], rows: int) -> None:
    """Dot products of a few rows with a transposed matrix: vectors along k, with horizontal sums at the end."""
    text, size, dtype = p.text, p.dtype.itemsize, p.dtype
    width = p.machine.vector_bytes // size
    if isinstance(p.k, int):
        width = min(width, 1 << (p.k.bit_length() - 1))
    k, one = Kernels(text, width), Kernels(text, 1)
    whole = p.k // width * width

    def columns(j: Int, count: int) -> None:
        b = text.along(at[1], j, p.b.strides[-1])
        places = [(r, c) for r in range(rows) for c in range(count)]

        def dot(i: Int, now: list[Reg]) -> list[Reg]:
            along = text.mul(i, size)
            ys = [k.load(text.at(text.at(b, c * p.b.strides[-1]), along), dtype) for c in range(count)]
            xs = [k.load(text.at(text.at(at[0], r * p.a.strides[-2]), along), dtype) for r in range(rows)]
            return [p.join(k, xs[r], ys[c], total) for (r, c), total in zip(places, now, strict=True)]

        zero = k.number(-0.0, dtype).reg
        totals = text.loop(0, whole, width, [zero] * (rows * count), dot)
        for at_c, total in zip(places, totals, strict=True):
            r, c = at_c
            found = reduce_lanes(Lane(k, total, dtype), Kernels.add)
            row, column = text.at(at[0], r * p.a.strides[-2]), text.at(b, c * p.b.strides[-1])

            def add(i: Int, now: list[Reg], row: Reg = row, column: Reg = column) -> list[Reg]:
                x, y = (one.load(text.along(place, i, size), dtype) for place in (row, column))
                return [p.join(one, x, y, now[0])]

            if isinstance(p.k, int) and isinstance(whole, int):
                for i in range(whole, p.k):
                    found = Lane(one, add(i, [found.reg])[0], dtype)
            else:
                found = Lane(one, text.loop(whole, p.k, 1, [found.reg], add)[0], dtype)
            place = text.at(at[2], text.add(r * p.c.strides[-2] + c * p.c.strides[-1], text.mul(j, p.c.strides[-1])))
            one.store(found, place)

    full = p.n // _COLUMNS * _COLUMNS
    text.repeated(0, full, _COLUMNS, lambda j: columns(j, _COLUMNS))
    text.repeated(full, p.n, 1, lambda j: columns(j, 1))
