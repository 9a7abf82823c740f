"""Integer Tensors are variables: their cotangents have the integer dtype, by the rules of floats; casts cut.

Expected values are derivatives of polynomials, evaluated with Python's integers, and what MindSpore 2.10 gives.
"""

import warnings

import numpy as np
import pytest
from numpy.polynomial import Polynomial

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, errors, nn, ops
from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.errors import GradientWarning

WAYS = [None] + [(b, o) for b in ("native", "numpy") for o in (0, 2) if b == "numpy" or not why_not()]


@pytest.fixture(params=WAYS, ids=lambda way: "eager" if way is None else f"{way[0]}-{way[1]}")
def run(request):
    """Calls a function of Tensors, eager or compiled."""

    def called(f, *args):
        if request.param is None:
            return f(*args)
        backend, level = request.param
        return ms.jit(f, backend=backend, optimize=level)(*args)

    return called


#: A gradient that is right does not warn.
pytestmark = pytest.mark.filterwarnings("error::autodiff_compiler.errors.GradientWarning")


def i32(*numbers):
    return Tensor(np.array(numbers, np.int32))


def scalar(number, dtype=ms.int32):
    return Tensor(number, dtype)


def same(found, expected, dtype=ms.int32):
    """Tuples of Tensors by their elements."""
    assert [t.dtype for t in found] == [dtype] * len(expected)
    assert [t.tolist() for t in found] == expected


# ------------------------------------------------------------------------------------------------ measured facts
def assigned(x, y):
    z = x * 1
    z[0] = y[1] * y[1]
    return z


NONE, ONES = [0, 0, 0], [1, 1, 1]
FACTS = {
    "product": (lambda x, y: x * y, [2, 2, 4], [3, -2, 5]),
    "negative": (lambda x, y: -x - y, [-1, -1, -1], [-1, -1, -1]),
    "remainder": (lambda x, y: x % y, ONES, [-1, 1, -1]),
    "power": (lambda x, y: x**2 + y * 0, [6, -4, 10], NONE),
    "abs": (lambda x, y: ops.abs(x) + y * 0, [1, -1, 1], NONE),
    "maximum": (lambda x, y: ops.maximum(x, y), [1, 0, 1], [0, 1, 0]),
    "max": (lambda x, y: x.max() + y * 0, [0, 0, 3], NONE),
    "gather": (lambda x, y: ops.gather(x, Tensor([0, 0]), 0).sum() + y * 0, [6, 0, 0], NONE),
    "select": (lambda x, y: ops.select(x > y, x * x, y), [6, 0, 10], [0, 1, 0]),
    "concat": (lambda x, y: ops.concat((x, y * y)), ONES, [4, 4, 8]),
    "quotient": (lambda x, y: x / y, NONE, NONE),
    "cast": (lambda x, y: ops.cast(x * y, ms.float32), [2, 2, 4], [3, -2, 5]),
    "there and back": (lambda x, y: ops.cast(ops.cast(x, ms.float32) * 1.5, ms.int32) + y * 0, ONES, NONE),
    "mean": (lambda x, y: ops.cast(x * y, ms.float32).mean(), NONE, NONE),
    "root": (lambda x, y: ops.sqrt(x * x) + y * 0, NONE, NONE),
    "assigned": (assigned, [0, 1, 1], [0, 4, 0]),
}


@pytest.mark.parametrize("name", FACTS)
def test_measured_facts(run, name):
    f, by_x, by_y = FACTS[name]
    same(run(ms.grad(f, (0, 1)), i32(3, -2, 5), i32(2, 2, 4)), [by_x, by_y])


