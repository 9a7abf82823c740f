"""Eager derivatives: against closed forms and finite differences, nested, with Parameters, seeds and integers."""

import numpy as np
import pytest

import autodiff_compiler.dtypes as dt
from autodiff_compiler.eager import differentiate, leaves, record, tracked, vjp
from autodiff_compiler.errors import GradientError, GradientWarning
from autodiff_compiler.ir.primitive import F, call
from autodiff_compiler.runtime import Parameter, Tensor


def grad(f, position=0):
    """The gradient of the sum of all outputs with respect to one argument."""

    def derivative(*args):
        def at(x):
            return f(*args[:position], x, *args[position + 1 :])

        return differentiate(at, [args[position]])[1][0]

    return derivative


def f64(*values):
    return Tensor(np.array(values, np.float64))


# Every entry: function, its derivatives of order 1, 2 and 3 in closed form.
FUNCTIONS = {
    "x^4": (lambda x: x * x * x * x, lambda x: 4 * x**3, lambda x: 12 * x**2, lambda x: 24 * x),
    "1/x": (lambda x: 1 / x, lambda x: -(x**-2.0), lambda x: 2 * x**-3.0, lambda x: -6 * x**-4.0),
    "exp(2x)": (lambda x: (2 * x).exp(), *[lambda x, k=k: 2.0**k * np.exp(2 * x) for k in (1, 2, 3)]),
    "sin": (lambda x: x.sin(), np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x)),
    "x log x": (lambda x: x * x.log(), lambda x: np.log(x) + 1, lambda x: 1 / x, lambda x: -1 / x**2),
    "x^x": (lambda x: x**x, lambda x: x**x * (np.log(x) + 1), lambda x: x**x * ((np.log(x) + 1) ** 2 + 1 / x), None),
    "sqrt": (lambda x: x.sqrt(), lambda x: 0.5 * x**-0.5, lambda x: -0.25 * x**-1.5, lambda x: 0.375 * x**-2.5),
    "-x - 3": (lambda x: -x - 3, lambda x: -1 + 0 * x, lambda x: 0 * x, lambda x: 0 * x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_orders_1_to_3(name):
    f, *derivatives = FUNCTIONS[name]
    x = np.array([0.4, 1.0, 2.5])
    for expected in derivatives:
        f = grad(f)
        if expected is not None:
            np.testing.assert_allclose(f(Tensor(x)).asnumpy(), expected(x), rtol=1e-12, atol=1e-12)


# ------------------------------------------------------------------------------------------------ finite differences
CASES = [
    (lambda x, w: ((x @ w).tanh() + w[0]).sum(), (2, 3), (3, 4)),
    (lambda x, w: (x[:, None] / (2 + w.T[:2, :3] ** 2)).mean() * (x * w.sum(0).mean()).sum(), (2, 3), (3, 4)),
    (lambda x, w: call.concat([x, w], 1).exp().sum() * x.max(axis=1).sum(), (2, 3), (2, 4)),
    (lambda x, w: (call.stack([x[0], x[1]]) * x).sin().sum() - (w.sigmoid() * x[1, 2]).sum(), (2, 3), (4,)),
    (lambda x, w: (x * w).sum() ** 2 + (x + w[:, None, :]).sqrt().sum(), (1, 3), (2, 3)),
]


def difference(f, arrays, directions, h=1e-5):
    ends = [f(*[a + s * h * d for a, d in zip(arrays, directions)]) for s in (1, -1)]
    return (ends[0] - ends[1]) / (2 * h)


def along(gradients, directions):
    return sum((g * Tensor(d)).sum() for g, d in zip(gradients, directions))


@pytest.mark.parametrize("case", CASES)
def test_orders_1_and_2_against_finite_differences(case):
    f, *shapes = case
    rng = np.random.default_rng(3)
    arrays = [rng.uniform(0.2, 1.0, s) for s in shapes]
    directions = [rng.standard_normal(s) for s in shapes]

    def value(*a):
        return f(*map(Tensor, a)).item()

    def slope(*tensors):
        return along(differentiate(f, tensors)[1], directions)

    def slope_of_arrays(*a):
        return slope(*map(Tensor, a)).item()

    tensors = list(map(Tensor, arrays))
    np.testing.assert_allclose(slope(*tensors).item(), difference(value, arrays, directions), rtol=1e-7)
    curvature = along(differentiate(slope, tensors)[1], directions).item()
    np.testing.assert_allclose(curvature, difference(slope_of_arrays, arrays, directions), rtol=1e-6)


# ------------------------------------------------------------------------------------------------ nesting
def test_perturbations_are_not_confused():
    one, two = f64(1.0), f64(2.0)
    # d/dx (x * d/dy (x + y)) = d/dx (x * 1) = 1; confusing the two variables gives 2
    assert grad(lambda x: x * grad(lambda y: x + y)(one))(two).item() == 1.0
    # d/dx (x * d/dy (x * y)) = d/dx x^2 = 2x
    assert grad(lambda x: x * grad(lambda y: x * y)(one))(two).item() == 4.0
    # d/dx d/dy (x^2 y^3) at the same number, also when y starts as x itself: d/dx (3 x^4) = 12 x^3
    assert grad(lambda x: grad(lambda y: x * x * y * y * y)(x))(two).item() == 96.0


def test_a_captured_variable_is_a_constant_of_the_inner_gradient():
    x = f64(3.0)
    assert grad(lambda y: x * y)(x).item() == 3.0  # the same object, once captured and once differentiated


def test_a_gradient_inside_a_loss_is_differentiated():
    def penalty(x):
        g = grad(lambda v: (v * v * v).sum())(x)  # 3 x^2
        return (g * g).sum()  # 9 x^4

    np.testing.assert_allclose(grad(penalty)(f64(1.0, 2.0)).asnumpy(), [36.0, 288.0])


def test_the_inner_tape_ends_before_the_outer_goes_on():
    leaked = []

    def f(x):
        leaked.append(x * 2)
        return x * x

    grad(f)(f64(1.0))
    assert not tracked(leaked[0])
    assert grad(lambda y: y * leaked[0])(f64(5.0)).item() == 2.0


# ------------------------------------------------------------------------------------------------ dtypes, shapes, seeds
def test_gradients_have_the_dtype_and_shape_of_their_input():
    a, b = Tensor([1, 2], dtype=dt.int32), Tensor([0.5, 1.5])
    (ga, gb) = differentiate(lambda a, b: (a * b).sum(), [a, b])[1]
    assert (ga.dtype, ga.tolist()) == (dt.int32, [0, 1])  # 0.5 and 1.5 cast to an integer
    assert (gb.dtype, gb.tolist()) == (dt.float32, [1.0, 2.0])
    wide = differentiate(lambda a, b: a * b, [Tensor([[1.0], [2.0]]), f64(1.0, 2.0, 3.0)])[1]
    assert [(g.dtype, g.tolist()) for g in wide] == [(dt.float32, [[6.0], [6.0]]), (dt.float64, [3.0, 3.0, 3.0])]


def test_integers_and_bools_in_the_middle_carry_no_derivative():
    x, i = Tensor([1.0, 2.0, 3.0]), Tensor([2, 0])
    gx, gi = differentiate(lambda x, i: (x[i] * (x[i] > 2)).sum() + x.astype(dt.int64).sum(), [x, i])[1]
    assert gx.tolist() == [0.0, 0.0, 1.0]
    assert (gi.dtype, gi.tolist()) == (dt.int64, [0, 0])


def test_unused_inputs_have_zeros():
    with pytest.warns(GradientWarning, match="returns no Tensor"):
        out, gradients, weights = differentiate(lambda x, y: 3, [f64(1.0, 2.0), Tensor(True)], [Parameter([[1.0]])])
    assert out == 3
    assert [g.tolist() for g in (*gradients, *weights)] == [[0.0, 0.0], False, [[0.0]]]


def test_several_outputs_are_summed_and_others_add_nothing():
    def f(x):
        return {"a": (x * x, 1, None), "b": [x.sum(), x > 0], "c": Tensor(5.0)}

    out, (g,), _ = differentiate(f, [f64(1.0, 2.0)])
    assert g.tolist() == [3.0, 5.0]
    assert out["a"][1:] == (1, None)
    assert [t.tolist() for t in leaves(out)] == [[1.0, 4.0], 3.0, [True, True], 5.0]


def test_seeds():
    def f(x):
        return x * x, x * 3

    assert differentiate(f, [f64(1.0, 2.0)], seeds=[f64(1.0, 10.0), None])[1][0].tolist() == [2.0, 40.0]
    assert differentiate(f, [f64(1.0, 2.0)], seeds=[None, 2])[1][0].tolist() == [6.0, 6.0]
    assert differentiate(f, [f64(1.0)], of=lambda out: out[1])[1][0].tolist() == [3.0]
    for bad in ([None], [f64(1.0), None], ["1", None]):
        with pytest.raises(GradientError):
            differentiate(f, [f64(1.0, 2.0)], seeds=bad)


def test_what_is_no_variable_is_refused():
    with pytest.raises(GradientError):
        differentiate(lambda x: x, [1.0])
    with pytest.raises(GradientError):
        differentiate(lambda: None, [], [Tensor(1.0)])


def test_no_two_gradients_share_a_write():
    x, y = f64(1.0), f64(2.0)
    seed = f64(7.0)
    gx, gy = differentiate(lambda x, y: x + y, [x, y], seeds=[seed])[1]
    gx[0] = 0.0
    assert (gy.tolist(), seed.tolist()) == ([7.0], [7.0])


def test_an_input_returned_unchanged_is_the_callers_own():
    x = f64(1.0)
    out, (g,), _ = differentiate(lambda x: (x, x * 2), [x])
    assert out[0] is x
    assert g.tolist() == [3.0]


def test_stop_gradient_ends_all_orders():
    def f(x):
        return x * F.stop_gradient(x * x)

    x = f64(3.0)
    assert grad(f)(x).item() == 9.0
    assert grad(grad(f))(x).item() == 0.0


# ------------------------------------------------------------------------------------------------ parameters
def test_gradients_of_parameters_read_inside():
    w, b = Parameter([1.0, 2.0], name="w"), Parameter(3.0, name="b")
    out, (gx,), (gw, gb) = differentiate(lambda x: (x * w * w + b).sum(), [Tensor([4.0, 5.0])], [w, b])
    assert out.item() == 4 + 20 + 6
    assert (gx.tolist(), gw.tolist(), gb.tolist()) == ([1.0, 4.0], [8.0, 20.0], 2.0)
    assert not tracked(w)


def test_parameters_that_are_not_asked_for_are_constants():
    w = Parameter([2.0])
    assert grad(lambda x: x * w)(Tensor([3.0])).tolist() == [2.0]


def test_nested_gradients_of_one_parameter():
    w = Parameter(2.0)

    def inner():
        return differentiate(lambda: w * w * w, [], [w])[2][0]  # 3 w^2

    assert differentiate(inner, [], [w])[2][0].item() == 12.0  # 6 w
    assert differentiate(lambda: inner() * w, [], [w])[2][0].item() == 36.0  # 9 w^2
    # the argument and the Parameter it was are two variables: d/dx (x * w) = w, d/dw = x
    gx, gw = (r[0].item() for r in differentiate(lambda x: x * w, [w], [w])[1:])
    assert (gx, gw) == (2.0, 2.0)


def test_a_parameter_asked_for_twice():
    w = Parameter(2.0)
    assert [g.item() for g in differentiate(lambda: w * w, [], [w, w])[2]] == [4.0, 4.0]


# ------------------------------------------------------------------------------------------------ vjp and record
def test_a_pullback_may_be_called_often_and_differentiated():
    y, pullback = vjp(lambda x, z: x * x * z, [f64(2.0), f64(5.0)])
    assert y.tolist() == [20.0]
    for scale in (1.0, 3.0):
        gx, gz = pullback([f64(scale)])
        assert (gx.tolist(), gz.tolist()) == ([20 * scale], [4 * scale])

    def through(x):
        y, pull = vjp(lambda v: v * v * v, [x])
        return pull([y])[0]  # x^3 * 3 x^2 = 3 x^5

    assert grad(through)(f64(2.0)).item() == 15 * 2**4


def opaque_cube(x):
    """x^3 as one node with a derivative of its own."""
    out = Tensor(x.asnumpy() ** 3)
    record([x], [out], lambda gs: [gs[0] * 3 * x * x])
    return out


def test_an_opaque_node_has_all_orders():
    x = f64(2.0)
    assert grad(opaque_cube)(x).item() == 12.0
    assert grad(grad(opaque_cube))(x).item() == 12.0
    assert grad(lambda x: opaque_cube(x * x) * x)(x).item() == 7 * 2**6


def test_an_opaque_node_with_several_results():
    seen = []

    def pull(gs):
        seen.append([None if g is None else g.tolist() for g in gs])
        return [gs[0], None]

    def f(x, y):
        outs = [Tensor(x.asnumpy()), Tensor(y.asnumpy()), Tensor([1])]
        record([x, y], outs, pull)
        return outs[0] * 2

    gx, gy = differentiate(f, [f64(1.0, 1.0), f64(3.0)])[1]
    assert seen == [[[2.0, 2.0], None, None]]
    assert (gx.tolist(), gy.tolist()) == ([2.0, 2.0], [0.0])


def test_a_number_from_an_opaque_node_stays_a_number_where_it_ends():
    def constant_gradient(x):
        out = Tensor(x.asnumpy())
        record([x], [out], lambda gs: [100])
        return out

    x = f64(1.0, 2.0)
    g = grad(constant_gradient)(x)
    assert (g.dtype, g.shape, g.item()) == (dt.float64, (), 100.0)
    assert grad(lambda x: constant_gradient(x * x))(x).tolist() == [200.0, 400.0]


def test_a_wrong_cotangent_is_an_error():
    def bad(cotangent):
        def f(x):
            out = Tensor(x.asnumpy())
            record([x], [out], lambda gs: [cotangent])
            return out

        return f

    for cotangent in ("1", f64(1.0, 2.0, 3.0), np.zeros(2)):
        with pytest.raises(GradientError):
            grad(bad(cotangent))(f64(1.0, 2.0))


def test_record_puts_nothing_on_a_tape_that_does_not_ask():
    out = Tensor(1.0)
    record([Tensor(2.0)], [out], lambda gs: [None])
    assert out._node is None


# ------------------------------------------------------------------------------------------------ read part by part
def test_slices_that_overlap_add_up():
    weights = np.arange(12.0).reshape(3, 4)

    def f(x):
        return (
            (x[0] * 2).sum() + (x[:2, 1:] * x[1:, :3]).sum() + (x * Tensor(weights)).sum() + x[2, ::-1].cumsum().sum()
        )

    x = np.random.default_rng(0).normal(size=(3, 4))
    wanted = weights.copy()
    wanted[0] += 2
    wanted[:2, 1:] += x[1:, :3]
    wanted[1:, :3] += x[:2, 1:]
    wanted[2] += [1, 2, 3, 4]
    np.testing.assert_allclose(grad(f)(Tensor(x)).asnumpy(), wanted, rtol=1e-12)


def test_what_a_slice_adds_to_is_nobody_elses():
    """The seed is the cotangent of the whole variable, and of it alone."""
    seed = f64(1.0, 2.0, 3.0)
    x = f64(1.0, 1.0, 1.0)
    _, (gx,), () = differentiate(lambda x: (x, x[1:] * 10), [x], seeds=[seed, f64(1.0, 1.0)])
    assert gx.tolist() == [1.0, 12.0, 13.0]
    assert seed.tolist() == [1.0, 2.0, 3.0]
    _, pullback = vjp(lambda x: (x[0], x[:2]), [x])
    first = pullback([Tensor(np.float64(5)), f64(1.0, 2.0)])[0]
    assert pullback([Tensor(np.float64(1)), f64(0.0, 1.0)])[0].tolist() == [1.0, 1.0, 0.0]
    assert first.tolist() == [6.0, 2.0, 0.0]


def test_a_parameter_that_is_read_in_parts_and_as_a_whole():
    w = Parameter(np.array([1.0, 2.0, 3.0]), name="w")
    for parts in (lambda: w[0] * 3 + (w * w).sum() + w[0], lambda: w[0] * 4 + (w * w).sum()):
        _, _, (gw,) = differentiate(lambda x, parts=parts: parts() * x, [Tensor(np.float64(1))], [w])
        assert gw.tolist() == [6.0, 4.0, 6.0]


def test_second_derivatives_through_slices():
    x = f64(1.0, 2.0, 3.0)
    assert grad(grad(lambda x: (x[:2] ** 3).sum() * x[0]))(x).tolist() == [12.0 + 12.0, 3.0 * 4 + 12.0, 0.0]


@pytest.mark.parametrize("length", [10, 40])
def test_reading_a_sequence_step_by_step_costs_its_length_not_the_square(length, monkeypatch):
    made = []

    def counted(function):
        def call(shape, *args, **kwargs):
            out = function(shape, *args, **kwargs)
            made.append(out.size)
            return out

        return call

    monkeypatch.setattr(np, "full", counted(np.full))
    monkeypatch.setattr(np, "zeros", counted(np.zeros))
    monkeypatch.setattr(np, "zeros_like", counted(np.zeros_like))
    x = Tensor(np.ones((length, 50)))
    gradient = grad(lambda x: sum((x[t] * t).sum() for t in range(length)))(x)
    assert gradient[:, 0].tolist() == list(range(length))
    assert sum(n for n in made if n > 50) <= length * 50  # one array of the whole
