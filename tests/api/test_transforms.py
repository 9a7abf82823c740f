"""`jvp`, `vjp`, Jacobians, Hessians, `linearize` and `vmap` against closed forms, eager, compiled and in GRAPH_MODE."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.errors import GradientError


def f64(x):
    return Tensor(np.asarray(x, np.float64))


def plain(x):
    if isinstance(x, Tensor):
        return x.asnumpy()
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, tuple | list):
        return type(x)(*map(plain, x)) if hasattr(x, "_fields") else type(x)(map(plain, x))
    return x


def same(a, b):
    if isinstance(b, dict):
        assert list(a) == list(b)
        same(tuple(a.values()), tuple(b.values()))
    elif isinstance(b, tuple | list):
        assert type(a) is type(b)
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    else:
        np.testing.assert_allclose(a, np.asarray(b), rtol=1e-10, atol=1e-12)
        assert np.shape(a) == np.shape(b)


@pytest.fixture(params=["eager", "compiled", "graph mode"])
def through(request):
    """Runs a function that uses transforms: as it is, inside `jit`, and as it is in GRAPH_MODE."""
    if request.param == "graph mode":
        ms.set_context(mode=ms.GRAPH_MODE)
    yield lambda fn, *args: plain((ms.jit(fn) if request.param == "compiled" else fn)(*args))
    ms.set_context(mode=ms.PYNATIVE_MODE)


X, Y = np.array([0.5, 1.0, -1.5]), np.array([2.0, 0.3, 1.0])
EYE = np.eye(3)


def waves(x):
    return ops.sin(x) * x.sum()


WAVES = np.diag(np.cos(X) * X.sum()) + np.sin(X)[:, None]


# ------------------------------------------------------------------------------------------------ Jacobians
@pytest.mark.parametrize("jacobian", [ms.jacrev, ms.jacfwd])
def test_a_jacobian(through, jacobian):
    same(through(lambda x: jacobian(waves)(x), f64(X)), WAVES)


@pytest.mark.parametrize("jacobian", [ms.jacrev, ms.jacfwd])
def test_jacobians_by_positions(through, jacobian):
    def product(x, y):
        return x * x * y

    by_x, by_y = np.diag(2 * X * Y), np.diag(X * X)
    same(through(lambda x, y: jacobian(product, (0, 1))(x, y), f64(X), f64(Y)), (by_x, by_y))
    same(through(lambda x, y: jacobian(product, 1)(x, y), f64(X), f64(Y)), by_y)
    same(through(lambda x, y: jacobian(product, (1,))(x, y), f64(X), f64(Y)), by_y)


@pytest.mark.parametrize("jacobian", [ms.jacrev, ms.jacfwd])
def test_the_shape_of_a_jacobian_is_that_of_the_output_and_then_the_input(through, jacobian):
    a = np.arange(6.0).reshape(3, 2) + 1

    def rows(x):
        return x.sum(1) * x[0, 0]

    expected = np.zeros((3, 3, 2))
    for i in range(3):
        expected[i, i] += a[0, 0]
        expected[i, 0, 0] += a[i].sum()
    same(through(lambda x: jacobian(rows)(x), f64(a)), expected)
    same(through(lambda x: jacobian(lambda x: (x * x).sum())(x), f64(a)), 2 * a)


@pytest.mark.parametrize("jacobian", [ms.jacrev, ms.jacfwd])
@pytest.mark.filterwarnings(r"ignore:\[AC2003")
def test_jacobians_of_several_outputs_of_every_kind(through, jacobian):
    def fn(x):
        return {"square": x * x, "rest": (x.sum(), [ops.argmax(x), ops.stop_gradient(x)])}

    found = through(lambda x: jacobian(fn)(x), f64(X))
    zeros = np.zeros(3)
    same(found, {"square": np.diag(2 * X), "rest": (np.ones(3), [zeros, np.zeros((3, 3))])})


@pytest.mark.parametrize("jacobian", [ms.jacrev, ms.jacfwd])
def test_aux_is_returned_beside_the_jacobian(through, jacobian):
    same(through(lambda x: jacobian(lambda x: (x * x, x + 1), 0, True)(x), f64(X)), (np.diag(2 * X), X + 1))
    three = through(lambda x: jacobian(lambda x: (x * x, x + 1, x + 2), has_aux=True)(x), f64(X))
    same(three, (np.diag(2 * X), (X + 1, X + 2)))


@pytest.mark.parametrize("jacobian", [ms.jacrev, ms.jacfwd])
def test_a_jacobian_through_a_loop_and_a_branch(through, jacobian):
    def fn(x):
        y = x
        while y.sum() < 30.0:
            if y[0] > 3.0:
                y = y * 1.5
            else:
                y = y * y + 1.0
        return y

    point = np.array([1.1, 0.7, 0.2])
    h = 1e-6
    sides = [(fn(f64(point + h * e)).asnumpy(), fn(f64(point - h * e)).asnumpy()) for e in EYE]
    expected = np.stack([(a - b) / (2 * h) for a, b in sides], 1)
    np.testing.assert_allclose(through(lambda x: jacobian(fn)(x), f64(point)), expected, rtol=1e-7, atol=1e-7)


def test_a_jacobian_runs_the_function_once_for_all_rows():
    def fn(x):
        return ops.exp(ops.tanh(x))

    artifact = ms.jit(ms.jacrev(fn)).lower(f64(X))
    text = artifact.ir("opt")
    assert text.count("= tanh") == 1
    assert "= scan" not in text


def test_what_a_jacobian_cannot_be_taken_of():
    with pytest.raises(ValueError, match="grad_position"):
        ms.jacrev(waves, None)
    with pytest.raises(ValueError, match="does not exist"):
        ms.jacfwd(waves, 1)(f64(X))
    with pytest.raises(GradientError, match="no Tensor"):
        ms.jacrev(lambda x: x)(1.0)
    with pytest.raises(TypeError, match="callable"):
        ms.jacrev(1)
    with pytest.raises(ValueError, match="at least two"):
        ms.jacrev(lambda x: x, has_aux=True)(f64(X))


# ------------------------------------------------------------------------------------------------ second order
def cubic(x):
    return (x * x * x).sum() + x[0] * x[1]


CUBIC = np.diag(6 * X) + np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])


def test_hessians_in_every_order_of_modes(through):
    for outer, inner in itertools.product((ms.jacrev, ms.jacfwd), repeat=2):
        same(through(lambda x, outer=outer, inner=inner: outer(inner(cubic))(x), f64(X)), CUBIC)
    same(through(lambda x: ms.hessian(cubic)(x), f64(X)), CUBIC)


def test_a_hessian_by_positions_has_blocks(through):
    found = through(lambda x, y: ms.hessian(lambda x, y: (x * x * y).sum(), (0, 1))(x, y), f64(X), f64(Y))
    same(found, ((np.diag(2 * Y), np.diag(2 * X)), (np.diag(2 * X), np.zeros((3, 3)))))


def test_a_hessian_times_a_vector(through):
    same(through(lambda x, v: ms.hvp(cubic, x, v), f64(X), f64(Y)), CUBIC @ Y)
    found = through(lambda x, y: ms.hvp(lambda x, y: (x * x * y).sum(), (x, y), (y, x)), f64(X), f64(Y))
    same(found, (2 * Y * Y + 2 * X * X, 2 * X * Y))
    same(through(lambda x, v: ms.hvp(cubic, (x,), (v,)), f64(X), f64(Y)), (CUBIC @ Y,))


def test_a_gradient_through_a_jacobian(through):
    # d/dx sum(J^2) with J = diag(2x): 8x
    def size(x):
        j = ms.jacrev(lambda x: x * x)(x)
        return (j * j).sum()

    same(through(lambda x: ms.grad(size)(x), f64(X)), 8 * X)
    same(through(lambda x: ms.jvp(size, x, x)[1], f64(X)), (8 * X * X).sum())


# ------------------------------------------------------------------------------------------------ linear maps
def both(x, y):
    return x * y, x + y * y


def test_jvp(through):
    u, w = np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.5, 0.5])
    found = through(lambda x, y, u, w: ms.jvp(both, (x, y), (u, w)), *map(f64, (X, Y, u, w)))
    same(found, ((X * Y, X + Y * Y), (u * Y + X * w, u + 2 * Y * w)))
    found = through(lambda x, y, u, w: ms.jvp(both, (x, y), (u, w), has_aux=True), *map(f64, (X, Y, u, w)))
    same(found, (X * Y, u * Y + X * w, X + Y * Y))


def test_vjp(through):
    a, b = np.array([1.0, 1.0, 1.0]), np.array([0.5, 0.5, 2.0])

    def fn(x, y, a, b):
        out, pull = ms.vjp(both, x, y)
        return out, pull((a, b)), pull(b, a)

    expected = (a * Y + b, a * X + 2 * b * Y)
    swapped = (b * Y + a, b * X + 2 * a * Y)
    same(through(fn, *map(f64, (X, Y, a, b))), ((X * Y, X + Y * Y), expected, swapped))


def test_vjp_of_one_input_returns_a_tuple(through):
    def fn(x, v):
        out, pull = ms.vjp(waves, x)
        return out, pull(v)

    same(through(fn, f64(X), f64(Y)), (np.sin(X) * X.sum(), (WAVES.T @ Y,)))


def test_vjp_with_aux_and_with_an_input_that_is_no_tensor(through):
    def fn(x, v):
        out, pull, aux = ms.vjp(lambda x, k: (x * k, x + 1), x, 3.0, has_aux=True)
        return out, pull(v), aux

    same(through(fn, f64(X), f64(Y)), (3 * X, (3 * Y, ()), X + 1))


def test_vjp_by_weights(through):
    net = nn.Dense(3, 2)
    weights = list(net.trainable_params())
    x, v = Tensor(np.array([X], np.float32)), Tensor(np.array([[1.0, 2.0]], np.float32))

    def fn(x, v):
        out, pull = ms.vjp(net, x, weights=weights)
        return out, pull(v)

    out, ((dx,), (dw, db)) = through(fn, x, v)
    w = net.weight.asnumpy()
    np.testing.assert_allclose(out, x.asnumpy() @ w.T + net.bias.asnumpy(), rtol=1e-5)
    np.testing.assert_allclose(dx, v.asnumpy() @ w, rtol=1e-5)
    np.testing.assert_allclose(dw, v.asnumpy().T @ x.asnumpy(), rtol=1e-5)
    np.testing.assert_allclose(db, [1.0, 2.0])
    (_, single) = through(lambda x, v: ms.vjp(net, x, weights=net.bias)[1](v), x, v)
    np.testing.assert_allclose(single, [1.0, 2.0])


def test_vjp_is_differentiable(through):
    # the pullback of x^3 at v is 3 x^2 v; its slope in x along 1 is 6 x v
    def fn(x, v):
        return ms.vjp(lambda x: x * x * x, x)[1](v)[0].sum()

    same(through(lambda x, v: ms.grad(fn, (0, 1))(x, v), f64(X), f64(Y)), (6 * X * Y, 3 * X * X))


def test_linearize(through):
    def fn(x, u):
        y, push = ms.linearize(waves, x)
        return y, push(u), push(x)

    same(through(fn, f64(X), f64(Y)), (np.sin(X) * X.sum(), WAVES @ Y, WAVES @ X))

    def pair(x, y):
        out, push = ms.linearize(both, (x, y))
        return out, push((y, x)), push(y, x)

    tangent = (Y * Y + X * X, Y + 2 * Y * X)
    same(through(pair, f64(X), f64(Y)), ((X * Y, X + Y * Y), tangent, tangent))


def test_linearize_and_vjp_run_the_function_once():
    runs = []

    def fn(x):
        runs.append(1)
        return x * x

    _, push = ms.linearize(fn, f64(X))
    _, pull = ms.vjp(fn, f64(X))
    for _ in range(3):
        push(f64(Y))
        pull(f64(Y))
    assert len(runs) == 2


def test_what_does_not_fit_is_refused():
    _, pull = ms.vjp(both, f64(X), f64(Y))
    with pytest.raises(GradientError, match="1 sensitivities were given for 2 outputs"):
        pull(f64(X))
    with pytest.raises(GradientError, match="shape"):
        pull((f64(X), f64([1.0])))
    _, push = ms.linearize(waves, f64(X))
    with pytest.raises(GradientError, match="tangent"):
        push(f64([1.0]))


# ------------------------------------------------------------------------------------------------ vmap
A = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def test_vmap_goes_over_the_first_axis(through):
    same(through(lambda x: ms.vmap(lambda r: (r * r).sum())(x), f64(A)), (A * A).sum(1))


def test_vmap_over_chosen_axes(through):
    def fn(x, y):
        return x * y + 1

    same(through(lambda x, y: ms.vmap(fn, (1, None), 0)(x, y), f64(A), f64(2.0)), A.T * 2 + 1)
    same(through(lambda x, y: ms.vmap(fn, (-1, 0), 1)(x, y), f64(A), f64(Y)), (A * Y + 1))
    same(through(lambda x: ms.vmap(lambda r: r * 2, 0, 1)(x), f64(A)), 2 * A.T)
    same(through(lambda x: ms.vmap(lambda r, k: r * k, (0, None))(x, 3.0), f64(A)), 3 * A)


class Pair(NamedTuple):
    a: Tensor
    b: Tensor


def test_vmap_of_trees(through):
    def fn(pair, z):
        return {"sum": pair[0] + pair[1], "rest": [pair[0] * z, (z, None)]}

    found = through(lambda x, y, z: ms.vmap(fn, ((0, 1), None), 0)((x, y), z), f64(A), f64(A.T), f64(2.0))
    assert found["rest"][1][1] is None
    same(found["sum"], 2 * A)
    same(found["rest"][0], 2 * A)
    same(found["rest"][1][0], np.array([2.0, 2.0]))
    found = through(lambda x: ms.vmap(lambda r: (r, r.sum()), 0, (1, None))(x), f64(np.ones((2, 3))))
    same(found, (np.ones((3, 2)), 3.0))
    found = through(lambda x: ms.vmap(lambda r: Pair(r, r + 1))(x), f64(A))
    assert type(found) is Pair
    same(tuple(found), (A, A + 1))


def test_vmap_and_grad_in_both_orders(through):
    def loss(x):
        return (x * x * x).sum()

    def total(x):
        return ms.vmap(loss)(x).sum()

    same(through(lambda x: ms.vmap(ms.grad(loss))(x), f64(A)), 3 * A * A)
    same(through(lambda x: ms.grad(total)(x), f64(A)), 3 * A * A)
    same(through(lambda x: ms.vmap(ms.hessian(loss))(x), f64(A)), np.stack([np.diag(6 * r) for r in A]))
    same(through(lambda x: ms.jvp(ms.vmap(loss), x, x)[1], f64(A)), (3 * A**3).sum(1))
    same(through(lambda x: ms.vmap(lambda r: ms.jvp(loss, r, r)[1])(x), f64(A)), (3 * A**3).sum(1))


def test_gradients_per_example(through):
    w = np.array([0.5, -1.0, 2.0])

    def loss(w, x, y):
        return ((x * w).sum() - y) ** 2

    targets = np.array([1.0, -1.0])
    found = through(lambda w, x, y: ms.vmap(ms.grad(loss), (None, 0, 0))(w, x, y), f64(w), f64(A), f64(targets))
    same(found, 2 * (A @ w - targets)[:, None] * A)


def test_vmaps_nest(through):
    outer = through(lambda x, y: ms.vmap(lambda a: ms.vmap(lambda b: (a * b).sum())(y))(x), f64(A), f64(EYE + 1))
    same(outer, A @ (EYE + 1))


def test_matrices_indices_and_shapes_under_vmap(through):
    m = np.arange(12.0).reshape(3, 4)

    def fn(r, i):
        y = (r @ Tensor(m)).reshape(2, 2)
        return y[0], r[i], ops.stack([r, r * 2]).sum(0), ops.concat([r, r])[1:4]

    index = np.array([2, 0])
    first, picked, total, part = through(lambda x, i: ms.vmap(fn)(x, i), f64(A), Tensor(index))
    same(first, (A @ m)[:, :2])
    same(picked, A[[0, 1], index])
    same(total, 3 * A)
    same(part, np.concatenate([A, A], 1)[:, 1:4])


def test_every_example_takes_its_own_way_through_control_flow(through):
    def fn(x):
        n = 0
        while x.sum() < 50.0:
            if x[0] > 3.0:
                x = x * 3.0
            else:
                x = x + 1.0
            n = n + 1
        return x

    def expected(r):
        while r.sum() < 50:
            r = r * 3 if r[0] > 3 else r + 1
        return r

    same(through(lambda x: ms.vmap(fn)(x), f64(A)), np.stack([expected(r) for r in A]))
    # both rows of A come to be tripled some times: the slope is that power of three
    slopes = np.stack([np.full((3,), 1.0) * 3 ** _triples(r) for r in A])
    same(through(lambda x: ms.grad(lambda x: ms.vmap(fn)(x).sum())(x), f64(A)), slopes)


def _triples(r):
    n = 0
    while r.sum() < 50:
        n, r = (n + 1, r * 3) if r[0] > 3 else (n, r + 1)
    return n


def test_a_loop_whose_trips_all_examples_share_is_one_loop():
    def fn(x):
        for _ in range(20):
            x = x * 0.5 + ops.sin(x)
        return x

    artifact = ms.jit(ms.vmap(fn)).lower(f64(A))
    assert artifact.ir("opt").count("= scan") == 1
    expected = A
    for _ in range(20):
        expected = expected * 0.5 + np.sin(expected)
    np.testing.assert_allclose(ms.jit(ms.vmap(fn))(f64(A)).asnumpy(), expected, rtol=1e-12)


def test_straight_code_under_vmap_has_no_loop():
    artifact = ms.jit(ms.vmap(lambda x: ops.softmax(ops.tanh(x) @ Tensor(EYE)))).lower(f64(A))
    assert "= scan" not in artifact.ir("opt")


def test_writes_under_vmap_happen_once_per_example(through):
    count = ms.Parameter(f64(0.0), name="count")

    def fn(x):
        ops.assign_add(count, x.sum())
        return x * 2

    same(through(lambda x: ms.vmap(fn)(x), f64(A)), 2 * A)
    assert count.asnumpy() == A.sum()


def test_a_cell_under_vmap(through):
    net = nn.Dense(3, 2)
    x = A.astype(np.float32)
    expected = x @ net.weight.asnumpy().T + net.bias.asnumpy()
    np.testing.assert_allclose(through(lambda x: ms.vmap(net)(x), Tensor(x)), expected, rtol=1e-5)


def test_axes_that_do_not_fit_are_refused(through):
    def same_x(x):
        return x

    cases = [
        (lambda x: ms.vmap(same_x, None)(x), ValueError, "nothing to go over"),
        (lambda x: ms.vmap(same_x, 2)(x), ValueError, "names the axis 2"),
        (lambda x: ms.vmap(same_x, (0, 0))(x), ValueError, "2 entries"),
        (lambda x: ms.vmap(same_x, "a")(x), TypeError, "in_axes"),
        (lambda x: ms.vmap(same_x, 0, 5)(x), ValueError, "out_axes names the axis 5"),
        (lambda x: ms.vmap(lambda a, b: a + b, (0, 1))(x, x), ValueError, "disagree"),
        (lambda x: ms.vmap(lambda a, b: a * b)(x, 2.0), TypeError, "no Tensor"),
        (lambda x: ms.vmap(lambda a: 1.0)(x), TypeError, "must return Tensors"),
    ]
    for fn, error, text in cases:
        with pytest.raises(error, match=text):
            through(fn, f64(A))


def test_ops_has_the_transforms_too():
    for name in ("jvp", "vjp", "jacrev", "jacfwd", "vmap"):
        assert getattr(ops, name) is getattr(ms, name)


def test_no_vmap_is_left_after_expansion():
    artifact = ms.jit(ms.vmap(ms.grad(cubic))).lower(f64(A))
    assert "= vmap" in artifact.ir("front")
    assert "= vmap" not in artifact.ir("opt")


def test_pullbacks_and_linear_maps_under_vmap(through):
    def rows(x, cotangents):
        return ms.vmap(ms.vjp(lambda x: x * x.sum(), x)[1])(cotangents)[0]

    def columns(x, tangents):
        return ms.vmap(ms.linearize(lambda x: x * x.sum(), x)[1])(tangents)

    x = np.array([1.0, 2.0, 4.0])
    jacobian = x[:, None] + x.sum() * EYE  # of x_i * sum(x): x_i everywhere, and the sum on the diagonal
    same(through(rows, f64(x), f64(EYE)), jacobian)
    same(through(columns, f64(x), f64(EYE)), jacobian.T)


@pytest.mark.parametrize("make", [ms.vjp, ms.linearize], ids=["vjp", "linearize"])
def test_a_map_that_belongs_to_an_eager_run_stays_outside_of_compiled_code(make):
    linear = make(lambda x: x * x, f64([1.0, 2.0]))[1]
    with pytest.raises(GradientError, match=f"what `{make.__name__}` returned outside of compiled code"):
        ms.jit(lambda v: linear(v))(f64([1.0, 1.0]))
    expected = np.array([[2.0, 4.0], [4.0, 8.0]])
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        found = ms.vmap(linear)(f64([[1.0, 1.0], [2.0, 2.0]]))
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    same(plain(found[0] if make is ms.vjp else found), expected)


@pytest.mark.parametrize(
    "derivative",
    [
        lambda net, w, x: ms.grad(net, None, [w, w])(x),
        lambda net, w, x: ms.value_and_grad(net, 0, (w, w))(x),
        lambda net, w, x: ms.vjp(net, x, weights=[w, w])[1](x),
        lambda net, w, x: ops.GradOperation(get_by_list=True)(net, [w, w])(x),
    ],
    ids=["grad", "value_and_grad", "vjp", "GradOperation"],
)
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_a_weight_that_is_asked_for_twice(derivative, compiled: bool) -> None:
    """As a position: its hooks would run twice."""
    net = nn.Dense(2, 2)

    def run(x):
        return derivative(net, net.weight, x)

    with pytest.raises(ValueError, match="'weight' twice"):
        (ms.jit(run) if compiled else run)(Tensor([[1.0, 2.0]]))
