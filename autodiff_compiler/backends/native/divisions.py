"""Remainders of floats, and what repeats a step until all lanes are done: powers and divisors of integers.

As NumPy defines them: remainders are exact, an integer divided by zero leaves 0, overflowing integers wrap around.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...dtypes import DType, float16, float64
from .emit import Reg, vector
from .vectors import Vectors

if TYPE_CHECKING:
    from .lanes import Kernels, Lane

__all__ = ["divided", "float_remainder", "gcd", "int_power", "lcm", "next_after"]

#: The distance, in units of the last digit, of the quotients that are used.
_STEP = 16
#: Steps of the divisor where the quotient could overflow.
_FAR = 2.0**500


# ------------------------------------------------------------------------------------------------ floats
def _remainder(v: Vectors, x: Reg, y: Reg, *, far: bool) -> Reg:
    """C's fmod of f64, exactly.  `far`: the quotient may be too large for an f64."""
    a, b = v.abs(x), v.abs(y)
    fits = v.both(v.compare("olt", a, float("inf")), v.compare("ogt", b, 0.0))

    def goes_on(now: list[Reg]) -> Reg:
        return v.any_lane(v.both(fits, v.compare("oge", now[0], b)))

    def subtract(now: list[Reg]) -> list[Reg]:
        (rest,) = now
        by = b
        for _ in range(3 if far else 0):
            further = v.mul(by, _FAR)
            by = v.select(v.compare("oge", rest, further), further, by)
        # With so few digits the difference is exact.  If the division rounded up it is negative: one step less then.
        quotient = v.of_bits(v.iop("and", v.bits_of(v.trunc(v.div(rest, by))), ~(_STEP - 1)))
        before = v.trunc(v.of_bits(v.iop("sub", v.bits_of(quotient), _STEP)))
        less, more = (v.fma(v.neg(q), by, rest) for q in (quotient, before))
        less = v.select(v.compare("olt", less, 0.0), more, less)
        return [v.select(v.both(fits, v.compare("oge", rest, b)), less, rest)]

    (rest,) = v.text.repeat([a], goes_on, subtract)
    return v.select(fits, v.copysign(rest, x), v.select(v.compare("uno", x, y), v.add(x, y), float("nan")))


def float_remainder(v: Vectors, x: Reg, y: Reg) -> Reg:
    """C's fmod: the remainder of the quotient rounded towards 0."""
    if not v.single:
        return _remainder(v, x, y, far=True)
    return v.narrow(_remainder(v.wider(), v.widen(x), v.widen(y), far=False))


def divided(v: Vectors, x: Reg, y: Reg) -> tuple[Reg, Reg]:
    """Quotient rounded down, and remainder with the sign of the divisor: what Python's divmod makes of them."""
    rest = float_remainder(v, x, y)
    quotient = v.div(v.sub(x, rest), y)
    some = v.compare("une", rest, 0.0)
    below = v.text.let(v.bool_type, f"xor {v.compare('olt', y, 0.0)}, {v.compare('olt', rest, 0.0).text}")
    wrong = v.both(some, below)
    quotient = v.select(wrong, v.sub(quotient, 1.0), quotient)
    with_sign = v.select(some, v.select(wrong, v.add(rest, y), rest), v.copysign(0.0, y))
    down = v.floor(quotient)
    down = v.select(v.compare("ogt", v.sub(quotient, down), 0.5), v.add(down, 1.0), down)
    ratio = v.div(x, y)
    down = v.select(v.compare("une", quotient, 0.0), down, v.copysign(0.0, ratio))
    none = v.compare("oeq", y, 0.0)
    return v.select(none, ratio, down), v.select(none, rest, with_sign)


def next_after(k: Kernels, x: Lane, y: Lane) -> Lane:
    """The float that follows x on the way to y."""
    text, dtype = k.text, x.dtype
    bits = dtype.bits
    kind = vector(f"i{bits}", k.width)

    def raw(lane: Lane) -> Reg:
        found = k.stored(lane)
        return found if found.type == kind else text.let(kind, f"bitcast {found} to {kind}")

    def whole(number: int) -> str:
        number = (number + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)
        return str(number) if k.width == 1 else f"splat (i{bits} {number})"

    def op(name: str, a: Reg, b: str) -> Reg:
        return text.let(kind, f"{name} {a}, {b}")

    def choose(test: Lane, a: Reg, b: Reg) -> Reg:
        return text.let(kind, f"select {test.reg}, {a}, {b}")

    here, there = raw(x), raw(y)
    up, down = op("add", here, whole(1)), op("sub", here, whole(1))
    away = k.equal(k.less(x, y), k.greater(x, 0))  # from zero
    found = choose(away, up, down)
    least = op("or", op("and", there, whole(1 << (bits - 1))), whole(1))
    found = choose(k.equal(x, 0), least, found)
    found = choose(k.equal(x, y), here if dtype is float16 else there, found)  # of zeros: as in C, and in NumPy
    memory = k.stored(x).type
    result = found if memory == kind else text.let(memory, f"bitcast {found} to {memory}")
    held = k.held(result, dtype)
    lost = k.logical_or(k.isnan(x), k.isnan(y))
    return k.where(lost, float("nan"), held)


# ------------------------------------------------------------------------------------------------ integers
def int_power(k: Kernels, x: Lane, y: Lane) -> Lane:
    """x to the power of y, which is not negative, by squaring."""
    one = k.number(1, x.dtype)

    def goes_on(now: list[Reg]) -> Reg:
        return _any(k, k.not_equal(k.lane(now[1], x.dtype), 0))

    def step(now: list[Reg]) -> list[Reg]:
        base, left, found = (k.lane(r, x.dtype) for r in now)
        odd = k.not_equal(k.bitwise_and(left, 1), 0)
        half = k.text.let(left.reg.type, f"lshr {left.reg}, {one.reg.text}")
        return [k.multiply(base, base).reg, half, k.where(odd, k.multiply(found, base), found).reg]

    *_, found = k.text.repeat([x.reg, y.reg, one.reg], goes_on, step)
    return k.lane(found, x.dtype)


def _any(k: Kernels, test: Lane) -> Reg:
    return k.vectors(float64).any_lane(test.reg)


def _unsigned(k: Kernels, op: str, x: Reg, y: Reg, dtype: DType) -> Lane:
    """`op` of numbers without a sign, where y is not 0; else by 1."""
    some = k.not_equal(k.lane(y, dtype), 0)
    safe = k.where(some, k.lane(y, dtype), 1).reg
    return k.lane(k.text.let(x.type, f"{op} {x}, {safe.text}"), dtype)


def gcd(k: Kernels, x: Lane, y: Lane) -> Lane:
    """Euclid's algorithm, of the numbers without their signs."""
    dtype = x.dtype

    def step(now: list[Reg]) -> list[Reg]:
        some = k.not_equal(k.lane(now[1], dtype), 0)
        rest = _unsigned(k, "urem", now[0], now[1], dtype)
        return [k.where(some, k.lane(now[1], dtype), k.lane(now[0], dtype)).reg, k.where(some, rest, 0).reg]

    start = [k.absolute(x).reg, k.absolute(y).reg]
    found, _ = k.text.repeat(start, lambda now: _any(k, k.not_equal(k.lane(now[1], dtype), 0)), step)
    return k.lane(found, dtype)


def lcm(k: Kernels, x: Lane, y: Lane) -> Lane:
    divisor = gcd(k, x, y)
    share = _unsigned(k, "udiv", k.absolute(x).reg, divisor.reg, x.dtype)
    return k.where(k.equal(divisor, 0), 0, k.multiply(share, k.absolute(y)))
