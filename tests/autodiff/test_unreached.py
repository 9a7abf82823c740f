"""What nothing comes back to is not asked: behind a None of a user's rule, and behind a result that is not used.

The edits add 1 to a cotangent, so one that is asked with zeros for nothing shows in the gradient.
"""

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.backends.native.jit.machine import why_not

BACKENDS = ["numpy"] if why_not() else ["native", "numpy"]

add = ops.InsertGradientOf(lambda d: d + 1)


def product(*entries):
    """x * y, of which a rule gives what `entries` say: "x", "y" or None."""

    @ops.custom_vjp
    def f(x, y):
        return x * y

    @f.defbwd
    def back(x, y, out, dout):
        return (None if entries[0] is None else dout * y), (None if entries[1] is None else dout * x)

    return f


only_x, nothing = product("x", None), product(None, None)


def numbers(gradients):
    return [float(g) for g in (gradients if isinstance(gradients, tuple) else (gradients,))]


@pytest.fixture(params=["eager", *BACKENDS])
def mode(request):
    """A function as it is, or compiled."""
    return (lambda f: f) if request.param == "eager" else lambda f: ms.jit(f, backend=request.param)


# ------------------------------------------------------------------------------------------------ a rule's None
def straight(x, y):
    return only_x(x, add(y * 2))


def used_elsewhere(x, y):
    y = add(y * 2)
    return only_x(x, y) + 3 * y


def one_arm(x, y):
    y = add(y * 2)
    return only_x(x, y) if x > 0 else x * y


def behind_an_arm(x, y):
    y = add(y * 2)
    z = only_x(x, y)
    return z + y if x > 0 else z


def trips(x, y):
    y = add(y * 2)
    for _ in range(2):
        x = only_x(x, y)
    return x


def open_trips(x, y):
    y = add(y * 2)
    while x * x < 1000:
        x = only_x(x, y)
    return x


def carried(x, y):
    z = y
    for _ in range(3):
        z = nothing(x, add(z)) + x
    return z


def of_both(x, y):
    return nothing(add(x), add(y))


def of_each(x, y):
    return ms.vmap(only_x)(ops.stack([x, x]), add(ops.stack([y, y]))).sum()


@pytest.mark.parametrize(
    ("f", "x", "y", "expected"),
    [
        (straight, 3.0, 5.0, [10.0, 0.0]),
        (used_elsewhere, 3.0, 5.0, [10.0, (3 + 1) * 2.0]),
        (one_arm, 3.0, 5.0, [10.0, 0.0]),
        (one_arm, -3.0, 5.0, [10.0, (-3 + 1) * 2.0]),
        (behind_an_arm, 3.0, 5.0, [10.0, (1 + 1) * 2.0]),
        (behind_an_arm, -3.0, 5.0, [10.0, 0.0]),
        (trips, 3.0, 5.0, [100.0, 0.0]),
        (open_trips, 3.0, 5.0, [100.0, 0.0]),
        (carried, 3.0, 5.0, [1.0, 0.0]),
        (of_both, 3.0, 5.0, [0.0, 0.0]),
        (of_each, 3.0, 5.0, [10.0, 0.0]),
    ],
)
def test_behind_a_none_nothing_is_asked(mode, f, x, y, expected):
    assert numbers(mode(ms.grad(f, (0, 1)))(Tensor(x), Tensor(y))) == expected


def test_a_bprop_that_returns_none(mode):
    class Net(nn.Cell):
        def construct(self, x, y):
            return x * y

        def bprop(self, x, y, out, dout):
            return dout * y, None

    net = Net()
    seen = []
    watch = ops.HookBackward(lambda g: seen.append(float(g[0])))
    found = mode(ms.grad(lambda x, y: net(watch(x), watch(y)), (0, 1)))(Tensor(3.0), Tensor(5.0))
    assert (numbers(found), seen) == ([5.0, 0.0], [5.0])


def test_the_second_derivative_knows_it_too(mode):
    def slope(x, y):  # d/dx only_x(x, add(y * 2)) = y * 2
        return ms.grad(straight, 0)(x, y) * y

    assert numbers(mode(ms.grad(slope, (0, 1)))(Tensor(3.0), Tensor(5.0))) == [0.0, 4 * 5.0 + 2.0]


def test_forward_mode_takes_a_none_for_zero(mode):
    found = mode(lambda x, y: ms.jvp(only_x, (x, y), (x, y)))(Tensor(3.0), Tensor(5.0))
    assert numbers(found) == [15.0, 15.0]  # 3 for x times the 5 that its rule gives