#: (function, gradient) at [3, -2, 5] that is summed over
OPS = {
    "sum": (lambda x: (x * x).sum(), [6, -4, 10]),
    "prod": (lambda x: x.prod(), [-10, 15, -6]),
    "prod with a zero": (lambda x: ((x - 3) * 1).prod(), [-10, 0, 0]),
    "cumsum": (lambda x: x.cumsum(0), [3, 2, 1]),
    "cumprod": (lambda x: ops.cumprod(x, 0), [1 - 2 - 10, 3 + 15, -6]),
    "matmul": (lambda x: ops.matmul(x.reshape(1, 3), x.reshape(3, 1)), [6, -4, 10]),
    "einsum": (lambda x: ops.einsum("i,i->", x, x), [6, -4, 10]),
    "sort": (lambda x: ops.sort(x)[0] * i32(1, 2, 3), [2, 1, 3]),
    "topk": (lambda x: ops.topk(x, 2)[0] * i32(1, 2), [2, 0, 1]),
    "cummax": (lambda x: ops.cummax(x, 0)[0], [2, 0, 1]),
    "median": (lambda x: x.median()[0] * 4, [4, 0, 0]),
    "clamp": (lambda x: ops.clamp(x, -1, 4), [1, 0, 0]),
    "relu": (lambda x: ops.relu(x), [1, 0, 1]),
    "pad": (lambda x: ops.pad(x.reshape(1, 3), (2, 1), "replicate"), [3, 1, 2]),
    "tile": (lambda x: ops.tile(x, (2,)), [2, 2, 2]),
    "outer": (lambda x: ops.outer(x, i32(1, 2, 3)), [6, 6, 6]),
    "slice": (lambda x: x[::2] * 3, [3, 0, 3]),
    "roll": (lambda x: ops.roll(x, 1, 0) * i32(1, 2, 3), [2, 3, 1]),
    "powers": (lambda x: x ** i32(3, 2, 0), [27, -4, 0]),
    "fmod": (lambda x: ops.fmod(x, i32(2, 2, 2)), [1, 1, 1]),
    "scatter": (lambda x: ops.tensor_scatter_add(i32(1, 1), Tensor([[0], [0], [1]]), x * x), [6, -4, 10]),
    "other integers": (lambda x: x.astype(ms.int64) * x.astype(ms.int8), [6, -4, 10]),
    "a tie is shared": (lambda x: ops.maximum(x, x) * 5, [4, 4, 4]),
    "a tie of three": (lambda x: (x * 0).max() * 7 + x, [1, 1, 1]),
}


@pytest.mark.parametrize("name", OPS)
def test_rules_in_integers(run, name):
    f, expected = OPS[name]
    same([run(ms.grad(f), i32(3, -2, 5))], [expected])


STEPS = {
    "comparison": lambda x: x > 2,
    "bits": lambda x: ops.bitwise_and(x, i32(6, 6, 6)),
    "floor of a quotient": lambda x: x // 2,
    "place of the greatest": lambda x: x.argmax(),
    "order": lambda x: ops.argsort(x),
    "index": lambda x: ops.gather(Tensor(np.arange(9.0)), x + 2, 0),
    "greatest common divisor": lambda x: ops.gcd(x, i32(2, 2, 2)),
}


@pytest.mark.parametrize("name", STEPS)
def test_steps_places_and_bits_have_no_derivative(run, name):
    errors._warned.clear()  # else it is told once for a line
    with pytest.warns(GradientWarning, match="the gradient is zero"):
        found = run(ms.grad(STEPS[name]), i32(3, -2, 5))
    same([found], [NONE])
    # beside what has one, nothing is said
    same([run(ms.grad(lambda x: (STEPS[name](x), x * x)), i32(3, -2, 5))], [[6, -4, 10]])


def test_the_exponent_of_an_integer_power_has_none(run):
    with pytest.raises(ms.NotDifferentiableError, match="by its exponent"):
        run(ms.grad(lambda x, n: x**n, (0, 1)), i32(3, 2), i32(2, 2))
    same([run(ms.grad(lambda x, n: x**n), i32(3, 2), i32(2, 3))], [[6, 12]])


# ------------------------------------------------------------------------------------------------ orders and forms
def derivatives(coefficients, x):
    """Of a polynomial, exactly: its value and three derivatives."""
    p, found = [*coefficients], []
    for _ in range(4):
        found.append(sum(c * x**k for k, c in enumerate(p)))
        p = [k * c for k, c in enumerate(p)][1:]
    return found


def test_the_polynomials_here_are_numpys():
    p = Polynomial([1, -2, 3, 4, -5])
    assert derivatives([1, -2, 3, 4, -5], 3) == [p(3), *(p.deriv(k)(3) for k in (1, 2, 3))]


def polynomial(x):
    return x**4 * -5 + x * x * x * 4 + 3 * x**2 - 2 * x + 1


@pytest.mark.some(2)
@pytest.mark.parametrize("dtype", [ms.int8, ms.int16, ms.int32, ms.int64])
@pytest.mark.parametrize("x", [3, 7])
def test_all_orders_wrap_around(run, dtype, x):
    f, info = polynomial, np.iinfo(np.dtype(str(dtype).lower()))
    for expected in derivatives([1, -2, 3, 4, -5], x):
        wrapped = (expected - int(info.min)) % 2**info.bits + int(info.min)
        same([run(f, scalar(x, dtype))], [wrapped], dtype)
        f = ms.grad(f)


def test_forms_of_derivatives(run):
    def f(x, y):
        return x * x * y + x

    x, y = scalar(3), scalar(2)
    same(run(lambda x, y: ms.value_and_grad(f, (0, 1))(x, y)[1], x, y), [13, 9])
    same([run(lambda x, y: ms.jvp(f, (x, y), (scalar(2), scalar(-1)))[1], x, y)], [2 * 13 - 9])
    same(run(lambda x, y: ms.vjp(f, x, y)[1](scalar(2)), x, y), [26, 18])
    same(run(lambda x, y: ms.grad(f, (0, 1))(x, y), x, y), [13, 9])
    same(run(ms.GradOperation(get_all=True, sens_param=True)(f), x, y, scalar(-1)), [-13, -9])


