"""Forward mode computes no tangent where none reaches: 0 * inf beside it is no NaN.

Every function is at a kink (x = 0) where it is asked, and no tangent reaches what has an infinite derivative there.
Expected values are derivatives of the formula of the path taken.
"""

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.ir.walk import ops_of
from tests.autodiff.derivatives import expanded, parsed
from tests.autodiff.interpreter import run

INF, NAN = float("inf"), float("nan")


def f64(x):
    return Tensor(x, ms.float64)


def cut(x):
    return ops.stop_gradient(x)


def an_arm(x, c):
    return 3 * x + 1 / (x * 2 if c > 0 else cut(x))


def a_chain(x, c):
    y = x * 2 if c > 0 else cut(x)
    z = ops.sqrt(y)
    return 3 * x + ops.log(z) * z


def a_constant(x, c):
    y = 0.0
    if c > 0:
        y = x
    return 3 * x + ops.sqrt(y * 1.0)


def nested_arms(x, c):
    if c > -1:
        y = x * x if c > 0 else cut(x)
    else:
        y = x
    return 3 * x + ops.sqrt(y)


def one_of_both(x, c):
    y, z = (x, cut(x)) if c > 0 else (cut(x), x)
    return 2 * x + z + ops.log(y)


def an_early_return(x, c):
    y = cut(x)
    if c > 0:
        y = x * 2
    if c > 1:
        return y
    return 3 * x + ops.sqrt(y)


def trips(x, c):
    s = 3 * x
    for i in range(ms.mutable(4)):
        y = x if i < c else cut(x)
        s = s + ops.sqrt(y)
    return s


def open_trips(x, c):
    y, s = cut(x), 3 * x
    while c > 0:
        y, c = y + x, c - 1
    return s + ops.sqrt(y)


def a_carried_value(x, c):
    """The value is carried two trips on before it is used."""
    s, a, b = 3 * x, cut(x), cut(x)
    for i in range(ms.mutable(4)):
        s, a, b = s + ops.sqrt(a), b, x if i < c else cut(x)
    return s


def a_value_cut_in_trips(x, c):
    """A tangent reaches what the loop begins with, and no later trip."""
    y = x * 2
    for _ in range(ms.mutable(3)):
        y = cut(y) if c <= 0 else y * 2
    return 3 * x + ops.log(y)


def always_cut_in_trips(x, c):
    y, s = x * 2, 3 * x
    for i in range(ms.mutable(3)):
        s = s + (ops.sqrt(y) if i > 0 and c <= 0 else 0)
        y = cut(y)
    return s


def nested_trips(x, c):
    s = 3 * x
    for i in range(ms.mutable(3)):
        y = cut(x)
        for j in range(ms.mutable(3)):
            if i + j < c - 1:
                y = y + x
        s = s + ops.sqrt(y)
    return s


def a_list_of_trips(x, c):
    s = 3 * x
    for y in [x if i < c else cut(x) for i in range(3)]:
        s = s + ops.sqrt(y)
    return s


def leaving(x, c):
    y = cut(x)
    for i in range(ms.mutable(5)):
        if i >= c:
            break
        y = y + x
    return 3 * x + ops.sqrt(y)


def rows_of_an_arm(x, c):
    """A kept loop over the rows of what one arm cuts: the elements have the mask of the whole."""
    s = 3 * x
    for y in ops.ones(40, ms.float64) * (x * 2 if c > 0 else cut(x)):
        s = s + ops.sqrt(y)
    return s


USERS = [
    an_arm, a_chain, a_constant, nested_arms, one_of_both, an_early_return, trips, open_trips, a_carried_value,
    a_value_cut_in_trips, always_cut_in_trips, nested_trips, a_list_of_trips, leaving, rows_of_an_arm,
]  # fmt: skip


def tangent(f):
    return lambda x, c: ms.jvp(lambda x: f(x, c), (x,), (x * 0 + 1,))[1]


@pytest.mark.some(2)
@pytest.mark.parametrize("f", USERS, ids=lambda f: f.__name__)
def test_what_no_tangent_reaches_gives_none(jit, f):
    assert float(jit(tangent(f))(f64(0.0), f64(0.0))) == 3


@pytest.mark.some(4)
@pytest.mark.parametrize("f", USERS, ids=lambda f: f.__name__)
def test_nor_in_a_jacobian(jit, f):
    x = f64([0.0, 0.0])
    found = jit(ms.jacfwd(lambda x: f(x[0], x[1])))(x)
    assert found.shape == (2,)
    assert found[0] == 3


