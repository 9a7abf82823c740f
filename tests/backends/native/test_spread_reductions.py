"""A reduction without `keepdims` that is spread over its row again is part of the walk, as one with `keepdims` is."""

from __future__ import annotations

import random

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import ops
from autodiff_compiler.backends.native.fusion.clusters import Cluster
from autodiff_compiler.backends.native.fusion.grouping import items
from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.backends.native.prepare.decompositions import decomposed
from autodiff_compiler.dtypes import float32, float64
from autodiff_compiler.primitives import F
from tests.backends.native.against_numpy import optimised
from tests.backends.native.sampled import assert_like_numpy, module_for, native, vectors_of

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}")
RNG = np.random.default_rng(13)
#: Less than a vector, whole ones, one more and one less, rows in registers and not, blocks of a sum and what is left.
LENGTHS = [1, 2, 7, 8, 17, 31, 64, 65, 257, 4097, 9000]
DTYPES = [np.float32, np.float64]


def centred(x):
    return x - x.mean()


def centred_with_ones(x):
    return x - ops.mean(x, 0, True)


def softmax(x):
    e = ops.exp(x - x.max())
    return e / e.sum()


def softmax_with_ones(x):
    e = ops.exp(x - ops.amax(x, 0, True))
    return e / ops.sum(e, 0, True)


def normed(x):
    c = x - x.mean()
    return c / ops.sqrt((c * c).sum() / 3.0 + 1.0)


def normed_with_ones(x):
    c = x - ops.mean(x, 0, True)
    return c / ops.sqrt(ops.sum(c * c, 0, True) / 3.0 + 1.0)


def softmax_of(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def normed_of(x):
    c = x - x.mean()
    return c / np.sqrt((c * c).sum() / 3 + 1)


FORMS = [
    pytest.param(centred, centred_with_ones, lambda x: x - x.mean(), id="centred"),
    pytest.param(softmax, softmax_with_ones, softmax_of, id="softmax"),
    pytest.param(normed, normed_with_ones, normed_of, id="normed"),
]


def walks_of(f, *xs):
    """How many ops each walk has, and how many ops are computed alone (without those that are only views)."""
    found = list(items(decomposed(optimised(f, *xs)).entry.body))
    walks = [len(item.ops) for item in found if isinstance(item, Cluster)]
    views = ("const", "broadcast_to", "expand_dims", "reshape", "squeeze")
    return walks, [op.defn.name for op in found if not isinstance(op, Cluster) and op.defn.name not in views]


def results(f, *xs):
    return native(optimised(f, *xs))(*xs)


@pytest.mark.some(4)
@pytest.mark.parametrize("nbytes", [32, 64])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("f", "with_ones", "by_numpy"), FORMS)
def test_every_length(f, with_ones, by_numpy, dtype, nbytes):
    """The bits of the form with `keepdims`, which come from the same sums in the same order."""
    with vectors_of(nbytes):
        for length in LENGTHS:
            x = RNG.uniform(-2, 2, length).astype(dtype)
            (got,), (wanted,) = results(f, x), results(with_ones, x)
            assert got.tobytes() == wanted.tobytes(), length
            exact = by_numpy(x.astype(np.float64))
            np.testing.assert_allclose(got, exact, rtol=0, atol=20 * np.finfo(dtype).eps * np.abs(exact).max())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("f", "with_ones", "by_numpy"), FORMS)
def test_one_walk(f, with_ones, by_numpy, dtype):
    x = RNG.uniform(-2, 2, 100).astype(dtype)
    assert walks_of(f, x) == walks_of(with_ones, x)
    assert walks_of(f, x)[1] == []
    gradients = [ms.grad(lambda x, y, g=g: (g(x) * y).sum()) for g in (f, with_ones)]
    walks, alone = walks_of(gradients[0], x, x)
    assert (len(walks), alone) == (1, []), "the derivative, too"


