"""What one path of a compiled function uses of the arguments, or eager code of its results, is no zero cotangent.

Eager code around compiled functions.  Expected values are derivatives of the formula of the path taken; the eager mode
without compiled functions gives them, too.
"""

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler.compiler.program import Program


def f64(x):
    return Tensor(x, ms.float64)


# ------------------------------------------------------------------------------------------------------ arguments
def an_arm(y, x, c):
    return y if c > 0 else x * x


def a_chain(y, x, c):
    z = ops.sqrt(y) * y
    return z if c > 0 else x * x


def an_early_return(y, x, c):
    if c <= 0:
        return x * x
    return y * y


def an_arm_of_an_arm(y, x, c):
    s = x * x
    if c > -1:
        if c > 0:
            s = s + y
        else:
            s = s * 1
    return s


def no_trip(y, x, c):
    s = x * x
    while c > 0:
        s, c = s + y, c - 1
    return s


def an_arm_in_trips(y, x, c):
    s = x * 0
    for i in range(ms.mutable(4)):
        if i < c:
            s = s + y
        else:
            s = s + x * x / 4
    return s


def a_carried_value(y, x, c):
    for i in range(ms.mutable(3)):
        y = y * 2 if i < c else x * x
    return y


def elements(y, x, c):
    s, ys = x * x, ops.stack((y, y * 2))
    for i in range(ms.mutable(2)):
        if i < c:
            s = s + ys[i]
    return s


USERS = [
    an_arm, a_chain, an_early_return, an_arm_of_an_arm, no_trip, an_arm_in_trips, a_carried_value, elements,
]  # fmt: skip


@pytest.mark.some(4)
@pytest.mark.parametrize("f", USERS, ids=lambda f: f.__name__)
def test_an_argument_that_the_path_does_not_use(jit, f):
    called = jit(f)

    def first(x, c):
        return ms.grad(lambda x: called(ops.log(x), x, c))(x)

    x, c = f64(0.0), f64(0.0)
    assert float(called(x, x, c)) == 0
    assert float(first(x, c)) == 0
    assert float(ms.grad(first)(x, c)) == 2
    assert float(ms.grad(lambda x, c: ms.grad(first)(x, c))(x, c)) == 0


@pytest.mark.some(4)
@pytest.mark.parametrize(
    ("f", "x", "c", "first", "second"),
    [
        (an_arm, 0.5, 1.0, 2.0, -4.0),
        (a_chain, np.e, 1.0, 1.5 / np.e, (0.75 - 1.5) / np.e**2),
        (an_early_return, 0.5, 1.0, 4 * np.log(0.5), 8 - 8 * np.log(0.5)),
        (an_arm_of_an_arm, 0.5, 1.0, 1 + 2, 2 - 4),
        (no_trip, 0.5, 2.0, 1 + 4, 2 - 8),
        (an_arm_in_trips, 0.5, 3.0, 3 * 2 + 0.25, 3 * -4 + 0.5),
        (a_carried_value, 0.5, 3.0, 8 * 2.0, 8 * -4.0),
        (a_carried_value, 0.5, 2.0, 1.0, 2.0),
        (elements, 0.5, 2.0, 1 + 3 * 2, 2 + 3 * -4),
    ],
)
def test_one_that_it_uses(jit, f, x, c, first, second):
    called = jit(f)
    asked = ms.grad(lambda x, c: called(ops.log(x), x, c))
    assert np.isclose(float(asked(f64(x), f64(c))), first)
    assert np.isclose(float(ms.grad(lambda x, c: asked(x, c))(f64(x), f64(c))), second)