@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: lambda *a: ms.vmap(f)(*[ops.stack([x, x]) for x in a]).sum()])
@pytest.mark.parametrize("derivative", [lambda f: ms.grad(f, (0, 1)), lambda f: lambda x, y: ms.jvp(f, (x, y), (x, y))])
def test_an_entry_that_is_not_there_is_no_none(mode, wrap, derivative):
    @ops.custom_vjp
    def short(x, y):
        return x * y

    @short.defbwd
    def back(x, y, out, dout):
        return (dout * y,)

    with pytest.raises(ms.BpropError, match="returns 1 gradients for 2 inputs"):
        mode(derivative(wrap(short)))(Tensor(3.0), Tensor(5.0))


def test_a_none_on_one_path_only_is_told_what_to_return_instead():
    @ops.custom_vjp
    def square(x):
        return x * x

    @square.defbwd
    def back(x, out, dout):
        if x > 5.0:
            return (2 * dout * x,)
        return (None,)

    with pytest.raises(ms.CompileError, match=r"None on one path[\s\S]*instead: .*return zeros there: `ops.zeros_like"):
        ms.jit(ms.grad(square))(Tensor(0.6))


# ------------------------------------------------------------------------------ results of a compiled call not used
def three(x, y):
    return add(x * y), add(y * 3), only_x(x, y), x + 1


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        ((0,), [(1 + 1) * 5.0, (1 + 1) * 2.0]),
        ((1,), [0.0, (1 + 1) * 3.0]),
        ((2,), [5.0, 0.0]),
        ((3,), [1.0, 0.0]),
        ((0, 3), [(1 + 1) * 5.0 + 1, (1 + 1) * 2.0]),
        ((1, 2, 3), [5.0 + 1, (1 + 1) * 3.0]),
    ],
)
def test_the_rules_of_results_not_used_are_not_asked(mode, of, expected):
    f = mode(three)

    def used(x, y):
        results = f(x, y)
        return sum(results[i] for i in of)

    assert numbers(ms.grad(used, (0, 1))(Tensor(2.0), Tensor(5.0))) == expected


def test_a_hook_of_a_result_not_used_is_not_called(mode):
    seen = []

    def both(x):
        watch = ops.HookBackward(lambda g: seen.append(float(g[0])))
        return watch(x * 2), x * 3

    f = mode(both)
    assert numbers(ms.grad(lambda x: f(x)[1])(Tensor(1.0))) == [3.0]
    assert seen == []
    assert numbers(ms.grad(lambda x: f(x)[0])(Tensor(1.0))) == [2.0]
    assert seen == [1.0]


@pytest.mark.parametrize(("of", "expected"), [(1, [0.0, 6.0 + 0.0]), (2, [5.0 + 1, 0.0]), (3, [1.0 + 1, 0.0])])
def test_eager_edits_before_the_call_are_not_asked_either(mode, of, expected):
    f = mode(three)
    found = ms.grad(lambda x, y: f(add(x), add(y) if of != 1 else y)[of], (0, 1))(Tensor(2.0), Tensor(5.0))
    assert numbers(found) == expected


def test_and_where_the_derivative_is_differentiated(mode):
    f = mode(three)

    def slope(x, y):  # d/dx f(add(x * x), add(y * y))[2] = (y * y + 1) * 2 x
        return ms.grad(lambda x, y: f(add(x * x), add(y * y))[2], (0, 1))(x, y)[0]

    x, y = 3.0, 5.0
    # the edit of y * y meets the cotangent 2 x of the y * y in the slope, and gives one more
    assert numbers(ms.grad(slope, (0, 1))(Tensor(x), Tensor(y))) == [(y * y + 1) * 2, (2 * x + 1) * 2 * y]


def test_zeros_that_are_given_are_asked(mode):
    pull = ms.vjp(mode(lambda x: (x * 3, add(x * 2))), Tensor(1.0))[1]
    assert np.allclose(numbers(pull((Tensor(1.0), Tensor(0.0)))), 3.0 + 2.0)


# ------------------------------------------------------------------------------ trips whose values are not used
def last_only(x, n):
    v = x * 1
    for _ in range(n):
        v = ops.sin(add(x))
    return v


def last_only_in_a_while(x, n):
    v, i = x * 1, 0
    while i < n and x < 9.0:
        v, i = ops.sin(add(x)), i + 1
    return v


def last_of_each(x, n):
    v = x * 1
    for i in range(n):
        for _ in range(i + 1):
            v = ops.sin(add(x))
    return v


def last_behind_an_arm(x, n):
    v = x * 1
    if x < 9.0:
        for _ in range(n):
            v = ops.sin(add(x))
    return v


def in_another_function(x, n):
    return last_only(x, n) * 1


