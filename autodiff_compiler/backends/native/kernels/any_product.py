"""Small matrix products of any sizes and strides: functions that all programs with symbolic sizes call.

There are two for each dtype: tiles, and dot products of a few rows with a transposed matrix.

A kernel for each such product would be hundreds of instructions, of which a call runs few; these are compiled once, and
lie in the disk cache.
"""

from __future__ import annotations

from functools import partial

from ....dtypes import DType, float32, float64
from ....ir.sizes import answering, symbol
from ....ir.types import tensor
from ..codegen.emit import Reg, Text, pointer
from ..codegen.values import Array
from ..jit.machine import Machine
from ..jit.shared import SYMBOL, share
from ..loops.loop_nest import each_matrix
from ..memory.buffer_plan import BufferPlan
from .product_tiles import Product, any_dots, any_tiles

#: Their parameters after the places of a, b and c; rows of c, and those of a or of b, are contiguous.
_SIZES = "m", "k", "n", "a_row", "a_column", "b_row", "b_column", "c_row"


def call_shared(low: BufferPlan, a: Array, b: Array, c: Array) -> None:
    """Calls the function for each product of two arrays of matrices, the rows of the second one contiguous."""
    _call(low, TILES[c.dtype], a, b, c)


def call_dots(low: BufferPlan, a: Array, b: Array, c: Array) -> None:
    """The same where the rows of the first and the columns of the second one are contiguous, and the rows few."""
    _call(low, DOTS[c.dtype], a, b, c)


def _call(low: BufferPlan, name: str, a: Array, b: Array, c: Array) -> None:
    text = low.text
    for x in (a, b, c):
        low.touch(x)
    function = low.shared(name, text)
    numbers = (c.shape[-2], a.shape[-1], c.shape[-1], *a.strides[-2:], *b.strides[-2:], c.strides[-2])
    sizes = [str(text.whole(d)) for d in numbers]

    def call(places: list[Reg]) -> None:
        text.do(f"call void {function.text}({', '.join([*map(str, places), *sizes])})")

    each_matrix(text, (a, b, c), call)


def _written(dtype: DType, target: Machine, *, dots: bool) -> str:
    """The function for a dtype: that of a product whose every size and stride is a parameter."""
    text, size = Text(SYMBOL, [("ptr", x) for x in "abc"]), dtype.itemsize
    with answering(None):
        m, k, n, a_row, a_column, b_row, b_column, c_row = (symbol(name) for name in _SIZES)
        for number in (m, k, n, a_row, a_column, b_row, b_column, c_row):
            text.whole(number)  # which makes it a parameter, in this order
        a, b, c = (
            Array(tensor(dtype, shape), pointer(f"%{name}"), strides)
            for name, shape, strides in (
                ("a", (m, k), (a_row, size if dots else a_column)),
                ("b", (k, n), (size, b_column) if dots else (b_row, size)),
                ("c", (m, n), (c_row, size)),
            )
        )
        (any_dots if dots else any_tiles)(Product(target, text, a, b, c), [x.base for x in (a, b, c)])
    text.ret()
    return text.module()


#: The functions for the dtypes, by their names in contexts of programs.
TILES, DOTS = (
    {dtype: share(f"{what} {dtype.short}", partial(_written, dtype, dots=dots)) for dtype in (float32, float64)}
    for what, dots in (("product", False), ("dots", True))
)