@pytest.mark.some(4)
@pytest.mark.parametrize("f", USERS, ids=lambda f: f.__name__)
def test_the_other_derivatives(jit, f):
    called, x, c = jit(f), f64(0.0), f64(0.0)

    def g(x):
        return called(ops.log(x), x, c)

    assert [float(t) for t in ms.value_and_grad(g)(x)] == [0, 0]
    _, pullback = ms.vjp(g, x)
    assert float(pullback(f64(3.0))[0]) == 0
    assert float(ms.jacrev(g)(x)) == 0
    assert float(ms.jvp(g, x, f64(3.0))[1]) == 0
    assert float(ms.jacfwd(g)(x)) == 0
    assert float(ms.hessian(g)(x)) == 2


def test_a_nan_that_is_used_stays(jit):
    called = jit(lambda y, x, c: y * 0 if c > 0 else x)
    assert np.isnan(float(ms.grad(lambda x, c: called(ops.log(x), x, c))(f64(0.0), f64(1.0))))


def test_arguments_with_masks_of_their_own(jit):
    @jit
    def called(a, b, x, c):
        s = x
        if c > 0:
            s = s + a * b
        if c < 0:
            s = s + b
        return s

    grad = ms.grad(lambda x, y, c: called(ops.log(x), ops.sqrt(y), x + y, c), (0, 1))
    assert [float(g) for g in grad(f64(0.0), f64(0.0), f64(0.0))] == [1, 1]
    assert np.allclose([float(g) for g in grad(f64(0.0), f64(4.0), f64(-1.0))], [1, 1.25])
    assert np.allclose([float(g) for g in grad(f64(2.0), f64(4.0), f64(1.0))], [2, 1 + np.log(2) / 4])


def test_calls_in_a_row(jit):
    """The second call does not use the result of the first, whose derivative is infinite."""
    first, second = jit(lambda x: ops.log(x) + 1), jit(an_arm)
    asked = ms.grad(lambda x, c: second(first(x), x, c))
    assert float(asked(f64(0.0), f64(0.0))) == 0
    assert float(ms.grad(lambda x, c: asked(x, c))(f64(0.0), f64(0.0))) == 2


def test_a_call_inside_of_a_derivative_inside_of_a_call(jit):
    called = jit(an_arm)
    slope = jit(lambda x, c: ms.grad(lambda x: called(ops.log(x), x, c))(x))
    assert float(slope(f64(0.0), f64(0.0))) == 0
    assert float(ms.grad(lambda x, c: slope(ops.sqrt(x), c) + x)(f64(1.0), f64(0.0))) == 2
    uses = jit(lambda y, x, c: slope(y, c) if c > 0 else x)
    assert float(ms.grad(lambda x, c: uses(ops.sqrt(x), x, c))(f64(0.0), f64(0.0))) == 1


def test_examples_of_vmap(jit):
    """Each example has its own path."""
    called = jit(an_arm)
    of_one = ms.grad(lambda x, c: called(ops.log(x), x, c))
    found = ms.vmap(of_one)(f64([0.0, 2.0, 0.0]), f64([0.0, 1.0, -1.0]))
    assert found.tolist() == [0, 0.5, 0]
    many = jit(ms.vmap(ms.grad(lambda x, c: an_arm(ops.log(x), x, c))))
    assert many(f64([0.0, 2.0, 0.0]), f64([0.0, 1.0, -1.0])).tolist() == [0, 0.5, 0]
    rows = ms.vmap(lambda x, c: called(ops.log(x), x, c))
    assert ms.grad(lambda x, c: rows(x, c).sum())(f64([0.0, 2.0]), f64([0.0, 1.0])).tolist() == [0, 0.5]


# ----------------------------------------------------------------------------------- hooks, rules of users, weights
def test_hooks_see_no_cotangent_where_there_is_none(jit):
    called, seen = jit(an_arm), []

    def f(x, c):
        y = ops.sqrt(x)
        y.register_hook(lambda g: seen.append(float(g)))
        return called(y, x, c)

    assert float(ms.grad(f)(f64(0.0), f64(0.0))) == 0
    assert seen == []
    assert float(ms.grad(f)(f64(4.0), f64(1.0))) == 0.25
    assert seen == [1]