@pytest.mark.some(4)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", [1, 5, 16, 37, 300])
@pytest.mark.parametrize(("f", "with_ones", "by_numpy"), FORMS)
def test_derivatives(f, with_ones, by_numpy, length, dtype):
    """First and second order: as the NumPy backend has them, and as differences of NumPy's function."""
    x, w, v = RNG.uniform(-2, 2, (3, length)).astype(dtype)

    def loss(x, w):
        return (f(x) * w).sum()

    def along(x, w, v):
        return (ms.grad(loss)(x, w) * v).sum()

    tolerance = 400 * np.finfo(dtype).eps
    for g, xs in ((ms.grad(loss), (x, w)), (ms.grad(along), (x, w, v))):
        (got,) = results(g, *xs)
        (by_kernels,) = ms.jit(backend="numpy")(g)(*map(ms.Tensor, xs)).asnumpy()[None]
        np.testing.assert_allclose(got, by_kernels, rtol=tolerance, atol=tolerance)
    if dtype is np.float64:
        step = 1e-5 * v
        (got,) = results(ms.grad(loss), x, w)
        slope = ((by_numpy(x + step) - by_numpy(x - step)) * w).sum() / 2e-5
        np.testing.assert_allclose((got * v).sum(), slope, rtol=1e-6, atol=1e-8)
        (second,) = results(ms.grad(along), x, w, v)
        (high,), (low,) = results(ms.grad(loss), x + step, w), results(ms.grad(loss), x - step, w)
        np.testing.assert_allclose(second, (high - low) / 2e-5, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_derivatives_of_softmax_are_what_they_are(dtype):
    """y (w - y·w), and the Jacobian of that applied to a vector."""
    x, w, v = RNG.uniform(-2, 2, (3, 50)).astype(dtype)
    gradient = ms.grad(lambda x, w: (softmax(x) * w).sum())
    second = ms.grad(lambda x, w, v: (gradient(x, w) * v).sum())
    y, w64, v64 = softmax_of(x.astype(np.float64)), w.astype(np.float64), v.astype(np.float64)
    tolerance = 20 * np.finfo(dtype).eps
    np.testing.assert_allclose(results(gradient, x, w)[0], y * (w64 - y @ w64), atol=tolerance)
    # d/dx of sum_i v_i y_i (w_i - m), m = y.w:  y (u - y.u) - (y.v) y (w - m)  with u = v (w - m)
    m = y @ w64
    u = v64 * (w64 - m)
    wanted = y * (u - y @ u) - (y @ v64) * y * (w64 - m)
    np.testing.assert_allclose(results(second, x, w, v)[0], wanted, atol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
def test_nothing_to_reduce(dtype):
    x = np.zeros(0, dtype)
    for f in (lambda x: x / x.sum(), lambda x: x - x.sum(), ms.grad(lambda x: (x / x.sum()).sum())):
        (got,) = results(f, x)
        assert (got.shape, got.dtype) == ((0,), dtype)


@pytest.mark.some(4)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("f", [centred, softmax, normed])
@pytest.mark.parametrize("place", [0, 15, 16, 63, 64])
def test_what_is_no_number(f, place, dtype):
    """One NaN makes all of them; infinities make what NumPy's form makes of them."""
    x = RNG.uniform(-2, 2, 65).astype(dtype)
    x[place] = np.nan
    assert np.isnan(results(f, x)[0]).all()
    assert np.isnan(results(ms.grad(lambda x: (f(x) * x).sum()), x)[0]).all()
    x[place] = -np.inf
    with np.errstate(invalid="ignore"):
        wanted = {centred: lambda x: x - x.mean(), softmax: softmax_of, normed: normed_of}[f](x)
    np.testing.assert_allclose(results(f, x)[0], wanted, rtol=1e-5)


@pytest.mark.parametrize("nbytes", [32, 64])
def test_all_axes_in_any_layout(nbytes):
    """Everything in one number: of a matrix, across, of every other column, with rows that lie apart."""
    x = RNG.uniform(1, 2, (9, 35))
    with vectors_of(nbytes):
        for f, wanted in (
            (lambda x: x / x.sum(), x / x.sum()),
            (lambda x: x.T - x.T.mean(), x.T - x.mean()),
            (lambda x: x[:, ::2] / x[:, ::2].max(), x[:, ::2] / x[:, ::2].max()),
            (lambda x: (x.T + x.T.sum())[3], (x.T + x.sum())[3]),
            (lambda x: x * x.sum().reshape(1, 1), x * x.sum()),
            (lambda x: x * x.sum().reshape(1), x * x.sum()),
        ):
            (got,) = results(f, x)
            np.testing.assert_allclose(got, wanted, rtol=1e-14, atol=1e-15)


def test_shapes_between_a_reduction_and_its_spreading():
    x = RNG.uniform(1, 2, (6, 40))
    for f, wanted in (
        (lambda x: x / x.sum(1)[:, None], x / x.sum(1)[:, None]),
        (lambda x: x / x.sum(1).reshape(-1, 1), x / x.sum(1)[:, None]),
        (lambda x: x / ops.sqrt(x.sum(1)).expand_dims(1), x / np.sqrt(x.sum(1))[:, None]),
    ):
        np.testing.assert_allclose(results(f, x)[0], wanted, rtol=1e-14)
        walks, alone = walks_of(f, x)
        assert (len(walks), alone) == (1, [])


def test_an_outer_axis_of_one():
    x = RNG.uniform(1, 2, (1, 40))
    f = lambda x: x / x.sum(1)
    np.testing.assert_allclose(results(f, x)[0], x / x.sum(1), rtol=1e-14)
    walks, alone = walks_of(f, x)
    assert (len(walks), alone) == (1, [])


def test_numbers_of_rows_spread_over_columns_are_others():
    """In a square, the sums of rows have the shape that is spread, but each goes to a column."""
    x = RNG.uniform(1, 2, (8, 8))
    np.testing.assert_allclose(results(lambda x: x / x.sum(1), x)[0], x / x.sum(1), rtol=1e-14)
    np.testing.assert_allclose(results(lambda x: x / x.sum(0), x)[0], x / x.sum(0), rtol=1e-14)


def test_a_number_that_others_need_too():
    """It is a result, goes on into other numbers, and is spread over something else."""

    def f(x, y):
        mean = x.mean()
        return x - mean, mean, mean * 2.0 + y.sum(), y * mean

    x, y = RNG.uniform(1, 2, 100), RNG.uniform(1, 2, (3, 4))
    for got, wanted in zip(
        results(f, x, y), (x - x.mean(), x.mean(), 2 * x.mean() + y.sum(), y * x.mean()), strict=True
    ):
        np.testing.assert_allclose(got, wanted, rtol=1e-14, atol=1e-15)


def test_numbers_that_no_element_needs_stay_outside():
    x = RNG.uniform(1, 2, 100)
    f = lambda x: ops.exp(x.sum() / 200.0)
    walks, alone = walks_of(f, x)
    assert (walks, alone) == ([1], ["div", "exp"])
    np.testing.assert_allclose(results(f, x)[0], np.exp(x.sum() / 200), rtol=1e-14)


def test_a_number_that_comes_from_two_walks():
    """Both must be complete before it is spread."""
    f = lambda x, y: (x / (x.sum() + y.sum()), y / (x.sum() + y.sum()))
    x, y = RNG.uniform(1, 2, 100), RNG.uniform(1, 2, (5, 7))
    whole = x.sum() + y.sum()
    for got, wanted in zip(results(f, x, y), (x / whole, y / whole), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-14)


def test_in_a_loop_that_carries_it():
    """The next version of a carry needs all elements of this one first."""

    def f(x):
        for _ in range(5):
            x = x / x.sum() + 0.5
        return x

    def kept(x):
        i = 0
        while i < ops.shape(x)[0] - 95 and x.sum() > 0:
            x = x / x.sum() + 0.5
            i += 1
        return x

    x = RNG.uniform(1, 2, 100)
    wanted = x
    for _ in range(5):
        wanted = wanted / wanted.sum() + 0.5
    for g in (f, kept):
        np.testing.assert_allclose(ms.jit(backend="native")(g)(ms.Tensor(x)).asnumpy(), wanted, rtol=1e-13)


# ------------------------------------------------------------------------------------- what passes keep for each other
@pytest.mark.some(3)
@pytest.mark.parametrize("nbytes", [32, 64])
@pytest.mark.parametrize("seed", range(12))
def test_random_passes(seed, nbytes):
    """Values of two sizes that are dear to compute again, needed by one or more later passes, and results of them."""

    def build(*vs):
        rng = random.Random(seed)
        values, shape = list(vs), vs[0].shape
        ones = rng.random() < 0.5

        def of_row(x):
            found = rng.choice([F.sum, F.max])(F.tanh(x), axes=(-1,), keepdims=ones)
            return F.broadcast_to(found if ones or len(shape) == 1 else F.expand_dims(found, axes=(-1,)), shape=shape)

        for _ in range(14):
            a, b = rng.choice(values[-4:]), rng.choice(values[-6:])
            values.append(
                rng.choice(
                    [
                        lambda a=a: F.exp(F.tanh(a)),
                        lambda a=a, b=b: F.tanh(a) / (F.exp(F.tanh(b)) + 1.0),
                        lambda a=a: F.cast(F.tanh(F.cast(a, dtype=float64)), dtype=float32),
                        lambda a=a, b=b: F.tanh(b) * 0.3 + of_row(a),
                        lambda a=a, b=b: F.tanh(b + of_row(a) * 0.1),
                    ]
                )()
            )
        return *rng.sample(values[2:], 3), values[-1]

    shape = [(301,), (3, 301), (5, 40), (2, 9000)][seed % 4]
    arrays = [RNG.uniform(-2, 2, shape).astype(np.float32) for _ in range(2)]
    with vectors_of(nbytes):
        assert_like_numpy(module_for(build, *arrays), arrays, f"seed {seed}")


def test_what_is_kept_lies_where_a_result_will_be(monkeypatch):
    """The exponentials, which the last pass divides; of their gradient's intermediate arrays one is left."""
    monkeypatch.setenv("AC_POISON", "0")  # guards are memory, too
    x = ms.Tensor(RNG.uniform(-2, 2, 100_000).astype(np.float32))
    assert ms.jit(softmax).lower(x).memory().arena < 1000
    assert ms.grad(lambda x: (softmax(x) * x).sum()).lower(x).memory().arena < 1.01 * x.nbytes


def test_a_result_over_what_only_earlier_passes_read(monkeypatch):
    """All in one array: an operand that nobody needs any more, although each row is gone over three times."""

    def f(x, w):
        y = ops.matmul(x, w)
        return ops.matmul(ops.softmax(y, 1), w)

    monkeypatch.setenv("AC_POISON", "0")
    x = RNG.uniform(-1, 1, (96, 96))
    assert ms.jit(f).lower(ms.Tensor(x), ms.Tensor(x)).memory().arena < 1.5 * x.nbytes
    y = x @ x
    e = np.exp(y - y.max(1, keepdims=True))
    np.testing.assert_allclose(results(f, x, x)[0], e / e.sum(1, keepdims=True) @ x, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("length", "times"), [(1000, 1), (1_000_000, 2)])
def test_a_row_that_the_cache_does_not_hold_is_read_again(length, times):
    cost = ms.jit(centred).lower(ms.Tensor(np.ones(length, np.float32))).cost()
    assert [sum(line.read for line in cost.lines), sum(line.written for line in cost.lines)] == [
        times * 4 * length,
        4 * length,
    ]
