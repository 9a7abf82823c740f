"""Differential equations and integrals, against closed forms and SciPy."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ode, ops
from autodiff_compiler.errors import BpropError
from autodiff_compiler.ode import dormand_prince

WRAP = pytest.mark.parametrize("wrap", [lambda f: f, ms.jit], ids=["eager", "jit"])


def f64(x):
    return Tensor(x, ms.float64)


def items(xs):
    return [x.item() for x in xs]


def logistic(r, y0, end, adjoint="discrete", rtol=1e-8):
    ts = ops.stack([end * 0, end * 0.4, end])
    return ode.odeint(lambda y, t: r * y * (1 - y), y0, ts, rtol=rtol, atol=1e-10, adjoint=adjoint)[2]


def logistic_place(r, y0, end):
    return 1 / (1 + (1 / y0 - 1) * mp.exp(-r * end))


@pytest.mark.parametrize("adjoint", ["discrete", "continuous"])
def test_first_and_second_derivatives_of_the_logistic_equation(adjoint):
    at = (1.5, 0.1, 2.0)

    def f(*xs):
        return logistic(*map(f64, xs) if isinstance(xs[0], float) else xs, adjoint)

    first = ms.grad(f, (0, 1, 2))(*map(f64, at))
    wanted = [mp.diff(logistic_place, at, n) for n in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
    np.testing.assert_allclose(items(first), np.array(wanted, float), rtol=1e-6)
    second = ms.grad(ms.grad(f))(*map(f64, at))
    np.testing.assert_allclose(second.item(), float(mp.diff(logistic_place, at, (2, 0, 0))), rtol=1e-6)
    if adjoint == "discrete":  # the adjoint equation chooses its steps by the cotangent: that is not linear
        tangent = ms.jvp(lambda r: f(r, f64(0.1), f64(2.0)), f64(1.5), f64(1.0))[1]
        np.testing.assert_allclose(tangent.item(), first[0].item(), rtol=1e-12)


@pytest.mark.parametrize(
    ("adjoint", "backend"), [("discrete", "native"), ("continuous", "native"), ("discrete", "numpy")]
)
def test_compiled_equations(adjoint, backend):
    def run(r):
        return ms.value_and_grad(lambda r: logistic(r, f64(0.1), f64(2.0), adjoint, 1e-6))(r)

    np.testing.assert_allclose(items(ms.jit(run, backend=backend)(f64(1.5))), items(run(f64(1.5))), rtol=1e-9)


def test_pendulum_is_that_of_scipy():
    ts = np.linspace(0.0, 4.0, 9)
    wanted = solve_ivp(lambda t, y: [y[1], -9.81 * np.sin(y[0])], (0, 4), [1.0, 0.0], t_eval=ts, rtol=1e-10, atol=1e-12)
    found = ms.jit(
        lambda g: ode.odeint(
            lambda y, t: {"x": y["v"], "v": -g * ops.sin(y["x"])}, {"x": f64(1.0), "v": f64(0.0)}, f64(ts), rtol=1e-10
        )
    )(f64(9.81))
    np.testing.assert_allclose([found["x"].asnumpy(), found["v"].asnumpy()], wanted.y, atol=1e-7)


@WRAP
def test_times(wrap):
    def decay(ts, **options):
        return wrap(lambda k: ode.odeint(lambda y, t: -k * y, f64(1.0), ts, **options))(f64(1.0)).asnumpy()

    backwards = np.array([1.0, 0.5, 0.0])
    np.testing.assert_allclose(decay(f64(backwards)), np.exp(1 - backwards), rtol=1e-7)
    np.testing.assert_array_equal(np.isnan(decay(f64([0.0, 1.0, 0.5]))), [False, True, True])
    if wrap is ms.jit:
        return
    np.testing.assert_array_equal(decay(f64([1.0])), [1.0])
    np.testing.assert_allclose(decay(f64([0.0, 0.0, 1.0])), [1.0, 1.0, np.exp(-1)], rtol=1e-7)
    np.testing.assert_array_equal(np.isnan(decay(f64([0.0, 0.1, 9.0]), max_steps=5)), [False, False, True])
    np.testing.assert_allclose(decay(f64(np.linspace(0, 1, 41)), method="rk4")[-1], np.exp(-1), rtol=1e-7)


@WRAP
def test_an_equation_that_ends_before_the_time_asked_for(wrap):
    found = wrap(lambda k: ode.odeint(lambda y, t: k * y * y, f64(1.0), f64([0.0, 0.5, 2.0]), rtol=1e-6))(
        f64(1.0)
    ).asnumpy()
    np.testing.assert_allclose(found[:2], [1.0, 2.0], rtol=1e-4)  # 1 / (1 - t)
    assert np.isnan(found[2])
    if wrap is ms.jit:
        return
    edge = wrap(lambda k: ode.odeint(lambda y, t: k * ops.sqrt(1 - t), f64(0.0), f64([0.0, 1.0]))[1])(f64(1.0))
    np.testing.assert_allclose(edge.item(), 2 / 3, rtol=1e-6)  # no slope is asked for behind the last time


def test_float32_and_the_sign_of_time_in_gradients():
    one = Tensor([1.0, 2.0])
    found = ms.grad(lambda a: ode.odeint(lambda y, t: -a * y, one, Tensor([0.0, 1.0, 2.0])).sum())(Tensor(0.9))
    np.testing.assert_allclose(found.item(), -3 * (np.exp(-0.9) + 2 * np.exp(-1.8)), rtol=1e-4)
    for adjoint in ("discrete", "continuous"):
        back = ms.grad(
            lambda t, a=adjoint: ode.odeint(lambda y, t: t * y, f64(1.0), ops.stack([t, t * 0]), adjoint=a, rtol=1e-10)[
                1
            ]
        )
        np.testing.assert_allclose(back(f64(1.2)).item(), -1.2 * np.exp(-0.72), rtol=1e-7)  # exp(-t^2 / 2)


# ------------------------------------------------------------------------------------------------ events
def bounce(g, h, e, bounces=2):
    y, t = ops.stack([h, h * 0]), h * 0
    for _ in range(bounces):
        end = ode.solve(lambda y, t, g: ops.stack([y[1], -g]), y, t, 20.0, g, event=lambda y, t, g: y[0], direction=-1)
        t, y = end.t, ops.stack([end.y[0] * 0, -e * end.y[1]])
    return t


def test_time_of_the_second_bounce_of_a_ball():
    def place(g, h, e):
        return mp.sqrt(2 * h / g) * (1 + 2 * e)

    at = (9.81, 2.0, 0.7)
    xs = tuple(map(f64, at))
    found = [*ms.grad(bounce, (0, 1, 2))(*xs), ms.grad(ms.grad(bounce))(*xs)]
    wanted = [mp.diff(place, at, n) for n in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (2, 0, 0))]
    np.testing.assert_allclose(items(found), np.array(wanted, float), rtol=1e-12)
    first = ms.jit(ms.grad(lambda g, h, e: bounce(g, h, e, 1), (0, 1)))(*xs)
    time = np.sqrt(2 * 2.0 / 9.81)
    np.testing.assert_allclose(items(first), [-time / 2 / 9.81, time / 2 / 2.0], rtol=1e-12)


@WRAP
def test_states_between_the_steps(wrap):
    def place(w, t):
        way = ode.solve(
            lambda y, t: ops.stack([y[1], -w * w * y[0]]), ops.stack([w / w, w * 0]), 0.0, 2.0,
            dense=True, rtol=1e-6, max_steps=40,
        )  # fmt: skip
        return ode.at(way, t)[0], ode.at(way, t + 3)[0]

    (found, outside), slopes = wrap(ms.value_and_grad(place, (0, 1), has_aux=True))(f64(1.7), f64(0.77))
    angle = 1.7 * 0.77
    np.testing.assert_allclose(found.item(), np.cos(angle), rtol=1e-6)
    np.testing.assert_allclose(items(slopes), [-0.77 * np.sin(angle), -1.7 * np.sin(angle)], rtol=1e-5)
    assert np.isnan(outside.item())


@WRAP
@pytest.mark.parametrize("form", [Tensor, list])
def test_states_at_several_times_are_rows(wrap, form):
    def states(w):
        path = ode.solve(lambda y, t: -w * y, w / w, 0.0, 2.0, dense=True, rtol=1e-8, max_steps=60)
        return ode.at(path, form([0.5, 1.0, 1.5]))

    times = np.array([0.5, 1.0, 1.5])
    np.testing.assert_allclose(wrap(states)(f64(1.3)).asnumpy(), np.exp(-1.3 * times), rtol=1e-7)
    slopes = wrap(ms.jacrev(states))(f64(1.3))
    np.testing.assert_allclose(slopes.asnumpy(), -times * np.exp(-1.3 * times), rtol=1e-6)


@WRAP
def test_forward_mode_through_the_continuous_adjoint_is_refused_with_the_way_out(wrap):
    def end(k):
        return ode.odeint(lambda y, t: -k * y, k / k, [0.0, 1.0], adjoint="continuous")[1]

    with pytest.raises(BpropError, match=r"reverse mode only(.|\n)*adjoint=\"discrete\"") as caught:
        wrap(ms.jacfwd(end))(f64(1.3))
    assert caught.value.code == "AC1705"


def test_coefficients_are_those_of_scipy():
    from scipy.integrate._ivp.rk import RK45

    np.testing.assert_allclose(dormand_prince._BETWEEN, RK45.P, rtol=1e-14)
    np.testing.assert_allclose(dormand_prince._ERROR, RK45.E, rtol=1e-14)


# ------------------------------------------------------------------------------------------------ integrals
INTEGRALS = {
    "smooth": (
        lambda w, b: ode.quad(lambda t: ops.sin(w * t) * ops.exp(t), 0.0, b),
        lambda w, b: mp.quad(lambda t: mp.sin(w * t) * mp.exp(t), [0, b]),
        (3.0, 1.3),
    ),
    "peak": (
        lambda w, b: ode.quad(lambda t: 1 / (t * t + w * w), -1.0, b),
        lambda w, b: (mp.atan(b / w) + mp.atan(1 / w)) / w,
        (0.1, 2.0),
    ),
    "edge": (
        lambda w, b: ode.quad(lambda t: ops.sqrt(t) * w**2, 0.0, b, rtol=1e-6),
        lambda w, b: w**2 * b**1.5 * 2 / 3,
        (1.1, 0.9),
    ),
    "infinite": (
        lambda w, b: ode.quad(lambda t: ops.exp(-w * t * t), b, float("inf"), dtype=ms.float64),
        lambda w, b: mp.sqrt(mp.pi / w) / 2 * mp.erfc(b * mp.sqrt(w)),
        (1.4, 0.3),
    ),
}


@pytest.mark.parametrize("name", INTEGRALS)
def test_integrals(name):
    f, place, at = INTEGRALS[name]
    xs = tuple(map(f64, at))
    found = f(*xs)

    def value(w, b):
        return f(w, b).value

    of_both = [*ms.grad(value, (0, 1))(*xs), ms.grad(ms.grad(value, 1), 0)(*xs), ms.grad(ms.grad(value))(*xs)]
    of_both.append(ms.jvp(value, xs, (f64(1.0), f64(1.0)))[1])
    orders = ((0, 0), (1, 0), (0, 1), (1, 1), (2, 0))
    wanted = [float(mp.diff(place, at, n)) for n in orders]
    assert found.converged.item()
    assert found.error.item() < 1e-6 * abs(wanted[0])
    np.testing.assert_allclose(items([found.value, *of_both]), [*wanted, wanted[1] + wanted[2]], rtol=1e-6)


def test_compiled_integral_and_one_that_is_infinite():
    f, _, at = INTEGRALS["smooth"]
    xs = tuple(map(f64, at))

    def run(w, b):
        return ms.grad(lambda w, b: f(w, b).value, (0, 1))(w, b)

    np.testing.assert_allclose(items(ms.jit(run)(*xs)), items(run(*xs)), rtol=1e-12)
    infinite = ode.quad(lambda t: 1 / t, f64(0.0), 1.0, max_parts=20)
    assert not infinite.converged.item()
    with pytest.raises(ValueError, match="the limits of `quad` are in order"):
        ode.quad(lambda t: t, float("inf"), 1.0)


@WRAP
@pytest.mark.parametrize("limits", [(0.3, np.inf), (-np.inf, 0.5), (-np.inf, np.inf), (0.2, 1.3)])
def test_limits_given_as_tensors_may_be_infinite(wrap, limits):
    def area(w, a, b):
        return ode.quad(lambda t: ops.exp(-w * t * t), a, b).value

    def wanted(w, power=0):
        return float(mp.quad(lambda t: (-t * t) ** power * mp.exp(-w * t * t), [limits[0], 0.4, limits[1]]))

    ends = np.exp(-2.0 * np.square(limits))
    xs = (f64(2.0), *map(f64, limits))
    with ms.check_nonfinite():
        slopes = wrap(ms.grad(area, (0, 1, 2)))(*xs)
        second = wrap(ms.grad(lambda *xs: ms.grad(area)(*xs)))(*xs)
    found = items([area(*xs), *slopes, second])
    np.testing.assert_allclose(found, [wanted(2), wanted(2, 1), -ends[0], ends[1], wanted(2, 2)], rtol=1e-10)


@WRAP
def test_the_function_of_quad_may_have_another_dtype_than_its_limits(wrap):
    def area(b):
        return ode.quad(lambda t: ops.exp(t.astype(ms.float64)), Tensor(0.0), b).value

    value, slope = wrap(ms.value_and_grad(area))(Tensor(1.0))
    assert (value.dtype, slope.dtype) == (ms.float64, ms.float32)
    np.testing.assert_allclose(items([value, slope]), [np.e - 1, np.e], rtol=1e-6)


@pytest.mark.parametrize("limits", [(0, 1), (0, 1.0), (Tensor(0), Tensor(1)), (0, Tensor(1.0, ms.float64))])
def test_limits_of_quad_may_be_integers(limits):
    for of in (ode.quad, ms.jit(ode.quad)):
        np.testing.assert_allclose(of(lambda t: t * t, *limits).value.item(), 1 / 3, rtol=1e-6)
