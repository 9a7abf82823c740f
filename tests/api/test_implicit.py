"""Solutions of equations and their derivatives, against closed forms, NumPy, and the same iterations unrolled."""

from __future__ import annotations

import threading
import tracemalloc

import mpmath as mp
import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, config, implicit, nn, ode, ops
from autodiff_compiler.errors import GradientError, SideEffectError

BACKENDS = ("native", "numpy")


def f64(x):
    return Tensor(x, ms.float64)


def root(f, x0, *args, **options):
    return implicit.root(f, f64(x0), *args, **options).value


def kepler(e, method):
    return root(lambda x, e: x - e * ops.sin(x) - 0.8, [1.0], e, method=method)[0]


def kepler_place(e):
    return mp.findroot(lambda x: x - e * mp.sin(x) - mp.mpf("0.8"), 1)


def cosine(t, method):
    return implicit.fixed_point(lambda x: ops.cos(t * x), f64(1.0), method=method, tol=1e-14).value


def least(t, method):
    return implicit.argmin(lambda x: ops.exp(x) - t * x + (x - 1) ** 2 * t * t, f64(0.0), method=method).value


M = np.array([[3.0, 1.0, 0.0], [1.0, 2.0, -1.0], [0.0, -1.0, 4.0]])


def system(t, method):
    matrix = f64(M)
    return implicit.linear_solve(lambda x: t * t * (matrix @ x), t * f64([1.0, 2.0, 3.0]), method=method).value.sum()


CASES = {
    **{f"sqrt, {m}": (lambda t, m=m: root(lambda x: x * x - t, 1.0, method=m), mp.sqrt, 2.0) for m in ("newton",)},
    **{f"kepler, {m}": (lambda t, m=m: kepler(t, m), kepler_place, 0.3) for m in ("newton_krylov", "broyden")},
    **{
        f"cos, {m}": (lambda t, m=m: cosine(t, m), lambda t: mp.findroot(lambda x: mp.cos(t * x) - x, 0.7), 0.9)
        for m in ("iterate", "anderson")
    },
    **{
        f"least, {m}": (
            lambda t, m=m: least(t, m),
            lambda t: mp.findroot(lambda x: mp.exp(x) - t + 2 * (x - 1) * t**2, 0.5),
            1.3,
        )
        for m in ("newton", "bfgs")
    },
    **{
        f"system, {m}": (
            lambda t, m=m: system(t, m),
            lambda t: mp.mpf(np.linalg.solve(M, [1.0, 2.0, 3.0]).sum()) / t,
            1.7,
        )
        for m in ("cg", "gmres", "direct")
    },
}


def derivatives(f, t, order):
    """The value and the derivatives up to an order in reverse mode, and the first and second in forward mode."""
    found = [f(t)]
    slope = f
    for _ in range(order):
        slope = ms.grad(slope)
        found.append(slope(t))
    tangent = ms.jvp(f, t, ops.ones_like(t))[1]
    return (*found, tangent, ms.jvp(ms.grad(f), t, ops.ones_like(t))[1])


@pytest.mark.parametrize("name", CASES)
def test_derivatives_of_three_orders_are_those_of_the_closed_form(name):
    f, place, at = CASES[name]
    wanted = [float(mp.diff(place, at, n)) for n in range(4)]
    found = [x.item() for x in derivatives(f, f64(at), 3)]
    np.testing.assert_allclose(found, [*wanted, *wanted[1:3]], rtol=1e-11)


@pytest.mark.parametrize(
    ("name", "order", "backend"),
    [("sqrt, newton", 2, "native"), ("sqrt, newton", 1, "numpy"), ("system, gmres", 1, "native")],
)
def test_compiled_code_gives_the_derivatives_of_eager_code(name, order, backend):
    f, _, at = CASES[name]

    def run(t):
        return derivatives(f, t, order) if order > 1 else (ms.grad(f)(t), ms.jvp(f, t, ops.ones_like(t))[1])

    found = ms.jit(run, backend=backend)(f64(at))
    np.testing.assert_allclose([x.item() for x in found], [x.item() for x in run(f64(at))], rtol=1e-11)


# ------------------------------------------------------------------------------------------------ what is captured
class Equilibrium(nn.Cell):
    """A network that is repeated until it stays; with `trips` that is unrolled."""

    def __init__(self, trips=None):
        super().__init__()
        self.w = nn.Dense(
            3, 3, weight_init=Tensor(np.array([[0.1, 0.2, 0], [0, 0.1, -0.2], [0.3, 0, 0.1]], np.float32))
        )
        self.trips = trips

    def construct(self, x):
        def layer(z):
            return ops.tanh(self.w(z) + x)

        z = ops.zeros_like(x)
        if self.trips is None:
            return implicit.fixed_point(layer, z, method="anderson").value
        for _ in range(self.trips):
            z = layer(z)
        return z


