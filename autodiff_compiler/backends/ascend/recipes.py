"""Compositions of operators for several rules, where CANN's documentation leaves a case open.

It does not say what `Maximum` and `Amax` make of nan beside a number, which of equal elements `ArgMax` names, and which
of several writers to a place wins: these compositions do not depend on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...dtypes import DType, bfloat16, bool_, float16, float32, int32, int64
from .emit import Emitter, Ref, Refused
from .tables import operators


def _known(x: Ref) -> bool:
    """Whether all elements are one number that is known and not nan."""
    return x.number is not None and x.number == x.number


class Recipes(Emitter):
    """The emitter that rules get, with compositions as methods."""

    def greater(self, x: Ref, y: Ref, out: Ref) -> None:
        """The greater of two elements, nan where one is nan."""
        self._extreme("Maximum", "LtTensor", x, y, out)

    def lesser(self, x: Ref, y: Ref, out: Ref) -> None:
        """The smaller of two elements, nan where one is nan."""
        self._extreme("Minimum", "GtTensor", x, y, out)

    def _extreme(self, operator: str, other: str, x: Ref, y: Ref, out: Ref) -> None:
        if not x.dtype.is_float:
            return self.op(operator, x, y, out)
        if _known(x):
            x, y = y, x
        takes_y = self.test(other, x, y, out.shape)
        if not _known(y):
            takes_y = self.test("LogicalOr", takes_y, self.test("NeTensor", y, y, y.shape), out.shape)
        return self.op("SWhere", takes_y, y, x, out)

    def made(self, operator: str, *values: Any) -> Ref:
        """A new value of the result's type, computed by an operator."""
        made = self.like(self.out)
        self.op(operator, *values, made)
        return made

    def test(self, operator: str, x: Ref, y: Ref, shape: Sequence[int]) -> Ref:
        """A new mask."""
        made = self.temp(shape, bool_)
        self.op(operator, x, y, made)
        return made

    def where(self, mask: Ref, x: Ref, y: Ref) -> Ref:
        """A new value: x where the mask holds, else y."""
        made = self.temp(np.broadcast_shapes(mask.shape, x.shape, y.shape), x.dtype)
        self.op("SWhere", mask, x, y, made)
        return made

    def axes_of(self, x: Ref, axes: Sequence[int]) -> tuple[int, ...]:
        """Axes as CANN wants them: not negative."""
        return tuple([a % x.ndim for a in axes])

    def reduce(self, operator: str, x: Ref, axes: Sequence[int], start: Any) -> None:
        """Reduces over axes to the result; `start` is the result for no elements."""
        if not axes:
            return self.give(x)
        if not x.size:
            return self.op("InplaceFillScalar", self.out, start)
        return self.op(operator, x, self.axes_of(x, axes), self.keepdims, self.out)

    def sum(self, x: Ref, axes: Sequence[int], keepdims: bool, out: Ref) -> None:
        """The sum over axes; 16-bit floats add up as float32, as the dtype that is asked for is that of the sum."""
        dtype = self.wide(out.dtype)
        to = out if dtype is out.dtype else self.temp(out.shape, dtype)
        if x.size:
            self.op("ReduceSum", x, self.axes_of(x, axes), keepdims, dtype, to)
        else:
            self.op("InplaceFillScalar", to, 0)
        self.convert(to, out)

    def wide(self, dtype: DType) -> DType:
        """The dtype of the accumulators of sums."""
        return float32 if dtype in (float16, bfloat16) else dtype

    def convert(self, x: Ref, out: Ref) -> None:
        """Casts what was computed in a wider dtype to its place."""
        if x is not out:
            self.op("Cast", x, out.dtype, out)

    def extreme_of(self, operator: str, x: Ref, axes: Sequence[int], keepdims: bool, out: Ref) -> None:
        """`Amax` or `Amin` over axes, nan where there is one."""
        at = self.axes_of(x, axes)
        if not x.dtype.is_float:
            return self.op(operator, x, at, keepdims, out)
        found, unknown = self.like(out), self.temp(out.shape, bool_)
        self.op(operator, x, at, keepdims, found)
        self.op("Any", self.test("NeTensor", x, x, x.shape), at, keepdims, unknown)
        return self.op("SWhere", unknown, self.number(math.nan, x), found, out)

    def first_extreme(self, operator: str, x: Ref, axis: int, keepdims: bool, out: Ref) -> None:
        """The position of the first extreme element along an axis, of the first nan if there is one."""
        at = axis % x.ndim
        best = self.temp([1 if i == at else n for i, n in enumerate(x.shape)], x.dtype)
        self.extreme_of(operator, x, (at,), True, best)
        mask = self.test("EqTensor", x, best, x.shape)
        if x.dtype.is_float:
            mask = self.test("LogicalOr", mask, self.test("NeTensor", x, x, x.shape), x.shape)
        size = x.shape[at]
        places = self.where(mask, self.along(np.arange(size), int32, x.ndim, at), self.array(size, int32))
        first = self.temp(out.shape, int32)
        self.op("Amin", places, (at,), keepdims, first)
        self.op("Cast", first, out.dtype, out)

    def along(self, values: Any, dtype: DType, rank: int, axis: int) -> Ref:
        """Constants along one axis, to be broadcast along the others."""
        return self.reshaped(self.array(values, dtype), [len(values) if i == axis else 1 for i in range(rank)])

    def converted(self, x: Ref, dtype: DType) -> None:
        """The result: x in another dtype."""
        if dtype.is_bool and x.dtype.short not in ("bool", "u16", "u32"):
            return self.op("NeTensor", x, self.number(0, x), self.out)
        return self.give(self.cast(x, dtype))

    def bits(self, x: Ref, dtype: DType, shape: Sequence[int]) -> Ref:
        """The bytes of x, in order, as elements of another dtype and shape."""
        x = self.dense(x)
        start = x.offset * x.dtype.itemsize
        if start % dtype.itemsize:
            copied = self.like(x)
            self.op("InplaceCopy", copied, x)
            x, start = copied, 0
        at = start // dtype.itemsize
        return self.reshaped(
            replace(x, dtype=dtype, shape=(math.prod(shape),), strides=(1,), offset=at, number=None), shape
        )

    def small(self, operator: str, *operands: Ref) -> None:
        """An operator, by way of int32 for small integers that it does not take; its results fit their dtype."""
        dtype = operands[0].dtype
        if not dtype.is_int or dtype.itemsize > 2 or dtype.short in operators()[operator].args[0].dtypes:
            return self.op(operator, *operands, self.out)
        made = self.temp(self.out.shape, int32)
        self.op(operator, *[self.cast(x, int32) for x in operands], made)
        return self.give(self.cast(made, dtype))

    def divided(self, operator: str, x: Ref, y: Ref) -> None:
        """`FloorDivide` and the remainders of integers, which by 0 are 0."""
        if _known(y) and y.number != 0:
            return self.small(operator, x, y)
        nothing = self.test("EqTensor", y, self.number(0, y), y.shape)
        out = self.out
        self.give(self.like(out))
        self.small(operator, x, self.where(nothing, self.number(1, y), y))
        found = self.out
        self.give(out)
        return self.op("SWhere", nothing, self.number(0, y), found, out)

    def truncated(self, x: Ref, y: Ref) -> None:
        """The remainder of truncated division."""
        return self.op("FmodTensor", x, y, self.out) if x.dtype.is_float else self.divided("FmodTensor", x, y)

    def floored(self, x: Ref, y: Ref) -> None:
        """Floor division; of floats by `FmodTensor`, since `FloorDivide` floors a rounded quotient."""
        if not x.dtype.is_float:
            return self.divided("FloorDivide", x, y)
        rest, below = self._left(x, y)
        shape, zero = self.out.shape, self.number(0, x)
        whole = self.made("Round", self.made("Div", self.made("Sub", x, rest, 1), y))
        found = self.where(below, self.made("Sub", whole, self.number(1, x), 1), whole)
        quotient = self.made("Div", x, y)
        signed = self.made("Mul", quotient, zero)  # a zero with the sign of the quotient
        found = self.where(self.test("EqTensor", found, zero, shape), signed, found)
        return self.op("SWhere", self.test("EqTensor", y, zero, y.shape), quotient, found, self.out)

    def modulo(self, x: Ref, y: Ref) -> None:
        """The remainder of floor division, with the sign of the divisor, also if it is zero."""
        if not x.dtype.is_float:
            return self.divided("RemainderTensorTensor", x, y)
        rest, below = self._left(x, y)
        zero = self.number(0, x)
        nothing = self.where(self.test("LtTensor", y, zero, y.shape), self.number(-0.0, x), zero)
        found = self.where(below, self.made("Add", rest, y, 1), rest)
        return self.op("SWhere", self.test("EqTensor", rest, zero, rest.shape), nothing, found, self.out)

    def _left(self, x: Ref, y: Ref) -> tuple[Ref, Ref]:
        """The remainder of truncated division of floats, and where floor division has a quotient of one less."""
        if x.dtype in (float16, bfloat16):
            raise Refused("several steps would round at each")  # the caller tries float32 then
        rest, zero = self.made("FmodTensor", x, y), self.number(0, x)
        shape = rest.shape
        negative, below = [self.test("LtTensor", v, zero, v.shape) for v in (rest, y)]
        other = self.test("LogicalXor", negative, below, shape)
        return rest, self.test("LogicalAnd", self.test("NeTensor", rest, zero, shape), other, shape)

    def sorted(self, x: Ref, descending: bool, values: Ref, places: Ref) -> None:
        """The elements in order along the op's axis, and where they stood."""
        axis = self.axis % x.ndim
        if x.dtype is bfloat16 and axis == 1:
            raise Refused("aclnnSort takes no bfloat16 along axis 1")
        self.op("Sort", x, True, axis, descending, values, places)

    def bordered(self, x: Ref, padding: Sequence[int], value: Any) -> Ref:
        """x with a border of one number around its last dimensions: (before, after) of each."""
        if not any(padding):
            return x
        pairs = list(zip(padding[::2], padding[1::2], strict=True))
        lead = x.ndim - len(pairs)
        sizes = [n + b + a for n, (b, a) in zip(x.shape[lead:], pairs, strict=True)]
        made = self.temp((*x.shape[:lead], *sizes), x.dtype)
        self.op("ConstantPadNd", x, [w for pair in reversed(pairs) for w in pair], value, made)
        return made

    def padded(self, x: Ref, padding: Sequence[int]) -> tuple[Ref, tuple[int, ...]]:
        """An image and its padding per dimension: padded before where the two sides differ."""
        before, after = tuple(padding[::2]), tuple(padding[1::2])
        return (x, before) if before == after else (self.bordered(x, padding, 0), (0,) * len(before))

    def slid(self, x: Ref, axis: int, count: int, kernel: int, stride: int, dilation: int = 1) -> list[Ref]:
        """For each tap of a window along an axis, the view of its elements."""
        return [x.sliced(axis, j * dilation, count, stride) for j in range(kernel)]

    def recurrence(self, axis: int, reverse: bool, step: Any) -> None:
        """The result of a scan along an axis: slice i is `step(i, before)`; `before` is None at first."""
        out, at = self.out, axis % self.out.ndim
        if out.shape[at] > 256:
            raise Refused(f"{out.shape[at]} steps that need each other would be as many operators")
        found: dict[int, Ref] = {}
        before = None
        for i in reversed(range(out.shape[at])) if reverse else range(out.shape[at]):
            before = found[i] = step(i, before)
        self.op("Cat", [found[i] for i in range(out.shape[at])], at, out)

    def place(self, index: Ref) -> Ref:
        """Positions in a dtype that operators take as indices."""
        return index if index.dtype.short in ("i32", "i64") else self.cast(index, int64)

    def at_positions(self, way: str, x: Ref, index: Ref, updates: Ref) -> None:
        """x with slices of `updates` added, multiplied or put in at the positions in `index` along an axis."""
        if not updates.size:
            return self.give(x)
        axis = self.axis % x.ndim
        flat = self.reshaped(self.place(index), (index.size,))
        rows = self.reshaped(updates, (*x.shape[:axis], index.size, *x.shape[axis + 1 :]))
        if way == "replace":
            rows = self.last_writers(rows, flat, axis) if index.size > 1 else rows
            return self.op("Scatter", x, axis, self._positions(flat, rows, axis), rows, 0, self.out)
        dtype = self.wide(x.dtype)
        to = self.out if dtype is x.dtype else self.temp(x.shape, dtype)
        x, rows = self.cast(x, dtype), self.cast(rows, dtype)
        if way == "add":
            self.op("IndexAdd", x, axis, flat, rows, 1, to)
        else:
            self.op("Scatter", x, axis, self._positions(flat, rows, axis), rows, 2, to)
        return self.convert(to, self.out)

    def _positions(self, flat: Ref, rows: Ref, axis: int) -> Ref:
        """A position for every element of `rows`."""
        shape = [flat.size if i == axis else 1 for i in range(rows.ndim)]
        return self.reshaped(flat, shape).broadcast(rows.shape)

    def add_along(self, x: Ref, index: Ref, updates: Ref) -> None:
        """x with every update added at the position that `index` gives along the axis."""
        if not updates.size:
            return self.give(x)
        dtype = self.wide(x.dtype)
        to = self.out if dtype is x.dtype else self.temp(x.shape, dtype)
        start, given = self.cast(x, dtype), self.cast(updates, dtype)
        self.op("ScatterAdd", start, self.axis % x.ndim, self.place(index), given, to)
        return self.convert(to, self.out)

    def product(self, a: Ref, b: Ref) -> None:
        """The matrix product over the last two dimensions; that of integers as a sum of products."""
        if not a.shape[-1]:
            return self.op("InplaceFillScalar", self.out, 0)
        if a.dtype.is_int:
            wide = (*a.shape[:-1], a.shape[-1], b.shape[-1])
            if math.prod(wide) > 2**24:
                raise Refused("no operator multiplies matrices of integers, and these have too many products")
            products = self.temp(wide, a.dtype)
            self.op("Mul", a.expanded((-1,)), b.expanded((-3,)), products)
            return self.op("ReduceSum", products, (len(wide) - 2,), False, a.dtype, self.out)
        if a.ndim <= 6:
            name = "Mm" if a.ndim == 2 else "BatchMatMul" if a.ndim == 3 else "Matmul"
            return self.op(name, a, b, self.out, 0)  # 0: keep the dtype
        flat = [self.reshaped(x, (math.prod(x.shape[:-2]), *x.shape[-2:])) for x in (a, b, self.out)]
        return self.op("BatchMatMul", *flat, 0)

    def last_writers(self, updates: Ref, index: Ref, axis: int) -> Ref:
        """Updates (their index dimensions merged) where all that go to one place are replaced by the last of them."""
        count = index.size
        if count > 4096:
            raise Refused(f"the last of {count} writers of a place is not looked for on the device")
        rows, columns = self.reshaped(index, (count, 1)), self.reshaped(index, (1, count))
        same = self.test("EqTensor", rows, columns, (count, count))
        order = self.array(np.arange(count).reshape(1, count), int32)
        places = self.where(same, order, self.array(-1, int32))
        last = self.temp((count,), int32)
        self.op("Amax", places, (1,), False, last)
        found = self.like(updates)
        self.op("IndexSelect", updates, axis, last, found)
        return found
