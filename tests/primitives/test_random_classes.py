"""Operator classes and functions that draw: the same numbers in every mode, distributions, gradients."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

import autodiff_compiler as ac
from autodiff_compiler import Tensor, ops
from autodiff_compiler.errors import DTypeError, ShapeError, UnsupportedCallError

N = 20_000
HELD = ops.StandardNormal(3)


def _everything(x):
    w = ops.softmax(x)
    holds = x > 0
    return (
        HELD((2,)), ops.UniformReal(1, 2)((3,)), ops.UniformInt()((4,), Tensor(0, ac.int32), Tensor(9, ac.int32)),
        ops.Gamma()((3,), ops.exp(x), Tensor(2.0)), ops.RandomGamma()((2,), ops.exp(x)),
        ops.Poisson()((3,), ops.exp(x)),
        ops.RandomPoisson(dtype=ac.int32)((2,), ops.exp(x)), ops.StandardLaplace()((2, 2)), ops.TruncatedNormal()((3,)),
        ops.Cauchy((2,), 1.0)(), ops.LogNormalReverse()(x), ops.Bernoulli(4)(x, 0.3), ops.RandomShuffle()(x),
        ops.Multinomial(dtype=ac.int64)(w, 4), ops.MultinomialWithReplacement(2, False)(w, 1, 0),
        ops.RandomCategorical()(ops.expand_dims(x, 0), 4), *ops.RandomChoiceWithMask(2)(holds), ops.Randperm(5)(3),
        ops.RandpermV2(2)(4), *ops.Dropout(0.4)(x), *ops.Dropout2D(0.5)(ops.reshape(x, (1, 3, 1, 1))),
        *ops.Dropout3D(0.5)(ops.reshape(x, (1, 3, 1, 1, 1))), *ops.choice_with_mask(holds, 4, seed=3),
        ops.multinomial_with_replacement(w, 2, 0, 3, True), ops.gumbel_softmax(x, 0.5), ops.rrelu(x),
        x.cauchy(1.0, 2.0),
        x.uniform(-1.0, 1.0), w.bernoulli(), x.log_normal(), w.multinomial(2), w.expand_dims(0).random_categorical(3),
    )  # fmt: skip


def test_eager_and_compiled_code_draw_the_same_numbers():
    found = []
    for run in (_everything, ac.jit(_everything)):
        ac.set_seed(5)
        found.append([[y.asnumpy() for y in run(Tensor([0.5, -1.0, 2.0]))] for _ in range(2)])
    assert not np.array_equal(found[0][0][0], found[0][1][0])  # the second call draws others
    for a, b in zip(found[0], found[1], strict=True):
        for u, v in zip(a, b, strict=True):
            assert u.dtype == v.dtype
            np.testing.assert_allclose(u, v, rtol=1e-5, atol=1e-6)


def test_dtypes():
    shape, one = (2,), Tensor(1.0)
    assert ops.Poisson()(shape, one).dtype is ac.int32
    assert ops.RandomPoisson()(shape, one).dtype is ac.int64
    assert ops.UniformInt()(Tensor([2, 3]), Tensor(0), Tensor(4)).shape == (2, 3)
    assert ops.TruncatedNormal(ac.float16)(shape).dtype is ac.float16
    assert ops.Multinomial()(Tensor([1.0, 2.0]), 3).dtype is ac.int32
    assert ops.MultinomialWithReplacement(3)(Tensor([1.0, 2.0, 0.5]), 1, 0).dtype is ac.int64
    assert [t.dtype for t in ops.Dropout(0.5)(Tensor([1.0], ac.float64))] == [ac.float64, ac.float64]
    assert ops.Dropout2D(0.5)(ops.ones((1, 2, 3)))[1].dtype is ac.bool_
    assert ops.LogNormalReverse()(Tensor([1.0], ac.float16)).dtype is ac.float16


DISTRIBUTIONS = {
    "truncated normal": (lambda: ops.TruncatedNormal(ac.float64)((N,)), stats.truncnorm(-2, 2)),
    "cauchy": (lambda: ops.Cauchy((N,), 1.0, 2.0)(), stats.cauchy(1, 2)),
    "log normal": (lambda: ops.LogNormalReverse(0.5, 1.5)(ops.zeros((N,))), stats.lognorm(1.5, scale=np.exp(0.5))),
    "uniform": (lambda: ops.UniformReal(7)((N,)), stats.uniform()),
    "normal": (lambda: ops.StandardNormal(7, 9)((N,)), stats.norm()),
    "laplace": (lambda: ops.StandardLaplace()((N,)), stats.laplace()),
    "gamma": (lambda: ops.Gamma()((N,), Tensor(2.5), Tensor(2.0)), stats.gamma(2.5, scale=0.5)),
    "uniform method": (lambda: ops.zeros((N,)).uniform(-1.0, 2.0), stats.uniform(-1, 3)),
    "cauchy method": (lambda: ops.zeros((N,), ac.float64).cauchy(1.0, 2.0), stats.cauchy(1, 2)),
    "rrelu": (lambda: ops.rrelu(ops.full((N,), -1.0), 0.2, 0.7), stats.uniform(-0.7, 0.5)),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_continuous_distributions(name):
    draw, expected = DISTRIBUTIONS[name]
    ac.set_seed(12)
    assert stats.kstest(draw().asnumpy().astype(np.float64), expected.cdf).pvalue > 0.01


WEIGHTS = Tensor([1.0, 0.0, 3.0, 4.0])
COUNTED = {
    "uniform int": (lambda: ops.UniformInt()((N,), Tensor(1), Tensor(5)), {k: 0.25 for k in range(1, 5)}),
    "multinomial": (lambda: ops.Multinomial()(WEIGHTS, N), {0: 0.125, 2: 0.375, 3: 0.5}),
    "with replacement": (
        lambda: ops.multinomial_with_replacement(WEIGHTS, 3, 0, N, True), {0: 0.125, 2: 0.375, 3: 0.5}
    ),
    "categorical": (lambda: ops.RandomCategorical()(ops.log(Tensor([[1.0, 3.0]])), N), {0: 0.25, 1: 0.75}),
    "bernoulli method": (lambda: ops.full((N,), 0.2).bernoulli(), {0: 0.8, 1: 0.2}),
    "bernoulli": (lambda: ops.Bernoulli()(ops.zeros(N, ac.int32), 0.3), {0: 0.7, 1: 0.3}),
    "gumbel": (
        lambda: ops.argmax(ops.gumbel_softmax(ops.broadcast_to(ops.log(WEIGHTS + 0.0), (N, 4)), 2.0, True), 1),
        {0: 0.125, 2: 0.375, 3: 0.5},
    ),
    "choice": (
        lambda: ops.stack([ops.choice_with_mask(Tensor([True, False, True, True]), 1)[0][0, 0] for _ in range(2000)]),
        {k: 1 / 3 for k in (0, 2, 3)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTED)
def test_discrete_distributions(name):
    draw, expected = COUNTED[name]
    ac.set_seed(13)
    values, counts = np.unique(draw().asnumpy(), return_counts=True)
    assert values.tolist() == list(expected)
    assert stats.chisquare(counts, counts.sum() * np.array(list(expected.values()))).pvalue > 0.01


# ------------------------------------------------------------------------------------------------ choices
def test_choices_are_different_places_that_hold():
    holds = np.array([[True, False, True], [True, False, False]])
    for _ in range(20):
        places, found = (t.asnumpy() for t in ops.RandomChoiceWithMask(2)(Tensor(holds)))
        assert found.all()
        assert places.dtype == np.int32
        assert len({tuple(p) for p in places.tolist()}) == 2
        assert holds[tuple(places.T)].all()
    places, found = ops.choice_with_mask(Tensor(holds), 8)
    assert found.tolist() == [True] * 3 + [False] * 5
    assert sorted(places.tolist()[:3]) == [[0, 0], [0, 2], [1, 0]]
    assert places.tolist()[3:] == [[0, 0]] * 5
    with pytest.raises(DTypeError, match="takes bools"):
        ops.choice_with_mask(Tensor([1.0]))


def test_permutations():
    found = ops.Randperm(6, -7)(4).tolist()
    assert sorted(found[:4]) == [0, 1, 2, 3]
    assert found[4:] == [-7, -7]
    assert sorted(ops.RandpermV2()(3).tolist()) == [0, 1, 2]
    with pytest.raises(ValueError, match="do not fit"):
        ops.Randperm(2)(3)
    with pytest.raises(UnsupportedCallError, match="offset"):
        ops.RandpermV2(offset=2)(3)


def test_draws_without_replacement_are_different():
    for _ in range(10):
        assert set(ops.MultinomialWithReplacement(3)(WEIGHTS, 1, 0).tolist()) == {0, 2, 3}
    with pytest.raises(ShapeError, match="without replacement"):
        ops.MultinomialWithReplacement(5)(WEIGHTS, 1, 0)


# ------------------------------------------------------------------------------------------------ seeds
def test_seeds():
    def drawn(seed, *seeds):
        ac.set_seed(seed)
        return ops.UniformReal(*seeds)((4,)).tolist()

    assert drawn(1, 3) == drawn(1, 3)
    assert len({tuple(drawn(*s)) for s in ((1, 3), (2, 3), (1, 4), (1, 3, 1), (1, 0, 3), (1,))}) == 6
    assert drawn(1, 0, 0) == drawn(1)
    with pytest.raises(ValueError, match="seeds are from 0"):
        ops.UniformReal(-2)
    with pytest.raises(TypeError, match="generator"):
        ops.ones(2).bernoulli(generator=3)
    with pytest.raises(TypeError, match="StandardNormal"):
        ops.StandardNormal(1, 2, 3)


# ------------------------------------------------------------------------------------------------ noise in layers
def test_dropout_and_its_mask():
    ac.set_seed(1)
    x = ops.ones((4, 500))
    out, mask = ops.Dropout(0.8)(x)
    np.testing.assert_allclose(out.asnumpy(), mask.asnumpy() / 0.8, rtol=1e-6)
    assert mask.asnumpy().mean() == pytest.approx(0.8, abs=0.03)
    out, mask = ops.Dropout2D(0.5)(ops.ones((8, 50, 2, 2)))
    channels = mask.asnumpy().reshape(400, 4)
    assert (channels == channels[:, :1]).all()
    np.testing.assert_array_equal(out.asnumpy(), mask.asnumpy() * 2.0)


@pytest.mark.parametrize("run", [lambda f: f, ac.jit], ids=["eager", "compiled"])
def test_the_hard_gumbel_softmax_has_the_derivative_of_the_soft_one(run):
    logits, v = Tensor([[0.5, -1.0, 2.0], [0.0, 0.1, 0.2]], ac.float64), Tensor([[1.0, 2.0, 4.0]], ac.float64)

    def drawn(hard):
        ac.set_seed(3)
        return run(ac.value_and_grad(lambda x: (ops.gumbel_softmax(x, 0.7, hard, -1) * v).sum()))(logits)

    (soft, soft_slope), (hard, hard_slope) = drawn(False), drawn(True)
    np.testing.assert_allclose(hard_slope.asnumpy(), soft_slope.asnumpy(), rtol=1e-12)
    assert float(soft_slope.abs().sum()) > 0
    assert hard.item() in {1.0 * a + b for a in (1, 2, 4) for b in (1, 2, 4)}
    assert soft.item() != hard.item()


def test_slopes_of_rrelu():
    ac.set_seed(3)
    x = Tensor([-2.0, -1.0, 0.0, 3.0, np.nan])
    value, slope = ac.value_and_grad(lambda x: ops.rrelu(x), has_aux=False)(x)
    np.testing.assert_allclose(value.asnumpy(), slope.asnumpy() * x.asnumpy(), rtol=1e-6)
    assert slope.tolist()[2:4] == [0, 1]
    assert all(1 / 8 <= s <= 1 / 3 for s in slope.tolist()[:2])
    with pytest.raises(ValueError, match="slopes of rrelu"):
        ops.rrelu(x, 0.5, 0.2)


# ------------------------------------------------------------------------------------------------ gamma
@pytest.mark.parametrize("run", [lambda f: f, ac.jit], ids=["eager", "compiled"])
def test_gamma_numbers_move_along_their_quantile(run):
    alpha = np.array([0.3, 1.0, 2.5, 40.0])

    def drawn(a):
        return ops.random_gamma((50,), a)

    ac.set_seed(4)
    numbers = drawn(Tensor(alpha)).asnumpy()
    ac.set_seed(4)
    weights = np.random.default_rng(0).normal(size=(50, 4))
    slope = run(ac.grad(lambda a: (drawn(a) * Tensor(weights)).sum()))(Tensor(alpha)).asnumpy()
    quantile, h = special.gammainc(alpha, numbers), alpha * 1e-4
    moved = [special.gammaincinv(alpha + s * h, quantile) for s in (1, -1)]
    np.testing.assert_allclose(slope, (weights * (moved[0] - moved[1]) / (2 * h)).sum(0), rtol=1e-5)


def test_derivatives_of_the_moments_of_gamma_numbers():
    """The mean of x is alpha / beta and that of x^2 alpha (alpha + 1) / beta^2, also after derivatives by alpha."""

    def moments(alpha, beta, f):
        return f(ops.gamma((40_000,), alpha, beta)).mean()

    alpha, beta = Tensor(2.0), Tensor(0.5)
    ac.set_seed(6)
    by_alpha, by_beta = ac.grad(lambda a, b: moments(a, b, lambda x: x), (0, 1))(alpha, beta)
    assert by_alpha.item() == pytest.approx(2, rel=0.03)
    assert by_beta.item() == pytest.approx(-8, rel=0.03)
    twice = ac.grad(ac.grad(lambda a: moments(a, beta, lambda x: x * x)))(alpha)
    assert twice.item() == pytest.approx(2 / 0.25, rel=0.05)
