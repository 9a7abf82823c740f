"""`autodiff_compiler.testing`: checks that find wrong gradients and differing modes, and say where."""

from __future__ import annotations

import re

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.testing import (
    GradientMismatch,
    ModeMismatch,
    assert_modes_equal,
    check_bprop,
    gradcheck,
    gradient_errors,
)
from autodiff_compiler.testing.modes import in_mode

pytest_plugins = ["autodiff_compiler.testing.fixtures"]


class Right(nn.Cell):
    """The custom operator of document 000."""

    def construct(self, x):
        return x * ops.sin(x)

    def bprop(self, x, out, dout):
        return (dout * (ops.sin(x) + x * ops.cos(x)),)


class Wrong(Right):
    """The same with a mistake in the second term."""

    def bprop(self, x, out, dout):
        return (dout * (ops.sin(x) - x * ops.cos(x)),)


X = np.array([0.5, 2.0, -1.0])


@pytest.mark.parametrize("dtype", [ms.float32, ms.float64])
def test_a_right_rule_passes(dtype):
    assert check_bprop(Right(), Tensor(X, dtype)) is True
    assert gradcheck(Right(), (Tensor(X, dtype),), order=2 if dtype is ms.float64 else 1) is True


@pytest.mark.parametrize("dtype", [ms.float32, ms.float64])
def test_a_wrong_rule_is_named_with_input_element_amount_and_line(dtype):
    with pytest.raises(GradientMismatch) as caught:
        check_bprop(Wrong(), Tensor(X, dtype))
    error = caught.value
    # out of (sin x - x cos x) - (sin x + x cos x) = -2 x cos x, weighted by cos(1 + i) + 1/4
    apart = -2 * X * np.cos(X) * (np.cos(1.0 + np.arange(3)) + 0.25)
    worst = int(np.argmax(np.abs(apart)))
    assert error.input == "x"
    assert error.index == (worst,)
    assert error.difference == pytest.approx(apart[worst], rel=1e-2)
    told = str(error)
    line = Wrong.bprop.__code__.co_firstlineno
    assert "'x'" in told
    assert f"element [{worst}]" in told
    assert f"test_testing.py:{line}" in told
    assert "3 of 3 elements" in told
    automatic = (np.sin(X) + X * np.cos(X))[worst] * (np.cos(1.0 + worst) + 0.25)
    shown = float(re.search(r"automatic differentiation of the same code gives (\S+)", told)[1])
    assert shown == pytest.approx(automatic, rel=1e-2)


def test_a_small_mistake_is_found_in_double_precision():
    class Slightly(Right):
        def bprop(self, x, out, dout):
            return (dout * (ops.sin(x) + x * ops.cos(x)) * 1.00001,)

    with pytest.raises(GradientMismatch):
        check_bprop(Slightly(), Tensor(X, ms.float64))


def test_several_inputs_and_outputs():
    class Both(nn.Cell):
        def construct(self, x, n, y):
            return x * y, (y * n).sum()

        def bprop(self, x, n, y, out, dout):
            return dout[0] * y, None, dout[0] * x + dout[1] * n

    x, y, n = Tensor([1.5, 2.5], ms.float64), Tensor([0.5, -1.0], ms.float64), Tensor([2, 3], ms.int32)
    assert check_bprop(Both(), (x, n, y))

    class Swapped(Both):
        def bprop(self, x, n, y, out, dout):
            return dout[0] * y, None, dout[0] * x

    with pytest.raises(GradientMismatch) as caught:
        check_bprop(Swapped(), (x, n, y))
    assert caught.value.input == "y"


def test_a_rule_that_is_wrong_in_the_second_derivative_only():
    class Once(nn.Cell):
        def construct(self, x):
            return x**3

        def bprop(self, x, out, dout):
            return (dout * 3 * ops.stop_gradient(x * x),)

    x = Tensor([1.5], ms.float64)
    assert gradcheck(Once(), x)
    with pytest.raises(GradientMismatch, match="grad"):
        gradcheck(Once(), x, order=2)


def test_functions_with_a_rule():
    @ops.custom_vjp
    def square(x):
        return x * x

    x = Tensor([1.5], ms.float64)
    with pytest.raises(TypeError, match="derivative of its own"):
        check_bprop(square, x)
    square.defbwd(lambda x, out, dout: (2 * x * dout,))
    assert check_bprop(square, x)
    square.defbwd(lambda x, out, dout: (3 * x * dout,))
    with pytest.raises(GradientMismatch, match="square"):
        check_bprop(square, x)


