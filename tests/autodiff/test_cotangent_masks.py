"""What one path uses has its derivative computed on that path only: 0 * inf of a path not taken is no NaN.

Expected values are derivatives of the formula of the path taken.
"""

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.ir.walk import ops_of
from tests.autodiff.derivatives import expanded, parsed
from tests.autodiff.interpreter import run

INF, NAN = float("inf"), float("nan")


def f64(x):
    return Tensor(x, ms.float64)


def an_arm(x, c):
    y = ops.log(x)
    return y if c > 0 else x * x


def a_chain(x, c):
    y = ops.log(x)
    z = ops.sqrt(y) * y
    return z if c > 0 else x * x


def an_early_return(x, c):
    y = 1 / x
    if c <= 0:
        return x * x
    return y


def two_uses(x, c):
    y = ops.log(x)
    s = x * x
    if c > 0:
        s = s + y
    if c > 1:
        s = s * y
    return s


def nested_arms(x, c):
    y = ops.sqrt(x)
    s = x * x
    if c > -1:
        if c > 0:
            s = y
        else:
            s = s * 1
    return s


def an_arm_of_an_arm(x, c):
    y = ops.log(x) if c > -1 else x
    s = x * x
    if c > 0:
        s = s + y
    return s


def one_of_both(x, c):
    y, z = ops.log(x), ops.log(1 - x)
    s = x * x
    if c > 0:
        s = s + y
    else:
        s = s + z
    return s


def trips(x, c):
    s = x * 0
    for i in range(ms.mutable(4)):
        y = ops.log(x)
        s = s + (y if c > i else x * x / 4)
    return s


def open_trips(x, c):
    s, i = x * 0, 0
    while i < 4:
        y = ops.log(x * 1)
        z = ops.sqrt(y)
        if c > i:
            s = s + z
        else:
            s = s + x * x / 4
        i = i + 1
    return s


def no_trip(x, c):
    y = ops.log(x)
    s = x * x
    while c > 0:
        s, c = s + y, c - 1
    return s


def an_arm_in_trips(x, c):
    y = ops.sqrt(x)
    s = x * 0
    for i in range(ms.mutable(4)):
        if i < c:
            s = s + y
        else:
            s = s + x * x / 4
    return s


def a_carried_value(x, c):
    y = ops.log(x)
    for i in range(ms.mutable(3)):
        y = y * 2 if i < c else x * x
    return y


def a_list_of_trips(x, c):
    ys = [ops.log(x), ops.log(x * 2), ops.sqrt(x)]
    s = x * x
    for i, y in enumerate(ys):
        if i < c:
            s = s + y
    return s


def leaving(x, c):
    s = x * x
    for i in range(ms.mutable(3)):
        y = 1 / x
        if i >= c:
            break
        s = s + y
    return s


USERS = [
    an_arm, a_chain, an_early_return, two_uses, nested_arms, an_arm_of_an_arm, one_of_both, trips, open_trips, no_trip,
    an_arm_in_trips, a_carried_value, a_list_of_trips,
    leaving,
]  # fmt: skip


