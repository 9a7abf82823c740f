"""Writes the polynomials and constants of the native backend's mathematics (`coefficients.py` and
`tabulated.py` of `backends/native/codegen/maths/`).

    python tools/remez.py            write the files
    python tools/remez.py --check    say which of them differs
    python tools/remez.py --errors   the greatest weighted error of every polynomial, in bits

A polynomial is the one of its degree with the least greatest weighted error on a grid of Chebyshev points (Remez'
exchange on that grid).  Its lowest coefficients are rounded first, and the others found again around them.
Needs mpmath.
"""

from __future__ import annotations

import argparse
import functools
import struct
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from mpmath import mp

MATHS = Path(__file__).parent.parent / "autodiff_compiler/backends/native/codegen/maths"
TARGET, TABULATED = MATHS / "coefficients.py", MATHS / "tabulated.py"
LINE = 120

#: mpmath has no type annotations.
Number = Any
Function = Callable[[Number], Number]

mp.prec = 200


class Fit(NamedTuple):
    """A function to be approximated: what it is, how an error counts, where, and the degree for f32 and f64.

    `wide` is the degree of a version in f64 that is good enough for results in f32.
    """

    what: str
    function: Function
    weight: Function
    low: Number
    high: Number
    single: int | None
    double: int | None
    wide: int | None = None


def rounded(x: Number, single: bool) -> float:
    """The nearest float (f32 as a Python float)."""
    if not single:
        return float(x)
    with mp.workprec(24):
        once = float(+x)
    return float(struct.unpack("f", struct.pack("f", once))[0])


def parts(x: Number, single: bool, count: int, keep: int | None = None) -> tuple[float, ...]:
    """`x` as a sum of floats, the greatest first; all but the last cut to `keep` bits."""
    found: list[float] = []
    for k in range(count):
        if keep is None or k == count - 1:
            piece = rounded(x, single)
        else:
            with mp.workprec(keep):
                piece = float(+x)
        found.append(piece)
        x = x - mp.mpf(piece)
    return tuple(found)


def minimax(
    function: Function, weight: Function, low: Number, high: Number, degree: int
) -> tuple[list[Number], Number]:
    """The coefficients, lowest power first, and the greatest weighted error."""
    count = 30 * (degree + 2)
    middle, half = (low + high) / 2, (high - low) / 2
    grid = [middle - half * mp.cos(mp.pi * (2 * k + 1) / (2 * count)) for k in range(count)]
    values = [function(x) for x in grid]
    weights = [weight(x) for x in grid]
    chosen = [round(k * (count - 1) / (degree + 1)) for k in range(degree + 2)]
    for _ in range(30):
        system = mp.matrix(degree + 2, degree + 2)
        right = mp.matrix(degree + 2, 1)
        for row, at in enumerate(chosen):
            for power in range(degree + 1):
                system[row, power] = grid[at] ** power
            system[row, degree + 1] = (-1) ** row / weights[at]
            right[row] = values[at]
        solution = mp.lu_solve(system, right)
        coefficients = [solution[k] for k in range(degree + 1)]
        errors = [(_value(coefficients, x) - y) * w for x, y, w in zip(grid, values, weights, strict=True)]
        peaks = _peaks(errors, degree + 2)
        greatest = max(abs(e) for e in errors)
        if len(peaks) < degree + 2 or greatest < abs(solution[degree + 1]) * mp.mpf("1.01"):
            break
        chosen = peaks
    return coefficients, greatest


def _value(coefficients: list[Number], x: Number) -> Number:
    return functools.reduce(lambda total, c: total * x + c, reversed(coefficients), mp.mpf(0))


def _peaks(errors: list[Number], count: int) -> list[int]:
    """Where the error is greatest between its changes of sign: `count` places with alternating signs."""
    peaks = [0]
    for k, error in enumerate(errors):
        if (error > 0) != (errors[peaks[-1]] > 0):
            peaks.append(k)
        elif abs(error) > abs(errors[peaks[-1]]):
            peaks[-1] = k
    while len(peaks) > count:
        peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
    return peaks


def coefficients(fit: Fit, degree: int, single: bool) -> tuple[tuple[float, ...], Number]:
    """The coefficients as floats, highest power first, and the greatest weighted error before the last are rounded."""
    fixed: list[float] = []
    function, weight = fit.function, fit.weight
    for _ in range(min(2, degree)):
        found, _error = minimax(function, weight, fit.low, fit.high, degree - len(fixed))
        fixed.append(rounded(found[0], single))
        function = functools.partial(lambda x, f, c: (f(x) - c) / x, f=function, c=mp.mpf(fixed[-1]))
        weight = functools.partial(lambda x, w: w(x) * x, w=weight)
    found, error = minimax(function, weight, fit.low, fit.high, degree - len(fixed))
    return tuple([*fixed, *(rounded(c, single) for c in found)][::-1]), abs(error)


