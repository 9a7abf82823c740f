"""`mutable`: numbers that do not compile again, and containers with a gradient."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from typing import NamedTuple

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import mutable
from tests.programs.compare import assert_same, define, structure

X = ms.Tensor([1.0, 2.0])


class Pair(NamedTuple):
    a: object
    b: object


@pytest.fixture(params=["eager", "compiled"])
def wrap(request):
    return ms.jit if request.param == "compiled" else lambda f: f


def compiles(fn):
    return fn.cache_info()["compiles"]


# ------------------------------------------------------------------------------------------------ the value itself
@pytest.mark.parametrize(
    "value", [3, -2.5, (1, 2), [1, (2.5, "s")], {"k": 1}, OrderedDict(b=1, a=2), Pair(1, 2.0)], ids=repr
)
def test_eager_code_sees_the_value_itself(value):
    marked = mutable(value)
    assert marked == value
    assert isinstance(marked, type(value))
    assert type(marked).__name__ == type(value).__name__
    assert (repr(marked), str(marked)) == (repr(value), str(value))
    assert mutable(marked) is marked
    for again in (copy.copy(marked), copy.deepcopy(marked)):
        assert again == value
        assert type(again) is type(marked)
    assert hash(marked) == hash(value) if isinstance(value, int | float | Pair) else True


def test_marks_survive_pickling():
    for value in (3, 2.5, (1, 2), [1], {"k": 1}):
        again = pickle.loads(pickle.dumps(mutable(value)))
        assert again == value
        assert type(again) is type(mutable(value))


def test_arithmetic_gives_plain_values():
    assert type(mutable(3) + 1) is int
    assert type(mutable(2.5) * 2) is float
    assert type(mutable([1]) + [2]) is list


def test_what_has_no_other_value_stays_as_it_is():
    assert mutable(True) is True
    assert mutable(X) is X


@pytest.mark.parametrize("value", ["s", None, {1, 2}, 1j, np.ones(2), object()], ids=lambda v: type(v).__name__)
def test_other_values_are_refused(value, wrap):
    with pytest.raises(TypeError, match=r"must be a number, a Tensor, .* or a frozen dataclass"):
        mutable(value)
    if isinstance(value, str | None):
        with pytest.raises(TypeError, match=r"must be a number, a Tensor, .* or a frozen dataclass"):
            wrap(define(f"def f(x):\n    return ms.mutable({value!r})"))(X)


def test_a_length_of_run_time_is_refused(wrap):
    f = wrap(define("def f(x):\n    return ms.mutable([1, 2], dynamic_len=True)"))
    with pytest.raises(NotImplementedError, match="dynamic_len") as caught:
        f(X)
    assert caught.value.code == "AC1103"


def test_operators_and_functions_take_marked_numbers():
    m = mutable
    assert_same(X * m(3), X * 3, "int")
    assert_same(m(1.5) + X, X + 1.5, "float on the left")
    assert_same(X ** m(2), X**2, "power")
    assert_same(X[m(1)], X[1], "index")
    assert_same(ms.ops.full((2,), m(3)), ms.ops.full((2,), 3), "an int fills with ints")
    assert_same(ms.Tensor(m((1, 2))), ms.Tensor((1, 2)), "a Tensor of a tuple")
    assert_same(X.reshape(m((2, 1))), X.reshape((2, 1)), "a shape")


# ------------------------------------------------------------------------------------------------ arguments
def test_other_numbers_run_the_same_program():
    f = define("""
def f(x, n, rate=1.0):
    for i in range(n):
        x = x * rate + i
    return x, n, n // 2, rate / n, n > 2
""")
    g = ms.jit(f)
    for n, rate in ((2, 0.5), (5, 2.0), (30, -1.0), (-3, 0.25)):
        assert_same(g(X, mutable(n), rate=mutable(rate)), f(X, n, rate), (n, rate))
    assert compiles(g) == 1
    g(X, mutable(7), rate=mutable(3))
    assert compiles(g) == 2, "an int is another type than a float"
    g(X, 7, rate=3)
    assert compiles(g) == 3, "a plain number is a constant"


@pytest.mark.parametrize(
    "make",
    [
        lambda a, b: mutable((a, b)),
        lambda a, b: mutable([a, (b, "s", None)]),
        lambda a, b: mutable({"a": a, "b": [b, True]}),
        lambda a, b: mutable(Pair(a, {"b": b})),
        lambda a, b: (mutable(a), [mutable(b)]),
        lambda a, b: Pair(mutable(a), mutable(b)),
        lambda a, b: {"t": mutable([a, ms.Tensor(b)])},
    ],
    ids=["tuple", "list", "dict", "NamedTuple", "numbers in containers", "numbers in a NamedTuple", "with a Tensor"],
)
def test_numbers_in_containers(make):
    f = define("""