@pytest.mark.parametrize("form", [ms.jacrev, ms.jacfwd])
def test_jacobians(run, form):
    same([run(form(lambda x: x * x * x), i32(3, -2))], [[[27, 0], [0, 12]]])
    same([run(form(form(lambda x: x[0] * x[1] * x[1])), i32(3, -2))], [[[0, -4], [-4, 6]]])


@pytest.mark.parametrize("form", [ms.jacrev, ms.jacfwd])
def test_jacobians_by_bools_and_of_bools_are_zeros_of_the_variable(run, form):
    flags, x = Tensor([True, False]), Tensor([1.0, 2.0])
    by_flags, by_x = run(form(lambda c, x: ops.where(c, x, x * 2), (0, 1)), flags, x)
    assert (by_flags.dtype, by_flags.tolist()) == (ms.bool_, [[False, False], [False, False]])
    assert (by_x.dtype, by_x.tolist()) == (ms.float32, [[1.0, 0.0], [0.0, 2.0]])
    with warnings.catch_warnings():  # that they are zeros
        warnings.simplefilter("ignore", GradientWarning)
        alone = [run(form(f), flags) for f in (lambda c: c & True, lambda c: ops.where(c, 1.0, 2.0))]
        of_flags = run(form(lambda x: x > 1), x)
    for found in alone:
        assert (found.dtype, found.tolist()) == (ms.bool_, [[False, False], [False, False]])
    assert (of_flags.dtype, of_flags.tolist()) == (ms.float32, [[0.0, 0.0], [0.0, 0.0]])


def test_hessians_and_examples(run):
    same([run(ms.jacfwd(ms.jacrev(lambda x: x[0] * x[1] * x[1])), i32(3, -2))], [[[0, -4], [-4, 6]]])
    same([run(ms.vmap(ms.grad(lambda x: (x * x * x).sum())), Tensor(np.array([[1, 2], [3, -4]], np.int32)))],
         [[[3, 12], [27, 48]]])  # fmt: skip


# ------------------------------------------------------------------------------------------------ control flow
def powers_by_while(x, n):
    i, y = scalar(0), x
    while i < n:
        y = y * x
        i = i + 1
    return y


def powers_by_for(x):
    y = x * 1
    for _ in range(40):
        y = y * x
    return y


def branches(x, y):
    z = x * y if x > y else x * x + y
    return z


def early(x):
    total = x * 0
    for k in range(10):
        if total > 50:
            break
        total = total + x * x * k
    return total


def test_loops(run):
    same(run(ms.grad(powers_by_while, (0, 1)), scalar(2), scalar(3)), [4 * 2**3, 0])
    same([run(ms.grad(ms.grad(powers_by_while)), scalar(2), scalar(3))], [12 * 2**2])
    same([run(ms.grad(powers_by_for), scalar(3, ms.int64))], [(41 * 3**40 + 2**63) % 2**64 - 2**63], ms.int64)
    same([run(ms.grad(ms.grad(early)), scalar(3))], [2 * sum(range(4))])


def test_branches(run):
    same(run(ms.grad(branches, (0, 1)), scalar(3), scalar(1)), [1, 3])
    same(run(ms.grad(branches, (0, 1)), scalar(1), scalar(3)), [2, 1])
    same([run(ms.grad(ms.grad(branches)), scalar(1), scalar(3))], [2])


def test_calls_of_compiled_functions():
    @ms.jit
    def cube(x, steps):
        for _ in range(steps):
            x = x * x * x
        return x

    same([ms.grad(lambda x: cube(x * 2, 1) * x)(scalar(3))], [4 * 8 * 27])
    same([ms.grad(ms.grad(lambda x: cube(x, 2)))(scalar(2, ms.int64))], [72 * 2**7], ms.int64)


# ------------------------------------------------------------------------------------------------ beside floats
def test_an_integer_beside_floats(run):
    x, w = Tensor([3, -2, 5]), Tensor([1.0, 2.0, 3.0])
    by_x, by_w = run(ms.grad(lambda x, w: x * w + x, (0, 1)), x, w)
    assert (by_x.dtype, by_x.tolist(), by_w.dtype, by_w.tolist()) == (
        ms.int64, [2, 3, 4], ms.float32, [3.0, -2.0, 5.0],
    )  # fmt: skip