def slopes(net, x):
    """By the weights of a number made of the derivative by the input, so of the second order."""

    def squares(x):
        return (ms.grad(lambda x: (net(x) ** 2).sum())(x) ** 2).sum()

    return [g.asnumpy() for g in ms.grad(squares, None, weights=ms.ParameterTuple(net.trainable_params()))(x)]


@pytest.mark.parametrize("run", ["eager", *BACKENDS])
def test_weights_of_an_equilibrium_network(run):
    x = Tensor(np.array([[0.5, -0.2, 0.1], [1.0, 0.3, -0.7]], np.float32))
    net, unrolled = Equilibrium(), Equilibrium(30)
    ms.load_param_into_net(net, unrolled.parameters_dict())
    of = slopes if run == "eager" else ms.jit(slopes_of(net), backend=run)
    found = of(net, x) if run == "eager" else [g.asnumpy() for g in of(x)]
    for a, b in zip(found, slopes(unrolled, x), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)


def slopes_of(net):
    weights = ms.ParameterTuple(net.trainable_params())

    def squares(x):
        return (ms.grad(lambda x: (net(x) ** 2).sum())(x) ** 2).sum()

    return lambda x: ms.grad(squares, None, weights=weights)(x)


def tree(p, a):
    def equations(s):
        return {"u": s["u"] ** 2 - p["a"][0], "v": (s["v"][0] * 3 - s["u"].sum() * p["b"] - a,)}

    found = implicit.root(equations, {"u": f64([1.0, 1.0]), "v": (f64(1.0),)}).value
    return found["u"].sum() + found["v"][0]


def in_loop(a, n):
    y, i = a * 0 + 1, n * 0
    while i < n:  # y is another Tensor when the derivative is taken
        y = implicit.root(lambda x: x**3 - a * y, y).value
        i = i + 1
    return y


def nested(a):
    """The root by x of y(x) = 2, where y is the place of a minimum: x = 2 + a^2 / 2."""
    return root(lambda x: implicit.argmin(lambda y: (y - x) ** 2 + a * a * y, f64(0.0)).value - 2.0, 1.0)


@pytest.mark.parametrize("wrap", [lambda f: f, ms.jit], ids=["eager", "jit"])
def test_closures(wrap):
    p = {"a": [f64([4.0, 9.0])], "b": f64(2.0)}
    found = ms.grad(wrap(tree))(p, f64(1.0))
    # u = sqrt(a), v = ((u1 + u2) b + 1) / 3
    np.testing.assert_allclose(found["a"][0].asnumpy(), (1 + 2 / 3) / (2 * np.array([2.0, 3.0])), rtol=1e-12)
    np.testing.assert_allclose(found["b"].item(), 5 / 3, rtol=1e-12)
    # y3 = a^(1/3 + 1/9 + 1/27)
    k = 13 / 27
    np.testing.assert_allclose(ms.grad(wrap(in_loop))(f64(2.0), Tensor(3)).item(), k * 2 ** (k - 1), rtol=1e-12)
    tangent = wrap(lambda a: ms.jvp(nested, a, a)[1])(f64(1.5))
    np.testing.assert_allclose(tangent.item(), 1.5 * 1.5, rtol=1e-12)


@pytest.mark.parametrize("wrap", [lambda f: f, ms.jit], ids=["eager", "jit"])
def test_examples_at_once(wrap):
    def place(a):
        return root(lambda x: x * x - a, 1.0)

    def run(a):
        slope = ms.grad(lambda a: ms.vmap(place)(a).sum())
        return ms.vmap(ms.grad(place))(a), ms.jvp(slope, a, ops.ones_like(a))[1]

    a = np.array([4.0, 9.0, 2.0])
    first, second = wrap(run)(f64(a))
    np.testing.assert_allclose(first.asnumpy(), 0.5 * a**-0.5, rtol=1e-12)
    np.testing.assert_allclose(second.asnumpy(), -0.25 * a**-1.5, rtol=1e-12)


