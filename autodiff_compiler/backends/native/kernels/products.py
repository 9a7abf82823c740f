"""Matrix products: small ones by kernels of our own, large ones by NumPy's BLAS library.

A small product is computed in tiles of C, rows by vectors, which stay in registers along k.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ....dtypes import float32, float64
from ....ir.core import Op
from ....ir.sizes import Size, bounds, is_at_most, largest, usual
from ....ir.types import TensorType, tensor
from ..codegen.emit import Int, Reg, float_text
from ..codegen.lanes import NotNativeError, computed_in
from ..codegen.values import Array
from ..loops.loop_nest import each_matrix
from ..lower import OPS, Lowering
from ..memory.buffer_plan import BufferPlan
from . import any_product
from .blas import SMALL_PRODUCT, gemm
from .interrupts import burn, is_long
from .product_tiles import FEW_ROWS, is_dots, write_product

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
    a, b = (low.in_memory(x, ordered=False) for x in op.operands)  # what both ways read, before they part
    turned = _turned(a) if op.results[0].shape[-1] == 1 else b
    if turned.strides[-1] != b.dtype.itemsize and _least(op) > SMALL_PRODUCT // 8:
        _by_library(low, op, target)  # to copy a large transposed matrix takes longer than so few rows
        return

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


def _by_tiles(low: Lowering, op: Op, target: Array) -> None:
    """A product by our own kernels."""
    (a, b), (out,) = op.operands, op.results
    wide = computed_in(out.dtype)
    left, right = (low.in_dtype(low.in_memory(x, ordered=False), wide) for x in (a, b))
    made = result = low.new_in_dtype(target, wide)
    if out.shape[-1] == 1:  # a column is a row of the transposed product
        left, right, made = _turned(right), _turned(left), _turned(made)
    if _may_be_dots(left, right, made):
        few = low.text.let("i1", f"icmp slt {low.text.whole(made.shape[-2])}, {FEW_ROWS}")

        def dots() -> tuple[()]:
            any_product.call_dots(low, left, right, made)
            return ()

        def tiles() -> tuple[()]:
            _tiles(low, left, right, made)
            return ()

        with low.inside():
            low.text.branch(few, dots, tiles)
    else:
        _tiles(low, left, right, made)
    low.give(result, target)


def _may_be_dots(left: Array, right: Array, made: Array) -> bool:
    """Whether a call may have so few rows that dot products are faster, which only the call knows."""
    m, dtype = made.shape[-2], made.dtype
    along_k = left.strides[-1] == dtype.itemsize and right.strides[-2] == dtype.itemsize
    contiguous = made.strides[-1] == dtype.itemsize and right.strides[-1] != dtype.itemsize
    return _may_be_few(m) and along_k and contiguous and dtype in any_product.DOTS


def _may_be_few(rows: Size) -> bool:
    """Whether only a call knows if there are so few rows."""
    return not isinstance(rows, int) and bounds(rows)[0] < FEW_ROWS


def _tiles(low: BufferPlan, left: Array, right: Array, made: Array) -> None:
    """A product in tiles, or of dot products, where that is known."""
    dots = is_dots(left, right, made.shape[-2])
    sizes = (*made.shape[-2:], left.shape[-1])
    if right.strides[-1] != made.dtype.itemsize and right.shape[-1] != 1 and not dots:
        right = _ordered(low, right)
    if dots or 1 in sizes or made.dtype not in any_product.TILES or all(isinstance(d, int) for d in sizes):
        write_product(low, left, right, made)
    else:
        any_product.call_shared(low, left, right, made)


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
    if len(products) == 1 and products[0].parent is op.parent and _may_be_few(products[0].operands[0].shape[-2]):
        return False  # for few rows it would not be read
    return all(
        usual(u.operands[0].shape[-2]) >= FEW_ROWS
        and u.results[0].shape[-1] != 1
        and usual(prod(u.results[0].shape) * u.operands[0].shape[-1]) <= SMALL_PRODUCT
        for u in products
    )


def _ordered(low: BufferPlan, x: Array) -> Array:
    made = low.array(x.type)
    low.copy_array(x, made)
    return made


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

    def product(places: list[Reg]) -> None:
        (ta, lda), (tb, ldb) = ((t, text.whole(ld)) for t, ld in (_leading(a), _leading(b)))
        width, inner, step = (text.whole(d) for d in (n, k, rows))
        one, zero = float_text(1.0), float_text(0.0)

        def tile(i: Int) -> None:
            count = text.left(i, m, rows) if m % rows != 0 else step
            at_a, at_c = (text.along(p, i, x.strides[-2]) for p, x in ((places[0], a), (places[2], c)))
            sizes = f"{count}, {width}, {inner}, {real} {one}, {at_a}, {lda}, {places[1]}, {ldb}"
            text.do(f"call void {function.text}(i32 101, i32 {ta}, i32 {tb}, {sizes}, {real} {zero}, {at_c}, {width})")
            if looks:
                burn(low, usual(rows * n * k // lanes))

        repeated(0, m, rows, tile)

    def repeated(start: Size, stop: Size, step: Size, body: Callable[[Int], None]) -> None:
        """A loop that carries the fuel until the next poll."""

        def trip(i: Int, fuel: list[Reg]) -> list[Reg]:
            low.fuel = fuel[0]
            body(i)
            return [low.fuel]

        (low.fuel,) = text.loop(start, stop, step, [low.fuel], trip)

    each_matrix(text, (a, b, c), product, repeated)


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
