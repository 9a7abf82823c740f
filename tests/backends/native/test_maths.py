"""The mathematics in vectors: special values as NumPy has them, errors against mpmath, and no library beneath."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.backends.native.codegen.maths import FUNCTIONS, coefficients, tabulated
from autodiff_compiler.backends.native.jit.engine import emit
from autodiff_compiler.backends.native.jit.machine import override, why_not
from autodiff_compiler.backends.native.jit.symbols import symbols

pytest.importorskip("mpmath", reason="it computes what is right")
pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"no native code here: {why_not()}")

from tools import accuracy_page as page  # noqa: E402
from tools import remez  # noqa: E402

NAMES = sorted(FUNCTIONS)
UNARY = [name for name in NAMES if name not in page.BINARY]
TYPES = {"f32": np.float32, "f64": np.float64}
#: f32 and f64; those of a processor with 32 bytes, with 64, of 16, and scalars
WIDTHS = [("f32", 1), ("f32", 4), ("f32", 8), ("f32", 16), ("f64", 1), ("f64", 2), ("f64", 4), ("f64", 8)]
#: ULP; no function may be worse, wherever it is measured
LIMIT = 2.0
#: Arguments of the greatest errors that searches found, of f32 among all arguments.
WORST = {
    ("arccos", "f32"): [0.5447005033493042],
    ("arctan", "f32"): [1.0029120445251465],
    ("cos", "f32"): [0.08315485715866089, -0.006158766336739063],
    ("cos", "f64"): [0.004744948833781134],
    ("erf", "f32"): [0.22491680085659027, 0.98989683],
    ("erfc", "f64"): [0.5119500665329471],
    ("exp", "f32"): [59.294105529785156],
    ("expm1", "f32"): [17.13618278503418],
    ("sigmoid", "f32"): [-4.846455097198486, -6.23706579208374, -16.635704040527344],
    ("sigmoid", "f64"): [-3.4361809973144073],
    ("sin", "f32"): [1950120.0, 2.947161375646626e33, -419003203584.0],
    ("sin", "f64"): [689.5043821581378],
    ("sinh", "f32"): [1.4302648305892944],
    ("tan", "f32"): [8.284019301239024e33],
    ("tanh", "f32"): [0.630005955696106],
}


def special(dtype):
    """Zeros, infinities, NaN, denormals, ends of the range, whole numbers and halves; both signs."""
    information = np.finfo(dtype)
    positive = [
        0.0, math.inf, math.nan, information.smallest_subnormal, information.smallest_subnormal * 5, information.tiny,
        information.tiny / 2, information.max, information.max / 2, information.eps, information.eps / 4, 1e-3, 0.5,
        1.0, np.nextafter(dtype(1), dtype(2)), np.nextafter(dtype(1), dtype(0)), 1.5, 2.0, 3.0, 4.0, 7.0, 10.0, 88.5,
        89.5, 100.0, 103.9, 104.5, 128.0, 149.0, 150.5, 709.5, 710.0, 711.5, 745.0, 746.5, 1023.0, 1024.0, 1074.0,
        1076.5, float(1 << information.nmant), float((1 << information.nmant) + 1), float(2 << information.nmant),
        1e30,
    ]  # fmt: skip
    return np.array([*positive, *(-x for x in positive)], dtype)


def same_kind(got, want, argument_of):
    """NaN where NaN is, the same infinities, the same zeros with their signs, and else much the same numbers."""
    eps, tiny = np.finfo(want.dtype).eps, np.finfo(want.dtype).smallest_subnormal
    exact = np.isnan(want) | np.isinf(want) | (want == 0)
    same = (got == want) & (np.signbit(got) == np.signbit(want)) | np.isnan(got) & np.isnan(want)
    with np.errstate(invalid="ignore"):
        near = np.abs(got - want) <= 6 * eps * np.abs(want) + 2 * tiny
    wrong = np.flatnonzero(~np.where(exact, same, near))
    assert not wrong.size, [(argument_of(k), got[k], want[k]) for k in wrong[:6]]


@pytest.mark.parametrize(("type", "width"), WIDTHS)
@pytest.mark.parametrize("name", UNARY)
def test_special_values_of_one_argument(name, type, width):
    x = special(TYPES[type])
    with np.errstate(all="ignore"):
        want = page.peer(name)(x)
        if name in ("erfc", "sigmoid"):  # SciPy gives 0 where the right result is denormal or nearly
            for k in np.flatnonzero((np.abs(x) < 1100) & (np.abs(want) < 8 * np.finfo(want.dtype).tiny)):
                want[k] = float(page.exact(name)(float(x[k])))
    same_kind(page.compiled(name, width, single=type == "f32")(x), want, lambda k: x[k])


@pytest.mark.parametrize(("type", "width"), WIDTHS)
@pytest.mark.parametrize("name", page.BINARY)
def test_special_values_of_two_arguments(name, type, width):
    values = special(TYPES[type])
    x, y = (a.ravel() for a in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        # in f64 where NumPy's f32 loses all digits that are left
        wide = np.float64 if name == "logaddexp" else x.dtype
        want = page.peer(name)(x.astype(wide), y.astype(wide)).astype(x.dtype)
    same_kind(page.compiled(name, width, single=type == "f32")(x, y), want, lambda k: (x[k], y[k]))


@pytest.mark.some(4)
@pytest.mark.parametrize("width", [1, 8])
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", NAMES)
def test_errors_are_within_the_limit(name, type, width):
    single = type == "f32"
    args = page.points(name, single, 40)
    got = page.compiled(name, width, single=single)(*args)
    found = page.errors(name, got, *args)
    worst = int(np.argmax(found))
    assert found[worst] <= LIMIT, ([a[worst] for a in args], got[worst])


def through_the_op(name, *args):
    """What the op of this name computes in compiled code."""
    op = ops.pow if name == "power" else getattr(ops, name)
    return ms.jit(lambda *xs: op(*xs), backend="native")(*map(Tensor, args)).asnumpy()


@pytest.mark.some(3)
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", NAMES)
def test_the_ops_have_the_bits_of_the_functions_that_are_measured(name, type):
    single = type == "f32"
    args = page.points(name, single, 40)
    with np.errstate(all="ignore"):
        got = through_the_op(name, *args)
    np.testing.assert_array_equal(got, page.compiled(name, 8, single=single, low_latency=False)(*args))


@pytest.mark.parametrize(("type", "args"), [("f32", (-18, -15)), ("f64", (-37.5, -35.5))])
def test_sigmoid_where_one_plus_exp_is_hardly_more_than_one(type, args):
    """There the rounding of the sum is as great as what is added: 1 / (1 + exp(-x)) was 2.5 off."""
    x = np.concatenate([np.linspace(*args, 3000), [-16.635704040527344]]).astype(TYPES[type])
    assert page.errors("sigmoid", through_the_op("sigmoid", x), x).max() < 1.5
    assert page.errors("sigmoid", np.array([through_the_op("sigmoid", e) for e in x[-1:]]), x[-1:]).max() < 1.5


@pytest.mark.parametrize("type", TYPES)
def test_the_derivative_of_sigmoid_keeps_its_digits_below_0_and_those_of_1_above(type):
    x = np.linspace(-40, 40, 2001).astype(TYPES[type])
    slope = ms.jit(ms.grad(lambda x: ops.sigmoid(x).sum()), backend="native")
    got = slope(Tensor(x)).asnumpy().astype(np.longdouble)
    e = np.exp(-np.abs(x.astype(np.longdouble)))
    right = e / (1 + e) ** 2
    off = np.abs(got - right)
    assert (off[x <= 0] <= 3 * np.spacing(right[x <= 0].astype(TYPES[type]))).all()
    assert off.max() <= np.finfo(TYPES[type]).eps


@pytest.mark.parametrize("width", [1, 8])
@pytest.mark.parametrize(("name", "type"), WORST)
def test_errors_at_the_worst_arguments_known(name, type, width):
    x = np.array(WORST[name, type], TYPES[type])
    assert page.errors(name, page.compiled(name, width, single=type == "f32")(x), x).max() < 1.7


@pytest.mark.parametrize(("name", "type"), [("sigmoid", "f32"), ("exp", "f64")])
def test_the_search_finds_worse_arguments_than_chance(name, type):
    single = type == "f32"
    function = page.compiled(name, 8, single=single)
    chance, searched = page.points(name, single, 40), page.suspects(name, single, 8, step=4001, dense=1 << 16)
    found = [page.errors(name, function(*args), *args).max() for args in (chance, searched)]
    assert found[0] < found[1] < LIMIT


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", NAMES)
def test_vectors_of_all_widths_give_the_same_bits(name, type):
    single = type == "f32"
    args = page.points(name, single, 40)
    widths = [width for kind, width in WIDTHS if kind == type]
    # one lane too, where it stands for the end of an array and no scalar
    got = [page.compiled(name, width, single=single, low_latency=False)(*args) for width in widths]
    for one, other in itertools.pairwise(got):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("type", TYPES)
def test_results_that_are_numbers_of_the_type_are_exact(type):
    single, dtype = type == "f32", TYPES[type]

    def of(name, *args):
        return page.compiled(name, 8, single=single)(*args)

    information = np.finfo(dtype)
    whole = np.arange(information.minexp - information.nmant, information.maxexp)
    powers = np.ldexp(dtype(1), whole)
    np.testing.assert_array_equal(of("exp2", whole), powers)
    np.testing.assert_array_equal(of("log2", powers), whole)
    tens = np.arange(0, 11 if single else 23)
    np.testing.assert_array_equal(of("log10", [float(10 ** int(k)) for k in tens]), tens)
    n = np.arange(-200, 200)
    np.testing.assert_array_equal(of("cbrt", n**3), n)
    np.testing.assert_array_equal(of("hypot", 3 * n, 4 * n), np.abs(5 * n))
    np.testing.assert_array_equal(of("power", n, np.full(n.size, 3.0)), n**3)
    np.testing.assert_array_equal(of("power", np.full(40, 2.0), np.arange(-20, 20)), 2.0 ** np.arange(-20, 20))
    for name, at, value in [("exp", 0, 1), ("cos", 0, 1), ("cosh", 0, 1), ("log", 1, 0), ("sigmoid", 0, 0.5)]:
        assert of(name, [at])[0] == value


@pytest.mark.parametrize("type", TYPES)
def test_an_angle_of_any_size_beside_small_ones_in_its_vector(type):
    """The branch for great arguments is taken for the whole vector, and changes nothing in the other lanes."""
    single, dtype = type == "f32", TYPES[type]
    small = np.linspace(-50, 50, 64, dtype=dtype)
    mixed = small.copy()
    mixed[::5] = np.finfo(dtype).max / np.arange(1, 14)
    mixed[3] = np.nan
    for name in ("sin", "cos", "tan"):
        function = page.compiled(name, 8, single=single)
        got, alone = function(mixed), function(small)
        untouched = mixed == small
        np.testing.assert_array_equal(got[untouched], alone[untouched])
        great = np.isfinite(mixed) & ~untouched
        assert page.errors(name, got[great], mixed[great]).max() <= LIMIT
        assert np.isnan(got[3])


TARGETS = [
    ("x86-64-v3", "x86_64-unknown-linux-gnu", None, 32),
    ("x86-64-v4", "x86_64-unknown-linux-gnu", None, 64),
    ("generic", "aarch64-unknown-linux-gnu", "+neon", 16),
    ("neoverse-v1", "aarch64-unknown-linux-gnu", "+neon,+sve", 16),
    ("apple-m1", "aarch64-unknown-linux-gnu", "+neon", 16),
]


@pytest.mark.some(2)
@pytest.mark.parametrize("size", [4, 8])
@pytest.mark.parametrize(("cpu", "triple", "features", "vector_bytes"), TARGETS, ids=[t[0] for t in TARGETS])
def test_no_function_calls_a_library(cpu, triple, features, vector_bytes, size):
    for width in (1, vector_bytes // size):
        with override(cpu, triple=triple, features=features, vector_bytes=vector_bytes):
            code = emit(page.module(NAMES, width, single=size == 4))
        found = symbols(code)
        assert not found.undefined
        assert {f"each_{name}" for name in NAMES} <= found.defined


def test_the_coefficients_are_what_the_tool_finds():
    written = remez.TARGET.read_text()
    for name, text in remez.entries(["LN2", "PI_THREE", "SINH", "EXPM1", "ARCCOSH"]).items():
        assert f"\n{text}\n" in written, name
    assert coefficients.LN2[False][0] + coefficients.LN2[False][1] == math.log(2)
    bits, numbers, _ = remez.pieces(remez.PIECES["TANH_PIECES"], single=True)
    written = tabulated.TANH_PIECES[True]
    assert (written.bits, written.numbers) == (bits, tuple(numbers))


@pytest.mark.parametrize("type", TYPES)
def test_tanh_of_scalars_at_the_ends_of_its_pieces(type):
    """Where one polynomial ends and the next one begins, and where the branches for small and great numbers do."""
    single, dtype = type == "f32", TYPES[type]
    pieces, end = tabulated.TANH_PIECES[single], 10 if single else 21
    ends = [2.0**k * (1 + j / 2**pieces.bits) for k in range(-3, 5) for j in range(2**pieces.bits)]
    x = np.array([e for e in ends if e < end], dtype)
    x = np.concatenate([x, np.nextafter(x, dtype(0)), np.nextafter(x, dtype(99)), -x])
    assert page.errors("tanh", page.compiled("tanh", 1, single=single)(x), x).max() < 0.7


def test_the_page_is_current():
    written = page.PAGE.read_text("utf-8")
    assert page.is_current(written)
    for old, new in (("| exp |", "| expo |"), ("ULP", "units"), ("| exp | 0", "| exp | x")):
        assert old in written
        assert not page.is_current(written.replace(old, new, 1))