class Pieces(NamedTuple):
    """A function in pieces, from `low` to `high`: the dyadic intervals cut into 2**bits pieces, and the degrees."""

    what: str
    function: Function
    #: (low, high, bits, degree) for f32 and for f64
    single: tuple[float, float, int, int]
    double: tuple[float, float, int, int]


def pieces(of: Pieces, single: bool) -> tuple[int, list[float], Number]:
    """Pieces an octave as a power of two, their rows in one list, and the greatest relative error.

    A row is the value in the middle, and the polynomial of the rest in the distance from there, lowest power first.
    """
    low, high, bits, degree = of.single if single else of.double
    found: list[float] = []
    greatest, left = mp.mpf(0), mp.mpf(low)
    while left < high:
        half = mp.ldexp(1, int(mp.floor(mp.log(left, 2))) - bits - 1)
        middle = left + half
        value = rounded(of.function(middle), single)
        rest, error = minimax(
            functools.partial(lambda r, m, y: of.function(m + r) - y, m=middle, y=mp.mpf(value)),
            functools.partial(lambda r, m: 1 / of.function(m + r), m=middle),
            -half,
            half,
            degree,
        )
        found += [value, *(rounded(c, single) for c in rest)]
        greatest, left = max(greatest, error), left + 2 * half
    return bits, found, greatest


def odd(f: Function) -> Function:
    """(f(s) - s) / s**3 as a function of s**2, for the polynomials of odd functions."""
    return lambda z: (f(mp.sqrt(z)) - mp.sqrt(z)) / (z * mp.sqrt(z))


def odd_weight(f: Function) -> Function:
    """The relative error of s + s**3 P(s**2)."""
    return lambda z: z * mp.sqrt(z) / f(mp.sqrt(z))


def _erfc(high: str, zero: str, single: int | None, double: int | None, wide: int | None = None) -> Fit:
    """The bounded factor of erfc from 1/2 on, in a variable that has even a long tail within (-1, 1)."""
    middle = mp.mpf(zero)

    def at(q: Number) -> Number:
        return middle * (1 + q) / (1 - q)

    def function(q: Number) -> Number:
        return (1 + 2 * at(q)) * mp.exp(at(q) ** 2) * mp.erfc(at(q))

    low, end = mp.mpf("0.495"), mp.mpf(high)
    return Fit(
        f"(1 + 2 a) exp(a**2) erfc(a) in (a - {zero}) / (a + {zero})",
        function,
        lambda q: 1 / function(q),
        (low - middle) / (low + middle),
        (end - middle) / (end + middle),
        single,
        double,
        wide,
    )


LN2, PI = mp.log(2), mp.pi + 0
_EDGE = mp.mpf("1.01")
#: where erf goes on from what it is near 0
_ERF_NEAR = mp.mpf(1)
#: log(m) for m in [sqrt(1/2), sqrt(2)], in f = m - 1 or s = f / (2 + f)
_F_LOW, _F_HIGH = mp.sqrt(mp.mpf(1) / 2) - 1, mp.sqrt(2) - 1
_S2 = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2

