"""W lanes of one dtype in registers: broadcasts, loads, stores, masks.

A 16-bit float is held as f32 and rounded to 16 bits after every function, as NumPy and ml_dtypes do; a bool is an i1.
What has no code here raises `NotNativeError`, and the op is run by its NumPy kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ....dtypes import DType, bfloat16, bool_, float16, float32, float64
from ....ir.definition import take_operators
from ....ir.sizes import Size
from .emit import Reg, Text, mangled, of_lane, vector
from .vectors import Vectors


class NotNativeError(Exception):
    """There is no native code for what the message names."""


def require_known(sizes: Iterable[Size], what: str) -> None:
    """Refuses sizes that only a call knows, for a kernel that is written for numbers."""
    if not all(isinstance(size, int) for size in sizes):
        raise NotNativeError(f"{what} of sizes that only a call knows")


def element_type(dtype: DType) -> str:
    """The LLVM type that a lane is computed in."""
    if dtype.is_float:
        return "double" if dtype is float64 else "float"
    return f"i{dtype.bits}"


def computed_in(dtype: DType) -> DType:
    """The dtype that elements are computed in: f32 for floats of 16 bits."""
    return float32 if dtype in (float16, bfloat16) else dtype


def memory_type(dtype: DType) -> str:
    """The LLVM type of an element in memory."""
    if dtype is float16:
        return "half"
    return "i16" if dtype is bfloat16 else "i8" if dtype is bool_ else element_type(dtype)


class Lane:
    """W elements of one dtype."""

    __slots__ = ("dtype", "kernels", "reg")
    __array_ufunc__ = None

    def __init__(self, kernels: Lanes, reg: Reg, dtype: DType) -> None:
        self.kernels, self.reg, self.dtype = kernels, reg, dtype

    def __bool__(self) -> bool:
        raise TypeError("a formula cannot branch on its operands; use k.where")


take_operators(Lane, lambda lane, name, *operands: getattr(lane.kernels, name)(*operands))


class Lanes:
    """Writes constants, broadcasts, loads and stores of W lanes into `text`."""

    def __init__(self, text: Text, width: int, *, low_latency: bool | None = None) -> None:
        """`low_latency`: see `Vectors`."""
        self.text, self.width = text, width
        self._vectors = {
            single: Vectors(text, width, single=single, low_latency=low_latency) for single in (True, False)
        }

    def vectors(self, dtype: DType) -> Vectors:
        return self._vectors[dtype is not float64]

    # ------------------------------------------------------------------------------------------- lanes
    def type_of(self, dtype: DType) -> str:
        return vector(element_type(dtype), self.width)

    def lane(self, reg: Reg, dtype: DType) -> Lane:
        return Lane(self, reg, dtype)

    def number(self, value: bool | int | float, dtype: DType) -> Lane:
        """A constant in all lanes, rounded to the dtype as NumPy does."""
        value = rounded(value, dtype)
        if dtype.is_float:
            return Lane(self, self.vectors(dtype).number(float(value)), dtype)
        text = ("true" if value else "false") if dtype is bool_ else str(int(value))
        of = element_type(dtype)
        return Lane(self, Reg(text if self.width == 1 else f"splat ({of} {text})", self.type_of(dtype)), dtype)

    def broadcast(self, x: Lane) -> Lane:
        """A single element (of kernels of one lane) in all lanes."""
        if self.width == 1:
            return Lane(self, x.reg, x.dtype)
        type = self.type_of(x.dtype)
        one = self.text.let(type, f"insertelement {type} poison, {x.reg}, i64 0")
        zeros = f"<{self.width} x i32> zeroinitializer"
        return Lane(self, self.text.let(type, f"shufflevector {one}, {type} poison, {zeros}"), x.dtype)

    def _promoted(self, *xs: Any) -> list[Lane]:
        """The operands of a function as lanes of one dtype: Python numbers take that of the others."""
        dtype = next(x.dtype for x in xs if isinstance(x, Lane))
        found = [x if isinstance(x, Lane) else self.number(x, dtype) for x in xs]
        if any(x.dtype is not dtype for x in found):
            raise NotNativeError("operands of several dtypes")
        return found

    def _let(self, rhs: str, dtype: DType) -> Lane:
        return Lane(self, self.text.let(self.type_of(dtype), rhs), dtype)

    def _rounded(self, reg: Reg, dtype: DType) -> Lane:
        """The result of a float function, rounded to 16 bits if the dtype has so many."""
        if dtype is float16:
            half = self.text.let(vector("half", self.width), f"fptrunc {reg} to {vector('half', self.width)}")
            reg = self.text.let(reg.type, f"fpext {half} to {reg.type}")
        elif dtype is bfloat16:
            v = self.vectors(dtype)
            reg = v.of_bits(v.iop("and", self._bfloat_bits(reg), -65536))
        return Lane(self, reg, dtype)

    def _bfloat_bits(self, reg: Reg) -> Reg:
        """The bits of an f32 rounded to bfloat16, which is their upper half."""
        v = self.vectors(bfloat16)
        bits = v.bits_of(reg)
        odd = v.iop("and", v.iop("lshr", bits, 16), 1)
        near = v.iop("add", bits, v.iop("add", odd, 0x7FFF))
        quiet = v.iop("or", bits, 0x400000)
        return v.iselect(v.isnan(reg), quiet, near)

    # ------------------------------------------------------------------------------------------- memory
    def load(self, place: Reg, dtype: DType) -> Lane:
        """W adjacent elements."""
        of = vector(memory_type(dtype), self.width)
        return self.held(self.text.load(of, place, dtype.itemsize), dtype)

    def held(self, raw: Reg, dtype: DType) -> Lane:
        """Lanes of elements as they lie in memory."""
        if dtype is bool_:
            zero = "0" if self.width == 1 else "zeroinitializer"
            return self._let(f"icmp ne {raw}, {zero}", dtype)
        if dtype is float16:
            return self._let(f"fpext {raw} to {self.type_of(dtype)}", dtype)
        if dtype is bfloat16:
            v = self.vectors(dtype)
            wide = self.text.let(v.int_type, f"zext {raw} to {v.int_type}")
            return Lane(self, v.of_bits(v.iop("shl", wide, 16)), dtype)
        return Lane(self, raw, dtype)

    def stored(self, x: Lane) -> Reg:
        """Lanes as they lie in memory."""
        of = vector(memory_type(x.dtype), self.width)
        if x.dtype is bool_:
            return self.text.let(of, f"zext {x.reg} to {of}")
        if x.dtype is float16:
            return self.text.let(of, f"fptrunc {x.reg} to {of}")
        if x.dtype is bfloat16:  # `_rounded` has cleared the lower half
            v = self.vectors(x.dtype)
            return self.text.let(of, f"trunc {v.iop('lshr', v.bits_of(x.reg), 16)} to {of}")
        return x.reg

    def store(self, x: Lane, place: Reg, *, nontemporal: int = 0) -> None:
        """`nontemporal`: the alignment of a non-temporal store; 0: it is an ordinary one."""
        if nontemporal:
            self.text.store_nontemporal(self.stored(x), place, nontemporal)
        else:
            self.text.store(self.stored(x), place, x.dtype.itemsize)

    def load_masked(self, place: Reg, dtype: DType, mask: Reg) -> Lane:
        """Adjacent elements where the mask holds; zeros elsewhere."""
        of = vector(memory_type(dtype), self.width)
        name = f"llvm.masked.load.{mangled(of)}.p0"
        self.text.declares.add(f"declare {of} @{name}(ptr, i32 immarg, {mask.type}, {of})")
        rhs = f"call {of} @{name}(ptr {place.text}, i32 {dtype.itemsize}, {mask}, {of} zeroinitializer)"
        return self.held(self.text.make(of, rhs), dtype)

    def store_masked(self, x: Lane, place: Reg, mask: Reg) -> None:
        """Stores the lanes where the mask holds."""
        if mask.text == self.mask(1).text:  # LLVM 22 stores one lane of a truncated vector untruncated
            self.store_strided(x, place, x.dtype.itemsize, 1)
            return
        raw = self.stored(x)
        name = f"llvm.masked.store.{mangled(raw.type)}.p0"
        self.text.declares.add(f"declare void @{name}({raw.type}, ptr, i32 immarg, {mask.type})")
        self.text.do(f"call void @{name}({raw}, ptr {place.text}, i32 {x.dtype.itemsize}, {mask})")

    def iota(self, place: Reg, dtype: DType, step: int) -> Lane:
        """W numbers from that of a pointer on, `step` apart: the elements of an iota."""
        first = self.text.let("i64", f"ptrtoint {place} to i64")
        if dtype.bits < 64:
            first = self.text.let(f"i{dtype.bits}", f"trunc {first} to i{dtype.bits}")
        start = self.broadcast(Lane(self, first, dtype))
        if step == 0 or self.width == 1:
            return start
        half = 2 ** (dtype.bits - 1)
        steps = ", ".join(f"i{dtype.bits} {(lane * step + half) % (2 * half) - half}" for lane in range(self.width))
        return self._let(f"add {start.reg}, <{steps}>", dtype)

    def load_strided(self, place: Reg, dtype: DType, stride: Size, lanes: int | None = None) -> Lane:
        """W elements `stride` bytes apart, one load each; only the first `lanes` are read."""
        if self.width == 1:
            return self.load(place, dtype)
        of = memory_type(dtype)
        total = Reg("zeroinitializer", vector(of, self.width))
        for k in range(self.width if lanes is None else lanes):
            one = self.text.load(of, self.text.at(place, k * stride), dtype.itemsize)
            total = self.text.let(total.type, f"insertelement {total}, {one}, i64 {k}")
        return self.held(total, dtype)

    def store_strided(self, x: Lane, place: Reg, stride: Size, lanes: int) -> None:
        """Stores the first `lanes` elements `stride` bytes apart."""
        raw = self.stored(x)
        for lane in range(lanes):
            one = self.text.let(of_lane(raw.type), f"extractelement {raw}, i64 {lane}")
            self.text.store(one, self.text.at(place, lane * stride), x.dtype.itemsize)

    def mask(self, lanes: int) -> Reg:
        """The mask of the first `lanes` lanes."""
        bits = ", ".join(f"i1 {'true' if i < lanes else 'false'}" for i in range(self.width))
        return Reg(f"<{bits}>" if self.width > 1 else "true", vector("i1", self.width))

    def mask_up_to(self, lanes: Reg) -> Reg:
        """The mask of the first `lanes` lanes, a number that the program computes."""
        if self.width == 1:
            return self.text.let("i1", f"icmp sgt {lanes}, 0")
        numbers = ", ".join(f"i64 {i}" for i in range(self.width))
        type = vector("i64", self.width)
        one = self.text.let(type, f"insertelement {type} poison, {lanes}, i64 0")
        all_lanes = self.text.shuffled(one, Reg("poison", type), [0] * self.width)
        return self.text.let(vector("i1", self.width), f"icmp ult {type} <{numbers}>, {all_lanes.text}")

    def of_lanes(self, x: Lane, lanes: Sequence[int]) -> Lane:
        """W lanes of a vector, by their numbers."""
        if x.kernels.width == 1:
            return x
        if self.width > 1:
            return Lane(self, self.text.shuffled(x.reg, Reg("poison", x.reg.type), lanes), x.dtype)
        one = self.text.let(of_lane(x.reg.type), f"extractelement {x.reg}, i64 {lanes[0]}")
        return Lane(self, one, x.dtype)


def rounded(value: bool | int | float, dtype: DType) -> Any:
    """A number cast to a dtype, without NumPy's warnings."""
    with np.errstate(all="ignore"):
        return np.asarray(value).astype(dtype.numpy).item()
