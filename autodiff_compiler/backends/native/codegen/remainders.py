"""Remainders of floats, exact: reduction steps are repeated until all lanes are done."""

from __future__ import annotations

from .emit import Reg
from .vectors import Vectors

#: Units in the last place that partial quotients are multiples of.
_STEP = 16
#: Factor of the divisor where the quotient could overflow.
_FAR = 2.0**500


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
        # A quotient of so few bits makes the fma exact.  It is negative if the division rounded up: one step less then.
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
    """Floor division and remainder with the sign of the divisor, as Python's divmod."""
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