def test_nothing_to_check():
    with pytest.raises(ValueError, match="no float Tensor"):
        gradcheck(lambda x: x, Tensor([1], ms.int32))
    with pytest.raises(ValueError, match="returns no float"):
        gradcheck(lambda x: x.astype(ms.int32), Tensor([1.0]))
    with pytest.raises(TypeError, match="derivative of its own"):
        check_bprop(nn.ReLU(), Tensor([1.0]))


def test_the_arguments_stay_as_they_are():
    x = Tensor([1.0, 2.0], ms.float64)

    def f(x):
        x[0] = x[1] * 2
        return x * x

    assert gradcheck(f, x)
    assert x.tolist() == [1.0, 2.0]


def test_equal_modes_give_the_result():
    def f(x, n):
        for _ in range(n):
            x = x * x
        return {"x": x, "n": n}

    found = assert_modes_equal(f, Tensor([1.5]), 2)
    assert found["n"] == 2
    assert found["x"].tolist() == [1.5**4]


@ms.constexpr
def is_graph():
    """Whether it is asked in GRAPH_MODE: what no program should depend on."""
    return ms.get_context("mode") == ms.GRAPH_MODE


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (lambda x: x * (2.0 if is_graph() else 1.0), "element [0]: 6.0, eager gives 3.0"),
        (lambda x: x if is_graph() else x.astype(ms.float64), "Float32[1], eager gives Float64[1]"),
        (lambda x: x if is_graph() else x.reshape((1, 1)), "eager gives Float32[1, 1]"),
        (lambda x: (x, x) if is_graph() else (x,), "2 items, eager gives 1"),
        (lambda x: [x] if is_graph() else (x,), "a list, eager gives a tuple"),
        (lambda x: {"a": {"b": 3 if is_graph() else 4}}, "['a']['b']: 3, eager gives 4"),
    ],
)
def test_differing_modes_are_found(given, told):
    with pytest.raises(ModeMismatch) as caught:
        assert_modes_equal(given, Tensor([3.0]))
    assert told in str(caught.value)
    assert "graph O0" in str(caught.value)


def test_differing_writes_to_arguments_are_found():
    def f(x):
        x[0] = 5.0 if is_graph() else 6.0
        return x.sum() * 0

    with pytest.raises(ModeMismatch, match="arguments after the call"):
        assert_modes_equal(f, Tensor([3.0]))


class Adding(nn.Cell):
    """A state that each call adds 1 to, and that is to be left as it is after one."""

    def __init__(self, other=0.0):
        super().__init__()
        self.w = ms.Parameter(Tensor([1.0, 2.0]), name="w")
        self.other = other

    def construct(self, x):
        self.w = self.w + 1.0 + (self.other if is_graph() else 0.0)
        return x * x * self.w


def test_each_mode_begins_with_the_same_parameters():
    cell = Adding()
    value, _ = assert_modes_equal(cell, Tensor([5.0, 7.0]), grad_position=0, weights=[cell.w])
    assert value.tolist() == [50.0, 147.0]
    assert cell.w.tolist() == [2.0, 3.0]
    assert gradcheck(cell, Tensor(X[:2]), order=2)
    assert cell.w.tolist() == [2.0, 3.0]


def test_differing_writes_to_parameters_are_found():
    told = r"the Parameter w after the call in graph O0, element \[0\]: 5\.0, eager gives 2\.0"
    with pytest.raises(ModeMismatch, match=told):
        assert_modes_equal(lambda cell, x: (cell(x), x * 0)[1], Adding(3.0), Tensor([1.0, 1.0]))


def test_differing_exceptions_are_found():
    def f(x):
        if not is_graph():
            raise ValueError("only here")
        return x

    with pytest.raises(ModeMismatch, match=r"eager: ValueError: only here\ngraph O0: no exception"):
        assert_modes_equal(f, Tensor([3.0]))


def test_the_exception_of_every_mode_is_raised():
    def f(x):
        raise KeyError("everywhere")

    with pytest.raises(KeyError, match="everywhere"):
        assert_modes_equal(f, Tensor([3.0]))


