"""Small matrix products of any sizes and strides: functions that all programs with symbolic sizes call.

A kernel for each such product would be hundreds of instructions, of which a call runs few; these are compiled once, and
lie in the disk cache.
"""

from __future__ import annotations

from functools import cache

from ....dtypes import DType, float32, float64
from ....ir.sizes import answering, symbol
from ....ir.types import tensor
from ..codegen.emit import Reg, Text
from ..codegen.values import Array
from ..jit.engine import Loaded, load
from ..jit.machine import Machine, machine
from ..memory.buffer_plan import BufferPlan
from .product_tiles import Product, any_tiles

#: The functions for the dtypes, in the module and in the contexts of programs.
NAMES = {float32: "sproduct", float64: "dproduct"}
#: Their parameters after the places of a, b and c; rows of b and c are contiguous.
_SIZES = "m", "k", "n", "a_row", "a_column", "b_row", "c_row"


def call_shared(low: BufferPlan, a: Array, b: Array, c: Array) -> None:
    """Calls the function for each product of two arrays of matrices."""
    text, batch = low.text, c.shape[:-2]
    for x in (a, b, c):
        low.touch(x)
    function = text.make("ptr", f"load ptr, ptr {low.context.place(NAMES[c.dtype])}, align 8")
    numbers = (c.shape[-2], a.shape[-1], c.shape[-1], *a.strides[-2:], b.strides[-2], c.strides[-2])
    sizes = [str(text.whole(d)) for d in numbers]

    def along(axis: int, places: list[Reg]) -> None:
        if axis == len(batch):
            text.do(f"call void {function.text}({', '.join([*map(str, places), *sizes])})")
            return
        steps = [x.strides[axis] for x in (a, b, c)]
        text.repeated(
            0,
            batch[axis],
            1,
            lambda i: along(axis + 1, [text.at(p, text.mul(i, s)) for p, s in zip(places, steps, strict=True)]),
        )

    along(0, [text.at(x.base, x.offset) for x in (a, b, c)])


def address(dtype: DType) -> int:
    """The address of ``void product(ptr a, ptr b, ptr c, i64 m, i64 k, ...)`` for floats of 32 or 64 bits."""
    return _function(machine(), dtype).address(NAMES[dtype])


@cache
def _function(target: Machine, dtype: DType) -> Loaded:
    text = Text(NAMES[dtype], [("ptr", x) for x in "abc"], "void")
    with answering(None):
        m, k, n, a_row, a_column, b_row, c_row = (symbol(name) for name in _SIZES)
        for size in (m, k, n, a_row, a_column, b_row, c_row):
            text.whole(size)  # a parameter, in this order
        a, b, c = (
            Array(tensor(dtype, shape), Reg(f"%{name}", "ptr"), strides)
            for name, shape, strides in (
                ("a", (m, k), (a_row, a_column)),
                ("b", (k, n), (b_row, dtype.itemsize)),
                ("c", (m, n), (c_row, dtype.itemsize)),
            )
        )
        any_tiles(Product(target, text, a, b, c), [x.base for x in (a, b, c)])
    text.ret()
    needs = [*text.declares, *text.needs.values()]
    return load("\n".join([*needs, str(text)]) + "\n")