def f(x, c):
    return x * total(c), c

def total(c):
    if isinstance(c, (bool, int, float, ms.Tensor)):
        return c
    if isinstance(c, (tuple, list)):
        s = 0
        for v in c:
            s = s + total(v)
        return s
    if isinstance(c, dict):
        return total([v for v in c.values()])
    return 0
""")
    g = ms.jit(f)
    for a, b in ((2, 1.5), (-7, 100.0), (0, 0.0)):
        assert_same(g(X, make(a, b)), f(X, make(a, b)), (a, b))
    assert compiles(g) == 1


def test_results_are_python_numbers():
    g = ms.jit(lambda n, c: (n, n + 1, c, c[0], c[1] * 2.0))
    found = g(mutable(3), mutable((2.5, True)))
    assert found == (3, 4, (2.5, True), 2.5, 2.0)
    assert structure(found) == structure((3, 4, (2.5, True), 2.5, 2.0))


def test_an_int_of_more_than_64_bits_is_refused():
    g = ms.jit(lambda n: n + 1)
    assert g(mutable(2**62)) == 2**62 + 1
    with pytest.raises(OverflowError, match="64 bits"):
        g(mutable(2**64))


def test_where_a_constant_is_needed_the_reason_is_the_argument():
    g = ms.jit(define("def f(x, n):\n    return [x, x][n]"))
    with pytest.raises(ms.CompileError, match="argument `n` is mutable") as caught:
        g(X, mutable(1))
    assert caught.value.code == "AC1305"


def test_in_a_branch_and_a_loop_with_a_gradient():
    f = define("""
def f(x, n, c):
    s = x * 0
    while n > 0:
        if n % 2 == 0:
            s = s + x * n
        else:
            s = s + c["k"] * x * x
        n = n - 1
    return (s * c["k"]).sum()
""")
    g = ms.jit(ms.grad(f))
    for n, k in ((0, 1.0), (4, 2.0), (7, -0.5)):
        expected = ms.grad(f)(X, n, {"k": k})
        np.testing.assert_allclose(g(X, mutable(n), mutable({"k": k})).asnumpy(), expected.asnumpy(), rtol=1e-6)
    assert compiles(g) == 1


def test_a_method_of_a_cell_in_graph_mode():
    class Net(ms.nn.Cell):
        def construct(self, x, n):
            return x * n, n

    net = Net()
    ms.set_context(mode=ms.GRAPH_MODE)
    for n in (2, 3):
        assert_same(net(X, mutable(n)), (X * n, n), n)
    assert compiles(net._compiled) == 1


# ------------------------------------------------------------------------------------------------ other places
def test_a_number_of_compile_time_becomes_one_of_run_time(wrap):
    f = wrap(
        define("""
def f(x):
    n, total = ms.mutable(3), 0
    c = ms.mutable([1, (2.5, x)])
    while n > 0:
        total += n
        n = n - 1
    return total, n, c[0] + 1, c[1][0] * 2, c, x * total
