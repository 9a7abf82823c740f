"""Writes docs/accuracy.md: the greatest error of every mathematical function of the native backend, measured.

    python tools/accuracy_page.py            write the page
    python tools/accuracy_page.py --check    fails if the text or the functions of the page are others; measures nothing
    python tools/accuracy_page.py exp log    print the errors of some functions, and where they are

A search through many arguments, against numbers of more digits, finds the hard ones; mpmath measures their errors.
Needs mpmath, a processor that the native backend works on, and long doubles with more digits than f64 has.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from mpmath import mp
from scipy import special

sys.path.insert(0, str(Path(__file__).parents[1]))  # runs from a checkout that is not installed

from autodiff_compiler.backends.native.codegen.emit import Int, Reg, Text, i64
from autodiff_compiler.backends.native.codegen.maths import FUNCTIONS
from autodiff_compiler.backends.native.codegen.vectors import Vectors
from autodiff_compiler.backends.native.jit.engine import load
from autodiff_compiler.backends.native.jit.machine import machine

PAGE = Path(__file__).parents[1] / "docs/accuracy.md"
BINARY = ("arctan2", "hypot", "logaddexp", "power")
#: Random arguments of each kind.
COUNT = 1200
PRECISION = 160
#: The search: of the floats of f32 every so manieth, of f64 so many random arguments, and at once.
STEP, DENSE, CHUNK = 61, 1 << 19, 1 << 18
#: Arguments of the greatest errors of each part of the search that mpmath measures.
SUSPECTS = 8


# ------------------------------------------------------------------------------------------------ running a function
def module(names: Iterable[str], width: int, *, single: bool, low_latency: bool | None = None) -> str:
    """A module whose functions apply those of the same name to n elements: name(n, out, x, ...), n a multiple of W."""
    texts = [_kernel(name, width, single, low_latency) for name in names]
    needs: dict[str, str] = {}
    for text in texts:
        needs |= text.needs
    declares = sorted(set().union(*(text.declares for text in texts)))
    return "\n".join([*needs.values(), *map(str, texts), *declares])


def _kernel(name: str, width: int, single: bool, low_latency: bool | None) -> Text:
    pointers = [f"x{k}" for k in range(2 if name in BINARY else 1)]
    text = Text(f"each_{name}", [("i64", "n"), ("ptr", "out"), *[("ptr", x) for x in pointers]])
    v, size = Vectors(text, width, single=single, low_latency=low_latency), 4 if single else 8

    def trip(i: Int, _: list[Reg]) -> list[Reg]:
        place = text.mul(i, size)
        args = [text.load(v.type, text.at(Reg(f"%{x}", "ptr"), place), size) for x in pointers]
        text.store(FUNCTIONS[name](v, *args), text.at(Reg("%out", "ptr"), place), size)
        return []

    text.loop(i64(0), Reg("%n", "i64"), width, [], trip)
    text.ret()
    return text


@cache
def _loaded(width: int, single: bool, low_latency: bool | None) -> Any:
    return load(module(FUNCTIONS, width, single=single, low_latency=low_latency))


def kernel(name: str, width: int, *, single: bool, low_latency: bool | None = None) -> Callable[..., None]:
    """The compiled loop itself, over addresses."""
    pointers = [ctypes.c_void_p] * (3 if name in BINARY else 2)
    made: Callable[..., None] = ctypes.CFUNCTYPE(None, ctypes.c_int64, *pointers)(
        _loaded(width, single, low_latency).address(f"each_{name}")
    )
    return made


def compiled(name: str, width: int, *, single: bool, low_latency: bool | None = None) -> Callable[..., np.ndarray]:
    """The function over NumPy arrays of any length."""
    run, dtype = kernel(name, width, single=single, low_latency=low_latency), np.float32 if single else np.float64

    def function(*arrays: Any) -> np.ndarray:
        given = [np.asarray(a, dtype) for a in arrays]
        size = -(-given[0].size // width) * width
        padded = [np.resize(a, size) for a in given]
        out = np.empty(size, dtype)
        run(size, out.ctypes.data, *[a.ctypes.data for a in padded])
        return out[: given[0].size]

    return function


# ------------------------------------------------------------------------------------------------ what is right
#: The functions of mpmath where their names are others, and those that it has not.
EXACT: dict[str, Callable[..., Any]] = {
    "arccos": mp.acos,
    "arccosh": mp.acosh,
    "arcsin": mp.asin,
    "arcsinh": mp.asinh,
    "arctan": mp.atan,
    "arctan2": mp.atan2,
    "arctanh": mp.atanh,
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "exp2": lambda x: mp.mpf(2) ** x,
    "log2": lambda x: mp.log(x) / mp.log(2),
    "logaddexp": lambda x, y: max(x, y) + mp.log1p(mp.exp(-abs(x - y))),
    "rsqrt": lambda x: 1 / mp.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
}
#: The same functions of NumPy and SciPy where their names are others.
PEERS: dict[str, Callable[..., Any]] = {
    "erf": special.erf,
    "erfc": special.erfc,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": special.expit,
}


def exact(name: str) -> Callable[..., Any]:
    return EXACT.get(name) or getattr(mp, name)


def peer(name: str) -> Callable[..., Any]:
    return PEERS.get(name) or getattr(np, name)


#: Where a function is defined and worth measuring: beyond, its value is known without it.
_DOMAINS = {
    "arccos": (-1, 1), "arccosh": (1, np.inf), "arcsin": (-1, 1), "arctanh": (-0.9999999, 0.9999999),
    "cosh": (-711, 711), "erf": (-7, 7), "erfc": (-6, 28), "exp": (-750, 720), "exp2": (-1080, 1030),
    "expm1": (-50, 720), "log": (0, np.inf), "log10": (0, np.inf), "log1p": (-0.9999999, np.inf), "log2": (0, np.inf),
    "rsqrt": (0, np.inf), "sigmoid": (-750, 50), "sinh": (-711, 711), "tanh": (-25, 25), "logaddexp": (-800, 800),
}  # fmt: skip


def points(name: str, single: bool, count: int = COUNT) -> list[np.ndarray]:
    """Arguments: random ones of every size, and hard ones: near 0, 1, and multiples of pi/4, edges, denormals."""
    random = np.random.default_rng(len(name) + single)
    dtype = np.float32 if single else np.float64
    pool = _binary_pool if name in BINARY else _pool
    low, high = _DOMAINS.get(name, (-np.inf, np.inf))
    with np.errstate(all="ignore"):
        columns = pool(random, dtype, count)
        keep = np.ones(columns[0].size, bool)
        for x in columns:
            keep &= np.isfinite(x) & (x >= low) & (x <= high) & (x != 0)
        if name == "power":
            x, y = columns
            keep &= (x > 0) & (np.abs(np.log2(np.abs(x)).astype(np.float64) * y) < 1100)
    return [x[keep] for x in columns]


def _pool(random: np.random.Generator, dtype: Any, count: int) -> list[np.ndarray]:
    bits = np.uint32 if dtype == np.float32 else np.uint64
    information = np.finfo(dtype)
    signs = random.choice([-1.0, 1.0], count)
    quarters = (random.integers(1, 100_000, count) * (np.pi / 4)).astype(dtype)
    scales = 10 ** random.uniform(np.log10(float(information.eps)), 0, count)
    kinds = [
        random.integers(0, np.iinfo(bits).max, count, dtype=bits).view(dtype),
        *[(bound * random.uniform(-1, 1, count)) for bound in (0.01, 0.6, 1.2, 3, 12, 100, 740)],
        1 + signs * scales,
        signs * scales,
        signs * np.exp(random.uniform(-40, 40, count)),
        quarters,
        np.nextafter(quarters, dtype(0)),
        np.arange(1, 60) / 2,
        random.integers(1, 1 << 20, 50).astype(bits).view(dtype),
        np.array([information.tiny, information.smallest_subnormal, information.max, -information.max, np.sqrt(0.5)]),
        _worst_angles(dtype),
    ]
    return [np.concatenate([np.asarray(kind).astype(dtype) for kind in kinds])]


def _worst_angles(dtype: Any) -> np.ndarray:
    """Floats next to multiples of pi/2, from the continued fraction of the quotient for some exponents."""
    found = []
    digits, low = np.finfo(dtype).nmant + 1, -5
    high = 100 if dtype == np.float32 else 950
    with mp.workprec(1400):
        for exponent in range(low, high, 3 if dtype == np.float32 else 25):
            # m * 2**exponent near a multiple of pi/2: convergents of 2**exponent / (pi/2) have such m as denominators
            rest, before, now = mp.ldexp(1, exponent) / (mp.pi / 2), 0, 1
            while rest != 0 and now < 2**digits:
                last = now
                rest = rest - mp.floor(rest)
                if rest == 0:
                    break
                rest = 1 / rest
                before, now = now, int(mp.floor(rest)) * now + before
            found.append(np.ldexp(float(last), exponent))
    return np.array(found, dtype)


def _binary_pool(random: np.random.Generator, dtype: Any, count: int) -> list[np.ndarray]:
    x = _pool(random, dtype, count)[0]
    y = random.permutation(x)
    near = (x[:count] * (1 + random.uniform(-1, 1, count) * 10 ** random.uniform(-7, 0, count))).astype(dtype)
    small = random.uniform(-6, 6, x.size).astype(dtype)
    whole = random.integers(-12, 12, x.size).astype(dtype)
    return [np.concatenate([x, x[:count], x, np.abs(x)]), np.concatenate([y, near, small, whole])]


# ------------------------------------------------------------------------------------------------ the search
#: What searches compare with, in f64 (for f32) or long double (for f64), where `peer` is not good enough.
_WIDE: dict[str, Callable[..., Any]] = {
    "logaddexp": lambda x, y: np.maximum(x, y) + np.log1p(np.exp(-np.abs(x - y))),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}
#: No long doubles: their f64 is measured on `points`, and where one formula follows the other.
_NOT_WIDE = ("erf", "erfc")
_SEAMS, _WORST = (0.4, 1.4), 0.5119500665329471


def suspects(name: str, single: bool, width: int, step: int = STEP, dense: int = DENSE) -> list[np.ndarray]:
    """Arguments whose errors are the greatest in a search: every `step`-th float of f32, or `dense` ones of f64."""
    function, wide = compiled(name, width, single=single), np.float64 if single else np.longdouble
    right, found = _WIDE.get(name) or peer(name), []
    for args in _every(name, step) if single and name not in BINARY else _dense(name, single, dense):
        got = function(*args)
        with np.errstate(all="ignore"):
            far = _far(name, got, np.asarray(right(*[x.astype(wide) for x in args])), args)
        worst = np.argpartition(far, -SUSPECTS)[-SUSPECTS:] if far.size > SUSPECTS else slice(None)
        found.append((far[worst], [x[worst] for x in args]))
    far = np.concatenate([f for f, _ in found])
    worst = np.argsort(far)[-20 * SUSPECTS :]
    return [np.concatenate(column)[worst] for column in zip(*[args for _, args in found], strict=True)]


def _far(name: str, got: np.ndarray, right: np.ndarray, args: list[np.ndarray]) -> np.ndarray:
    """The errors, from numbers of more digits; 0 where a result overflows."""
    information = np.finfo(got.dtype)
    compared = np.maximum(np.abs(right), np.max(args, 0)) if name == "logaddexp" else right
    exponent = np.maximum(np.frexp(compared)[1], int(information.minexp) + 1) - (information.nmant + 1)
    far = np.ldexp(np.abs(got.astype(right.dtype) - right), -exponent)
    return np.where(np.isfinite(far) & (np.abs(right) <= information.max), far, 0).astype(np.float64)


def _every(name: str, step: int) -> Iterator[list[np.ndarray]]:
    """Every `step`-th float of f32 in the domain of the function."""
    low, high = _DOMAINS.get(name, (-np.inf, np.inf))
    for first in range(0, 1 << 32, CHUNK * step):
        bits = np.arange(first, min(first + CHUNK * step, 1 << 32), step, dtype=np.uint32)
        x = bits.view(np.float32)
        x = x[np.isfinite(x) & (x >= low) & (x <= high) & (x != 0)]
        if x.size:
            yield [x]


def _dense(name: str, single: bool, count: int) -> Iterator[list[np.ndarray]]:
    """Random arguments: evenly over the domain as far as results change, around 0, and of all sizes."""
    if name in BINARY:
        yield points(name, single, count // 30)
        return
    random = np.random.default_rng(len(name))
    low, high = _DOMAINS.get(name, (-np.inf, np.inf))
    sizes = np.exp(random.uniform(-25, 7, count)) * random.choice([-1.0, 1.0], count)
    wide = random.uniform(max(low, -800), min(high, 800), count)
    for x in (wide, random.uniform(-4, 4, count), sizes, 1 + sizes):
        x = x[(x >= low) & (x <= high) & (x != 0)]
        for part in np.array_split(x, max(1, x.size // CHUNK)):
            if part.size:
                yield [part]


def errors(name: str, got: np.ndarray, *args: np.ndarray) -> np.ndarray:
    """The distances of results from what is right, in units of the last place of what is right."""
    information, function = np.finfo(got.dtype), exact(name)
    digits, least, greatest = information.nmant + 1, int(information.minexp), mp.mpf(float(information.max))
    found = np.empty(got.size)
    with mp.workprec(PRECISION):
        for k, (value, *xs) in enumerate(zip(got.tolist(), *[a.tolist() for a in args], strict=True)):
            right = function(*map(mp.mpf, xs))
            _, exponent = mp.frexp(right)
            scale = max(int(exponent) if right else least, least + 1) - digits
            if name == "logaddexp":
                scale = max(scale, int(mp.frexp(mp.mpf(max(xs)))[1]) - digits, -digits)
            if np.isinf(value):  # right where rounding the result gives infinity
                found[k] = 0 if value * mp.sign(right) > 0 and abs(right) > greatest else np.inf
            else:
                found[k] = float(min(abs(mp.mpf(value) - right) * mp.ldexp(1, -scale), mp.mpf(1e9)))
    return found


def greatest_error(name: str, single: bool, count: int = COUNT) -> tuple[float, tuple[float, ...], float]:
    """The greatest error in vectors and in scalar code, its arguments, and NumPy's (SciPy's) greatest on the same."""
    searched = single or name not in _NOT_WIDE
    found, theirs = [], []
    for width in (_width(single), 1):
        args = points(name, single, count if searched else 4 * count)
        if not searched:
            args = [np.concatenate([args[0], np.random.default_rng(0).uniform(*_SEAMS, 50 * count), [_WORST]])]
        if searched:
            args = [np.concatenate(column) for column in zip(args, suspects(name, single, width), strict=True)]
        ours = errors(name, compiled(name, width, single=single)(*args), *args)
        at = int(np.argmax(ours))
        found.append((float(ours[at]), tuple(float(a[at]) for a in args)))
        with np.errstate(all="ignore"):
            theirs.append(float(np.max(errors(name, np.asarray(peer(name)(*args)), *args))))
    return *max(found), max(theirs)


def _width(single: bool) -> int:
    return (64 if machine().vector_bytes >= 64 else 32) // (4 if single else 8)


# ------------------------------------------------------------------------------------------------ the page
HEAD = """\
# Accuracy of the mathematical functions

