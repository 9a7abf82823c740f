"""Random numbers: the same in every mode, distributed as they should be, with gradients of their parameters."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from scipy import stats

import autodiff_compiler as ac
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.ir.primitive import REGISTRY, kernel_of

N = 20_000


def _everything(x):
    w = ops.softmax(x)
    return (
        ops.uniform((2, 3), -1.0, Tensor(2.0)), ops.uniform((3,), Tensor(1), Tensor(9), dtype=ac.int32),
        ops.rand(2, 2, dtype=ac.float64), ops.rand_like(x), ops.randint(0, 10, (4,)), ops.randint_like(x, 0, 9),
        ops.randperm(5), ops.shuffle(x), ops.bernoulli(x, 0.3), ops.standard_normal((2, 2)), ops.randn(2, seed=3),
        ops.randn_like(x, dtype=ac.float16), ops.normal((1, 3), x, 2.0), ops.standard_laplace((3,)),
        ops.laplace((3,), x, 1.0), ops.gamma((2, 3), ops.exp(x), 2.0), ops.random_gamma((2,), ops.exp(x)),
        ops.poisson((3,), ops.exp(x)), ops.random_poisson((2,), ops.exp(x)), ops.multinomial(w, 4),
        ops.multinomial(w, 2, replacement=False), ops.random_categorical(ops.expand_dims(x, 0), 4),
        ops.dropout(x, 0.5), ops.dropout1d(ops.reshape(x, (3, 1)), 0.5),
    )  # fmt: skip


def _same(f, g, *args):
    """Two functions draw the same numbers, in three calls after a seed, and leave the same state."""
    found = []
    for run in (f, g):
        ac.set_seed(5)
        results = [run(*args) for _ in range(3)]
        found.append(([[y.asnumpy() for y in r] for r in results], ac.get_rng_state()[1:]))
    (first, state), (second, other) = found
    assert state[0] == other[0]
    assert {k: v for k, v in state[1].items() if v[2]} == {k: v for k, v in other[1].items() if v[2]}
    for a, b in zip(first, second, strict=True):
        for u, v in zip(a, b, strict=True):
            assert u.dtype == v.dtype
            if u.dtype.kind == "f":  # fused arithmetic on the numbers drawn may round differently
                np.testing.assert_allclose(u, v, rtol=1e-5, atol=1e-6)
            else:
                np.testing.assert_array_equal(u, v)
    return first


def test_eager_and_compiled_code_draw_the_same_numbers():
    first = _same(_everything, ac.jit(_everything), Tensor([0.5, -1.0, 2.0]))
    assert not np.array_equal(first[0][0], first[1][0])


@pytest.mark.parametrize("loop", [ac.keep, ac.unroll])
def test_loops_and_branches_draw_in_program_order(loop):
    def plain(x, how=lambda r: r):
        total = ops.rand(3)
        for _ in how(range(4)):
            total = total * 2 + ops.rand(3)
            if total[0] > x:
                total = total + ops.standard_normal((3,))
            else:
                total = total - ops.rand(3, seed=7)
        return total, ops.rand(3)

    compiled = ac.jit(lambda x: plain(x, loop))
    for threshold in (-100.0, 3.0, 100.0):
        _same(plain, compiled, Tensor(threshold))


def test_a_loop_of_unknown_length_draws_as_often_as_it_runs():
    def f(x):
        s = x * 0
        while s < x:
            s = s + ops.rand()
        return s, ops.rand()

    _same(f, ac.jit(f), Tensor(4.0))


def test_derivatives_draw_once():
    """A gradient sees the numbers that its forward pass drew, and takes no others."""

    def f(x):
        for _ in range(3):
            x = x * ops.rand(2) + ops.dropout(x, 0.5)
        return x.sum()

    def both(x):
        value, grad = ac.value_and_grad(f)(x)
        return value, grad, ops.rand(2)

    x = Tensor([1.0, 2.0])
    first = _same(both, ac.jit(both), x)
    ac.set_seed(5)
    np.testing.assert_allclose(f(x).asnumpy(), first[0][0], rtol=1e-6)
    np.testing.assert_array_equal(ops.rand(2).asnumpy(), first[0][2])
    np.testing.assert_allclose((x.asnumpy() * first[0][1]).sum(), first[0][0], rtol=1e-5)  # f is linear


@pytest.mark.parametrize("run", [lambda f: f, ac.jit], ids=["eager", "compiled"])
def test_mean_and_deviation_have_gradients(run):
    def f(mean, deviation):
        return ops.normal((1000, 2), mean, deviation).sum(0)

    mean, deviation = Tensor([1.0, -1.0], ac.float64), Tensor([2.0, 0.5], ac.float64)
    ac.set_seed(2)
    drawn = f(mean, deviation).asnumpy()
    ac.set_seed(2)
    by_mean, by_deviation = run(ac.grad(lambda m, d: f(m, d).sum(), (0, 1)))(mean, deviation)
    np.testing.assert_allclose(by_mean.asnumpy(), [1000, 1000])
    np.testing.assert_allclose(by_deviation.asnumpy(), (drawn - [1000, -1000]) / [2, 0.5], rtol=1e-9)


def test_the_examples_of_vmap_draw_for_themselves():
    ac.set_seed(3)
    drawn = ac.vmap(lambda x: x * ops.rand(2))(ops.ones((3, 2))).asnumpy()
    ac.set_seed(3)
    np.testing.assert_array_equal(drawn, np.stack([ops.rand(2).asnumpy() for _ in range(3)]))


_DISTRIBUTIONS = {
    "rand": (lambda: ops.rand(N), stats.uniform()),
    "uniform": (lambda: ops.uniform((N,), -1.0, 3.0), stats.uniform(-1, 4)),
    "normal": (lambda: ops.normal((N,), 1.0, 2.0), stats.norm(1, 2)),
    "randn f64": (lambda: ops.randn(N, dtype=ac.float64), stats.norm()),
    "laplace": (lambda: ops.laplace((N,), 1.0, 2.0), stats.laplace(1, 2)),
    "gamma": (lambda: ops.gamma((N,), 2.5, 2.0), stats.gamma(2.5, scale=0.5)),
    "random_gamma": (lambda: ops.random_gamma((N,), 0.5), stats.gamma(0.5)),
}


@pytest.mark.parametrize("name", _DISTRIBUTIONS)
def test_continuous_distributions(name):
    draw, expected = _DISTRIBUTIONS[name]
    ac.set_seed(11)
    assert stats.kstest(draw().asnumpy().astype(np.float64), expected.cdf).pvalue > 0.01


_COUNTED = {
    "randint": (lambda: ops.randint(-1, 3, (N,)), {k: 0.25 for k in range(-1, 3)}),
    "uniform int": (lambda: ops.uniform((N,), Tensor(0), Tensor(4), dtype=ac.int32), {k: 0.25 for k in range(4)}),
    "bernoulli": (lambda: ops.bernoulli(ops.zeros(N, ac.int32), 0.3), {0: 0.7, 1: 0.3}),
    "multinomial": (lambda: ops.multinomial(Tensor([1.0, 0.0, 3.0, 4.0, 0.0]), N), {0: 0.125, 2: 0.375, 3: 0.5}),
    "random_categorical": (lambda: ops.random_categorical(ops.log(Tensor([[1.0, 3.0]])), N), {0: 0.25, 1: 0.75}),
    "poisson": (lambda: ops.minimum(ops.poisson((N,), 1.5), 4), {
        **{k: stats.poisson(1.5).pmf(k) for k in range(4)}, 4: stats.poisson(1.5).sf(3)}),
    "dropout": (lambda: ops.dropout(ops.ones(N), 0.2), {0.0: 0.2, 1.25: 0.8}),
}  # fmt: skip


@pytest.mark.parametrize("name", _COUNTED)
def test_discrete_distributions(name):
    draw, expected = _COUNTED[name]
    ac.set_seed(12)
    values, counts = np.unique(draw().asnumpy(), return_counts=True)
    assert sorted(expected) == values.tolist()
    assert stats.chisquare(counts, [N * expected[v] for v in values.tolist()]).pvalue > 0.01


def test_orders_and_choices_without_replacement():
    ac.set_seed(13)
    orders = [tuple(ops.randperm(3).tolist()) for _ in range(1200)]
    assert stats.chisquare([orders.count(o) for o in sorted(set(orders))], [200] * 6).pvalue > 0.01
    chosen = [ops.multinomial(Tensor([1.0, 2.0, 0.0, 1.0]), 3, replacement=False).tolist() for _ in range(400)]
    assert {frozenset(c) for c in chosen} == {frozenset({0, 1, 3})}
    firsts = [c[0] for c in chosen]
    assert stats.chisquare([firsts.count(i) for i in (0, 1, 3)], [100, 200, 100]).pvalue > 0.01
    x = Tensor([[1, 2], [3, 4], [5, 6]])
    assert sorted(ops.shuffle(x).tolist()) == x.tolist()


def test_draws_do_not_repeat_or_correlate():
    ac.set_seed(14)
    rows = np.stack([ops.rand(N, dtype=ac.float64).asnumpy() for _ in range(4)] + [
        ops.rand(N, dtype=ac.float64, seed=s).asnumpy() for s in (0, 1)])  # fmt: skip
    correlations = np.corrcoef(rows) - np.eye(6)
    assert np.abs(correlations).max() < 5 / np.sqrt(N)
    assert np.unique(rows).size == rows.size
    lagged = np.corrcoef(rows[:, :-1].ravel(), rows[:, 1:].ravel())[0, 1]
    assert abs(lagged) < 5 / np.sqrt(rows.size)


@pytest.mark.parametrize("dtype", [ac.float16, ac.bfloat16, ac.float32, ac.float64])
def test_uniform_numbers_never_reach_one(dtype):
    ac.set_seed(15)
    drawn = ops.rand(N, dtype=dtype).asnumpy().astype(np.float64)
    assert drawn.min() >= 0
    assert drawn.max() < 1
    assert abs(drawn.mean() - 0.5) < 5 / np.sqrt(12 * N) + 2.0**-8 * (dtype in (ac.float16, ac.bfloat16))


def test_the_bits_are_those_of_philox():
    state, expected = np.array([7, 2, 5]), np.random.Philox(key=[7, 2], counter=[0, 5, 0, 0]).random_raw(4)
    drawn = REGISTRY["random_uniform"].numpy(state, shape=(4,), dtype=np.float64)
    np.testing.assert_array_equal(drawn, (expected >> np.uint64(11)) * 2.0**-53)


def test_a_draw_depends_on_its_state_alone():
    draw, state = kernel_of(REGISTRY["random_normal"]), np.array([7, -1, 5])
    key = np.array([7, 2**64 - 1], np.uint64)
    expected = np.random.Generator(np.random.Philox(key=key, counter=[0, 5, 0, 0])).standard_normal(3, np.float32)
    for _ in range(2):  # the generator of the draws before is used again
        np.testing.assert_array_equal(draw(state, shape=(3,), dtype=np.float32), expected)
        draw(np.array([1, 2, 3]), shape=(2,), dtype=np.float64)


def test_one_parameter_for_all_numbers_draws_what_many_equal_ones_draw():
    state = np.array([7, 1, 5])
    for name, refused in (("random_gamma", np.nan), ("random_poisson", -1)):
        draw, many = kernel_of(REGISTRY[name]), np.full(6, 2.5)
        mixed = many.copy()
        mixed[-1] = -1
        np.testing.assert_array_equal(draw(state, mixed), [*draw(state, many)[:-1], refused])


def test_a_seed_of_an_op_has_its_own_numbers():
    ac.set_seed(1)
    first = [ops.rand(3, seed=1).tolist(), ops.rand(3, seed=1).tolist()]
    assert first[0] != first[1]
    plain = ops.rand(3).tolist()
    ac.set_seed(1)
    assert ops.rand(3).tolist() == plain  # other streams do not move this one
    assert [ops.rand(3, seed=1).tolist(), ac.jit(lambda: ops.rand(3, seed=1))().tolist()] == first
    ac.set_seed(2)
    assert ops.rand(3, seed=1).tolist() != first[0]


def test_seeds_and_states():
    ac.set_seed(3)
    assert ac.get_seed() == 3
    numpy_draw = np.random.rand()
    ops.rand(2)
    state = ac.get_rng_state()
    after = ops.rand(2).tolist()
    ops.rand(2, seed=99)
    ac.set_rng_state(state)
    assert ops.rand(2).tolist() == after
    ac.set_seed(3)
    assert np.random.rand() == numpy_draw
    with pytest.raises(ValueError, match="not -1"):
        ac.set_seed(-1)
    with pytest.raises(TypeError, match="a seed is an int"):
        ac.set_seed(1.5)


@pytest.mark.parametrize("run", [lambda f: f, ac.jit], ids=["eager", "compiled"])
def test_threads_share_one_sequence(run):
    drawing = run(lambda: ops.rand(2))

    def draw(out):
        out += [tuple(drawing().tolist()) for _ in range(50)]

    ac.set_seed(4)
    expected = []
    draw(expected)
    ac.set_seed(4)
    found = [[] for _ in range(4)]
    threads = [threading.Thread(target=draw, args=(out,)) for out in found]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    drawn = {x for out in found for x in out}
    assert len(drawn) == 200
    assert set(expected) <= drawn


@pytest.mark.parametrize("run", [lambda f: f, ac.jit], ids=["eager", "compiled"])
def test_dropout_trains_only(run):
    net, x = nn.Dropout(p=0.5), ops.ones(100)
    assert run(net)(x).tolist() == x.tolist()
    net.set_train()
    assert sorted(set(run(net)(x).tolist())) == [0.0, 2.0]
    assert sorted(set(run(nn.Dropout(keep_prob=0.8).set_train())(x).tolist())) == [0.0, 1.25]
    assert run(nn.Dropout(p=0.0).set_train())(x).tolist() == x.tolist()
    with pytest.raises(ValueError, match="p must be"):
        nn.Dropout(p=1.0)


def test_dropout_of_channels():
    ac.set_seed(6)
    for net in (nn.Dropout2d(), lambda x: ops.dropout2d(x, 0.5, training=False)):
        assert net(ops.ones((2, 3, 2, 2))).asnumpy().min() == 1
    results = [ops.dropout2d(ops.ones((4, 8, 2, 2)), 0.5), nn.Dropout2d(0.5).set_train()(ops.ones((4, 8, 2, 2)))]
    for result in results:
        assert set(map(tuple, result.asnumpy().reshape(32, 4).tolist())) == {(0.0,) * 4, (2.0,) * 4}
    deep = ops.dropout3d(ops.ones((4, 8, 1, 2, 2)), 0.5).asnumpy().reshape(32, 4)
    assert set(map(tuple, deep.tolist())) == {(0.0,) * 4, (2.0,) * 4}
    with pytest.raises(ValueError, match="3 or 4 dimensions"):
        ops.dropout2d(ops.ones(3))


def test_what_is_refused():
    with pytest.raises(ValueError, match="p must be"):
        ops.dropout(ops.ones(3), 1.5)
    with pytest.raises(ac.CompileError, match="constant number"):
        ops.dropout(ops.ones(3), ops.rand())
    with pytest.raises(ValueError, match="from 0 to 1"):
        ops.bernoulli(ops.ones(3), 1.5)
    with pytest.raises(ValueError, match="without replacement"):
        ops.multinomial(Tensor([1.0, 2.0]), 3, replacement=False)
    with pytest.raises(ValueError, match="`low` must be less than `high`"):
        ops.randint(3, 3, (2,))
    with pytest.raises(TypeError, match="float32, float64"):
        ops.uniform((2,), 0.0, 1.0, dtype=ac.float16)
    with pytest.raises(NotImplementedError, match="offset"):
        ops.randperm(3, offset=2)
    with pytest.raises(ac.CompileError, match="known only at run time"):
        ac.jit(lambda x: ops.rand(3, seed=x))(Tensor(1))