def test_ridge_regression_is_the_closed_form_by_its_data():
    rng = np.random.default_rng(0)
    x, y, c = rng.standard_normal((5, 3)), rng.standard_normal(5), rng.standard_normal(3)

    def weights(x, y, penalty):
        return implicit.argmin(lambda w: ((x @ w - y) ** 2).sum() + penalty * (w * w).sum(), f64(np.zeros(3))).value

    def closed(x, y, penalty):
        return np.linalg.solve(x.T @ x + penalty * np.eye(3), x.T @ y) @ c

    found = ms.grad(lambda x, y, p: (weights(x, y, p) * f64(c)).sum(), (0, 2))(f64(x), f64(y), f64(0.7))
    h = 1e-6
    np.testing.assert_allclose(found[1].item(), (closed(x, y, 0.7 + h) - closed(x, y, 0.7 - h)) / (2 * h), rtol=1e-7)
    e = np.zeros_like(x)
    e[1, 2] = h
    np.testing.assert_allclose(
        found[0].asnumpy()[1, 2], (closed(x + e, y, 0.7) - closed(x - e, y, 0.7)) / (2 * h), rtol=1e-6
    )


# ------------------------------------------------------------------------------------------------ how a search goes
@pytest.mark.parametrize("wrap", [lambda f: f, ms.jit], ids=["eager", "jit"])
def test_what_did_not_converge_has_no_derivative(wrap):
    def far(a):
        return implicit.fixed_point(lambda x: ops.cos(a * x), f64(1.0), max_steps=3)

    found = wrap(far)(f64(0.9))
    assert not found.converged.item()
    assert found.iterations.item() == 3
    assert found.residual.item() > 1e-3
    assert np.isnan(ms.grad(lambda a: wrap(far)(a).value)(f64(0.9)).item())
    with pytest.raises(ArithmeticError, match="`root` did not converge within 5 steps"):
        wrap(lambda a: implicit.root(lambda x: x * x + a, f64(0.7), max_steps=5, throw=True).value)(f64(1.0))
    singular = wrap(lambda b: implicit.linear_solve(lambda x: x * 0, b))(f64([1.0]))
    assert not singular.converged.item()
    assert np.isnan(singular.value.item())


@pytest.mark.parametrize("wrap", [lambda f: f, ms.jit], ids=["eager", "jit"])
def test_checks_for_nan_find_those_of_a_search_that_failed_alone(wrap):
    def slope_of(max_steps):
        def positive_root(a):
            return implicit.root(lambda x: x * x - a, f64(1.0), max_steps=max_steps).value

        return wrap(ms.grad(positive_root))

    with ms.check_nonfinite():
        np.testing.assert_allclose(slope_of(50)(f64(7.0)).item(), 0.5 / 7**0.5, rtol=1e-12)
        with pytest.raises(ms.errors.NonFiniteError, match=r"was not found.*\n.*test_implicit"):
            slope_of(2)(f64(7.0))
        infinite = wrap(ms.grad(lambda a: implicit.fixed_point(lambda x: ops.sqrt(a - 2.0) + x * 0.5, f64(1.0)).value))
        with pytest.raises(ms.errors.NonFiniteError, match="`sqrt` makes NaN of finite numbers"):
            infinite(f64(1.0))


def test_memory_does_not_grow_with_the_iterations():
    def peak(steps):
        x = Tensor(np.ones(20_000), ms.float64)

        def last(a):
            return implicit.fixed_point(lambda z: z * 0.99 + a, x, max_steps=steps, tol=0.0, solver="cg").value.sum()

        tracemalloc.start()
        try:
            ms.grad(last)(x * 0.01)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(200) < 1.2 * peak(20)

    def compiled(a):
        return implicit.fixed_point(lambda z: z * 0.9 + a, a, solver="cg").value.sum()

    program = str(ms.jit(ms.grad(compiled)).lower(f64([1.0])).ir("opt"))
    assert "while" in program
    assert "seq<" not in program  # a loop that keeps something of each trip gives a sequence


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: implicit.root(lambda x: ops.stack([x, x]), f64(1.0)), r"function of `root` is Float64 of shape \[2\]"),
        (lambda: implicit.root(lambda x: x, Tensor(1)), "`x0` of `root` is made of floats, not of Int64: cast it"),
        (lambda: implicit.root(lambda x: x, 1.0), "`x0` of `root` is made of Tensors of floats; one is a float"),
        (lambda: implicit.root(lambda x: x, f64(1.0), method="newt"), "`root` has no method 'newt'; it has 'newton'"),
        (
            lambda: implicit.root(lambda x: x, [f64(1.0), Tensor(1.0)]),
            "of Tensors of one dtype, not of Float64 and Float32",
        ),
        (lambda: implicit.root(lambda x: None, f64([1.0])), r"is a NoneType, and has to be a Tensor of shape \[1\]"),
        (lambda: implicit.argmin(lambda x: x.item(), f64(1.0)), "of `argmin` returns a Tensor, not a float"),
        (lambda: implicit.linear_solve(f64([[1.0, 2.0]]), f64([1.0, 2.0])), r"operator .* is Float64 of shape \[1\]"),
        (lambda: ode.quad(lambda t: t, 0.0, f64([1.0, 2.0])), r"a limit of `quad` is one number.*`vmap`"),
        (lambda: ode.solve(lambda y, t: y, f64(1.0), 0.0, f64([1.0, 2.0])), "`solve` integrates to one time.*`odeint`"),
        (
            lambda: ode.solve(lambda y, t: y, f64([1.0, 2.0]), 0.0, 1.0, event=lambda y, t: y - 1.5),
            r"the event of `solve` is a function to one number.*choose an element",
        ),
        (lambda: implicit.argmin(lambda x: x, f64([1.0])), r"returns one number, not a Tensor of shape \[1\]"),
        (lambda: ode.quad(lambda t: (t, t), f64(0.0), 1.0), "the function of `quad` returns a Tensor, not a tuple"),
        (lambda: implicit.linear_solve(lambda x: x, f64([1.0]), method="lu"), "no linear solver 'lu'; it has 'cg'"),
    ],
)  # fmt: skip
def test_refused(call, text):
    with pytest.raises((TypeError, ValueError), match=text):
        call()
    with pytest.raises((TypeError, ValueError), match=text):
        ms.jit(call)()


