"""Python numbers known only at run time: the results and exceptions are Python's own."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys

import numpy as np
import pytest

import autodiff_compiler as ms
from tests.programs.compare import define, roundtrip

INF, NAN = math.inf, math.nan
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 2.675, 1e16, 3.7, 1e-320, 172.0, 710.0, INF, -INF, NAN]
FEW = [0.0, -0.0, -1.0, 2.5, -2.5, 1e300, INF, -INF, NAN]
INTS = [0, 1, -1, 5, -7, 63, 2**40, 15, 25, -149]
BOOLS = [True, False]


def tensor(v):
    return v if isinstance(v, ms.Tensor) else ms.Tensor(np.array(v))


def outcome(fn, numbers):
    try:
        return fn(*map(tensor, numbers))
    except Exception as error:
        return error


def fits(x):
    """Whether a result is one that compiled code has too: no complex number, and ints of 64 bits."""
    if isinstance(x, tuple):
        return all(map(fits, x))
    return not isinstance(x, complex) and not (isinstance(x, int) and not -(2**63) <= x < 2**63)


def assert_same_numbers(expression, kinds, values):
    names = "ab"[: len(kinds)]
    lines = "".join(f"    {n} = {kind}(t{n})\n" for n, kind in zip(names, kinds, strict=True))
    f = define(f"def f({', '.join('t' + n for n in names)}):\n{lines}    return {expression}\n", math=math)
    compiled = ms.jit(f)
    compared = 0
    for numbers in values:
        eager = outcome(f, numbers)
        if fits(eager) and "complex" not in str(eager):
            compared += 1
            assert repr(outcome(compiled, numbers)) == repr(eager), numbers
    assert compared
    if not isinstance(eager, TypeError):  # which compiled code raises while it is compiled
        roundtrip(compiled.lower(*map(tensor, numbers)))


OF_A_FLOAT = """
int(a); bool(a); round(a, 0); round(a); round(a, 1); round(a, 2); round(a, -1); abs(a); -a; +a; not a; float(a)
math.floor(a); math.ceil(a); math.trunc(a); math.isnan(a); math.isinf(a); math.isfinite(a); int(a * 2) // 3
math.sqrt(a); math.exp(a); math.expm1(a); math.log(a); math.log2(a); math.log10(a); math.log1p(a); math.log(a, 2)
math.sin(a); math.cos(a); math.tan(a); math.asin(a); math.acos(a); math.atan(a); math.sinh(a); math.cosh(a)
math.tanh(a); a + True; math.asinh(a); math.acosh(a); math.atanh(a); math.erf(a); math.erfc(a); math.gamma(a)
math.lgamma(a); math.fabs(a)
math.degrees(a); math.radians(a); a ** 2; a ** 0.5; a ** -1; 2.0 ** a; a // 3; a % 3; a // -0.5; a % -2.5; divmod(a, 2)
"""


def expressions(text):
    return [e.strip() for line in text.splitlines() for e in line.split(";") if e.strip()]


@pytest.mark.parametrize("expression", expressions(OF_A_FLOAT))
def test_functions_of_a_float(expression):
    assert_same_numbers(expression, ["float"], [(v,) for v in FLOATS])


@pytest.mark.parametrize("expression", expressions("""
a + b; a - b; a * b; a / b; a // b; a % b; a ** b; divmod(a, b); a < b; a <= b; a == b; a != b; a if a > b else b
math.atan2(a, b); math.pow(a, b); math.fmod(a, b); math.hypot(a, b); math.copysign(a, b); math.remainder(a, b)
math.log(a, b); min(a, b); max(a, b); a & b; a << b
"""))  # fmt: skip
def test_functions_of_two_floats(expression):
    assert_same_numbers(expression, ["float", "float"], itertools.product(FEW, repeat=2))


@pytest.mark.parametrize("expression", expressions("""
~a; -a; abs(a); round(a); round(a, 2); round(a, -1); round(a, -2); float(a); int(a); bool(a); math.sqrt(a); a ** 3
math.floor(a); a << 3; a >> 2; a & 12; a | 3; a ^ 6; 3 << (a & 7); a // 4; a % -4; divmod(a, -7); a / 2; a & True
"""))  # fmt: skip
def test_functions_of_an_int(expression):
    assert_same_numbers(expression, ["int"], [(v,) for v in INTS])


@pytest.mark.parametrize("expression", expressions("""
a + b; a - b; a * b; a / b; a // b; a % b; a & b; a | b; a ^ b; a << (b & 15); a >> b; divmod(a, b); a ** (b & 3)
"""))  # fmt: skip
def test_functions_of_two_ints(expression):
    assert_same_numbers(expression, ["int", "int"], itertools.product(INTS, repeat=2))


@pytest.mark.parametrize("expression", expressions("""
a & b; a | b; a ^ b; a + b; a * b; a << b; a >> b; ~a; -a; round(a); round(a, 1); a // b; a @ b; a and b; a == b; int(a)
"""))  # fmt: skip
@pytest.mark.filterwarnings("ignore:Bitwise inversion:DeprecationWarning")  # from 3.12 on; compiled code does not warn
def test_functions_of_bools(expression):
    assert_same_numbers(expression, ["bool", "bool"], itertools.product(BOOLS, repeat=2))


def test_bits_of_mixed_kinds():
    for expression in ("a & b", "b | a", "a << b", "a ^ b"):
        assert_same_numbers(expression, ["int", "bool"], itertools.product(INTS, BOOLS))
        assert_same_numbers(expression, ["int", "float"], [(1, 2.0)])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int32", "uint8", "bool_"])
@pytest.mark.parametrize("kind", ["int", "float", "bool"])
def test_numbers_of_every_dtype(dtype, kind):
    f = define(f"def f(t):\n    return {kind}(t), t.item(), {kind}(t.item())\n")
    compiled = ms.jit(f)
    for value in (0.0, 1.7, 250.5, -3.9, NAN, INF):
        if math.isfinite(value) or dtype in ("float16", "bfloat16", "float32"):
            t = tensor(value).astype(getattr(ms, dtype))
            assert repr(outcome(compiled, [t])) == repr(outcome(f, [t]))


@pytest.mark.parametrize("value", [1e300, -1e19, 2.0**63])
def test_an_int_has_64_bits(value):
    for text in ("int(a)", "round(a)", "math.floor(a)", "int(t)"):
        f = define(f"def f(t):\n    a = float(t)\n    return {text}\n", math=math)
        assert isinstance(f(tensor(value)), int)
        with pytest.raises(OverflowError, match="64 bits"):
            ms.jit(f)(tensor(value))
    assert ms.jit(lambda t: int(t))(tensor(-(2.0**63))) == -(2**63)


GREAT = 2**64 - 1


@pytest.mark.parametrize(
    "text",
    [
        "int(u[0])", "u[0].item()", "x + int(u[0])", "x * u[0].item()", "int(u[0]) // 2**62", "int(u[0]) > 0",
        "print(int(u[0]))", "print(f'{u[0].item()}')", "max(int(u[0]), 3)", "sum(int(v) for v in u)",
        "int(u.asnumpy()[0])", "round(u.asnumpy()[0])", "x * u.asnumpy()[0]", "[i for i, _ in enumerate(x, u[0])]",
    ],
)  # fmt: skip
def test_an_unsigned_number_without_a_place_in_64_bits_is_an_error(text, capsys):
    f = define(f"def f(u, x):\n    return {text}\n")
    x = tensor([1.0, 2.0])
    f(ms.Tensor(np.array([GREAT, 3], np.uint64)), x)  # Python's ints have no limit
    compiled = ms.jit(f)
    with pytest.raises(OverflowError, match=f"^{GREAT} does not fit into 64 bits"):
        compiled(ms.Tensor(np.array([GREAT, 3], np.uint64)), x)
    small = ms.Tensor(np.array([2**62, 3], np.uint64))
    if not text.startswith("sum"):
        assert repr(outcome(compiled, [small, x])) == repr(outcome(f, [small, x]))


@pytest.mark.parametrize("text", ["float(u[0])", "bool(u[0])", "u + int(u[1])", "u.sum()", "x[int(u[0] % 2)]"])
def test_what_else_is_done_with_a_great_unsigned_number(text):
    f = define(f"def f(u, x):\n    return {text}\n")
    args = [ms.Tensor(np.array([GREAT, 3], np.uint64)), tensor([1.0, 2.0])]
    assert repr(outcome(ms.jit(f), args)) == repr(outcome(f, args))


def test_complex_results_are_refused():
    with pytest.raises(ValueError, match="complex"):
        ms.jit(lambda t: float(t) ** 0.5)(tensor(-2.0))
    with pytest.raises(ms.CompileError):
        ms.jit(lambda t: t * 1j)(tensor(-2.0))


def test_math_of_tensors():
    def f(t):
        return math.sqrt(t[0]), math.floor(t[1]), math.hypot(t[0], 3), math.isnan(t[0]), math.log(t[1], 2)

    t = ms.Tensor([4.0, 2.5])
    assert repr(ms.jit(f)(t)) == repr(f(t))
    for bad in (
        lambda t: math.trunc(t[0]),
        lambda t: round(t[0]),
        lambda t: math.sqrt(-t[0]),
        lambda t: math.sqrt("a"),
    ):
        with pytest.raises((TypeError, ValueError)) as eager:
            bad(t)
        with pytest.raises(eager.type) as compiled:
            ms.jit(bad)(t)
        assert str(compiled.value) == str(eager.value)


def test_a_number_rounds_the_same_in_loops_branches_and_derivatives():
    def f(x):
        total = 0.0
        for i in range(20):
            total = total + round(float(x.sum()) * (i + 0.5), 1) + math.sqrt(i + float(x[0]))
            if round(total) % 2 == 0:
                total = total - int(total) // 3
        return (x * x * total).sum()

    x = ms.Tensor([0.7, 1.9])
    assert repr(ms.jit(f)(x)) == repr(f(x))
    assert repr(ms.jit(ms.grad(f))(x)) == repr(ms.grad(f)(x))


def test_a_saved_program_checks_its_numbers(tmp_path, numpy_backend):
    ms.jit(lambda t: (int(t), math.sqrt(t))).lower(tensor(2.0)).save(tmp_path / "f.py")
    text = (tmp_path / "f.py").read_text()
    name = text.split("`")[1]
    call = f"import numpy as np, f; print(f.{name}(np.array(4.0))); f.{name}(np.array(np.nan))"
    run = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert "array(4)" in run.stdout
    assert run.stderr.endswith("ValueError: cannot convert float NaN to integer\n")


NEGATIVE_POWERS = {
    "zero": ("0 ** m", ZeroDivisionError),
    "zero known at run time": ("(m + 1) ** m", ZeroDivisionError),
    "a float": ("0.0 ** m", ZeroDivisionError),
    "pow()": ("pow(0, m)", ZeroDivisionError),
    "an integer Tensor": ("t ** m", ValueError),
    "a method": ("t.pow(m)", ValueError),
    "a function": ("ms.ops.pow(t, m)", ValueError),
}


@pytest.mark.parametrize("name", NEGATIVE_POWERS)
def test_negative_powers_raise_what_python_raises(name):
    text, error = NEGATIVE_POWERS[name]
    f = define(f"def f(t, m):\n    return {text}\n")
    told = []
    for g in (f, ms.jit(f)):
        with pytest.raises(error) as caught:
            g(ms.Tensor([2, 3]), ms.mutable(-1))
        told.append(str(caught.value).splitlines()[0])
    assert told[0] == told[1]


def test_an_int_to_a_negative_power_is_no_int():
    """2 ** -1 is a float in Python; compiled code, which needs one type for both signs, says so when it runs."""
    f = ms.jit(lambda m: 2**m)
    assert f(ms.mutable(3)) == 8
    with pytest.raises(ValueError, match="float"):
        f(ms.mutable(-1))