<!-- written by tools/accuracy_page.py -->

The native backend computes these functions itself, in vectors; none is a call of a library. The numbers, which `python
tools/accuracy_page.py` measures and writes, are the greatest errors met, in vectors or in scalar code, in units of the
last place (ULP) of the exact result: 0.5 is the best that rounding allows. They are measured against mpmath on
arguments of every size, near 0 and 1, next to multiples of pi/4 (for sin, cos and tan up to the largest finite numbers,
with floats that come very close to such multiples), on denormal numbers and results, at the edges of overflow, and
where a search finds the greatest errors: for functions of one argument through every 61st float of f32, and through two
million arguments of f64 against long double (`erf` and `erfc` in f64 have 60,000 more, where one formula follows
another); for those of two through a million. Beside them: the same arguments in the NumPy or SciPy that was
installed, on the same processor, which had vectors of BITS bits.

25 to 780 million arguments of f32 were tried once for each function of one argument, in vectors: all where results
are not trivial, and of far away ones every 3rd to 9th;
nothing was farther off than 1.62 (`sinh`).

NaN, infinities, signed zeros and poles are as in NumPy (C99); `tests/backends/native/test_maths.py` has the table.
On one machine vectors of all widths give the same bits; scalar code may differ from them in the last bit, and so may,
in f64, a machine with 32 vector registers (AVX-512, NEON) from one with 16. Of two zeros with different signs
`maximum`, `minimum`, `relu` and the like may give either.