#: A function of bools and floats, and where the cotangent of the bools is not 0.
BY_BOOLS = {
    "a product": (lambda b, x: (b * x).sum(), True),
    "a cast": (lambda b, x: (ops.cast(b, ms.float32) * x).sum(), True),
    "a cast to an integer": (lambda b, x: (ops.cast(b, ms.int32) * x).sum(), True),
    "a sum": (lambda b, x: b.sum() * x.sum(), True),
    "a choice": (lambda b, x: ops.where(b, x, 2.0).sum(), False),
    "itself": (lambda b, x: (b, x * 1.0), False),
    "a derivative": (lambda b, x: ms.grad(lambda b, x: (b * x * x).sum(), 1)(b, x).sum(), True),
}


@pytest.mark.parametrize("name", BY_BOOLS)
def test_a_gradient_by_bools_says_where_the_cotangent_is_not_zero(run, name):
    """It is cast to bool, as that of an integer is truncated (a product: recorded on MindSpore)."""
    (f, reached), b, x = BY_BOOLS[name], Tensor([True, False, True]), Tensor([2.0, 0.0, 5.0])
    by_b, by_x = run(ms.grad(f, (0, 1)), b, x)
    where_x_is_zero = name == "a sum"
    same((by_b,), [[reached, where_x_is_zero, reached]], ms.bool_)
    expected = {"a sum": [2.0] * 3, "itself": [1.0] * 3, "a derivative": [2.0, 0.0, 2.0]}
    assert by_x.tolist() == expected.get(name, [1.0, 0.0, 1.0])


def test_a_float_that_becomes_an_integer_has_no_derivative(run):
    def steps(w):
        return w * w.astype(ms.int32).astype(ms.float32)

    assert run(ms.grad(steps), Tensor([2.5])).tolist() == [2.0]
    # also where integers are variables, of which it does not come
    by_n, by_w = run(ms.grad(lambda n, w: n * n + steps(w), (0, 1)), i32(3), Tensor([2.5]))
    assert (by_n.tolist(), by_w.tolist()) == ([6], [2.0])


def test_mixed_second_derivatives(run):
    def f(n, w):
        return n * n * w

    by_both = ms.grad(lambda n, w: ms.grad(f)(n, w), 1), ms.grad(lambda n, w: ms.grad(f, 1)(n, w), 0)
    found = [run(g, i32(3), Tensor([2.0])) for g in by_both]
    assert [(t.dtype, t.tolist()) for t in found] == [(ms.float32, [6.0]), (ms.int32, [6])]


def test_each_use_is_cut_by_itself(run):
    """Two casts of one integer are one op in no program that is differentiated: each share is cut."""

    def halves(x):
        return ops.cast(x, ms.float32) * 0.5 + ops.cast(x, ms.float32) * 0.5

    same([run(ms.grad(lambda x: (halves(x), x)), i32(3))], [[1]])
    same([run(ms.grad(lambda x: ops.maximum(x, x) * 3 + ops.maximum(x, x) * 5), i32(3))], [[2 + 4]])
    same([run(lambda x: ms.jvp(lambda x: ops.maximum(x, x) * 3 + x, (x,), (i32(1),))[1], i32(3))], [[1]])


def test_integers_of_several_outputs_are_summed(run):
    same([run(ms.grad(lambda x: (x * x, {"a": x * 3, "b": x > 2})), i32(3, -2))], [[9, -1]])


# ------------------------------------------------------------------------------------------------ rules, hooks, cells
class Scaled(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([2, 3], ms.int32), name="w")

    def construct(self, x):
        return self.w * x * x


def test_integer_parameters(run):
    net = Scaled()
    gradient = ms.GradOperation(get_all=True, get_by_list=True)(net, net.trainable_params())
    (by_x,), (by_w,) = run(lambda x: gradient(x), i32(4, 5))
    same([by_x, by_w], [[16, 30], [16, 25]])


class Ruled(nn.Cell):
    def construct(self, x):
        return x * x

    def bprop(self, x, out, dout):
        return (dout * 10 + out * 0,)


def test_rules_of_users(run):
    net, tripled = Ruled(), ops.InsertGradientOf(lambda g: g * 3)
    same([run(ms.grad(lambda x: net(x) * x), i32(3))], [[9 + 30]])
    same([run(ms.grad(lambda x: tripled(x) * x), i32(3))], [[3 * 3 + 3]])


def test_hooks(run):
    class Watched(nn.Cell):
        def construct(self, x):
            return x * x

    net = Watched()
    net.register_backward_hook(lambda cell, into, out: (out[0] + 1,))
    same([run(ms.grad(lambda x: net(x) * 2), i32(3))], [[13]])


def test_recomputed_blocks():
    same([ms.grad(lambda x: ms.recompute(lambda v: v * v * v, x) * 2)(i32(3))], [[54]])


def test_hooks_of_tensors():
    x, seen = i32(3), []
    x.register_hook(lambda g: seen.append(g.tolist()) or g * 2)
    same([ms.grad(lambda x: x * x)(x)], [[12]])
    assert seen == [[6]]
