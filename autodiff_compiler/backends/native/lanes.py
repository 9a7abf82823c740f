"""Values of W lanes with NumPy's meaning: the kernel builder that formulas of primitives are written over.

A 16-bit float is held as f32 and rounded to 16 bits after every function, as NumPy and ml_dtypes do; a bool is an i1.
What has no code here raises `NotNativeError`, and the op is run by its NumPy kernel.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dtypes import DType, bfloat16, bool_, float16, float32, float64, int64, uint8
from . import divisions
from .emit import Reg, Text, mangled, of_lane, vector
from .maths import FUNCTIONS
from .maths.apart import written
from .vectors import Vectors

__all__ = ["Kernels", "Lane", "NotNativeError", "element_type", "joined", "memory_type", "rounded"]


class NotNativeError(Exception):
    """There is no native code for this; the text says for what."""


def element_type(dtype: DType) -> str:
    """The LLVM type that a lane is computed in."""
    if dtype.is_float:
        return "double" if dtype is float64 else "float"
    return f"i{dtype.bits}"


def memory_type(dtype: DType) -> str:
    """The LLVM type of an element in memory."""
    if dtype is float16:
        return "half"
    return "i16" if dtype is bfloat16 else "i8" if dtype is bool_ else element_type(dtype)


class Lane:
    """W elements of one dtype."""

    __slots__ = ("dtype", "kernels", "reg")
    __array_ufunc__ = None

    def __init__(self, kernels: Kernels, reg: Reg, dtype: DType) -> None:
        self.kernels, self.reg, self.dtype = kernels, reg, dtype

    def __bool__(self) -> bool:
        raise TypeError("a formula cannot branch on its operands; use k.where")


def _operators() -> None:
    two = {
        "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
        "mod": "remainder", "pow": "power", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    }  # fmt: skip
    for slot, fn in two.items():
        setattr(Lane, f"__{slot}__", lambda a, b, fn=fn: getattr(a.kernels, fn)(a, b))
        setattr(Lane, f"__r{slot}__", lambda a, b, fn=fn: getattr(a.kernels, fn)(b, a))
    compared = {
        "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
    }  # fmt: skip
    for slot, fn in compared.items():
        setattr(Lane, f"__{slot}__", lambda a, b, fn=fn: getattr(a.kernels, fn)(a, b))
    for slot, fn in {"neg": "negative", "abs": "absolute", "invert": "invert"}.items():
        setattr(Lane, f"__{slot}__", lambda a, fn=fn: getattr(a.kernels, fn)(a))


_operators()

_COMPARISONS = {
    "equal": ("oeq", "eq", "eq"), "not_equal": ("une", "ne", "ne"), "less": ("olt", "slt", "ult"),
    "less_equal": ("ole", "sle", "ule"), "greater": ("ogt", "sgt", "ugt"), "greater_equal": ("oge", "sge", "uge"),
}  # fmt: skip


#: The same in Python's words.
_PYTHON = {
    "equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge",
}  # fmt: skip


def _holds(dtype: DType, number: int) -> bool:
    """Whether an integer dtype has the number."""
    low = -(2 ** (dtype.bits - 1)) if dtype.kind == "i" else 0
    return bool(low <= number < low + 2**dtype.bits)


class Kernels:
    """Writes functions of W lanes into `text`; the names and what they compute are NumPy's."""

    pi, e, inf, nan = math.pi, math.e, math.inf, math.nan

    def __init__(self, text: Text, width: int, *, quick: bool | None = None) -> None:
        """`quick`: see `Vectors`."""
        self.text, self.width = text, width
        self._vectors = {single: Vectors(text, width, single=single, quick=quick) for single in (True, False)}

    def vectors(self, dtype: DType) -> Vectors:
        return self._vectors[dtype is not float64]

    def __getattr__(self, name: str) -> Callable[..., Lane]:
        if name in FUNCTIONS:
            return lambda *xs: self._float(name, *xs)
        if name in _COMPARISONS:
            return lambda x, y: self._compare(name, x, y)
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotNativeError(name)

    # ------------------------------------------------------------------------------------------- lanes
    def type_of(self, dtype: DType) -> str:
        return vector(element_type(dtype), self.width)

    def lane(self, reg: Reg, dtype: DType) -> Lane:
        return Lane(self, reg, dtype)

    def number(self, value: bool | int | float, dtype: DType) -> Lane:
        """The number in all lanes, rounded as NumPy would."""
        value = rounded(value, dtype)
        if dtype.is_float:
            return Lane(self, self.vectors(dtype).number(float(value)), dtype)
        text = ("true" if value else "false") if dtype is bool_ else str(int(value))
        of = element_type(dtype)
        return Lane(self, Reg(text if self.width == 1 else f"splat ({of} {text})", self.type_of(dtype)), dtype)

    def spread(self, x: Lane) -> Lane:
        """A single element (of kernels of one lane) in all lanes."""
        if self.width == 1:
            return Lane(self, x.reg, x.dtype)
        type = self.type_of(x.dtype)
        one = self.text.let(type, f"insertelement {type} poison, {x.reg}, i64 0")
        zeros = f"<{self.width} x i32> zeroinitializer"
        return Lane(self, self.text.let(type, f"shufflevector {one}, {type} poison, {zeros}"), x.dtype)

    def _together(self, *xs: Any) -> list[Lane]:
        """Operands of a function: Python numbers take the dtype of the others."""
        dtype = next(x.dtype for x in xs if isinstance(x, Lane))
        found = [x if isinstance(x, Lane) else self.number(x, dtype) for x in xs]
        if any(x.dtype is not dtype for x in found):
            raise NotNativeError("operands of several dtypes")
        return found

    def _let(self, rhs: str, dtype: DType) -> Lane:
        return Lane(self, self.text.let(self.type_of(dtype), rhs), dtype)

    def _rounded(self, reg: Reg, dtype: DType) -> Lane:
        """The result of a float function."""
        if dtype is float16:
            half = self.text.let(vector("half", self.width), f"fptrunc {reg} to {vector('half', self.width)}")
            reg = self.text.let(reg.type, f"fpext {half} to {reg.type}")
        elif dtype is bfloat16:
            v = self.vectors(dtype)
            reg = v.of_bits(v.iop("and", self._bfloat_bits(reg), -65536))
        return Lane(self, reg, dtype)

    def _bfloat_bits(self, reg: Reg) -> Reg:
        """The bits of an f32 whose upper half is the bfloat16 next to it."""
        v = self.vectors(bfloat16)
        bits = v.bits_of(reg)
        odd = v.iop("and", v.iop("lshr", bits, 16), 1)
        near = v.iop("add", bits, v.iop("add", odd, 0x7FFF))
        quiet = v.iop("or", bits, 0x400000)
        return v.iselect(v.isnan(reg), quiet, near)

    # ------------------------------------------------------------------------------------------- memory
    def load(self, place: Reg, dtype: DType, align: int | None = None) -> Lane:
        """W elements that follow each other."""
        of = vector(memory_type(dtype), self.width)
        return self.held(self.text.load(of, place, align or dtype.itemsize), dtype)

    def held(self, raw: Reg, dtype: DType) -> Lane:
        """Elements as they lie in memory, as lanes."""
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
        """The lanes as they lie in memory."""
        of = vector(memory_type(x.dtype), self.width)
        if x.dtype is bool_:
            return self.text.let(of, f"zext {x.reg} to {of}")
        if x.dtype is float16:
            return self.text.let(of, f"fptrunc {x.reg} to {of}")
        if x.dtype is bfloat16:  # rounded already
            v = self.vectors(x.dtype)
            return self.text.let(of, f"trunc {v.iop('lshr', v.bits_of(x.reg), 16)} to {of}")
        return x.reg

    def store(self, x: Lane, place: Reg, align: int | None = None, *, past_caches: int = 0) -> None:
        """`past_caches`: the alignment of a store that goes past them; 0: it does not."""
        if past_caches:
            self.text.stream(self.stored(x), place, past_caches)
        else:
            self.text.store(self.stored(x), place, align or x.dtype.itemsize)

    def load_masked(self, place: Reg, dtype: DType, mask: Reg) -> Lane:
        """The same where the mask holds; zeros elsewhere."""
        of = vector(memory_type(dtype), self.width)
        name = f"llvm.masked.load.{mangled(of)}.p0"
        self.text.declares.add(f"declare {of} @{name}(ptr, i32 immarg, {mask.type}, {of})")
        rhs = f"call {of} @{name}(ptr {place.text}, i32 {dtype.itemsize}, {mask}, {of} zeroinitializer)"
        return self.held(self.text.make(of, rhs), dtype)

    def store_masked(self, x: Lane, place: Reg, mask: Reg) -> None:
        """The lanes where a `mask` holds."""
        if mask.text == self.mask(1).text:  # LLVM 22 stores one lane of a truncated vector at its width before
            self.store_strided(x, place, x.dtype.itemsize, 1)
            return
        raw = self.stored(x)
        name = f"llvm.masked.store.{mangled(raw.type)}.p0"
        self.text.declares.add(f"declare void @{name}({raw.type}, ptr, i32 immarg, {mask.type})")
        self.text.do(f"call void @{name}({raw}, ptr {place.text}, i32 {x.dtype.itemsize}, {mask})")

    def counted(self, place: Reg, dtype: DType, step: int) -> Lane:
        """The numbers of W places, `step` apart."""
        first = self.text.let("i64", f"ptrtoint {place} to i64")
        if dtype.bits < 64:
            first = self.text.let(f"i{dtype.bits}", f"trunc {first} to i{dtype.bits}")
        start = self.spread(Lane(self, first, dtype))
        if step == 0 or self.width == 1:
            return start
        half = 2 ** (dtype.bits - 1)
        steps = ", ".join(f"i{dtype.bits} {(lane * step + half) % (2 * half) - half}" for lane in range(self.width))
        return self._let(f"add {start.reg}, <{steps}>", dtype)

    def load_strided(self, place: Reg, dtype: DType, stride: int, lanes: int | None = None) -> Lane:
        """W elements `stride` bytes apart; only the first `lanes` of them are read."""
        if self.width == 1:
            return self.load(place, dtype)
        of = memory_type(dtype)
        total = Reg("zeroinitializer", vector(of, self.width))
        for k in range(self.width if lanes is None else lanes):
            one = self.text.load(of, self.text.at(place, k * stride), dtype.itemsize)
            total = self.text.let(total.type, f"insertelement {total}, {one}, i64 {k}")
        return self.held(total, dtype)

    def store_strided(self, x: Lane, place: Reg, stride: int, lanes: int) -> None:
        """The first `lanes` elements `stride` bytes apart."""
        raw = self.stored(x)
        for lane in range(lanes):
            one = self.text.let(of_lane(raw.type), f"extractelement {raw}, i64 {lane}")
            self.text.store(one, self.text.at(place, lane * stride), x.dtype.itemsize)

    def mask(self, lanes: int) -> Reg:
        """The condition that holds in the first `lanes` lanes."""
        bits = ", ".join(f"i1 {'true' if i < lanes else 'false'}" for i in range(self.width))
        return Reg(f"<{bits}>" if self.width > 1 else "true", vector("i1", self.width))

    def of_lanes(self, x: Lane, lanes: Sequence[int]) -> Lane:
        """Some lanes of a vector, as many as there are here."""
        if x.kernels.width == 1:
            return x
        if self.width > 1:
            return Lane(self, self.text.shuffled(x.reg, Reg("poison", x.reg.type), lanes), x.dtype)
        one = self.text.let(of_lane(x.reg.type), f"extractelement {x.reg}, i64 {lanes[0]}")
        return Lane(self, one, x.dtype)

    # ------------------------------------------------------------------------------------------- arithmetic
    def _float(self, name: str, *xs: Any) -> Lane:
        lanes = self._together(*xs)
        dtype = lanes[0].dtype
        if not dtype.is_float:
            raise NotNativeError(f"{name} of {dtype.name}")
        return self._rounded(written(name, self.vectors(dtype), [x.reg for x in lanes]), dtype)

    def _arithmetic(self, x: Any, y: Any, of_floats: str, of_ints: str, of_bools: str | None) -> Lane:
        a, b = self._together(x, y)
        dtype = a.dtype
        if dtype.is_float:
            return self._rounded(self.vectors(dtype)._two(of_floats, a.reg, b.reg), dtype)
        op = of_bools if dtype is bool_ else of_ints
        if not op:
            raise NotNativeError(f"{of_floats} of {dtype.name}")
        return self._let(f"{op} {a.reg}, {b.reg.text}", dtype)

    def add(self, x: Any, y: Any) -> Lane:
        return self._arithmetic(x, y, "fadd", "add", "or")

    def subtract(self, x: Any, y: Any) -> Lane:
        return self._arithmetic(x, y, "fsub", "sub", None)

    def multiply(self, x: Any, y: Any) -> Lane:
        return self._arithmetic(x, y, "fmul", "mul", "and")

    def divide(self, x: Any, y: Any) -> Lane:
        return self._arithmetic(x, y, "fdiv", "", None)

    true_divide = divide

    def reciprocal(self, x: Lane) -> Lane:
        return self.divide(1, x)

    def negative(self, x: Lane) -> Lane:
        if x.dtype.is_float:
            return Lane(self, self.vectors(x.dtype).neg(x.reg), x.dtype)
        return self.subtract(0, x)

    def sqrt(self, x: Lane) -> Lane:
        if not x.dtype.is_float:
            raise NotNativeError(f"sqrt of {x.dtype.name}")
        return self._rounded(self.vectors(x.dtype).sqrt(x.reg), x.dtype)

    def absolute(self, x: Lane) -> Lane:
        if x.dtype.is_float:
            return Lane(self, self.vectors(x.dtype).abs(x.reg), x.dtype)
        return x if x.dtype.kind in "bu" else self.where(self.less(x, 0), self.negative(x), x)

    def sign(self, x: Lane) -> Lane:
        one = self.number(1, x.dtype)
        if x.dtype.kind in "bu":
            return self.where(self.greater(x, 0), one, 0)
        zero = self.where(self.equal(x, 0), 0, x)  # or nan
        return self.where(self.greater(x, 0), one, self.where(self.less(x, 0), -1, zero))

    def _whole(self, name: str, x: Lane) -> Lane:
        if not x.dtype.is_float:
            return x
        return Lane(self, self.text.intrinsic(name, x.reg), x.dtype)

    def floor(self, x: Lane) -> Lane:
        return self._whole("floor", x)

    def ceil(self, x: Lane) -> Lane:
        return self._whole("ceil", x)

    def trunc(self, x: Lane) -> Lane:
        return self._whole("trunc", x)

    def rint(self, x: Lane) -> Lane:
        return self._whole("rint", x)

    def power(self, x: Any, y: Any) -> Lane:
        a, b = self._together(x, y)
        if a.dtype is bool_:
            raise NotNativeError("power of bool")
        if a.dtype.is_int:
            return divisions.int_power(self, a, b)
        return self._rounded(written("power", self.vectors(a.dtype), [a.reg, b.reg]), a.dtype)

    def floor_divide(self, x: Any, y: Any) -> Lane:
        return self._divided(x, y)[0]

    def remainder(self, x: Any, y: Any) -> Lane:
        return self._divided(x, y)[1]

    def fmod(self, x: Any, y: Any) -> Lane:
        a, b = self._together(x, y)
        dtype = a.dtype
        if dtype.is_float:
            return self._rounded(divisions.float_remainder(self.vectors(dtype), a.reg, b.reg), dtype)
        if not dtype.is_int:
            raise NotNativeError(f"fmod of {dtype.name}")
        none = self.equal(b, 0)
        if dtype.kind == "i":  # the smallest integer cannot be divided by -1
            none = self.logical_or(none, self.equal(b, -1))
        op = "srem" if dtype.kind == "i" else "urem"
        return self.where(none, 0, self._let(f"{op} {a.reg}, {self.where(none, 1, b).reg.text}", dtype))

    def gcd(self, x: Any, y: Any) -> Lane:
        return divisions.gcd(self, *self._together(x, y))

    def lcm(self, x: Any, y: Any) -> Lane:
        return divisions.lcm(self, *self._together(x, y))

    def nextafter(self, x: Any, y: Any) -> Lane:
        return divisions.next_after(self, *self._together(x, y))

    def bitwise_count(self, x: Lane) -> Lane:
        """How many bits are set, as a uint8."""
        return self.cast(Lane(self, self.text.intrinsic("ctpop", x.reg), x.dtype), uint8)

    def _divided(self, x: Any, y: Any) -> tuple[Lane, Lane]:
        """Quotient rounded down and remainder; those of integers are 0 where the divisor is."""
        a, b = self._together(x, y)
        dtype = a.dtype
        if dtype.is_float:
            down, left = divisions.divided(self.vectors(dtype), a.reg, b.reg)
            return self._rounded(down, dtype), self._rounded(left, dtype)
        if not dtype.is_int:
            raise NotNativeError(f"remainder of {dtype.name}")
        none = self.equal(b, 0)
        if dtype.kind == "u":
            safe = self.where(none, 1, b)
            quotient = self._let(f"udiv {a.reg}, {safe.reg.text}", dtype)
            rest = self.subtract(a, self.multiply(quotient, safe))
            return self.where(none, 0, quotient), self.where(none, 0, rest)
        # The smallest integer divided by -1 does not fit: its negative, which is itself.
        minus = self.equal(b, -1)
        safe = self.where(self.logical_or(none, minus), 1, b)
        quotient = self._let(f"sdiv {a.reg}, {safe.reg.text}", dtype)
        rest = self.subtract(a, self.multiply(quotient, safe))
        wrong = self.logical_and(self.not_equal(rest, 0), self.less(self.bitwise_xor(rest, safe), 0))
        quotient = self.where(wrong, self.subtract(quotient, 1), quotient)
        rest = self.where(wrong, self.add(rest, safe), rest)
        quotient = self.where(minus, self.negative(a), quotient)
        gone = self.logical_or(none, minus)
        return self.where(none, 0, quotient), self.where(gone, 0, rest)

    # ------------------------------------------------------------------------------------------- order
    def _compare(self, name: str, x: Any, y: Any) -> Lane:
        if isinstance(x, Lane) and x.dtype.is_int and isinstance(y, int) and not _holds(x.dtype, y):
            return self.number(getattr(operator, _PYTHON[name])(0, y), bool_)
        a, b = self._together(x, y)
        floats, signed, unsigned = _COMPARISONS[name]
        if a.dtype.is_float:
            return self._let(f"fcmp {floats} {a.reg}, {b.reg.text}", bool_)
        return self._let(f"icmp {signed if a.dtype.kind == 'i' else unsigned} {a.reg}, {b.reg.text}", bool_)

    def _extreme(self, x: Any, y: Any, test: str, *, ignores_nan: bool = False) -> Lane:
        """The operand of which the test holds, the first where they are equal."""
        a, b = self._together(x, y)
        further = self.where(self._compare(test, b, a), b, a)
        if not a.dtype.is_float:
            return further
        # So far it is the first one where either is nan.  (On x86 that select is one instruction.)
        return self.where(self.isnan(a if ignores_nan else b), b, further)

    def maximum(self, x: Any, y: Any) -> Lane:
        return self._extreme(x, y, "greater")

    def minimum(self, x: Any, y: Any) -> Lane:
        return self._extreme(x, y, "less")

    def fmax(self, x: Any, y: Any) -> Lane:
        return self._extreme(x, y, "greater", ignores_nan=True)

    def fmin(self, x: Any, y: Any) -> Lane:
        return self._extreme(x, y, "less", ignores_nan=True)

    def where(self, test: Lane, x: Any, y: Any) -> Lane:
        a, b = self._together(x, y)
        return self._let(f"select {test.reg}, {a.reg}, {b.reg}", a.dtype)

    def isnan(self, x: Lane) -> Lane:
        if not x.dtype.is_float:
            return self.number(False, bool_)
        return self._let(f"fcmp uno {x.reg}, {x.reg.text}", bool_)

    def isinf(self, x: Lane) -> Lane:
        return self.equal(self.absolute(x), math.inf) if x.dtype.is_float else self.number(False, bool_)

    def isfinite(self, x: Lane) -> Lane:
        return self.less(self.absolute(x), math.inf) if x.dtype.is_float else self.number(True, bool_)

    def signbit(self, x: Lane) -> Lane:
        if not x.dtype.is_float:
            return self.less(x, 0)
        v = self.vectors(x.dtype)
        return Lane(self, v.icompare("slt", v.bits_of(x.reg), 0), bool_)

    # ------------------------------------------------------------------------------------------- bits
    def _bits(self, op: str, x: Any, y: Any) -> Lane:
        a, b = self._together(x, y)
        if a.dtype.is_float:
            raise NotNativeError(f"{op} of {a.dtype.name}")
        return self._let(f"{op} {a.reg}, {b.reg.text}", a.dtype)

    def bitwise_and(self, x: Any, y: Any) -> Lane:
        return self._bits("and", x, y)

    def bitwise_or(self, x: Any, y: Any) -> Lane:
        return self._bits("or", x, y)

    def bitwise_xor(self, x: Any, y: Any) -> Lane:
        return self._bits("xor", x, y)

    logical_and, logical_or, logical_xor = bitwise_and, bitwise_or, bitwise_xor

    def invert(self, x: Lane) -> Lane:
        return self.bitwise_xor(x, True if x.dtype is bool_ else -1 if x.dtype.kind == "i" else 2**x.dtype.bits - 1)

    logical_not = invert

    def left_shift(self, x: Any, y: Any) -> Lane:
        return self._shift("shl", x, y)

    def right_shift(self, x: Any, y: Any) -> Lane:
        a, _ = self._together(x, y)
        return self._shift("ashr" if a.dtype.kind == "i" else "lshr", x, y)

    def _shift(self, op: str, x: Any, y: Any) -> Lane:
        """Shifts by at least the number of bits (and by negative ones) leave nothing but the sign."""
        a, b = self._together(x, y)
        dtype = a.dtype
        if not dtype.is_int:
            raise NotNativeError(f"{op} of {dtype.name}")
        bits = dtype.bits
        fits = self._let(f"icmp ult {b.reg}, {self.number(bits, dtype).reg.text}", bool_)
        if op == "ashr":
            return self._let(f"ashr {a.reg}, {self.where(fits, b, bits - 1).reg.text}", dtype)
        return self.where(fits, self._let(f"{op} {a.reg}, {self.where(fits, b, 0).reg.text}", dtype), 0)

    # ------------------------------------------------------------------------------------------- casts
    def cast(self, x: Lane, dtype: DType) -> Lane:
        """As NumPy's `astype`."""
        if x.dtype is dtype:
            return x
        if dtype is bool_:
            return self.not_equal(x, 0)
        if dtype.is_float:
            return self._to_float(x, dtype)
        if x.dtype.is_float:
            return self._to_int(x, dtype)
        if x.dtype.bits == dtype.bits:
            return Lane(self, x.reg, dtype)
        op = "trunc" if x.dtype.bits > dtype.bits else "sext" if x.dtype.kind == "i" else "zext"
        return self._let(f"{op} {x.reg} to {self.type_of(dtype)}", dtype)

    def _to_float(self, x: Lane, dtype: DType) -> Lane:
        to = self.type_of(dtype)
        if not x.dtype.is_float:
            op = "sitofp" if x.dtype.kind == "i" else "uitofp"
            # By f32 to 16 bits: f16 has no finite number where f32 must round, and ml_dtypes rounds twice to bfloat16.
            return self._rounded(self.text.let(to, f"{op} {x.reg} to {to}"), dtype)
        if x.dtype is float64:
            if dtype is float16:
                return self._rounded(self._sticky(x.reg), dtype)
            return self._rounded(self.text.let(to, f"fptrunc {x.reg} to {to}"), dtype)
        if dtype is float64:
            return self._let(f"fpext {x.reg} to {to}", dtype)
        return self._rounded(x.reg, dtype)

    def _sticky(self, x: Reg) -> Reg:
        """f64 as f32, of which the last bit says whether something was cut off: to be rounded once more."""
        v = self.vectors(float32)
        near = v.narrow(x)
        wide = self.vectors(float64)
        back = v.widen(near)
        inexact = wide.compare("one", back, x)
        above = wide.compare("ogt", wide.abs(back), wide.abs(x))
        bits = v.bits_of(near)
        cut = v.iop("or", v.iselect(above, v.iop("sub", bits, 1), bits), 1)
        return v.of_bits(v.iselect(inexact, cut, bits))

    def _to_int(self, x: Lane, dtype: DType) -> Lane:
        """Towards zero; what does not fit is what x86 makes of it, as in NumPy there."""
        if dtype.kind == "u" and dtype.bits == 64:
            big = self.number(2.0**63, x.dtype)
            above = self.greater_equal(x, big)
            less = self.where(above, self.subtract(x, big), x)
            signed = self.cast(less, int64)
            top = self.bitwise_xor(signed, -(2**63))
            return Lane(self, self.where(above, top, signed).reg, dtype)
        bits = 64 if dtype.bits == 64 or (dtype.kind == "u" and dtype.bits == 32) else 32
        wide = vector(f"i{bits}", self.width)
        found = self.text.let(wide, f"fptosi {x.reg} to {wide}")
        if bits == dtype.bits:
            return Lane(self, found, dtype)
        return self._let(f"trunc {found} to {self.type_of(dtype)}", dtype)


def rounded(value: bool | int | float, dtype: DType) -> Any:
    """What a dtype makes of a number; without a warning, as the program would compute it."""
    with np.errstate(all="ignore"):
        return np.asarray(value).astype(dtype.numpy).item()


def joined(x: Lane, join: Callable[[Kernels, Lane, Lane], Lane]) -> Lane:
    """All lanes joined to a single element, halves with halves."""
    width = x.kernels.width
    while width > 1:
        width //= 2
        k = Kernels(x.kernels.text, width)
        x = join(k, k.of_lanes(x, range(width)), k.of_lanes(x, range(width, 2 * width)))
    return x