@pytest.mark.some(2)
@pytest.mark.parametrize("f", USERS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("x", [0.0, INF])
def test_the_derivative_of_an_unused_value_is_not_computed(jit, f, x):
    if (f, x) == (one_of_both, INF):
        x = 0.0
    found = jit(ms.grad(f))(f64(x), f64(0.0))
    expected = 2 * x - (1 / (1 - x) if f is one_of_both else 0)
    assert float(found) == expected


@pytest.mark.some(4)
@pytest.mark.parametrize("f", USERS, ids=lambda f: f.__name__)
def test_nor_in_the_second_derivative(jit, f):
    found = jit(ms.grad(lambda x, c: ms.grad(f)(x, c)))(f64(0.0), f64(0.0))
    assert float(found) == 2 - (1 if f is one_of_both else 0)


@pytest.mark.parametrize("f", [an_arm, a_chain, trips, an_arm_in_trips], ids=lambda f: f.__name__)
def test_nor_in_the_third(jit, f):
    third = ms.grad(lambda x, c: ms.grad(lambda x, c: ms.grad(f)(x, c))(x, c))
    assert float(jit(third)(f64(0.0), f64(0.0))) == 0


@pytest.mark.some(4)
@pytest.mark.parametrize("f", USERS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("order", ["forward", "reverse of forward", "forward of reverse"])
def test_nor_in_forward_mode(jit, f, order):
    def tangent(x, c):
        return ms.jvp(lambda x: f(x, c), (x,), (x * 0 + 1,))[1]

    asked = {
        "forward": tangent,
        "reverse of forward": ms.grad(tangent),
        "forward of reverse": lambda x, c: ms.jvp(lambda x: ms.grad(f)(x, c), (x,), (x * 0 + 1,))[1],
    }[order]
    by_z = 1 if f is one_of_both else 0
    assert float(jit(asked)(f64(0.0), f64(0.0))) == (0 if order == "forward" else 2) - by_z


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("f", "x", "c", "first", "second"),
    [
        (an_arm, 0.5, 1.0, 2.0, -4.0),
        (a_chain, np.e, 1.0, 1.5 / np.e, (0.75 - 1.5) / np.e**2),
        (an_early_return, 0.5, 1.0, -4.0, 16.0),
        (two_uses, 0.5, 1.0, 1 + 2, 2 - 4),
        (nested_arms, 4.0, 1.0, 0.25, -1 / 32),
        (an_arm_of_an_arm, 0.5, 1.0, 1 + 2, 2 - 4),
        (one_of_both, 0.5, 1.0, 1 + 2, 2 - 4),
        (trips, 0.5, 2.0, 2 * 2 + 0.5, 2 * -4 + 1),
        (no_trip, 0.5, 2.0, 1 + 4, 2 - 8),
        (an_arm_in_trips, 4.0, 3.0, 3 / 4 + 2, -3 / 32 + 0.5),
        (a_carried_value, 0.5, 3.0, 8 * 2.0, 8 * -4.0),
        (a_carried_value, 0.5, 2.0, 1.0, 2.0),
        (a_list_of_trips, 0.5, 2.0, 1 + 4, 2 - 8),
        (leaving, 0.5, 2.0, 1 - 8, 2 + 32),
    ],
)
def test_that_of_a_used_value_is(jit, f, x, c, first, second):
    asked = ms.grad(f)
    assert np.isclose(float(jit(asked)(f64(x), f64(c))), first)
    assert np.isclose(float(jit(ms.grad(lambda x, c: asked(x, c)))(f64(x), f64(c))), second)


def test_a_used_nan_stays(jit):
    """The derivative of log(x) * 0 at 0 is 0 * inf, where the value is used."""
    assert np.isnan(float(jit(ms.grad(lambda x, c: ops.log(x) * 0 if c > 0 else x))(f64(0.0), f64(1.0))))


@pytest.mark.parametrize("number", [INF, NAN])
def test_constants_that_are_not_finite(jit, number):
    def f(x, c):
        y = x * number + ops.sum(x * f64([number, 1.0]))
        return y if c > 0 else x * x

    assert float(jit(ms.grad(f))(f64(3.0), f64(0.0))) == 6


@pytest.mark.parametrize("zeros", [lambda: 0.0, lambda: f64([1.0, 0.0])], ids=["number", "array"])
def test_constants_that_divide(jit, zeros):
    def f(x, c):
        y = ops.sum(x / zeros())
        return y if c > 0 else ops.sum(x * x)

    assert jit(ms.grad(f))(f64([3.0, 4.0]), f64(0.0)).tolist() == [6, 8]


def test_elements(jit):
    def f(x, c):
        rows = ops.log(x)
        s = (x * x).sum()
        for i in range(2):
            row = ops.sqrt(x[i])
            if c > i:
                s = s + row.sum() + rows[i, 0]
        return s

    x = np.array([[4.0, 1.0], [0.0, 2.0]])
    found = jit(ms.grad(f))(f64(x), f64(1.0))
    # The logarithms are one value, of which one element is used: the others' cotangents are zeros, and 0 * inf is NaN.
    assert np.allclose(found.asnumpy(), [[8 + 0.25 + 0.25, 2 + 0.5], [np.nan, 4]], equal_nan=True)


def test_several_variables_with_masks_of_their_own(jit):
    def f(x, y, c):
        a, b = ops.log(x), ops.sqrt(y)
        s = x + y
        if c > 0:
            s = s + a * b
        if c < 0:
            s = s + b
        return s

    grad = jit(ms.grad(f, (0, 1)))
    assert [float(g) for g in grad(f64(0.0), f64(0.0), f64(0.0))] == [1, 1]
    assert np.allclose([float(g) for g in grad(f64(0.0), f64(4.0), f64(-1.0))], [1, 1.25])
    assert np.allclose([float(g) for g in grad(f64(2.0), f64(4.0), f64(1.0))], [2, 1 + np.log(2) / 4])


# ----------------------------------------------------------------------------------------------- what is emitted
CHAIN = """
func @f(%x: f64[3], %c: bool[]) -> (f64[3]) {
  %0: f64[3], %1: f64[3] = grad %x {wrt=[0]} body (%x_1: f64[3]) {
    %y: f64[3] = log %x_1
    %u: f64[3] = tanh %x_1
    %z: f64[3] = sqrt %y
    %w: f64[3] = mul %z, %y
    %r: f64[3] = if %c then {
      yield %w
    } else {
      yield %u
    }
    yield %r
  }
  return %1
}
"""


def test_a_chain_under_one_mask_stands_in_one_if():
    (adjoint,) = [op for op in ops_of(expanded(parsed(CHAIN)).entry.body) if op.defn.name == "if"][1:]
    then, other = ([op.defn.name for op in block.ops if op.defn.name != "const"] for block in adjoint.blocks)
    assert "div" in then
    assert set(then) <= {"div", "mul", "add", "sqrt"}
    assert set(other) == {"mul", "sub"}  # of tanh


def test_what_reads_nothing_of_the_forward_pass_needs_no_if():
    text = CHAIN.replace("log %x_1", "neg %x_1").replace("sqrt %y", "neg %y").replace("mul %z, %y", "add %z, %y")
    text = text.replace("tanh %x_1", "neg %x_1")
    ifs = [op for op in ops_of(expanded(parsed(text)).entry.body) if op.defn.name == "if"]
    assert len(ifs) == 2
    assert not [op for op in ops_of(ifs[1].blocks[0]) if op.defn.name not in ("const",)]


SEQUENCE = """
func @f(%x: f64[], %c: i64[], %n: i64[]) -> (f64[]) {
  %0: f64[], %1: f64[] = grad %x {wrt=[0]} body (%x_1: f64[]) {
    %zero: f64[] = const {value=0.0}
    %s: f64[], %ys: seq<f64[]> = scan %n (%s_1 = %x_1) body (%i) {
      %y: f64[] = log %x_1
      %s_2: f64[] = add %s_1, %x_1
      yield %s_2 ; %y
    }
    %t: f64[] = scan %n (%t_1 = %s ; %z = %ys) body (%j) {
      %p: bool[] = less %j, %c
      %t_2: f64[] = if %p then {
        %t_3: f64[] = add %t_1, %z
        yield %t_3
      } else {
        yield %t_1
      }
      yield %t_2
    }
    yield %t
  }
  return %1
}
"""


@pytest.mark.parametrize(("x", "c", "n", "expected"), [(0.0, 0, 3, 4), (0.0, 0, 0, 1), (0.5, 2, 3, 4 + 2 * 2)])
def test_a_sequence_has_a_mask_for_each_element(x, c, n, expected):
    assert run(expanded(parsed(SEQUENCE)), x, c, n) == [expected]


CALLS = """
func @f(%x: f64[], %c: bool[]) -> (f64[]) {
  %0: f64[], %1: f64[] = grad %x {wrt=[0]} body (%x_1: f64[]) {
    %y: f64[] = log %x_1
    %u: f64[], %v: f64[] = call @both %y, %x_1, %c
    %r: f64[] = if %c then {
      yield %u
    } else {
      yield %v
    }
    yield %r
  }
  return %1
}

func @both(%y: f64[], %x: f64[], %c: bool[]) -> (f64[], f64[]) {
  %l: f64[] = log %x
  %u: f64[] = mul %l, %l
  %v: f64[] = if %c then {
    yield %y
  } else {
    %s: f64[] = mul %x, %x
    yield %s
  }
  return %u, %v
}
"""


@pytest.mark.parametrize(("x", "c", "expected"), [(0.0, False, 0), (3.0, False, 6), (np.e, True, 2 / np.e)])
def test_functions_take_the_masks_of_their_results_and_return_those_of_their_arguments(x, c, expected):
    """Of `both` one result is used; its `%l` and the `%y` of the caller have infinite derivatives at 0."""
    assert np.isclose(float(run(expanded(parsed(CALLS)), x, c)[0]), expected)
    told = CALLS.replace("{wrt=[0]}", "{wrt=[0], masks=[0]}").replace(
        "%1: f64[] = grad", "%1: f64[], %m: bool[] = grad"
    )
    told = told.replace("return %1", "return %1, %m").replace("-> (f64[]) {", "-> (f64[], bool[]) {", 1)
    assert run(expanded(parsed(told)), x, c)[1] == True  # noqa: E712  (a NumPy bool)
