"""What a refusal says: the line, the names in it, and what to write instead."""

from __future__ import annotations

import io
import logging
import time

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, mutable, nn, ops
from autodiff_compiler.source import line_of

X, Y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])


def refusal(f, *args, **kwargs):
    with pytest.raises(ms.CompileError) as caught:
        f(*args, **kwargs)
    return caught.value


def line(error):
    """The line that an error shows first."""
    place = error.spans[0][0]
    return line_of(place.file, place.line).strip()


def modes(f):
    return f, ms.jit(f)


# ---------------------------------------------------------------------------------------------------- rules
class Keeping(nn.Cell):
    """A rule that writes an attribute."""

    def __init__(self):
        super().__init__()
        self.seen = None

    def construct(self, x, y):
        return x * y

    def bprop(self, x, y, out, dout):
        gradient = dout * y
        self.seen = dout
        return gradient, dout * x


def test_a_rule_that_writes_an_attribute_is_refused_at_that_line():
    net = Keeping()
    eager = ms.grad(net, (0, 1))(X, Y)
    assert [g.tolist() for g in eager] == [[3.0, 4.0], [1.0, 2.0]]
    assert net.seen.tolist() == [1.0, 1.0]

    def through(a, b):
        return ms.grad(lambda a, b: net(a, b).sum(), (0, 1))(a, b)

    error = refusal(ms.jit(through), X, Y)
    assert error.code == "AC1606"
    assert "the bprop of Keeping assigns attribute 'seen' of Keeping" in error.message
    assert line(error) == "self.seen = dout"
    assert error.spans[0][0].function == "Keeping.bprop"
    assert "return ms.grad(lambda a, b: net(a, b).sum(), (0, 1))(a, b)" in str(error)  # the way to it
    assert "HookBackward" in error.hint
    assert line(refusal(ms.jit(ms.grad(net)), X, Y)) == "self.seen = dout"
    assert line(refusal(ms.grad(ms.jit(net)), X, Y)) == "self.seen = dout"


def test_so_is_one_that_writes_it_in_a_branch_or_in_a_function():
    class Branching(Keeping):
        def note(self, g):
            self.seen = g * 1

        def bprop(self, x, y, out, dout):
            if dout.sum() > 0:
                self.note(dout)
            return dout * y, dout * x

    error = refusal(ms.jit(ms.grad(Branching())), X, Y)
    assert line(error) == "self.seen = g * 1"
    assert "called from" in str(error)


def test_a_list_of_the_compiled_function_is_named_that_a_rule_changes():
    @ops.custom_vjp
    def double(x):
        return x * 2

    @ms.jit
    def f(x):
        found = []

        def edit(g):
            found.append(g)
            return g * 3

        g = ms.grad(lambda x: ops.InsertGradientOf(edit)(x).sum())(x)
        return g, len(found)

    error = refusal(f, X)
    assert error.code == "AC1606"
    assert "`found`" in error.message
    assert line(error) == "found.append(g)"


class Recording(nn.Cell):
    """What the advice says: a hook may write it."""

    def __init__(self):
        super().__init__()
        self.seen = None
        self.hook = ops.HookBackward(self.note)

    def note(self, grads):
        self.seen = grads[0]

    def construct(self, x):
        return self.hook(x) * 3


def test_a_hook_may_record_what_a_rule_may_not():
    for wrapped in (lambda f: f, ms.jit):
        net = Recording()
        assert wrapped(ms.grad(net))(X).tolist() == [3.0, 3.0]
        assert net.seen.tolist() == [3.0, 3.0]


@ops.custom_vjp
def square(x):
    return x * x


@square.defbwd
def square_bwd(x, dout):
    return (2 * x * dout,)


def test_the_advice_for_a_rule_that_takes_too_little_is_its_own_first_line():
    for f in modes(ms.grad(square)):
        error = refusal(f, X)
        assert error.code == "AC1702"
        assert error.hint == "write `def square_bwd(x, out, dout)`"
        assert "`square_bwd(x, dout)` for `square(x)`" in error.message
        assert "cell" not in error.message


def test_of_a_lambda_of_a_method_and_of_many_arguments_likewise():
    @ops.custom_vjp
    def cube(*xs):
        return xs[0] * xs[1]

    cube.defbwd(lambda dout: dout)
    assert refusal(ms.grad(cube), X, Y).hint == "write `lambda xs_0, xs_1, out, dout: ...`"

    class Box:
        @ops.custom_vjp
        def half(self, x):
            return x / 2

        @half.defbwd
        def half_bwd(self, dout):
            return (dout / 2,)

    assert refusal(ms.grad(Box().half), X).hint == "write `def half_bwd(self, x, out, dout)`"


class Misshapen(nn.Cell):
    def __init__(self, second):
        super().__init__()
        self.second = second

    def construct(self, x, y):
        return x * y.sum()

    def bprop(self, x, y, out, dout):
        return dout * y.sum(), self.second


def test_a_gradient_of_another_shape_or_kind_is_said_to_be_of_its_input():
    y = Tensor([1.0, 2.0, 3.0])
    for f in modes(ms.grad(Misshapen(X), (0, 1))):
        error = refusal(f, X, y)
        assert error.code == "AC1704"
        assert "returns for 'y' a gradient of shape [2]" in error.message
    for f in modes(ms.grad(Misshapen("junk"), (0, 1))):
        assert "returns a str 'junk' as the gradient of 'y'" in refusal(f, X, y).message