| function | f32 | f64 | NumPy f32 | NumPy f64 |
|---|---|---|---|---|
"""
TAIL = """
`sigmoid(x)` is `1 / (1 + exp(-x))`, `rsqrt(x)` is `1 / sqrt(x)`; the ops of these names have the bits measured here, as
`tests/backends/native/test_maths.py` checks. What is made of several of them, such as `silu`, adds up their errors.
Derivatives do so too, and those of `sigmoid`, y (1 - y), and of `tanh`, 1 - y², are made of the result y: where it is
next to 1 or -1, they are within a few units of the last place of 1, not of their own. Below 0 that of `sigmoid` is at
most 3 off.

`x ** 3`, `x ** 4` and `x ** -0.5` are written as products and as `rsqrt`, and so up to 1.9 off.

`add`, `subtract`, `multiply`, `divide` and `sqrt` are the processor's: 0.5 everywhere.

`logaddexp` of f64: where the greater argument and the logarithm that is added cancel, the error counts in units of the
greater of both, as in NumPy. Everywhere else, and in f32, there is no such exception.

The polynomials come from `tools/remez.py`.
"""


def number(x: float) -> str:
    return f"{x:.2f}" if x < 100 else "more than 100"


def text(bits: str, rows: Iterable[Sequence[str]]) -> str:
    """The page, with a row of a function and its four errors for each function."""
    return HEAD.replace("BITS", bits) + "".join(f"| {' | '.join(row)} |\n" for row in rows) + TAIL


def is_current(page: str) -> bool:
    """Whether a page has this text and these functions, whatever was measured."""
    bits = re.search(r"vectors of (\d+) bits", page)
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")][1:]
    figures = all(re.fullmatch(r"\d+\.\d\d|more than 100", x) for _, *row in rows for x in row)
    right = [name for name, *_ in rows] == sorted(FUNCTIONS) and {len(row) for row in rows} == {5}
    return bits is not None and figures and right and page == text(bits[1], rows)


def main(names: list[str]) -> int:
    if names == ["--check"]:
        if is_current(PAGE.read_text("utf-8")):
            return 0
        print("docs/accuracy.md is not current: run python tools/accuracy_page.py", file=sys.stderr)
        return 1
    if unknown := [name for name in names if name not in FUNCTIONS]:
        print(f"no such function: {', '.join(unknown)}", file=sys.stderr)
        return 2
    if names:
        for name in names:
            for single in (True, False):
                worst, where, other = greatest_error(name, single)
                kind = "f32" if single else "f64"
                print(f"{name} {kind}: {worst:.3f} at {', '.join(map(repr, where))}; NumPy {other:.3f}", flush=True)
        return 0
    rows = []
    for name in sorted(FUNCTIONS):
        (f32, _, np32), (f64, _, np64) = (greatest_error(name, single) for single in (True, False))
        rows.append((name, *map(number, (f32, f64, np32, np64))))
    PAGE.write_text(text(str(8 * machine().vector_bytes), rows), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
