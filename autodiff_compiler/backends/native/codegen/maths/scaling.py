"""x * 2**n, rounded once."""

from __future__ import annotations

from ...jit.machine import machine
from ..emit import Reg
from ..vectors import Vectors

__all__ = ["scaled"]

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