def test_a_rule_that_divides_by_zero_gets_the_advice_for_a_division():
    class Dividing(nn.Cell):
        def construct(self, x):
            return x * 2

        def bprop(self, x, out, dout):
            return (dout / (x - x),)

    for f in modes(ms.grad(Dividing())):
        with ms.check_nonfinite():
            error = refusal(f, X)
        assert error.code == "AC1903"
        assert error.hint.startswith("the divisor is 0")


# ---------------------------------------------------------------------------------------------------- values
def test_of_a_comprehension_the_number_of_elements_is_what_is_not_known():
    def f(x, n):
        return ops.stack([x * i for i in range(n)])

    assert f(X, 2).tolist() == [[0.0, 0.0], [1.0, 2.0]]
    for n in (Tensor(2), mutable(2)):
        error = refusal(ms.jit(f), X, n)
        (note,) = [n for n in error.notes if "dynamic because" in n]
        assert error.code == "AC1302"
        assert "argument `n`" in note
        assert "`x`" not in note
        assert "Python number" in error.hint


# ---------------------------------------------------------------------------------------------------- ndarrays
def added(a):
    a += 1
    return a


def test_an_ndarray_that_was_given_is_not_changed_by_an_augmented_assignment():
    array = np.ones(3, np.float32)
    added(array)
    assert array.tolist() == [2.0, 2.0, 2.0]  # which compiled code could not do
    error = refusal(ms.jit(added), np.ones(3, np.float32))
    assert error.code == "AC1602"
    assert "`a`" in error.message
    assert error.hint == "make a new one: `a = a + ...`"
    assert line(error) == "a += 1"
    assert ms.jit(added)(Tensor([1.0])).tolist() == [2.0]


def twice(a):
    b = a
    b *= 2
    return b


def later(a):
    for _ in range(20):
        a -= 1
    return a


def some(a, c):
    if c:
        a = a * 2
    a += 1
    return a


def inner(a):
    return added(a)


@pytest.mark.parametrize("f", [twice, later, inner, lambda a: some(a, Tensor(True)), lambda a: added(*[a])])
def test_nor_is_one_by_another_name_in_a_loop_or_in_a_called_function(f):
    assert refusal(ms.jit(f), np.ones(3, np.float32)).code == "AC1602"


def fresh(a):
    a = a * 2
    a += 1
    return a


def of_loop(a, n):
    for _ in range(n):
        a = a * 2
        a += 1
    return a


def test_what_was_computed_of_it_may_be_changed():
    array = np.ones(3, np.float32)
    assert ms.jit(fresh)(array).tolist() == [3.0, 3.0, 3.0]
    assert ms.jit(of_loop)(array, mutable(3)).tolist() == [15.0, 15.0, 15.0]  # 1, 3, 7, 15
    assert array.tolist() == [1.0, 1.0, 1.0]


def scaled(x, a):
    a += 1
    return x * a


def replaced(a):
    a[0] = 9.0
    return a * a


def test_a_transform_makes_a_tensor_of_an_ndarray_and_that_may_be_changed():
    array = np.ones(2, np.float32)
    for f in modes(ms.grad(added)):
        assert f(array).tolist() == [1.0, 1.0]
    for f in modes(ms.grad(scaled)):
        assert f(X, array).tolist() == [2.0, 2.0]
    for f in modes(ms.grad(replaced)):
        assert f(array).tolist() == [0.0, 2.0]
    for f in modes(ms.vmap(scaled, (0, None))):
        assert f(X, array).tolist() == [[2.0, 2.0], [4.0, 4.0]]
    for f in modes(ms.jacrev(scaled)):
        assert f(X, array).tolist() == [[2.0, 0.0], [0.0, 2.0]]
    for f in modes(lambda x, a: ms.vjp(scaled, x, a)[1](Tensor([1.0, 1.0]))[0]):
        assert f(X, array).tolist() == [2.0, 2.0]
    assert array.tolist() == [1.0, 1.0]


# ---------------------------------------------------------------------------------------------------- calls
LOG = logging.getLogger(__name__)


def stopping(x):
    breakpoint()
    return x


def logging_it(x):
    logging.warning("here")
    return x


def logging_elsewhere(x):
    LOG.info("here")
    return x


def sleeping(x):
    time.sleep(0.001)
    return x


def timing(x):
    return x * time.time()


CALLS = [
    (stopping, "AC1806", ["ms.disable_jit()", "AC_DISABLE_JIT=1"]),
    (logging_it, "AC1604", ["print", "out of the compiled function"]),
    (logging_elsewhere, "AC1604", ["print", "out of the compiled function"]),
    (sleeping, "AC1604", ["move it out of the compiled function"]),
    (timing, "AC1604", ["pass the value as an argument"]),
]


@pytest.mark.parametrize(("f", "code", "advice"), CALLS, ids=lambda x: getattr(x, "__name__", None))
def test_the_advice_for_a_call_fits_what_it_is_for(f, code, advice):
    error = refusal(ms.jit(f), X)
    assert error.code == code
    assert all(part in error.hint for part in advice)
    assert ("result frozen" in error.message) == (f is timing)  # the others have no result


def test_printing_into_a_file_is_a_call_that_cannot_be_seen():
    out = io.StringIO()

    @ms.jit
    def f(x):
        print(x, file=out)
        return x

    error = refusal(f, X)
    assert error.code == "AC1807"
    assert "StringIO" in error.message
    assert "py_call" in error.hint