def test_gradients_are_compared_too():
    value, gradient = assert_modes_equal(lambda x: (x * x).sum(), Tensor([3.0]), grad_position=0)
    assert value.item() == 9.0
    assert gradient.tolist() == [6.0]


def test_the_settings_come_back():
    before = ms.get_context("mode"), ms.get_context("optimize")
    inside = []

    def fails():
        with in_mode("graph O0"):
            inside.append((ms.get_context("mode"), ms.get_context("optimize")))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    assert inside == [(ms.GRAPH_MODE, 0)]
    assert (ms.get_context("mode"), ms.get_context("optimize")) == before


def test_the_fixture_sets_the_mode(both_modes):
    assert both_modes == ("eager" if ms.get_context("mode") == ms.PYNATIVE_MODE else "graph")


def test_the_fixture_runs_a_test_twice_and_restores(pytester_file):
    assert pytester_file == "2 passed"


@pytest.fixture
def pytester_file(tmp_path):
    """How many tests pytest runs for one that uses the fixture; the mode is checked after each."""
    import subprocess
    import sys

    (tmp_path / "conftest.py").write_text(
        "import autodiff_compiler as ms, pytest\n"
        'pytest_plugins = ["autodiff_compiler.testing.fixtures"]\n'
        "@pytest.fixture(autouse=True)\n"
        "def restored():\n"
        "    yield\n"
        "    assert ms.get_context('mode') == ms.PYNATIVE_MODE\n"
    )
    (tmp_path / "test_it.py").write_text("def test_it(both_modes):\n    assert both_modes in ('eager', 'graph')\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=_environment())
    return re.search(r"\d+ passed", done.stdout)[0]


def _environment():
    import os
    from pathlib import Path

    root = str(Path(ms.__file__).parent.parent)
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))}


# ------------------------------------------------------------------------------------------------ containers and state
def test_tensors_in_mutable_containers_are_inputs():
    pair = ms.mutable((Tensor([1.0, 3.0], ms.float64), Tensor([2.0, 5.0], ms.float64)))
    named = ms.mutable({"a": Tensor([1.0, 3.0], ms.float64)})
    assert gradcheck(lambda p, y: p[0] * p[1] ** 2 * y, (pair, Tensor(3.0, ms.float64)))
    assert gradcheck(lambda d: d["a"] ** 3, (named,))
    with pytest.raises(GradientMismatch) as told:
        gradcheck(lambda d: ops.InsertGradientOf(lambda g: g * 2)(d["a"]), (named,))
    assert told.value.difference == pytest.approx(np.cos(1.0) + 0.25, rel=1e-6)  # the weight of that output, once more


def test_parameters_that_are_assigned_get_their_values_back():
    class Counter(nn.Cell):
        def __init__(self):
            super().__init__()
            self.count = ms.Parameter(Tensor([1.0], ms.float64), name="count", requires_grad=False)

        def construct(self, x):
            self.count += 1
            return x * self.count

    net = Counter()
    assert gradcheck(net, Tensor([1.0], ms.float64))
    assert gradcheck(lambda x: net(x), Tensor([1.0], ms.float64), order=2)
    assert net.count.tolist() == [1.0]


# ------------------------------------------------------------------------------------------------ Parameters
def test_a_wrong_gradient_by_a_parameter_is_named():
    """By w it is x, and the rule says 100; the weights of the outputs are cos(1 + i) + 1/4."""
    times = ops.custom_vjp(lambda x, w: x * w)
    times.defbwd(lambda x, w, out, g: (g * w, g * 100.0))
    w = ms.Parameter(Tensor([2.0, 3.0], ms.float64), name="scale")
    x = Tensor([0.5, -2.0], ms.float64)
    assert gradcheck(lambda x: times(x, w), x)  # by x the rule is right
    with pytest.raises(GradientMismatch, match="by 'scale' is wrong at element") as caught:
        gradcheck(lambda x: times(x, w), x, weights=w)
    (i,) = caught.value.index
    wanted = (100 - [0.5, -2.0][i]) * (np.cos(1 + i) + 0.25)
    assert (caught.value.input, caught.value.difference) == ("scale", pytest.approx(wanted))
    assert w.tolist() == [2.0, 3.0]


