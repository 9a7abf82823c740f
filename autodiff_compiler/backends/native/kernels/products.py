"""Matrix products: small ones by kernels of our own, large ones by NumPy's BLAS library.

A small product is computed in tiles of C, rows by vectors, which stay in registers along k.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ....dtypes import DType, float32, float64
from ....ir.core import Op
from ....ir.sizes import Size, bounds, is_at_most, largest, usual
from ....ir.types import TensorType, tensor
from ..codegen.arithmetic import Kernels, reduce_lanes
from ..codegen.emit import Int, Reg, float_text, of_lane, vector
from ..codegen.lanes import Lane, NotNativeError, computed_in, memory_type
from ..codegen.values import Array
from ..loops.loop_nest import LoopNest
from ..lower import OPS, Lowering
from ..memory.buffer_plan import BufferPlan
from .blas import SMALL_PRODUCT, gemm
from .interrupts import burn, is_long

#: Fewer rows than the first times a transposed matrix are dot products along k, so many columns at a time.
_FEW_ROWS, _COLUMNS = 4, 4
#: Multiplications by the library between two polls: some tenths of a second.
_TILE = 1 << 33


def _matmul(low: Lowering, op: Op) -> None:
    a, out = op.operands[0], op.results[0]
    assert isinstance(out.type, TensorType)
    if 0 in out.shape or a.shape[-1] == 0:
        raise NotNativeError("an empty product")
    dtype = out.dtype
    work = prod(out.shape) * a.shape[-1]
    vector = 1 in out.shape[-2:]  # every element is used once: memory bandwidth is the limit
    small = True if vector else is_at_most(work, SMALL_PRODUCT)
    library = dtype in (float32, float64) and gemm("s" if dtype is float32 else "d") is not None
    if small is False and not library:
        raise NotNativeError("a large product")
    if small or not library:
        _by_tiles(low, op, low.target(out))
    elif small is False or _least(op) > SMALL_PRODUCT // 4:
        _by_library(low, op, low.target(out))
    else:  # the call knows
        _by_size(low, op, work)


def _least(op: Op) -> int:
    """The multiplications of a product with one element along each axis that may be that short."""
    sizes = [*op.results[0].shape, op.operands[0].shape[-1]]
    return prod(int(max(1, bounds(d)[0])) for d in sizes)


def _by_size(low: Lowering, op: Op, work: Size) -> None:
    """A product of which only a call knows how large it is."""
    target = low.target(op.results[0])
    for x in op.operands:  # what both ways read is in memory before they part
        low.in_memory(x, ordered=False)

    before = low.fuel

    def library() -> list[Reg]:
        _by_library(low, op, target)
        return [low.fuel]

    def tiles() -> list[Reg]:
        low.fuel = before
        _by_tiles(low, op, target)
        return [low.fuel]

    test = low.text.let("i1", f"icmp sgt {low.text.whole(work)}, {SMALL_PRODUCT}")
    with low.inside():
        (low.fuel,) = low.text.branch(test, library, tiles)


def _by_tiles(low: BufferPlan, op: Op, target: Array) -> None:
    """A product by our own kernels."""
    (a, b), (out,) = op.operands, op.results
    wide = computed_in(out.dtype)
    left, right = (low.in_dtype(low.in_memory(x, ordered=False), wide) for x in (a, b))
    made = result = low.new_in_dtype(target, wide)
    if out.shape[-1] == 1:  # a column is a row of the transposed product
        left, right, made = _turned(right), _turned(left), _turned(made)
    rows = made.shape[-2]
    if right.strides[-1] != wide.itemsize and right.shape[-1] != 1 and not _dots(left, right, rows):
        right = _ordered(low, right)
    _Product(low, left, right, made).write()
    low.give(result, target)


def _turned(x: Array) -> Array:
    """A transposed view of the matrices."""
    shape = (*x.shape[:-2], x.shape[-1], x.shape[-2])
    strides = (*x.strides[:-2], x.strides[-1], x.strides[-2])
    return x.viewed(tensor(x.dtype, shape), strides)


def packs(low: BufferPlan, op: Op) -> bool:
    """Whether a transposed matrix is copied where it is made: small products, perhaps in a loop, read its rows."""
    if op.attr("axes")[-2:] != (-1, -2):
        return False
    users = [(user, i) for user, i in low.uses.get(op.results[0], ())]
    products = [u for u, i in users if isinstance(u, Op) and u.defn.name == "matmul" and i == 1]
    if not products or len(products) < len(users):
        return False
    return all(
        usual(u.operands[0].shape[-2]) >= _FEW_ROWS
        and u.results[0].shape[-1] != 1
        and usual(prod(u.results[0].shape) * u.operands[0].shape[-1]) <= SMALL_PRODUCT
        for u in products
    )


def _dots(left: Array, right: Array, rows: Size) -> bool:
    """Whether both operands are contiguous along k, and the rows few: dot products are faster than tiles."""
    size = left.dtype.itemsize
    few = isinstance(rows, int) and rows < _FEW_ROWS
    return few and left.strides[-1] == size and right.strides[-2] == size and left.dtype.is_float


def _ordered(low: BufferPlan, x: Array) -> Array:
    made = low.array(x.type)
    low.copy_array(x, made)
    return made


class _Product:
    """Writes the loops of one product."""

    def __init__(self, low: BufferPlan, a: Array, b: Array, c: Array) -> None:
        self.low, self.a, self.b, self.c = low, a, b, c
        self.m, self.k, self.n = c.shape[-2], a.shape[-1], c.shape[-1]
        self.dtype = c.dtype
        lanes = low.machine.vector_bytes // max(4, self.dtype.itemsize)
        self.width = min(lanes, 1 << (self.n - 1).bit_length()) if isinstance(self.n, int) else lanes
        self.masked = low.machine.masked
        wide = low.machine.vector_bytes >= 64
        # few vectors of columns whose number only a call knows, as less than that many are the rest
        most = 8 if self.m == 1 else 4 if wide and isinstance(self.n, int) else 2
        self.vectors = min(max(1, -(-usual(self.n) // self.width)), most)
        rows = (24 if wide else 12) // self.vectors
        self.rows = min(self.m, rows) if isinstance(self.m, int) else rows

    def write(self) -> None:
        """Writes the kernel and its call."""
        nest = LoopNest(self.low, [self.a, self.b, self.c])
        self.text = nest.text
        one = _along_k if _dots(self.a, self.b, self.m) and self.b.strides[-1] != self.dtype.itemsize else _tiles
        strides = [x.strides[:-2] for x in nest.arrays]
        nest.write_once(
            (_Product, *[(x.type, x.strides) for x in nest.arrays]),
            lambda: nest.over(self.c.shape[:-2], strides, nest.places, lambda at: one(self, at)),
        )
        nest.call()

    def join(self, k: Kernels, x: Lane, y: Lane, total: Reg) -> Reg:
        """total + x * y"""
        if self.dtype.is_float:
            return k.vectors(self.dtype).fma(x.reg, y.reg, total)
        return k.add(Lane(k, total, self.dtype), k.multiply(x, y)).reg


def _tiles(p: _Product, at: list[Reg]) -> None:
    """All tiles of one product."""
    text, step = p.text, p.vectors * p.width
    whole = p.n // step * step

    def columns(j: Int, vectors: int, rest: Int) -> None:
        b, c = (text.at(x, text.mul(j, p.dtype.itemsize)) for x in at[1:])

        def rows(i: Int, count: int) -> None:
            a, at_c = text.at(at[0], text.mul(i, p.a.strides[-2])), text.at(c, text.mul(i, p.c.strides[-2]))
            _tile(p, a, b, at_c, count, vectors, rest)

        full = p.m // p.rows * p.rows
        text.repeated(0, full, p.rows, lambda i: rows(i, p.rows))
        if isinstance(p.m, int) and isinstance(full, int):
            if full < p.m:
                rows(full, p.m - full)
            return
        count = 1 << ((p.rows - 1).bit_length() - 1) if p.rows > 1 else 0
        while count:  # the rest in ever fewer rows
            end = full + (p.m - full) // count * count
            text.repeated(full, end, count, lambda i, count=count: rows(i, count))  # type: ignore[misc]
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


def _last_columns(p: _Product, start: Size, columns: Callable[[Int, int, Int], None]) -> None:
    """Less than a vector of columns, how many only a call knows."""
    text, left = p.text, p.text.whole(p.n - start)

    def write() -> tuple[()]:
        columns(start, 1, left)
        return ()

    text.branch(text.let("i1", f"icmp sgt {left}, 0"), write)


def _tile(p: _Product, a: Reg, b: Reg, c: Reg, rows: int, vectors: int, rest: Int) -> None:
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
        row = text.at(b, text.mul(i, p.b.strides[-2]))
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
        one = text.load(of, text.at(place, text.mul(i, size)), size)
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
        text.store(element, text.at(place, text.mul(i, size)), size)

    text.repeated(0, rest, 1, one)


def _along_k(p: _Product, at: list[Reg]) -> None:
    """Dot products of a few rows with a transposed matrix: vectors along k, with horizontal sums at the end."""
    text, size, dtype = p.text, p.dtype.itemsize, p.dtype
    width = p.low.machine.vector_bytes // size
    if isinstance(p.k, int):
        width = min(width, 1 << (p.k.bit_length() - 1))
    k, one = Kernels(text, width), Kernels(text, 1)
    whole = p.k // width * width

    def columns(j: Int, count: int) -> None:
        b = text.at(at[1], text.mul(j, p.b.strides[-1]))
        assert isinstance(p.m, int)  # they are few
        places = [(r, c) for r in range(p.m) for c in range(count)]

        def dot(i: Int, now: list[Reg]) -> list[Reg]:
            along = text.mul(i, size)
            ys = [k.load(text.at(text.at(b, c * p.b.strides[-1]), along), dtype) for c in range(count)]
            xs = [k.load(text.at(text.at(at[0], r * p.a.strides[-2]), along), dtype) for r in range(p.m)]
            return [p.join(k, xs[r], ys[c], total) for (r, c), total in zip(places, now, strict=True)]

        zero = k.number(-0.0, dtype).reg
        totals = text.loop(0, whole, width, [zero] * (p.m * count), dot)
        for at_c, total in zip(places, totals, strict=True):
            r, c = at_c
            found = reduce_lanes(Lane(k, total, dtype), Kernels.add)
            row, column = text.at(at[0], r * p.a.strides[-2]), text.at(b, c * p.b.strides[-1])

            def add(i: Int, now: list[Reg], row: Reg = row, column: Reg = column) -> list[Reg]:
                x, y = (one.load(text.at(place, text.mul(i, size)), dtype) for place in (row, column))
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


# ------------------------------------------------------------------------------------------------ by the library
def _by_library(low: BufferPlan, op: Op, c: Array) -> None:
    """A large product by BLAS, which takes transposed matrices if rows or columns are contiguous."""
    a, b = (_rowwise(low, low.in_memory(x, ordered=False)) for x in op.operands)
    for x in (a, b, c):
        low.touch(x)
    dtype, text = c.dtype, low.text
    real = "float" if dtype is float32 else "double"
    letter = "s" if dtype is float32 else "d"
    function = text.make("ptr", f"load ptr, ptr {low.context.place(letter + 'gemm')}, align 8")
    m, k, n = c.shape[-2], a.shape[-1], c.shape[-1]
    looks, lanes = is_long(low, op), low.machine.vector_bytes // dtype.itemsize
    rows = _rows_of_tile(usual(m), usual(n), usual(k)) if looks else m
    strides = [x.strides[:-2] for x in (a, b, c)]

    def product(places: list[Reg]) -> None:
        (ta, lda), (tb, ldb) = ((t, text.whole(ld)) for t, ld in (_leading(a), _leading(b)))
        width, inner, step = (text.whole(d) for d in (n, k, rows))
        one, zero = float_text(1.0), float_text(0.0)

        def tile(i: Int) -> None:
            count = text.call("i64", "llvm.smin.i64", step, text.whole(text.sub(m, i))) if m % rows != 0 else step
            at_a, at_c = (text.at(p, text.mul(i, x.strides[-2])) for p, x in ((places[0], a), (places[2], c)))
            sizes = f"{count}, {width}, {inner}, {real} {one}, {at_a}, {lda}, {places[1]}, {ldb}"
            text.do(f"call void {function.text}(i32 101, i32 {ta}, i32 {tb}, {sizes}, {real} {zero}, {at_c}, {width})")
            if looks:
                burn(low, usual(rows * n * k // lanes))

        repeated(m, rows, tile)

    def repeated(stop: Size, step: Size, body: Callable[[Int], None]) -> None:
        """A loop that carries the fuel until the next poll."""

        def trip(i: Int, fuel: list[Reg]) -> list[Reg]:
            low.fuel = fuel[0]
            body(i)
            return [low.fuel]

        (low.fuel,) = text.loop(0, stop, step, [low.fuel], trip)

    def batched(axis: int, places: list[Reg]) -> None:
        if axis == len(c.shape) - 2:
            product(places)
            return
        repeated(
            c.shape[axis],
            1,
            lambda i: batched(
                axis + 1, [text.at(p, text.mul(i, s[axis])) for p, s in zip(places, strides, strict=True)]
            ),
        )

    batched(0, [text.at(x.base, x.offset) for x in (a, b, c)])


def _rows_of_tile(m: int, n: int, k: int) -> int:
    """How many rows of a product are computed between two polls: all, or enough for the library to be fast."""
    return min(m, max(256, _TILE // (n * k)))


def _leading(x: Array) -> tuple[int, Size]:
    """BLAS's CblasNoTrans (111) or CblasTrans (112), and the leading dimension."""
    size = x.dtype.itemsize
    rows, columns = x.shape[-2:]
    if x.strides[-1] == size or columns == 1:
        return 111, largest(x.strides[-2] // size, columns) if rows != 1 else columns
    return 112, largest(x.strides[-1] // size, rows)


def _rowwise(low: BufferPlan, x: Array) -> Array:
    """The operand, copied unless its rows or its columns are contiguous, as BLAS needs it."""
    size = x.dtype.itemsize
    rows, columns = x.shape[-2:]
    by_row = (x.strides[-1] == size or columns == 1) and (rows == 1 or is_at_most(columns * size, x.strides[-2]))
    by_column = (x.strides[-2] == size or rows == 1) and (columns == 1 or is_at_most(rows * size, x.strides[-1]))
    return x if by_row or by_column else _ordered(low, x)


OPS["matmul"] = _matmul
