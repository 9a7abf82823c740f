"""NumPy's functions over W lanes: the `k` that formulas of primitives are written over.

Integers are as NumPy has them: overflow wraps around, and an integer divided by zero leaves 0.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from ....dtypes import DType, bool_, float16, float32, float64, int64, uint8
from .emit import Reg, vector
from .lanes import Lane, Lanes, NotNativeError
from .maths import FUNCTIONS, written
from .remainders import divided, float_remainder

#: Comparisons: in Python, and LLVM's predicates for floats, signed and unsigned integers.
_COMPARISONS: dict[str, tuple[Callable[[int, int], bool], str, str, str]] = {
    "equal": (operator.eq, "oeq", "eq", "eq"), "not_equal": (operator.ne, "une", "ne", "ne"),
    "less": (operator.lt, "olt", "slt", "ult"), "less_equal": (operator.le, "ole", "sle", "ule"),
    "greater": (operator.gt, "ogt", "sgt", "ugt"), "greater_equal": (operator.ge, "oge", "sge", "uge"),
}  # fmt: skip


def _holds(dtype: DType, number: int) -> bool:
    """Whether an integer dtype can hold the number."""
    low = -(2 ** (dtype.bits - 1)) if dtype.kind == "i" else 0
    return bool(low <= number < low + 2**dtype.bits)


class Kernels(Lanes):
    """Writes functions of W lanes into `text`; their names and meaning are NumPy's."""

    pi, e, inf, nan = math.pi, math.e, math.inf, math.nan

    def __getattr__(self, name: str) -> Callable[..., Lane]:
        if name in FUNCTIONS:
            return lambda *xs: self._float(name, *xs)
        if name in _COMPARISONS:
            return lambda x, y: self._compare(name, x, y)
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotNativeError(name)

    # ------------------------------------------------------------------------------------------- arithmetic
    def _float(self, name: str, *xs: Any) -> Lane:
        lanes = self._promoted(*xs)
        dtype = lanes[0].dtype
        if not dtype.is_float:
            raise NotNativeError(f"{name} of {dtype.name}")
        return self._rounded(written(name, self.vectors(dtype), [x.reg for x in lanes]), dtype)

    def _arithmetic(self, x: Any, y: Any, of_floats: str, of_ints: str, of_bools: str | None) -> Lane:
        a, b = self._promoted(x, y)
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
        a, b = self._promoted(x, y)
        if a.dtype is bool_:
            raise NotNativeError("power of bool")
        if a.dtype.is_int:
            return self._int_power(a, b)
        return self._rounded(written("power", self.vectors(a.dtype), [a.reg, b.reg]), a.dtype)

    def floor_divide(self, x: Any, y: Any) -> Lane:
        return self._divided(x, y)[0]

    def remainder(self, x: Any, y: Any) -> Lane:
        return self._divided(x, y)[1]

    def fmod(self, x: Any, y: Any) -> Lane:
        a, b = self._promoted(x, y)
        dtype = a.dtype
        if dtype.is_float:
            return self._rounded(float_remainder(self.vectors(dtype), a.reg, b.reg), dtype)
        if not dtype.is_int:
            raise NotNativeError(f"fmod of {dtype.name}")
        none = self.equal(b, 0)
        if dtype.kind == "i":  # the smallest integer cannot be divided by -1
            none = self.logical_or(none, self.equal(b, -1))
        op = "srem" if dtype.kind == "i" else "urem"
        return self.where(none, 0, self._let(f"{op} {a.reg}, {self.where(none, 1, b).reg.text}", dtype))

    def _int_power(self, x: Lane, y: Lane) -> Lane:
        """x ** y by repeated squaring; y >= 0."""
        one = self.number(1, x.dtype)

        def goes_on(now: list[Reg]) -> Reg:
            return self._any(self.not_equal(self.lane(now[1], x.dtype), 0))

        def step(now: list[Reg]) -> list[Reg]:
            base, left, found = (self.lane(r, x.dtype) for r in now)
            odd = self.not_equal(self.bitwise_and(left, 1), 0)
            half = self.text.let(left.reg.type, f"lshr {left.reg}, {one.reg.text}")
            return [self.multiply(base, base).reg, half, self.where(odd, self.multiply(found, base), found).reg]

        *_, found = self.text.repeat([x.reg, y.reg, one.reg], goes_on, step)
        return self.lane(found, x.dtype)

    def _any(self, test: Lane) -> Reg:
        return self.vectors(float64).any_lane(test.reg)

    def _unsigned(self, op: str, x: Reg, y: Reg, dtype: DType) -> Lane:
        """`op` (`udiv`, `urem`) of x by y, or by 1 where y is 0."""
        some = self.not_equal(self.lane(y, dtype), 0)
        safe = self.where(some, self.lane(y, dtype), 1).reg
        return self.lane(self.text.let(x.type, f"{op} {x}, {safe.text}"), dtype)

    def gcd(self, x: Any, y: Any) -> Lane:
        """Euclid's algorithm on absolute values."""
        a, b = self._promoted(x, y)
        dtype = a.dtype

        def goes_on(now: list[Reg]) -> Reg:
            return self._any(self.not_equal(self.lane(now[1], dtype), 0))

        def step(now: list[Reg]) -> list[Reg]:
            some = self.not_equal(self.lane(now[1], dtype), 0)
            rest = self._unsigned("urem", now[0], now[1], dtype)
            return [
                self.where(some, self.lane(now[1], dtype), self.lane(now[0], dtype)).reg,
                self.where(some, rest, 0).reg,
            ]

        found, _ = self.text.repeat([self.absolute(a).reg, self.absolute(b).reg], goes_on, step)
        return self.lane(found, dtype)

    def lcm(self, x: Any, y: Any) -> Lane:
        a, b = self._promoted(x, y)
        divisor = self.gcd(a, b)
        share = self._unsigned("udiv", self.absolute(a).reg, divisor.reg, a.dtype)
        return self.where(self.equal(divisor, 0), 0, self.multiply(share, self.absolute(b)))

    def nextafter(self, x: Any, y: Any) -> Lane:
        """The next float after x towards y: one added to or taken from the bits."""
        a, b = self._promoted(x, y)
        text, dtype = self.text, a.dtype
        bits = dtype.bits
        kind = vector(f"i{bits}", self.width)

        def raw(lane: Lane) -> Reg:
            found = self.stored(lane)
            return found if found.type == kind else text.let(kind, f"bitcast {found} to {kind}")

        def whole(number: int) -> str:
            number = (number + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)
            return str(number) if self.width == 1 else f"splat (i{bits} {number})"

        def op(name: str, a: Reg, b: str) -> Reg:
            return text.let(kind, f"{name} {a}, {b}")

        def choose(test: Lane, a: Reg, b: Reg) -> Reg:
            return text.let(kind, f"select {test.reg}, {a}, {b}")

        here, there = raw(a), raw(b)
        up, down = op("add", here, whole(1)), op("sub", here, whole(1))
        away = self.equal(self.less(a, b), self.greater(a, 0))  # away from zero
        found = choose(away, up, down)
        least = op("or", op("and", there, whole(1 << (bits - 1))), whole(1))
        found = choose(self.equal(a, 0), least, found)
        found = choose(
            self.equal(a, b), here if dtype is float16 else there, found
        )  # 0.0 and -0.0: as in C, and in NumPy
        memory = self.stored(a).type
        result = found if memory == kind else text.let(memory, f"bitcast {found} to {memory}")
        held = self.held(result, dtype)
        return self.where(self.logical_or(self.isnan(a), self.isnan(b)), float("nan"), held)

    def bitwise_count(self, x: Lane) -> Lane:
        """How many bits are set, as a uint8."""
        return self.cast(Lane(self, self.text.intrinsic("ctpop", x.reg), x.dtype), uint8)

    def _divided(self, x: Any, y: Any) -> tuple[Lane, Lane]:
        """Floor division and remainder; of integers both are 0 where the divisor is."""
        a, b = self._promoted(x, y)
        dtype = a.dtype
        if dtype.is_float:
            down, left = divided(self.vectors(dtype), a.reg, b.reg)
            return self._rounded(down, dtype), self._rounded(left, dtype)
        if not dtype.is_int:
            raise NotNativeError(f"remainder of {dtype.name}")
        none = self.equal(b, 0)
        if dtype.kind == "u":
            safe = self.where(none, 1, b)
            quotient = self._let(f"udiv {a.reg}, {safe.reg.text}", dtype)
            rest = self.subtract(a, self.multiply(quotient, safe))
            return self.where(none, 0, quotient), self.where(none, 0, rest)
        # `sdiv` of the smallest integer by -1 traps; NumPy's quotient is its negation, which wraps around to itself.
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
        compare, floats, signed, unsigned = _COMPARISONS[name]
        if isinstance(x, Lane) and x.dtype.is_int and isinstance(y, int) and not _holds(x.dtype, y):
            return self.number(compare(0, y), bool_)
        a, b = self._promoted(x, y)
        if a.dtype.is_float:
            return self._let(f"fcmp {floats} {a.reg}, {b.reg.text}", bool_)
        return self._let(f"icmp {signed if a.dtype.kind == 'i' else unsigned} {a.reg}, {b.reg.text}", bool_)

    def _extreme(self, x: Any, y: Any, test: str, *, ignores_nan: bool = False) -> Lane:
        """The operand of which the test holds, the first where they are equal; NaN where either is, unless ignored."""
        a, b = self._promoted(x, y)
        further = self.where(self._compare(test, b, a), b, a)
        if not a.dtype.is_float:
            return further
        # `further` is `a` where either is nan.  (On x86 that select is one instruction.)
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
        a, b = self._promoted(x, y)
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
        a, b = self._promoted(x, y)
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
        a, _ = self._promoted(x, y)
        return self._shift("ashr" if a.dtype.kind == "i" else "lshr", x, y)

    def _shift(self, op: str, x: Any, y: Any) -> Lane:
        """LLVM leaves shifts by at least the number of bits (or negative ones) undefined: 0 here, or the sign."""
        a, b = self._promoted(x, y)
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
            # To 16 bits by f32: where f32 rounds, f16 is infinite anyway, and ml_dtypes rounds bfloat16 twice as well.
            return self._rounded(self.text.let(to, f"{op} {x.reg} to {to}"), dtype)
        if x.dtype is float64:
            if dtype is float16:
                return self._rounded(self._sticky(x.reg), dtype)
            return self._rounded(self.text.let(to, f"fptrunc {x.reg} to {to}"), dtype)
        if dtype is float64:
            return self._let(f"fpext {x.reg} to {to}", dtype)
        return self._rounded(x.reg, dtype)

    def _sticky(self, x: Reg) -> Reg:
        """f64 to f32, rounded to odd (the last bit is sticky), so that rounding once more to f16 is exact."""
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
        """Truncates; out of range it is what x86's instructions give, as in NumPy there."""
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


def reduce_lanes(x: Lane, combine: Callable[[Kernels, Lane, Lane], Lane]) -> Lane:
    """The horizontal reduction of a vector: its halves are combined until one lane is left."""
    width = x.kernels.width
    while width > 1:
        width //= 2
        k = Kernels(x.kernels.text, width)
        x = combine(k, k.of_lanes(x, range(width)), k.of_lanes(x, range(width, 2 * width)))
    return x
