"""Argument reduction modulo pi, for angles of any size.

Up to a bound multiples of pi, in three parts, are subtracted with fma (Cody and Waite's method).  Beyond it, in a
rarely taken branch, a function multiplies the argument with as many bits of 2/pi as matter (Payne and Hanek's).
"""

from __future__ import annotations

import functools

from ..emit import Int, Reg, Text, float_text
from ..vectors import Vectors
from . import coefficients as c

#: Up to here the products with the three parts are exact.
BOUND = {True: 2.0**17, False: 2.0**30}
#: Bits of 2/pi behind the point in the table, and zeros before them.
_BITS, _ZEROS = 1216, 64
_REDUCE, _TABLE = "reduce_angle", "two_over_pi"


def reduced(
    v: Vectors, x: Reg, n: Reg, i: Reg, part: tuple[float, ...], *, quarters: int, drop: int
) -> tuple[Reg, Reg, Reg]:
    """x - n * part as a sum of two floats, and i; for x >= 0.

    Beyond the bound n and i are ignored: x + quarters * pi/2 modulo pi (drop=1) or pi/2 (drop=2), and the quotient.
    """
    exact = v.fma(n, -part[0], x)
    second = v.mul(n, part[1])
    third = v.fma(n, part[2], v.fma(n, part[1], v.neg(second)))
    r = v.sub(exact, second)
    # `exact` is a multiple of the last bit of `second`, even where it is smaller: nothing is lost here
    rest = v.sub(v.sub(v.sub(exact, r), second), third)
    if quarters:
        # x may be smaller than n * part, and `exact` rounded
        rest = v.add(rest, v.sub(x, v.fma(n, part[0], exact)))
    great = v.compare("ogt", x, BOUND[v.single])

    def cold() -> list[Reg]:
        far = _far(v, v.select(great, x, BOUND[v.single]), quarters, drop)
        return [v.select(great, far[0], r), v.select(great, far[1], rest), v.iselect(great, far[2], i)]

    got = v.text.branch(v.any_lane(great), cold, lambda: [r, rest, i], rare=True)
    return got[0], got[1], got[2]


def _far(v: Vectors, x: Reg, quarters: int, drop: int) -> list[Reg]:
    text = v.text
    name = f"reduce_angle_{'f32' if v.single else 'f64'}x{v.width}"
    text.needs[_TABLE], text.needs[_REDUCE] = _table(), _reduce_angle()
    text.needs[name], declares = _lanes(name, v.width, v.single)
    text.declares |= declares
    type = f"{{{v.type}, {v.type}, {v.int_type}}}"
    got = text.let(type, f"call {type} @{name}({x}, i64 {quarters}, i64 {drop})")
    return [text.let(of, f"extractvalue {got}, {k}") for k, of in enumerate((v.type, v.type, v.int_type))]


@functools.cache
def _lanes(name: str, width: int, single: bool) -> tuple[str, frozenset[str]]:
    """The function that reduces W lanes, in a loop over them."""
    probe = Vectors(Text("", []), width, single=single)
    types = (probe.type, probe.type, probe.int_type)
    text = Text(
        name, [(probe.type, "x"), ("i64", "quarters"), ("i64", "drop")], f"internal {{{', '.join(types)}}}", "noinline "
    )
    one = Vectors(text, 1, single=single)

    def lane(at: Int, totals: list[Reg]) -> list[Reg]:
        x, k = Reg("%x", probe.type), text.whole(at)
        alone = x if width == 1 else text.let(one.type, f"extractelement {x}, {k}")
        wide = one.widen(alone) if single else alone
        got = text.let(
            "{double, double, i64}", f"call {{double, double, i64}} @{_REDUCE}({wide}, i64 %quarters, i64 %drop)"
        )
        r, rest = (text.let("double", f"extractvalue {got}, {which}") for which in (0, 1))
        i = text.let("i64", f"extractvalue {got}, 2")
        if single:
            high = one.narrow(r)
            f64 = one.wider()
            r, rest = high, one.narrow(f64.add(f64.sub(r, one.widen(high)), rest))
            i = text.let("i32", f"trunc {i} to i32")
        if width == 1:
            return [r, rest, i]
        return [
            text.let(total.type, f"insertelement {total}, {value}, {k}")
            for total, value in zip(totals, (r, rest, i), strict=True)
        ]

    results = text.loop(0, width, 1, [Reg("poison", of) for of in types], lane)
    whole = Reg("poison", f"{{{', '.join(types)}}}")
    for k, result in enumerate(results):
        whole = text.let(whole.type, f"insertvalue {whole}, {result}, {k}")
    text.ret(str(whole))
    return str(text), frozenset(text.declares | _DECLARES)