class Counts(nn.Cell):
    def __init__(self):
        super().__init__()
        self.n = ms.Parameter(f64(0.0), name="n")

    def construct(self, x):
        self.n += 1
        return ops.cos(x)


def test_functions_that_change_something_are_refused():
    with pytest.raises(SideEffectError, match="`fixed_point` changes something outside"):
        ms.jit(lambda x, net=Counts(): implicit.fixed_point(net, x).value)(f64(0.5))

    with pytest.raises(GradientError, match="draws random numbers"):
        ms.grad(lambda a: root(lambda x: x - a * ops.dropout(x, 0.5), [1.0]).sum())(f64(1.0))

    class Holder:
        z = None

    def changed(a):
        Holder.z = a * 2
        found = root(lambda x: x * x - Holder.z, 1.0)
        Holder.z = a * 3
        return found

    with pytest.raises(GradientError, match="has changed before its derivative was taken"):
        ms.grad(changed)(f64(2.0))


def test_several_right_sides_of_a_matrix():
    b = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    found = implicit.linear_solve(f64(M), f64(b)).value
    np.testing.assert_allclose(found.asnumpy(), np.linalg.solve(M, b), rtol=1e-12)


def test_a_plain_call_in_graph_mode_leaves_compiled_functions_compiled():
    """It runs its own derivatives eagerly in this thread, and closes nobody's fast path."""

    @ms.jit
    def compiled(x, a):
        return x * x - a

    before = ms.get_context("mode")
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        a = f64(4.0)
        slope = ms.grad(lambda x: x * x * x)
        slope(f64(1.0))
        found = implicit.root(lambda x: compiled(x, a), f64(1.0)).value
        third = implicit.root(lambda x: slope(x) - a, f64(1.0)).value
        seen = []
        with config.as_written():
            thread = threading.Thread(target=lambda: seen.append(config.compiles()))
            thread.start()
            thread.join()
            seen.append(config.compiles())
    finally:
        ms.set_context(mode=before)
    np.testing.assert_allclose([found.item(), third.item()], [2.0, (4 / 3) ** 0.5], rtol=1e-12)
    assert compiled.cache_info()["entries"] == 1
    assert seen == [True, False]


@pytest.mark.parametrize("mode", [ms.GRAPH_MODE, ms.PYNATIVE_MODE])
def test_plain_calls_have_values_in_either_mode(mode):
    """Nothing of a call outside of compiled code is compiled: its Tensors are there already."""
    before = ms.get_context("mode")
    ms.set_context(mode=mode)
    try:
        x = implicit.root(lambda x, a: x * x - a, Tensor(1.0, ms.float64), Tensor(4.0, ms.float64))
        y = implicit.linear_solve(Tensor([[3.0, 1.0], [1.0, 2.0]], ms.float64), Tensor([1.0, 2.0], ms.float64))
        z = ms.jvp(
            lambda a: implicit.root(lambda x: x * x - a, Tensor(1.0, ms.float64)).value, *[Tensor(4.0, ms.float64)] * 2
        )
    finally:
        ms.set_context(mode=before)
    np.testing.assert_allclose(x.value.asnumpy(), 2.0, rtol=1e-12)
    np.testing.assert_allclose(y.value.asnumpy(), [0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(z[1].asnumpy(), 1.0, rtol=1e-12)


def test_an_operator_that_is_not_linear_is_told():
    found = implicit.linear_solve(lambda x: 2 * x + 1.0, f64([1.0, 1.0]), method="direct")
    assert not found.converged.item()
    assert found.residual.item() > 1
