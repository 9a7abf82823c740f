"""Arithmetic on registers of W lanes of one float type, which the elementary functions are written over.

Nothing is contracted or reordered: a product and a sum are fused only where `fma` is written.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from fractions import Fraction

from ..jit.machine import machine
from .emit import Reg, Text, float_text, vector


class Vectors:
    """Writes operations on W lanes of f32 (`single`) or f64 into a function.

    Operands are registers or Python numbers: `x` and `y` floats, `i` and `j` integers of as many bits, conditions lanes
    of i1.
    """

    def __init__(self, text: Text, width: int, *, single: bool, low_latency: bool | None = None) -> None:
        """`low_latency`: short dependency chains, by default for scalars; False gives one lane the bits of vectors."""
        self.text, self.width, self.single = text, width, single
        self.low_latency = width == 1 if low_latency is None else low_latency
        text.aligned |= width > 1
        self.type = vector("float" if single else "double", width)
        self.bits = 32 if single else 64
        self.int_type = vector(f"i{self.bits}", width)
        self.bool_type = vector("i1", width)
        #: bits of the fraction, and the bias of the exponent
        self.fraction, self.bias = (23, 127) if single else (52, 1023)

    # ------------------------------------------------------------------------------------------- constants
    def number(self, x: Reg | float | Fraction) -> Reg:
        """The number in all lanes, rounded to the float type."""
        if isinstance(x, Reg):
            return x
        value = float(x)
        if self.single and math.isfinite(value):
            fits = abs(value) < 3.4028235677973366e38  # what rounds to a finite number
            value = struct.unpack("f", struct.pack("f", value))[0] if fits else math.copysign(math.inf, value)
        return self._splat(float_text(value), "float" if self.single else "double", self.type)

    def whole(self, i: Reg | int) -> Reg:
        """The integer in all lanes."""
        return i if isinstance(i, Reg) else self._splat(str(i), f"i{self.bits}", self.int_type)

    def _splat(self, text: str, of: str, type: str) -> Reg:
        return Reg(text if self.width == 1 else f"splat ({of} {text})", type)

    # ------------------------------------------------------------------------------------------- floats
    def _two(self, op: str, x: Reg | float, y: Reg | float) -> Reg:
        a, b = self.number(x), self.number(y)
        return self.text.let(self.type, f"{op} {self.type} {a.text}, {b.text}")

    def add(self, x: Reg | float, y: Reg | float) -> Reg:
        return self._two("fadd", x, y)

    def sub(self, x: Reg | float, y: Reg | float) -> Reg:
        return self._two("fsub", x, y)

    def mul(self, x: Reg | float, y: Reg | float) -> Reg:
        return self._two("fmul", x, y)

    def div(self, x: Reg | float, y: Reg | float) -> Reg:
        return self._two("fdiv", x, y)

    def neg(self, x: Reg) -> Reg:
        return self.text.let(self.type, f"fneg {self.type} {x.text}")

    def fma(self, x: Reg | float, y: Reg | float, z: Reg | float) -> Reg:
        """x * y + z, rounded once."""
        return self.text.intrinsic("fma", self.number(x), self.number(y), self.number(z))

    def abs(self, x: Reg) -> Reg:
        return self.text.intrinsic("fabs", x)

    def sqrt(self, x: Reg) -> Reg:
        return self.text.intrinsic("sqrt", x)

    def copysign(self, x: Reg | float, sign: Reg) -> Reg:
        if self.width > 1 or not self.single:
            return self.text.intrinsic("copysign", self.number(x), sign)
        # LLVM would take the sign of an f32 from the f64 that it was rounded from, and round it to f16 by a libcall.
        least, most = -(2**31), 2**31 - 1
        bits = self.iop("and", self.bits_of(self.number(x)), most)
        return self.of_bits(self.iop("or", bits, self.iop("and", self.bits_of(sign), least)))

    def rint(self, x: Reg) -> Reg:
        """The nearest integer, ties to even."""
        return self.text.intrinsic("rint", x)

    def floor(self, x: Reg) -> Reg:
        return self.text.intrinsic("floor", x)

    def ceil(self, x: Reg) -> Reg:
        return self.text.intrinsic("ceil", x)

    def trunc(self, x: Reg) -> Reg:
        return self.text.intrinsic("trunc", x)

    def least(self, x: Reg | float, y: Reg | float) -> Reg:
        """The smaller number; where one is NaN the other."""
        return self.text.intrinsic("minnum", self.number(x), self.number(y))

    def greatest(self, x: Reg | float, y: Reg | float) -> Reg:
        """The greater number; where one is NaN the other."""
        return self.text.intrinsic("maxnum", self.number(x), self.number(y))

    def minimum(self, x: Reg | float, y: Reg | float) -> Reg:
        """The smaller number; NaN where one is."""
        return self.text.intrinsic("minimum", self.number(x), self.number(y))

    def maximum(self, x: Reg | float, y: Reg | float) -> Reg:
        """The greater number; NaN where one is."""
        return self.text.intrinsic("maximum", self.number(x), self.number(y))

    def horner(self, x: Reg, coefficients: Sequence[float]) -> Reg:
        """The polynomial with these coefficients, the highest power first, by Horner's scheme."""
        total = self.number(coefficients[0])
        for c in coefficients[1:]:
            total = self.fma(total, x, c)
        return total

    def estrin(self, x: Reg, coefficients: Sequence[Reg | float]) -> Reg:
        """The same by Estrin's scheme, whose dependency chain is shorter: for scalars and for long polynomials."""
        terms: list[Reg | float] = list(reversed(coefficients))
        while len(terms) > 1:
            paired: list[Reg | float] = []
            for k in range(0, len(terms) - 1, 2):
                paired.append(self.fma(terms[k + 1], x, terms[k]))
            if len(terms) % 2:
                paired.append(terms[-1])
            terms = paired
            if len(terms) > 1:
                x = self.mul(x, x)
        return self.number(terms[0])

    def polynomial(self, x: Reg, coefficients: Sequence[float]) -> Reg:
        """The faster scheme: Estrin's needs more registers."""
        steps = self.low_latency or (len(coefficients) > 12 and not machine().few_registers)
        return (self.estrin if steps else self.horner)(x, coefficients)

    def bounded(self, x: Reg, low: float | None, high: float | None) -> Reg:
        """x clamped to [low, high]; NaN stays NaN.  (One instruction a bound: x86's min and max are this select.)"""
        if high is not None:
            x = self.select(self.compare("olt", high, x), high, x)
        if low is not None:
            x = self.select(self.compare("ogt", low, x), low, x)
        return x

    def nearest(self, x: Reg, factor: Reg | float = 1.0) -> tuple[Reg, Reg]:
        """The integer nearest to x * factor, as a float and as an integer; below 2**22 (f32) or 2**51 (f64).

        Adding 1.5 * 2**fraction leaves it in the lowest bits; not every machine has vector conversions to 64 bits.
        """
        magic = 1.5 * 2.0**self.fraction
        raised = self.fma(x, factor, magic) if factor != 1.0 else self.add(x, magic)
        return self.sub(raised, magic), self.iop("sub", self.bits_of(raised), self.pattern(magic))

    def of_small(self, i: Reg, minus: int = 0) -> Reg:
        """The integer i - minus as a float; i in [0, 2**22)."""
        magic = 1.5 * 2.0**self.fraction
        return self.sub(self.of_bits(self.iop("add", i, self.pattern(magic))), magic + minus)

    def pattern(self, x: float) -> int:
        """The bits of a number of the float type, as an integer."""
        if self.single:
            return int.from_bytes(struct.pack("<f", x), "little")
        return int.from_bytes(struct.pack("<d", x), "little")

    # ------------------------------------------------------------------------------------------- conditions
    def compare(self, predicate: str, x: Reg | float, y: Reg | float) -> Reg:
        """`predicate` as LLVM's fcmp has it: oeq olt ole ogt oge une uno ord ult ..."""
        a, b = self.number(x), self.number(y)
        return self.text.let(self.bool_type, f"fcmp {predicate} {self.type} {a.text}, {b.text}")

    def icompare(self, predicate: str, i: Reg | int, j: Reg | int) -> Reg:
        """`predicate` as LLVM's icmp has it: eq ne slt sle sgt sge ult ..."""
        a, b = self.whole(i), self.whole(j)
        return self.text.let(self.bool_type, f"icmp {predicate} {self.int_type} {a.text}, {b.text}")

    def isnan(self, x: Reg) -> Reg:
        return self.compare("uno", x, x)

    def select(self, test: Reg, x: Reg | float, y: Reg | float) -> Reg:
        a, b = self.number(x), self.number(y)
        return self.text.let(self.type, f"select {self.bool_type} {test.text}, {a}, {b}")

    def iselect(self, test: Reg, i: Reg | int, j: Reg | int) -> Reg:
        a, b = self.whole(i), self.whole(j)
        return self.text.let(self.int_type, f"select {self.bool_type} {test.text}, {a}, {b}")

    def both(self, a: Reg, b: Reg) -> Reg:
        return self.text.let(self.bool_type, f"and {self.bool_type} {a.text}, {b.text}")

    def either(self, a: Reg, b: Reg) -> Reg:
        return self.text.let(self.bool_type, f"or {self.bool_type} {a.text}, {b.text}")

    def differ(self, a: Reg, b: Reg) -> Reg:
        return self.text.let(self.bool_type, f"xor {self.bool_type} {a.text}, {b.text}")

    def invert(self, a: Reg) -> Reg:
        true = "true" if self.width == 1 else "splat (i1 true)"
        return self.text.let(self.bool_type, f"xor {self.bool_type} {a.text}, {true}")

    def any_lane(self, test: Reg) -> Reg:
        """Whether a mask has any lane: one i1, for a branch to code that is rarely needed."""
        if self.width == 1:
            return test
        return self.text.call("i1", f"llvm.vector.reduce.or.v{self.width}i1", test)

    # ------------------------------------------------------------------------------------------- integers and bits
    def iop(self, op: str, i: Reg | int, j: Reg | int) -> Reg:
        """`op` as LLVM names it: add sub mul and or xor shl ashr lshr."""
        a, b = self.whole(i), self.whole(j)
        return self.text.let(self.int_type, f"{op} {self.int_type} {a.text}, {b.text}")

    def bits_of(self, x: Reg) -> Reg:
        return self.text.let(self.int_type, f"bitcast {x} to {self.int_type}")

    def of_bits(self, i: Reg | int) -> Reg:
        return self.text.let(self.type, f"bitcast {self.whole(i)} to {self.type}")

    def power_of_two(self, i: Reg) -> Reg:
        """2**i for exponents of normal numbers."""
        return self.of_bits(self.iop("shl", self.iop("add", i, self.bias), self.fraction))

    # ------------------------------------------------------------------------------------------- between the types
    def wider(self) -> Vectors:
        """As many lanes of f64."""
        return Vectors(self.text, self.width, single=False, low_latency=self.low_latency)

    def widen(self, x: Reg) -> Reg:
        """f32 as f64, exactly."""
        return self.text.let(vector("double", self.width), f"fpext {x} to {vector('double', self.width)}")

    def narrow(self, x: Reg) -> Reg:
        """f64 rounded to f32."""
        return self.text.let(vector("float", self.width), f"fptrunc {x} to {vector('float', self.width)}")