FITS: dict[str, Fit] = {
    "EXPM1": Fit(
        "(exp(r) - 1 - r) / r**2, |r| <= log(2)/2",
        lambda r: (mp.expm1(r) - r) / r**2,
        lambda r: r**2 / abs(mp.expm1(r)),
        -LN2 / 2 * _EDGE,
        LN2 / 2 * _EDGE,
        4,
        10,
        6,
    ),
    "EXP2": Fit(
        "(2**r - 1) / r, |r| <= 1/2",
        lambda r: mp.expm1(r * LN2) / r,
        lambda r: abs(r) / 2**r,
        -_EDGE / 2,
        _EDGE / 2,
        5,
        11,
    ),
    "LOG1P": Fit(
        "(log(1 + f) - f + f**2/2) / f**3",
        lambda f: (mp.log1p(f) - f + f**2 / 2) / f**3,
        lambda f: abs(f**3 / mp.log1p(f)),
        _F_LOW,
        _F_HIGH,
        8,
        None,
    ),
    "LOG": Fit(
        "(log((1 + s) / (1 - s)) / s - 2) / s**2 in s**2",
        lambda z: (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2) / z,
        lambda z: z / 2,
        mp.mpf(0),
        _S2 * _EDGE,
        None,
        6,
        3,
    ),
    "LOG_TAIL": Fit(
        "((log((1 + s) / (1 - s)) / s - 2) / s**2 - 2/3) / s**2 in s**2",
        lambda z: ((2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2) / z - mp.mpf(2) / 3) / z,
        lambda z: z**2 / 2,
        mp.mpf(0),
        _S2 * _EDGE,
        None,
        7,
    ),
    "SIN": Fit(
        "(sin(r) - r) / r**3 in r**2, |r| <= pi/2",
        odd(mp.sin),
        odd_weight(mp.sin),
        mp.mpf(0),
        (PI / 2 * _EDGE) ** 2,
        4,
        8,
    ),
    "TAN": Fit(
        "(tan(r) - r) / r**3 in r**2, |r| <= pi/4",
        odd(mp.tan),
        odd_weight(mp.tan),
        mp.mpf(0),
        (PI / 4 * _EDGE) ** 2,
        6,
        14,
    ),
    "ARCTAN": Fit(
        "(arctan(t) - t) / t**3 in t**2, |t| <= 1", odd(mp.atan), odd_weight(mp.atan), mp.mpf(0), mp.mpf(1), 8, 19
    ),
    "ARCSIN": Fit(
        "(arcsin(s) - s) / s**3 in s**2, |s| <= 1/2", odd(mp.asin), odd_weight(mp.asin), mp.mpf(0), mp.mpf(1) / 4, 4, 12
    ),
    "SINH": Fit(
        "(sinh(s) - s) / s**3 in s**2, |s| <= 1", odd(mp.sinh), odd_weight(mp.sinh), mp.mpf(0), mp.mpf(1), 3, 6
    ),
    "TANH": Fit(
        "(tanh(s) - s) / s**3 in s**2, |s| <= 5/8",
        odd(mp.tanh),
        odd_weight(mp.tanh),
        mp.mpf(0),
        mp.mpf(25) / 64,
        4,
        None,
    ),
    "TANH_NEAR": Fit(
        "(tanh(s) - s) / s**3 in s**2, |s| <= 1/4", odd(mp.tanh), odd_weight(mp.tanh), mp.mpf(0), mp.mpf(1) / 16, 2, 6
    ),
    "ARCSINH": Fit(
        "(arcsinh(s) - s) / s**3 in s**2, |s| <= 1/2",
        odd(mp.asinh),
        odd_weight(mp.asinh),
        mp.mpf(0),
        mp.mpf(1) / 4,
        None,
        11,
        5,
    ),
    "ARCTANH": Fit(
        "(arctanh(s) - s) / s**3 in s**2, |s| <= 1/2",
        odd(mp.atanh),
        odd_weight(mp.atanh),
        mp.mpf(0),
        mp.mpf(1) / 4,
        None,
        13,
        5,
    ),
    "ARCCOSH": Fit(
        "(arccosh(1 + t) / sqrt(2 t) - 1) / t, 0 <= t <= 1/2",
        lambda t: (mp.acosh(1 + t) / mp.sqrt(2 * t) - 1) / t,
        lambda t: t * mp.sqrt(2 * t) / mp.acosh(1 + t),
        mp.mpf(0),
        mp.mpf(1) / 2,
        None,
        11,
        5,
    ),
    "ERF": Fit(
        "erf(x) / x - 1 in x**2, |x| <= 1",
        lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1,
        lambda z: mp.sqrt(z) / mp.erf(mp.sqrt(z)),
        mp.mpf(0),
        _ERF_NEAR**2 * _EDGE,
        6,
        12,
        7,
    ),
    "ERFC_SCALED": Fit(
        "exp(a**2) erfc(a) in a - 1, 1 <= a <= 6, for 1 less exp(-a**2) of it",
        lambda s: mp.exp((_ERF_NEAR + s) ** 2) * mp.erfc(_ERF_NEAR + s),
        lambda s: mp.exp(-((_ERF_NEAR + s) ** 2)) / mp.erf(_ERF_NEAR + s),
        mp.mpf(0),
        6 - _ERF_NEAR,
        8,
        20,
    ),
    "ERFC": _erfc("27.4", "3.5", None, 24),
    "ERFC_TO_SINGLE": _erfc("10.3", "2", None, None, 10),
    "CBRT": Fit("m**(-1/3), 1 <= m <= 2", lambda m: 1 / mp.cbrt(m), mp.cbrt, mp.mpf(1), mp.mpf(2), 4, 4),
}

#: What it is, and its parts for f32 and f64.
CONSTANTS: dict[str, tuple[str, Number, int, tuple[int | None, int | None]]] = {
    "LN2": ("log(2)", LN2, 2, (16, 42)),
    "LOG2E": ("1 / log(2)", 1 / LN2, 2, (None, None)),
    "LOG10E": ("1 / log(10)", 1 / mp.log(10), 2, (None, None)),
    "LOG10_2": ("log10(2)", mp.log10(2), 2, (16, 42)),
    "LN2_THREE": ("log(2)", LN2, 3, (None, 42)),
    "PI_THREE": ("pi", PI, 3, (None, None)),
    "PI_HALF": ("pi / 2", PI / 2, 3, (None, None)),
    "TWO_THIRDS": ("2 / 3", mp.mpf(2) / 3, 2, (None, None)),
}