@pytest.mark.parametrize("form", [list, tuple, ms.ParameterTuple])
def test_weights_are_given_as_grad_takes_them(form):
    a, b = (ms.Parameter(Tensor([x], ms.float64), name=n) for x, n in ((2.0, "a"), (3.0, "b")))
    found = gradient_errors(lambda x: a * a * b * x, Tensor([1], ms.int32), weights=form([a, b]), order=2)
    assert [(m.order, m.input) for m in found] == [(n, name) for n in (1, 2) for _ in range(3) for name in "ab"]
    # Of a * a * b: 2ab and aa; of the sum of these: 2b + 2a and 2a.
    wanted = (np.cos(1.0) + 0.25) * np.array([12.0, 4.0] * 3 + [10.0, 4.0] * 3)  # each output has one element
    assert [m.found for m in found] == pytest.approx(wanted)
    assert [m.wanted for m in found] == pytest.approx(wanted)


def test_a_parameter_may_be_an_argument_and_a_weight():
    """They are two inputs: in x * w the gradient by either is the other."""
    w = ms.Parameter(Tensor([2.0, 3.0], ms.float64), name="w")
    found = gradient_errors(lambda x: x * w, w, weights=[w])
    assert [(m.input, m.wrong) for m in found] == [("x", 0), ("w", 0)] * 3


def test_a_second_gradient_by_a_parameter_that_a_rule_lost():
    """The rule gives 2w as a number that does not depend on w: the second gradient is 0, and not 2."""
    square = ops.custom_vjp(lambda w: w * w)
    square.defbwd(lambda w, out, g: (g * 2 * ops.stop_gradient(w),))
    w = ms.Parameter(Tensor([2.0], ms.float64), name="w")
    assert gradcheck(lambda n: square(w) * n, 3, weights=w)
    with pytest.raises(GradientMismatch, match="by 'w' is wrong") as caught:
        gradcheck(lambda n: square(w) * n, 3, weights=w, order=2)
    assert caught.value.difference == pytest.approx(-2 * 3 * (np.cos(1.0) + 0.25))


def test_steps_follow_the_rougher_dtype_of_input_and_output():
    """Steps as float64 has them would drown in the roundings of float32 results."""
    x, w = Tensor([0.3, 1.7], ms.float64), ms.Parameter(Tensor([0.7, 1.1]), name="w")
    assert gradcheck(lambda x: ops.sin(x).astype(ms.float32), x)
    assert gradcheck(lambda x: ops.sin(x * w), x, weights=w, order=2)  # the first gradient by w is float32
    with pytest.raises(GradientMismatch):
        gradcheck(lambda x: ops.InsertGradientOf(lambda g: g * 1.1)(x).astype(ms.float32), x)


def test_weights_that_cannot_be_checked():
    half = ms.Parameter(Tensor([1.0], ms.float16), name="half")
    with pytest.raises(ValueError, match="Float16 is too coarse for numerical gradients"):
        gradcheck(lambda x: x * half, Tensor([1.0], ms.float64), weights=half)
    with pytest.raises(TypeError, match="weights must be Parameters, not Tensor"):
        gradcheck(lambda x: x, Tensor([1.0], ms.float64), weights=[Tensor([1.0])])
    with pytest.raises(ValueError, match="is given no float Tensor: there is no gradient to check"):
        gradcheck(lambda x: x, 1, weights=[ms.Parameter(Tensor([1]), name="n")])


# ------------------------------------------------------------------------------------------------ random numbers
def test_a_check_leaves_the_random_numbers_as_they_were():
    def drop(x):
        return ops.dropout(x, p=0.5)

    state = ms.get_rng_state()
    assert gradcheck(drop, Tensor(np.arange(1.0, 9.0)))
    assert ms.get_rng_state() == state


def test_modes_draw_the_same_random_numbers():
    """About a half of 200 numbers are dropped: draws of their own would differ."""
    x = Tensor(np.arange(1.0, 201.0))
    kept = assert_modes_equal(lambda x: ops.dropout(x, p=0.5), x).asnumpy()
    assert 40 < (kept == 0).sum() < 160


def test_results_that_only_round_otherwise_are_the_same():
    factors = []

    def rounding(x):
        """As where threads add up in another order each time."""
        factors.append(1.0 + len(factors) % 2 * 1e-14)
        return x * factors[-1]

    with ms.disable_jit():
        assert gradcheck(rounding, Tensor(np.array([1.0, 2.0])))
    assert len(set(factors)) == 2