""")
    )
    assert_same(f(X), (6, 0, 2, 5.0, [1, (2.5, X)], X * 6), "numbers")


def test_marked_globals_and_attributes_do_not_compile_again():
    f = define("def f(x):\n    return x * rate, rate", rate=mutable(2))
    g = ms.jit(f)
    for rate in (2, 3, -4):
        f.__globals__["rate"] = mutable(rate)
        assert_same(g(X), (X * rate, rate), rate)
    assert compiles(g) == 1
    f.__globals__["rate"] = 5
    assert_same(g(X), (X * 5, 5), "a plain number")
    assert compiles(g) == 2

    class Net(ms.nn.Cell):
        def construct(self, x):
            return x * self.k

    net = Net()
    ms.set_context(mode=ms.GRAPH_MODE)
    for k in (1.0, 2.0, 3.5):
        net.k = mutable(k)
        assert_same(net(X), X * k, k)
    assert compiles(net._compiled) == 1


def test_numpy_numbers_are_constants():
    f = define("def f(x, k):\n    return x * k, k + 1, k")
    g = ms.jit(f)
    for k in (np.float32(2.5), np.int64(3), np.bool_(True), np.float64(0.1)):
        assert_same(g(X, k), f(X, k), repr(k))
        assert [type(v) for v in g(X, k)[1:]] == [type(v) for v in f(X, k)[1:]]
    assert compiles(g) == 4


def test_an_array_without_dimensions_is_a_tensor():
    g = ms.jit(lambda x, k: x * k)
    for k in (2.0, 3.0):
        assert_same(g(X, np.array(k, np.float32)), X * k, k)
    assert compiles(g) == 1


# ------------------------------------------------------------------------------------------------ derivatives
T = ms.Tensor


@pytest.mark.parametrize(
    ("argument", "fn", "expected"),
    [
        (mutable((T(2.0), T(3.0))), lambda t: t[0] * t[1], (T(3.0), T(2.0))),
        (mutable([T(2.0), (T(3.0), 4)]), lambda t: t[0] * t[1][0] * t[1][1], [T(12.0), (T(8.0), None)]),
        (mutable({"a": T(2.0), "b": "s"}), lambda d: d["a"] * d["a"], {"a": T(4.0), "b": None}),
        (mutable(Pair(T(2.0), T(5.0))), lambda p: p.a * p.a * p.b, Pair(T(20.0), T(4.0))),
    ],
    ids=["tuple", "list", "dict", "NamedTuple"],
)
def test_the_gradient_by_a_container_has_its_structure(argument, fn, expected, wrap):
    assert_same(wrap(ms.grad(fn))(argument), expected, "grad")
    value, found = wrap(ms.value_and_grad(fn))(argument)
    assert_same((value, found), (fn(argument), expected), "value_and_grad")
    assert_same(wrap(ms.GradOperation(get_all=True)(fn))(argument), (expected,), "get_all")
    assert_same(wrap(ms.grad(lambda x, c: fn(c) * x, (0, 1)))(T(1.0), argument), (fn(argument), expected), "positions")


def test_second_order_through_a_container(wrap):
    def f(t):
        return t[0] ** 3 * t[1]

    found = wrap(ms.grad(lambda t: ms.grad(f)(t)[0]))(mutable((T(2.0), T(3.0))))
    assert_same(found, (T(36.0), T(12.0)), "d2/dt0 dt and d2/dt0 dt1")


def test_one_tensor_twice_in_a_container_is_two_variables(wrap):
    x = T(3.0)
    assert_same(wrap(ms.grad(lambda t: t[0] * t[0] * t[1]))(mutable((x, x))), (T(18.0), T(9.0)), "two variables")


def test_a_plain_container_has_a_gradient_unless_all_tensors_are_asked_for(wrap):
    """`get_all` skips it, as MindSpore does."""
    f = define("def f(x, t):\n    return x * t[0]")
    argument = (T(3.0), 4, "s")
    assert_same(wrap(ms.grad(f, 1))(T(2.0), argument), (T(2.0), None, None), "alone")
    assert_same(wrap(ms.grad(f, (0, 1)))(T(2.0), argument), (T(3.0), (T(2.0), None, None)), "positions")
    assert_same(wrap(ms.GradOperation(get_all=True)(f))(T(2.0), argument), (T(3.0),), "get_all")


def test_a_container_without_tensors_beside_other_positions_has_no_gradient(wrap):
    f = define("def f(x, t):\n    return x * t[0]")
    assert_same(wrap(ms.grad(f, (0, 1)))(T(2.0), (3.0,)), (T(3.0), ()), "positions")


@pytest.mark.parametrize("value", [3.0, 2, (1, 2), [], None, "s", mutable(3.0), mutable((1, 2))], ids=repr)
def test_what_never_holds_a_tensor_has_no_derivative(value, wrap):
    with pytest.raises(TypeError, match="argument 0, 'v', is asked for") as caught:
        wrap(ms.grad(define("def f(v):\n    return v")))(value)
    assert caught.value.code == "AC1701"