@pytest.mark.some(8)
@pytest.mark.parametrize("f", USERS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("order", ["forward", "reverse of forward", "forward of reverse"])
def test_nor_in_the_second_derivative(jit, f, order):
    asked = {
        "forward": tangent(tangent(f)),
        "reverse of forward": ms.grad(tangent(f)),
        "forward of reverse": tangent(ms.grad(f)),
    }[order]
    assert float(jit(asked)(f64(0.0), f64(0.0))) == 0


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("f", "x", "c", "expected"),
    [
        (an_arm, 0.5, 1.0, 3 - 2),
        (a_chain, 0.5, 1.0, 3 + 0.5 * (np.log(1) + 2)),
        (a_constant, 4.0, 1.0, 3.25),
        (nested_arms, 4.0, 1.0, 4),
        (nested_arms, 4.0, -1.0, 3.25),
        (one_of_both, 0.5, 1.0, 2 + 2),
        (an_early_return, 2.0, 1.0, 3.5),
        (an_early_return, 2.0, 2.0, 2),
        (trips, 4.0, 3.0, 3.75),
        (open_trips, 8.0, 1.0, 3 + 1 / 8),
        (open_trips, 1.0, 3.0, 3 + 0.75),
        (a_carried_value, 4.0, 1.0, 3.25),
        (a_value_cut_in_trips, 0.5, 1.0, 5),
        (always_cut_in_trips, 8.0, 0.0, 3),
        (a_list_of_trips, 4.0, 2.0, 3.5),
        (leaving, 1.0, 3.0, 3 + 0.75),
    ],
)
def test_what_one_reaches_has_its_derivative(jit, f, x, c, expected):
    assert np.isclose(float(jit(tangent(f))(f64(x), f64(c))), expected)


def test_a_tangent_that_reaches_makes_nan(jit):
    """The derivative of 0 * sqrt(x) at 0 is 0 * inf, where a tangent is there."""
    found = jit(tangent(lambda x, c: ops.sqrt(x if c > 0 else cut(x)) * 0))(f64(0.0), f64(1.0))
    assert np.isnan(float(found))


def test_factors_under_masks_of_their_own(jit):
    def f(x, a, b):
        y = x if a > 0 else cut(x)
        z = x + 1 if b > 0 else cut(x) + 1
        return x + ops.sqrt(y) * z + y / z

    def slope(x, a, b):
        return ms.jvp(lambda x: f(x, a, b), (x,), (x * 0 + 1,))[1]

    assert float(jit(slope)(f64(0.0), f64(0.0), f64(0.0))) == 1
    assert float(jit(slope)(f64(0.0), f64(0.0), f64(1.0))) == 1
    assert np.isclose(float(jit(slope)(f64(4.0), f64(1.0), f64(0.0))), 1 + 5 / 4 + 1 / 5)
    assert np.isclose(float(jit(slope)(f64(4.0), f64(1.0), f64(1.0))), 1 + 5 / 4 + 2 + 1 / 25)


def test_several_variables(jit):
    def f(x, y, c):
        a, b = (x, cut(y)) if c > 0 else (cut(x), y)
        return ops.sqrt(a) * (b + 1) + x + y

    jacobian = jit(lambda x, y, c: ms.jacfwd(f, (0, 1))(x, y, c))
    assert [float(g) for g in jacobian(f64(0.0), f64(0.0), f64(0.0))] == [1, 1]
    assert [float(g) for g in jacobian(f64(4.0), f64(0.0), f64(1.0))] == [1.25, 1]


def test_a_users_rule_runs_only_where_a_tangent_reaches(jit):
    class Root(ms.nn.Cell):
        def construct(self, x):
            return ops.sqrt(x)

        def bprop(self, x, out, dout):
            return (dout / x,)

    root = Root()

    def f(x, c):
        return 3 * x + root(x if c > 0 else cut(x))

    assert float(jit(tangent(f))(f64(0.0), f64(0.0))) == 3
    assert float(jit(tangent(f))(f64(4.0), f64(1.0))) == 3.25


def test_integers(jit):
    def f(x, c):
        y = x if c > 0 else cut(x)
        return x * 3 + 6 // (y + 2) + y * y

    found = [int(jit(tangent(f))(Tensor(2), Tensor(c))) for c in (0, 1)]
    assert found == [3, 7]


# ----------------------------------------------------------------------------------------------- what is emitted
CHAIN = """
func @f(%x: f64[3], %c: bool[], %u: f64[3]) -> (f64[3]) {
  %0: f64[3], %1: f64[3] = grad %x, %u {wrt=[0], seeds=[0], forward=True} body (%x_1: f64[3]) {
    %w: f64[3] = stop_gradient %x_1
    %r: f64[3] = if %c then {
      yield %x_1
    } else {
      yield %w
    }
    %y: f64[3] = log %r
    %z: f64[3] = sqrt %y
    %t: f64[3] = mul %z, %y
    yield %t
  }
  return %1
}
"""