def test_hooks_before_the_call_in_forward_mode(jit):
    """d/dx (x * 3x + sin x): the pullback of a call that is linear in the cotangent does not depend on it."""
    called = jit(lambda a, b: a * b + ops.sin(a))

    def f(x):
        y = x * 1
        y.register_hook(lambda g: g * 1)
        return called(y, x * 3)

    assert np.isclose(float(ms.jvp(f, f64(2.0), f64(1.0))[1]), 12 + np.cos(2))
    assert np.isclose(float(ms.jacfwd(f)(f64(2.0))), 12 + np.cos(2))


def test_rules_of_users_are_not_asked(jit):
    called, asked = jit(an_arm), []

    @ops.custom_vjp
    def root(x):
        return ops.sqrt(x)

    @root.defbwd
    def back(x, out, dout):
        asked.append(float(dout))
        return dout + 1

    grad = ms.grad(lambda x, c: called(root(x), x, c))
    assert float(grad(f64(3.0), f64(0.0))) == 6
    assert asked == []
    assert float(grad(f64(3.0), f64(1.0))) == 2
    assert asked == [1]


def test_rules_inside_of_the_call(jit):
    @ops.custom_vjp
    def twice(x):
        return x * 2

    @twice.defbwd
    def back(x, out, dout):
        return dout * 2 + 1

    @jit
    def called(y, x, c):
        z = twice(y)
        return z if c > 0 else x * x

    grad = ms.grad(lambda x, c: called(ops.log(x), x, c))
    assert float(grad(f64(0.0), f64(0.0))) == 0
    assert float(grad(f64(0.5), f64(1.0))) == 6


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.scale = Parameter(f64(0.0), name="scale")
        self.shift = Parameter(f64(2.0), name="shift")

    def construct(self, x, c):
        s = x * self.shift
        if c > 0:
            s = s + ops.log(self.scale)
        return s


def test_the_gradient_of_an_unused_parameter_is_zeros(jit):
    net = Net()
    called = jit(net.construct)
    asked = ms.grad(lambda x, c: called(x, c), None, weights=net.trainable_params())
    found = asked(f64(3.0), f64(0.0))
    assert [type(g) for g in found] == [Tensor, Tensor]
    assert [g.tolist() for g in found] == [0, 3]
    net.scale.set_data(f64(0.5))
    assert [g.tolist() for g in asked(f64(3.0), f64(1.0))] == [2, 3]


def test_the_gradient_of_an_unused_variable_is_zeros(jit):
    called = jit(an_arm)
    found = ms.grad(called, (0, 1))(f64([1.0, 2.0]), f64([3.0, 4.0]), f64(0.0))
    assert [g.tolist() for g in found] == [[0, 0], [6, 8]]
    found = ms.grad(lambda y, x, c: called(y, x, c), (0, 1))(f64([1.0, 2.0]), f64([3.0, 4.0]), f64(0.0))
    assert [g.tolist() for g in found] == [[0, 0], [6, 8]]


# -------------------------------------------------------------------------------------------------------- results
def test_a_result_that_eager_code_does_not_use(jit):
    called = jit(lambda x: (ops.log(x), x * x))
    asked = ms.grad(lambda x: called(x)[1])
    for _ in range(3):
        assert float(asked(f64(0.0))) == 0
        assert float(ms.grad(lambda x: asked(x))(f64(0.0))) == 2
    assert float(ms.grad(lambda x: called(x)[0])(f64(0.5))) == 2
    assert float(ms.grad(lambda x: called(x)[0] + called(x)[1])(f64(0.5))) == 3
    assert float(asked(f64(0.0))) == 0


def test_results_by_turns(jit):
    called = jit(lambda x: (ops.log(x), ops.sqrt(2 - x), x * x))
    uses = [(2,), (1, 2), (0,), (2,), (0, 1, 2), (1, 2), (2,), (1,)]
    slopes = [lambda x: 1 / x, lambda x: -0.5 / np.sqrt(2 - x), lambda x: 2 * x]
    for places in uses:
        x = 0.5 if 0 in places else 0.0
        found = ms.grad(lambda x, places=places: sum(called(x)[i] for i in places))(f64(x))
        assert np.isclose(float(found), sum(slopes[i](x) for i in places)), places