@pytest.mark.some(2)
@pytest.mark.parametrize("unroll", [None, 0])
@pytest.mark.parametrize("f", [last_only, last_only_in_a_while, last_of_each, last_behind_an_arm, in_another_function])
def test_trips_whose_values_are_not_used_are_not_asked_by_the_second_derivative(mode, f, unroll):
    x, n = Tensor(0.6, ms.float64), ms.mutable(3)
    first = ms.grad(f)
    second = ms.grad(lambda x, n: first(x, n))
    # cos(x) + 1, whose cosine is one more use of add(x)
    assert np.allclose(numbers(mode(first)(x, n)), np.cos(0.6) + 1)
    assert np.allclose(numbers(mode(second)(x, n)), 1 - np.sin(0.6))
    if unroll is not None:
        f = ms.jit(f, unroll_max=1)
        assert np.allclose(numbers(ms.grad(ms.grad(f))(x, n)), 1 - np.sin(0.6))


def test_hooks_of_trips_whose_values_are_not_used_are_not_called_by_the_second_derivative(mode):
    seen = []
    watch = ops.HookBackward(lambda g: seen.append(float(g[0])))

    def f(x, n):
        v = x * 1
        for _ in range(n):
            v = ops.sin(watch(x))
        return v

    mode(ms.grad(lambda x, n: ms.grad(f)(x, n)))(Tensor(0.6, ms.float64), ms.mutable(3))
    assert np.allclose(seen, [np.cos(0.6), -np.sin(0.6)])


def test_two_shares_of_what_trips_leave(mode):
    def f(x, n):  # of sin(add(x)) in each trip: the last by v, all by s where i is even
        v, s = x * 1, x * 0
        for i in range(n):
            w = ops.sin(add(x))
            v = w * 1
            if i % 2 == 0:
                s = s + w * w
        return v + s

    x, n = Tensor(0.6, ms.float64), ms.mutable(4)
    eager = ms.grad(lambda x, n: ms.grad(f)(x, n))
    with ms.disable_jit():
        wanted = numbers(eager(x, n))
    assert np.allclose(numbers(mode(eager)(x, n)), wanted)
    # trips 0 and 2 have w**2, trip 3 has v; trip 1 nothing
    sin, cos = np.sin(0.6), np.cos(0.6)
    assert np.allclose(numbers(mode(ms.grad(f))(x, n)), 2 * (2 * sin * cos + 1) + (cos + 1))


# ------------------------------------------------------------------------------ what a vmap does not map
tanh_of = ops.custom_vjp(lambda x: x * 1)


@tanh_of.defbwd
def _tanh_of_cotangent(x, out, dout):
    return (ops.tanh(dout),)


def in_three_trips(x, y):
    for _ in range(3):
        x = x * tanh_of(y)
    return x


def three_edits(x, y):
    for _ in range(3):
        y = add(y) * 1.5
    return x * y


def in_an_arm(x, y):
    if y > 0:
        y = add(y)
    return x * y


def by_a_call(x, y):
    return x * straight_edit(y)


def straight_edit(y):
    return add(y) * 2


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda x, y: x * add(y), (1 + 1) + (2 + 1)),
        (lambda x, y: x * tanh_of(y), np.tanh(1) + np.tanh(2)),
        (in_three_trips, 3 * (np.tanh(9) + np.tanh(18))),
        (three_edits, sum(((1.5 * x + 1) * 1.5 + 1) * 1.5 + 1 for x in (1, 2))),
        (in_an_arm, (1 + 1) + (2 + 1)),
        (by_a_call, (2 * 1 + 1) + (2 * 2 + 1)),
    ],
)
def test_each_example_asks_for_itself_where_a_rule_has_no_example_in_it(mode, f, expected):
    def total(x, y):
        return ms.vmap(f, (0, None))(x, y).sum()

    found = mode(ms.grad(total, 1))(Tensor([1.0, 2.0], ms.float64), Tensor(3.0, ms.float64))
    assert np.allclose(numbers(found), expected, rtol=1e-6)


# ------------------------------------------------------------------------------ values that only one arm uses
def of_a_sine_used_in_one_arm(x, c):
    v = add(x)
    s = ops.sin(v)
    a = x * x
    if c > 0:
        a = s
    return v + a


def of_a_root_used_in_one_arm(x, c):
    x = add(x)
    s = ops.sqrt(x)
    y = x * 2
    if c > 0:
        y = s
    return y


def test_the_second_derivative_does_not_ask_for_what_the_other_arm_used(mode):
    first = ms.grad(of_a_sine_used_in_one_arm)
    second = mode(ms.grad(lambda x, c: first(x, c)))
    x = Tensor(0.6, ms.float64)
    assert numbers(second(x, Tensor(-1.0))) == [2.0]  # of x * x alone
    # -sin(x), and the edit of the cosine's use of v
    assert np.allclose(numbers(second(x, Tensor(1.0))), 1 - np.sin(0.6))


def test_behind_a_rule_an_infinite_derivative_that_is_not_used_is_no_nan(mode):
    slope = mode(ms.grad(of_a_root_used_in_one_arm))
    assert numbers(slope(Tensor(0.0), Tensor(-1.0))) == [2.0 + 1]
    assert numbers(slope(Tensor(4.0), Tensor(1.0))) == [0.25 + 1]
