"""exp, exp2, expm1, and the logistic function.

exp(x) = 2**n exp(r) with n the whole number nearest to x / log(2), so that |r| <= log(2) / 2.
"""

from __future__ import annotations

from ...jit.machine import machine
from ..emit import Reg
from ..vectors import Vectors
from . import coefficients as c

#: Below the first the result is 0, above the second infinity; by whether the type is f32.
EXP_BOUNDS = {True: (-104.0, 89.0), False: (-746.0, 710.0)}
_EXP2_BOUNDS = {True: (-151.0, 129.0), False: (-1076.0, 1025.0)}
#: Below this expm1 is -1.
_EXPM1_LOW = {True: -18.0, False: -38.0}
#: The widest registers of `vscalef`.
_REGISTER_BITS = 512


def scaled(v: Vectors, x: Reg, n: Reg, i: Reg, by: int = 0) -> Reg:
    """x * 2**(n + by), where i is the whole number n."""
    host = machine()
    if v.width * v.bits >= 128 and host.has("avx512f") and host.has("avx512vl"):
        return _in_registers(v, x, v.add(n, by) if by else n)
    # by two factors, since 2**i itself may overflow or be denormal
    both = v.iop("add", i, 2 * v.bias + by)
    first = v.iop("lshr", both, 1)
    second = v.iop("sub", both, first)
    once = v.mul(x, v.of_bits(v.iop("shl", first, v.fraction)))
    return v.mul(once, v.of_bits(v.iop("shl", second, v.fraction)))


def _in_registers(v: Vectors, x: Reg, n: Reg) -> Reg:
    """By AVX-512's `vscalef`; wider vectors in halves."""
    size = v.width * v.bits
    if size > _REGISTER_BITS:
        half = Vectors(v.text, v.width // 2, single=v.single, low_latency=v.low_latency)
        low, high = (_in_registers(half, _part(v, x, k), _part(v, n, k)) for k in (0, 1))
        return v.text.shuffled(low, high, range(v.width))
    kind = "ps" if v.single else "pd"
    mask = Reg("-1", "i16" if v.width == 16 else "i8")
    rounding = [Reg("4", "i32")] if size == _REGISTER_BITS else []  # the current rounding mode
    return v.text.call(v.type, f"llvm.x86.avx512.mask.scalef.{kind}.{size}", x, n, x, mask, *rounding)


def _part(v: Vectors, x: Reg, half: int) -> Reg:
    lanes = v.width // 2
    return v.text.shuffled(x, x, range(half * lanes, (half + 1) * lanes))


def exp_parts(v: Vectors, x: Reg) -> tuple[Reg, Reg, Reg]:
    """exp(x) as p * 2**n, and n as an integer; x within the bounds, or NaN."""
    n, i = v.nearest(x, c.LOG2E[v.single][0])
    high, low = c.LN2[v.single]
    r = v.fma(n, -low, v.fma(n, -high, x))
    return v.fma(v.fma(v.polynomial(r, c.EXPM1[v.single]), r, 1.0), r, 1.0), n, i


def exp_terms(v: Vectors, x: Reg, rest: Reg) -> tuple[Reg, Reg, Reg, Reg]:
    """exp(x + rest) as (1 + r + tail) * 2**n, each with fewer bits lost than the one before; x within the bounds.

    These three, and n as an integer.
    """
    n, i = v.nearest(x, c.LOG2E[v.single][0])
    high, low = c.LN2[v.single]
    exact = v.fma(n, -high, x)
    small = v.fma(n, -low, rest)
    r = v.add(exact, small)
    lost = v.add(v.sub(exact, r), small)
    return r, v.fma(v.mul(r, r), v.polynomial(r, c.EXPM1[v.single]), lost), n, i


def exp(v: Vectors, x: Reg) -> Reg:
    return scaled(v, *exp_parts(v, v.bounded(x, *EXP_BOUNDS[v.single])))


def exp2(v: Vectors, x: Reg) -> Reg:
    bounded = v.bounded(x, *_EXP2_BOUNDS[v.single])
    n, i = v.nearest(bounded)
    r = v.sub(bounded, n)
    return scaled(v, v.fma(v.polynomial(r, c.EXP2[v.single]), r, 1.0), n, i)


def expm1_half(v: Vectors, x: Reg) -> tuple[Reg, Reg]:
    """expm1(x) / 2 as a sum of a float and a small one; halved, so that it does not overflow too early.

    x within the bounds, or NaN.  A denormal x may lose its last bit.
    """
    n, i = v.nearest(x, c.LOG2E[v.single][0])
    high, low = c.LN2[v.single]
    exact = v.fma(n, -high, x)
    r = v.fma(n, -low, exact)
    rest = v.fma(n, -low, v.sub(exact, r))
    power = v.power_of_two(v.iop("sub", i, 1))
    least = v.sub(power, 0.5)
    tail = v.fma(v.mul(r, r), v.polynomial(r, c.EXPM1[v.single]), rest)
    total = v.fma(power, r, least)
    lost = v.fma(power, r, v.sub(least, total))
    return total, v.fma(power, tail, lost)


def expm1(v: Vectors, x: Reg) -> Reg:
    total, rest = expm1_half(v, v.bounded(x, _EXPM1_LOW[v.single], EXP_BOUNDS[v.single][1]))
    result = v.mul(v.add(total, rest), 2.0)
    return v.select(v.compare("olt", v.abs(x), 2.0 ** -(v.fraction + 2)), x, result)


def sigmoid(v: Vectors, x: Reg) -> Reg:
    """1 / (1 + exp(-x)): from exp(-abs(x)), which is never great, and accurate where the result is small."""
    e = scaled(v, *exp_parts(v, v.bounded(v.neg(v.abs(x)), EXP_BOUNDS[v.single][0], None)))
    above = v.select(v.compare("olt", x, 0.0), e, 1.0)
    below = v.add(e, 1.0)
    lost = v.add(v.sub(1.0, below), e)
    inverse = v.div(1.0, below)
    q = v.mul(above, inverse)
    left = v.fma(v.neg(q), lost, v.fma(v.neg(q), below, above))
    return v.fma(left, inverse, q)