PIECES = {"TANH_PIECES": Pieces("tanh(a)", mp.tanh, (0.25, 9.5, 3, 5), (0.25, 20.0, 4, 8))}


def entries(names: list[str] | None = None) -> dict[str, str]:
    """Name -> the Python text of its value."""
    found: dict[str, str] = {}
    for name, (what, value, count, keep) in CONSTANTS.items():
        if names is None or name in names:
            items = [(str(single), parts(value, single, count, keep[not single])) for single in (True, False)]
            found[name] = _entry(name, f"{what}, in parts", items)
    for name, fit in FITS.items():
        if names is None or name in names:
            items = []
            for key, degree, single in (("True", fit.single, True), ("False", fit.double, False)):
                if degree is not None:
                    items.append((key, coefficients(fit, degree, single)[0]))
            if items:
                found[name] = _entry(name, fit.what, items)
            if fit.wide is not None:
                wide = coefficients(fit, fit.wide, False)[0]
                found[f"{name}_WIDE"] = _tuple_entry(f"{name}_WIDE", f"{fit.what}; f64 for results in f32", wide)
    return found


def _numbers(numbers: tuple[float, ...], indent: str) -> list[str]:
    text = ", ".join(map(repr, numbers)) + ","
    return textwrap.wrap(text, LINE, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def _entry(name: str, what: str, items: list[tuple[str, tuple[float, ...]]]) -> str:
    lines = [f"#: {what}", f"{name}: dict[bool, tuple[float, ...]] = {{"]
    for key, numbers in items:
        lines += [f"    {key}: (", *_numbers(numbers, " " * 8), "    ),"]
    return "\n".join([*lines, "}"])


def _tuple_entry(name: str, what: str, numbers: tuple[float, ...]) -> str:
    return "\n".join([f"#: {what}", f"{name}: tuple[float, ...] = (", *_numbers(numbers, " " * 4), ")"])


def tabulated() -> dict[str, str]:
    """Name -> the Python text of a table of pieces."""
    found: dict[str, str] = {}
    for name, of in PIECES.items():
        lines = [f"#: {of.what}", f"{name}: dict[bool, Pieces] = {{"]
        for key, (low, _, bits, degree) in ((True, of.single), (False, of.double)):
            numbers = _numbers(tuple(pieces(of, key)[1]), " " * 8)
            lines += [f"    {key}: Pieces({low}, {bits}, {degree + 2}, (", *numbers, "    )),"]
        found[name] = "\n".join([*lines, "}"])
    return found


HEAD = '''"""Constants and polynomials of the mathematical functions; written by tools/remez.py.

Keys: whether the float type is f32.  Coefficients have that of the highest power first.
"""

# fmt: off
from __future__ import annotations'''

TABULATED_HEAD = '''"""Tables of piecewise polynomials, for `pieces.in_pieces`; written by tools/remez.py.

Keys: whether the float type is f32.
"""

# fmt: off
from __future__ import annotations

from .pieces import Pieces'''


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("--check", action="store_true")
    arguments.add_argument("--errors", action="store_true")
    arguments.add_argument("names", nargs="*")
    options = arguments.parse_args()
    if options.errors:
        for name, fit in FITS.items():
            if options.names and name not in options.names:
                continue
            for kind, degree in (("f32", fit.single), ("f64", fit.double), ("wide", fit.wide)):
                if degree is not None:
                    error = coefficients(fit, degree, kind == "f32")[1]
                    print(f"{name:10} {kind:5} degree {degree:2}  {float(mp.log(error, 2)):7.2f} bits")
        for name, of in PIECES.items():
            if options.names and name not in options.names:
                continue
            for kind, (*_, degree) in (("f32", of.single), ("f64", of.double)):
                error = pieces(of, kind == "f32")[2]
                print(f"{name:10} {kind:5} degree {degree:2}  {float(mp.log(error, 2)):7.2f} bits")
        return 0
    differs = False
    for target, head, found in ((TARGET, HEAD, entries()), (TABULATED, TABULATED_HEAD, tabulated())):
        text = "\n\n".join([head, *found.values()]) + "\n"
        if not options.check:
            target.write_text(text)
        elif text != target.read_text():
            differs = True
            print(f"{target.name} differs")
    return int(differs)


if __name__ == "__main__":
    sys.exit(main())