def test_a_chain_under_one_mask_stands_in_one_if():
    ifs = [op for op in ops_of(expanded(parsed(CHAIN)).entry.body) if op.defn.name == "if"]
    assert len(ifs) == 2
    assert {op.defn.name for op in ops_of(ifs[1].blocks[0])} >= {"div", "mul", "add"}


def test_what_multiplies_by_constants_needs_no_if():
    text = CHAIN.replace("log %r", "neg %r").replace("sqrt %y", "neg %y").replace("mul %z, %y", "add %z, %y")
    assert [op.defn.name for op in ops_of(expanded(parsed(text)).entry.body)].count("if") == 1


SEQUENCE = """
func @f(%x: f64[], %c: i64[], %n: i64[], %u: f64[]) -> (f64[]) {
  %0: f64[], %1: f64[] = grad %x, %u {wrt=[0], seeds=[0], forward=True} body (%x_1: f64[]) {
    %w: f64[] = stop_gradient %x_1
    %ys: seq<f64[]> = scan %n () body (%i) {
      %p: bool[] = less %i, %c
      %y: f64[] = if %p then {
        yield %x_1
      } else {
        yield %w
      }
      yield ; %y
    }
    %t: f64[] = scan %n (%t_1 = %x_1 ; %z = %ys) body (%j) {
      %q: f64[] = sqrt %z
      %t_2: f64[] = add %t_1, %q
      yield %t_2
    }
    yield %t
  }
  return %1
}
"""


@pytest.mark.parametrize(("x", "c", "n", "expected"), [(0.0, 0, 3, 1), (0.0, 0, 0, 1), (4.0, 2, 3, 1.5)])
def test_a_sequence_has_a_mask_for_each_element(x, c, n, expected):
    assert run(expanded(parsed(SEQUENCE)), x, c, n, 1.0) == [expected]


CALLS = """
func @f(%x: f64[], %c: bool[], %u: f64[]) -> (f64[]) {
  %0: f64[], %1: f64[] = grad %x, %u {wrt=[0], seeds=[0], forward=True} body (%x_1: f64[]) {
    %w: f64[] = stop_gradient %x_1
    %y: f64[] = if %c then {
      yield %x_1
    } else {
      yield %w
    }
    %a: f64[], %b: f64[] = call @both %y, %x_1
    %r: f64[] = sqrt %a
    %s: f64[] = add %r, %b
    %d: f64[], %e: f64[] = call @both %x_1, %x_1
    %v: f64[] = add %s, %d
    yield %v
  }
  return %1
}

func @both(%y: f64[], %x: f64[]) -> (f64[], f64[]) {
  %l: f64[] = sqrt %y
  %v: f64[] = mul %x, %x
  %s: f64[] = mul %l, %l
  return %s, %v
}
"""


@pytest.mark.parametrize(("x", "c", "expected"), [(4.0, False, 8 + 1), (4.0, True, 8 + 1 + 0.25)])
def test_functions_take_and_return_the_masks_of_tangents(x, c, expected):
    module = expanded(parsed(CALLS))
    assert np.isclose(float(run(module, x, c, 1.0)[0]), expected)
    assert len(module.functions) == 3  # with the mask of an argument, and without


def test_a_call_at_a_kink():
    text = CALLS.replace("%d: f64[], %e: f64[] = call @both %x_1, %x_1", "%d: f64[] = mul %x_1, %x_1")
    assert run(expanded(parsed(text)), 0.0, False, 1.0) == [0.0]


def test_examples_of_what_one_path_makes_are_read_on_that_path_only():
    """What follows an early return goes over the examples, each of which may have returned; it reads no `undef`."""

    class Rule(nn.Cell):
        def construct(self, x):
            return ops.sqrt(x) * x

        def bprop(self, x, out, dout):
            return (dout / x + out * dout,)

    rule = Rule()

    def f(x, c):
        y = x * 1
        if c <= 0:
            y = ops.relu(y) if c <= 0 else rule(x)
            if y <= -1:
                return x
            if c > 0:
                pass
            else:
                return rule(ops.log(y))
        return x + ops.sign(y**0.5)

    for backend in ("numpy", "native"):
        for level in (0, 2):
            jacobian = ms.jit(lambda x, c: ms.jacfwd(f)(x, c), backend=backend, optimize=level)
            assert jacobian(Tensor(0.7, ms.float64), Tensor(1.0, ms.float64)).item() == 1.0
            # The rule at z = log(x): 1 / z + z ** 1.5, times 1 / x.
            z = np.log(2.0)
            found = jacobian(Tensor(2.0, ms.float64), Tensor(-1.0, ms.float64)).item()
            np.testing.assert_allclose(found, (1 / z + z**1.5) / 2.0, rtol=1e-12)