@functools.cache
def _table() -> str:
    """2/pi in binary as 64-bit words, the lowest first; by Machin's formula in integers."""
    guard = 64
    one = 1 << (_BITS + guard)

    def arctan_of_inverse(n: int) -> int:
        term = total = one // n
        for k in range(3, 4 * _BITS, 2):
            term //= -n * n if term > 0 else n * n
            term = abs(term)
            total += term // k if k % 4 == 1 else -(term // k)
            if not term:
                break
        return total

    pi = 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))
    bits = (2 * one * one // pi) >> guard
    words = [(bits >> (64 * k)) & (2**64 - 1) for k in range((_BITS + _ZEROS) // 64)]
    return f"@{_TABLE} = internal unnamed_addr constant [{len(words)} x i64] [{', '.join(f'i64 {w}' for w in words)}]"


_DECLARES = frozenset(
    {"declare i192 @llvm.ctlz.i192(i192, i1)", "declare double @llvm.fma.f64(double, double, double)"}
)


def _reduce_angle() -> str:
    """The reduction of one f64 x >= 2**17, as (r, correction of r, quotient).

    x = m 2**e, and only the 192 bits of 2/pi from that of weight 2**(1-e) on matter for x * 2/pi modulo 4.
    Infinity and NaN give NaN.
    """
    return f"""\
define internal {{double, double, i64}} @{_REDUCE}(double %x, i64 %quarters, i64 %drop) noinline {{
  %bits = bitcast double %x to i64
  %exponent = lshr i64 %bits, 52
  %fraction = and i64 %bits, {2**52 - 1}
  %mantissa = or i64 %fraction, {2**52}
  ; the lowest bit of the window, and the next that begins a byte
  %lowest = sub i64 {_BITS - 190 + 1075}, %exponent
  %raised = add i64 %lowest, 7
  %byte = lshr i64 %raised, 3
  %start = shl i64 %byte, 3
  %shift = sub i64 %start, %lowest
  %place = getelementptr i8, ptr @{_TABLE}, i64 %byte
  %window = load i192, ptr %place, align 1
  %shifted = shl i64 %mantissa, %shift
  %factor = zext i64 %shifted to i192
  %product = mul i192 %window, %factor
  %added = zext i64 %quarters to i192
  %more = shl i192 %added, 190
  %angle = add i192 %product, %more
  %by = zext i64 %drop to i192
  %part = shl i192 %angle, %by
  %rest = sub i192 192, %by
  %whole = lshr i192 %angle, %rest
  %below = trunc i192 %whole to i64
  %negative = icmp slt i192 %part, 0
  %up = zext i1 %negative to i64
  %count = add i64 %below, %up
  %minus = sub i192 0, %part
  %size = select i1 %negative, i192 %minus, i192 %part
  %zeros = call i192 @llvm.ctlz.i192(i192 %size, i1 false)
  %normal = shl i192 %size, %zeros
  %high192 = lshr i192 %normal, 139
  %high64 = trunc i192 %high192 to i64
  %low192 = lshr i192 %normal, 86
  %low64 = trunc i192 %low192 to i64
  %lowbits = and i64 %low64, {2**53 - 1}
  %highfloat = sitofp i64 %high64 to double
  %lowfloat = sitofp i64 %lowbits to double
{_as_floats()}
}}"""


def _as_floats() -> str:
    """The end of the reduction: the 106-bit fraction as two floats, times pi or pi/2."""
    pi_high, pi_low, _ = c.PI_THREE[False]
    return f"""\
  ; 2**-(zeros + 53), times two for each further multiple that is dropped less one: pi 2**(1-drop) is the unit
  %zeros64 = trunc i192 %zeros to i64
  %less = add i64 %zeros64, %drop
  %power = sub i64 {1023 - 53 + 1}, %less
  %scalebits = shl i64 %power, 52
  %scale = bitcast i64 %scalebits to double
  %high = fmul double %highfloat, %scale
  %lowscaled = fmul double %lowfloat, %scale
  %low = fmul double %lowscaled, {float_text(2.0**-53)}
  %r = fmul double %high, {float_text(pi_high)}
  %minusr = fneg double %r
  %lost = call double @llvm.fma.f64(double %high, double {float_text(pi_high)}, double %minusr)
  %second = call double @llvm.fma.f64(double %high, double {float_text(pi_low)}, double %lost)
  %third = call double @llvm.fma.f64(double %low, double {float_text(pi_high)}, double %second)
  %rneg = fneg double %r
  %thirdneg = fneg double %third
  %signed = select i1 %negative, double %rneg, double %r
  %signedrest = select i1 %negative, double %thirdneg, double %third
  %unusual = icmp eq i64 %exponent, 2047
  %result = select i1 %unusual, double {float_text(float("nan"))}, double %signed
  %a = insertvalue {{double, double, i64}} poison, double %result, 0
  %b = insertvalue {{double, double, i64}} %a, double %signedrest, 1
  %c = insertvalue {{double, double, i64}} %b, i64 %count, 2
  ret {{double, double, i64}} %c"""