def test_an_auxiliary_result(jit):
    called = jit(lambda x: (x * x, ops.log(x)))
    gradient, (aux,) = ms.grad(lambda x: called(x), has_aux=True)(f64(0.0))
    assert float(gradient) == 0
    assert float(aux) == -np.inf
    assert [float(row) for row in ms.jacrev(lambda x: called(x))(f64(0.5))] == [1, 2]


def test_a_result_that_the_other_is_made_of(jit):
    """Zeros for the logits change nothing where the loss, which is made of them, has a cotangent."""

    @jit
    def called(x):
        logits = ops.exp(x)
        return logits.sum(), logits

    for _ in range(2):
        assert np.allclose(ms.grad(lambda x: called(x)[0])(f64([0.0, 1.0])).asnumpy(), [1, np.e])
        assert np.allclose(ms.grad(lambda x: called(x)[1])(f64([0.0, 1.0])).asnumpy(), [1, np.e])


def test_an_argument_that_only_an_unused_result_is_made_of(jit):
    called = jit(lambda y, x: (y * 2, x * x))
    assert float(ms.grad(lambda x: called(ops.log(x), x)[1])(f64(0.0))) == 0


def test_a_result_of_one_arm(jit):
    @jit
    def called(x, c):
        y = ops.log(x)
        return (y, x * x) if c > 0 else (x, y)

    asked = ms.grad(lambda x, c, i: called(x, c)[i])
    assert float(asked(f64(0.0), f64(1.0), 1)) == 0
    assert float(asked(f64(0.0), f64(0.0), 0)) == 1
    assert float(asked(f64(0.5), f64(1.0), 0)) == 2
    assert float(asked(f64(0.5), f64(0.0), 1)) == 2


# --------------------------------------------------------------------------------------------------------- costs
def _parts(called, args):
    """The parts of the derivative of a compiled call, as they are after one gradient."""
    made = []
    recorded = Program._recorded

    def noting(self, tensors, active, parts):
        made.append(parts)
        return recorded(self, tensors, active, parts)

    Program._recorded = noting
    try:
        ms.grad(lambda *args: called(*args), tuple(range(len(args))))(*args)
    finally:
        Program._recorded = recorded
    return made[-1]


@pytest.mark.parametrize("f", [
    lambda x: ops.tanh(x * x),
    lambda x: x * x if x > 0 else -x,
    lambda x: sum([ops.exp(x * i) for i in range(3)], start=x * 0),
], ids=["straight", "both arms", "known trips"])  # fmt: skip
def test_what_every_path_uses_has_no_mask(f):
    parts = _parts(ms.jit(f), [f64(2.0)])
    assert parts.masks == []
    assert set(parts.split.masks) == {None}


def test_a_loop_with_known_trips_has_no_mask_once_simplified():
    @ms.jit
    def called(x, w):
        for _ in range(40):
            x = ops.tanh(x @ w)
        return x.sum()

    args, made = [f64(np.eye(2)), f64(np.eye(2))], []
    parts = _parts(called, args)
    assert parts.masks == []
    backward = parts.backward
    parts.backward = lambda *arrays: made.append(backward(*arrays)) or made[-1]
    _parts(called, args)
    assert [len(results) for results in made] == [2]


def test_arguments_with_the_same_mask_share_a_result():
    called = ms.jit(lambda x, y, z, c: x * y if c > 0 else z * z)
    parts = _parts(called, [f64(2.0), f64(3.0), f64(4.0), f64(1.0)])
    assert [i for i, _ in parts.masks] == [0, 1, 2]
    assert len({k for _, k in parts.masks}) == 2
