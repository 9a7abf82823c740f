"""Deep nesting, memory, processes and copies: what a program may do to the compiler without harm."""

from __future__ import annotations

import contextlib
import copy
import functools
import gc
import linecache
import os
import pickle
import signal
import sys
import threading
import weakref

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, depth, locks, nn, ops
from autodiff_compiler.errors import GradientError, RecursionDepthError, StaticValueError


# ------------------------------------------------------------------------------------------------ depth
def made(source):
    """The function `f` of a source text."""
    name = f"<made {abs(hash(source))}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    namespace = {}
    exec(compile(source, name, "exec"), namespace)
    return namespace["f"]


def early_returns(n, between=""):
    lines = [f"    if x.sum() < {i}:\n        return x * {i}\n{between}" for i in range(n)]
    return made("def f(x):\n" + "".join(lines) + "    return x\n")


def elif_chain(n):
    arms = [f"    elif x.sum() < {i}:\n        y = x * {i}\n" for i in range(n)]
    return made(
        "def f(x):\n    if x.sum() < 0:\n        y = -x\n" + "".join(arms) + "    else:\n        y = x\n    return y\n"
    )


def steps(fn, x):
    """How many functions Python calls and generators it resumes for the first call."""
    count = 0

    def note(frame, event, argument):
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        fn(x)
    finally:
        sys.setprofile(None)
    return count


def test_long_elif_chains_compile_in_linear_time():
    x = Tensor([5.0])
    ms.jit(elif_chain(3))(x)
    few, many = (steps(ms.jit(elif_chain(n)), x) for n in (20, 80))
    assert many < 4.5 * few


def hooked_tower(n):
    """Cells inside each other, each with a backward hook."""

    class Floor(nn.Cell):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner
            self.register_backward_hook(lambda cell, arriving, leaving: (leaving[0] * 2,))

        def construct(self, x):
            return self.inner(x) * 1.5 if self.inner is not None else x * 1.5

    tower = None
    for _ in range(n):
        tower = Floor(tower)
    return ms.grad(lambda x: tower(x).sum())


def test_cells_with_hooks_inside_each_other_compile_in_linear_time():
    x = Tensor([5.0])
    np.testing.assert_allclose(ms.jit(hooked_tower(3))(x).asnumpy(), [3.0**3])
    few, many = (steps(ms.jit(hooked_tower(n)), x) for n in (25, 100))
    assert many < 6 * few


def test_returns_one_after_the_other_compile_in_linear_time():
    x = Tensor([5.0])
    ms.jit(early_returns(3))(x)
    few, many = (steps(ms.jit(early_returns(n)), x) for n in (30, 120))
    assert many < 5.5 * few


@pytest.mark.parametrize(
    "fn",
    [
        pytest.param(early_returns(500), marks=pytest.mark.long),
        early_returns(80),
        early_returns(40, "    x = x + 0.01\n"),
        elif_chain(70),
    ],
    ids=["very many returns", "returns", "grown", "elifs"],
)
def test_deep_programs_run_right(fn):
    limit = sys.getrecursionlimit()
    jitted, gradient = ms.jit(fn), ms.jit(ms.grad(fn))
    for value in (-3.0, 0.5, 30.2, 48.7, 400.0):
        x = Tensor([value, value + 0.5])
        np.testing.assert_array_equal(jitted(x).asnumpy(), fn(x).asnumpy())
        np.testing.assert_array_equal(gradient(x).asnumpy(), ms.grad(fn)(x).asnumpy())
    assert sys.getrecursionlimit() == limit


def test_deep_programs_delete_large_buffers():
    fn = early_returns(60, "    x = x + 0.01\n")
    x = Tensor(np.full(300_000, 1e-7, np.float32))
    np.testing.assert_array_equal(ms.jit(fn)(x).asnumpy(), fn(x).asnumpy())


def test_what_is_too_deep_says_so(monkeypatch):
    monkeypatch.setattr(depth, "_FRAMES", 1000)
    with pytest.raises(RecursionDepthError, match="nested too deeply"):
        ms.jit(elif_chain(300))(Tensor([5.0]))
    monkeypatch.undo()
    assert ms.jit(elif_chain(300))(Tensor([5.0, 6.0])).tolist() == [60.0, 72.0]


# ------------------------------------------------------------------------------------------------ memory
def alive(step, times=5):
    """How many of the large Tensors that `step` captured are still alive, without and with a collection."""
    refs = []
    for _ in range(times):
        batch = Tensor(np.ones(8, np.float32))
        refs.append(weakref.ref(batch))
        step(batch)
        del batch
    before = sum(r() is not None for r in refs)
    gc.collect()
    return before, sum(r() is not None for r in refs)


TRANSFORMED = {
    "grad": lambda f: ms.grad(f)(Tensor(1.0)),
    "value_and_grad": lambda f: ms.value_and_grad(f)(Tensor(1.0)),
    "jvp": lambda f: ms.jvp(f, Tensor(1.0), Tensor(1.0)),
    "vjp": lambda f: ms.vjp(f, Tensor(1.0))[0],
    "jacrev": lambda f: ms.jacrev(f)(Tensor(1.0)),
    "vmap": lambda f: ms.vmap(f)(Tensor([1.0])),
}


@pytest.mark.some(2)
@pytest.mark.parametrize("name", TRANSFORMED)
def test_transforms_keep_no_closure_alive(name, mode):
    def step(batch):
        TRANSFORMED[name](lambda w: (w * batch).sum())

    before, after = alive(step)
    assert after == 0
    if mode == ms.PYNATIVE_MODE and name in ("grad", "value_and_grad"):
        assert before <= 1


@pytest.fixture(params=[ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["eager", "graph"])
def mode(request):
    before = ms.get_context("mode")
    ms.set_context(mode=request.param)
    yield request.param
    ms.set_context(mode=before)


def test_graph_mode_finds_derivatives_again(mode):
    def f(x):
        return x * x

    assert (ms.grad(f) is ms.grad(f)) == (mode == ms.GRAPH_MODE)
    assert ms.grad(f) is not ms.value_and_grad(f)


# ------------------------------------------------------------------------------------------------ processes
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_while_another_thread_compiles_finds_free_locks():
    held, go_on = threading.Event(), threading.Event()

    def hold():
        with contextlib.ExitStack() as stack:
            for lock in list(locks._locks):
                stack.enter_context(lock)
            held.set()
            go_on.wait(60)

    @ms.jit
    def f(x):
        return x * 3

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    pid = os.fork()
    if not pid:
        signal.alarm(60)  # kills the child if it waits for a lock
        os._exit(0 if f(Tensor([1.0])).tolist() == ms.grad(f)(Tensor([1.0])).tolist() == [3.0] else 1)
    go_on.set()
    thread.join()
    assert os.waitpid(pid, 0)[1] == 0


# ------------------------------------------------------------------------------------------------ copies
class Holder(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = ms.Parameter([2.0], name="w")
        self.twice = ms.jit(double)
        self.own = ms.jit(self.scaled)

    def scaled(self, x):
        return x * self.w

    def construct(self, x):
        return self.twice(self.own(x))


def double(x):
    return x * 2


def test_a_cell_with_compiled_attributes_can_be_copied_but_not_pickled():
    cell, x = Holder(), Tensor([3.0])
    assert cell(x).tolist() == [12.0]
    other = copy.deepcopy(cell)
    other.w.set_data([5.0])
    assert other(x).tolist() == [30.0]
    assert cell(x).tolist() == [12.0]
    assert other.twice is not cell.twice
    with pytest.raises(TypeError, match=r"jit of double.*cannot be pickled"):
        pickle.dumps(cell)


def test_a_function_with_kept_derivatives_is_copied_and_wrapped_without_them():
    def f(x):
        return x * x

    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        assert ms.grad(f)(Tensor(3.0)).item() == 6.0

        @functools.wraps(f)
        def g(x):
            return x * 7

        assert ms.grad(g)(Tensor(3.0)).item() == 7.0
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


# ------------------------------------------------------------------------------------------------ numbers
@pytest.mark.parametrize(
    ("fn", "expected"),
    [
        (lambda a: ops.xlogy(a, 2.0), np.log([2.0, 2.0])),
        (lambda a: ops.xlogy(2.0, a), [2.0, 1.0]),
        (lambda a: ops.logaddexp(2.0, a), 1 / (1 + np.exp(2 - np.array([1.0, 2.0])))),
    ],
)
def test_gradients_beside_python_numbers(fn, expected):
    for gradient in (ms.grad(fn), ms.jit(ms.grad(fn))):
        np.testing.assert_allclose(gradient(Tensor([1.0, 2.0])).asnumpy(), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("fn", "expected"),
    [
        (lambda a: ops.logaddexp2(a, 2), np.logaddexp2([0.3], 2)),
        (lambda a: ops.lerp(a, a + 1, 0.1), [0.4]),
        (lambda a: ops.addcmul(a, a, 0.1), [0.33]),
    ],
)
def test_python_numbers_do_not_lower_the_precision(fn, expected):
    x = Tensor(np.array([0.3]))
    for f in (fn, ms.jit(fn)):
        np.testing.assert_allclose(f(x).asnumpy(), expected, rtol=1e-15)


# ------------------------------------------------------------------------------------------------ sensitivities
@pytest.mark.parametrize(
    ("sens", "expected"),
    [
        (2.0, [4.0, 8.0]),
        (np.float64(2), [4.0, 8.0]),
        (np.ones(2, np.float32), [2.0, 4.0]),
        (np.ones(2), [2.0, 4.0]),
        (Tensor([1.0, 2.0], ms.float64), [2.0, 8.0]),
        (Tensor([1, 0]), [2.0, 0.0]),
        (Tensor([[1.0, 1.0]]), "has shape"),
        (Tensor(1.0), "has shape"),
        ((1.0, 2.0), "1 output tensors, but 2 cotangents"),
        ("a", "must be a Tensor"),
    ],
)
def test_sensitivities_mean_the_same_in_both_modes(sens, expected, mode):
    gradient = ms.GradOperation(sens_param=True)(lambda a: a * a)
    if isinstance(expected, str):
        with pytest.raises(GradientError, match=expected):
            gradient(Tensor([1.0, 2.0]), sens)
    else:
        assert gradient(Tensor([1.0, 2.0]), sens).tolist() == expected


@pytest.mark.parametrize("sens", [2.0, Tensor([1.0, 1.0]), Tensor([True, True])])
@pytest.mark.filterwarnings(r"ignore:\[AC2003")
def test_an_output_without_derivative_takes_any_sensitivity(sens, mode):
    assert ms.GradOperation(sens_param=True)(lambda a: a > 1)(Tensor([1.0, 2.0]), sens).tolist() == [0.0, 0.0]


# ------------------------------------------------------------------------------------------------ arguments
X = Tensor([[1.0, 2.0, 3.0], [0.1, -0.5, 0.2]])


@pytest.mark.parametrize(
    ("fn", "expected"),
    [
        (lambda x: ops.hstack(x), np.hstack),
        (lambda x: ops.vstack(x), np.vstack),
        (lambda x: ops.dstack(x), np.dstack),
        (lambda x: ops.column_stack(x), np.column_stack),
        (lambda x: ops.concat(x), np.concatenate),
        (lambda x: ops.stack(x, 1), lambda x: np.stack(x, 1)),
    ],
)
def test_one_tensor_as_a_sequence_of_its_rows(fn, expected):
    for f in (fn, ms.jit(fn)):
        np.testing.assert_array_equal(f(X).asnumpy(), expected(X.asnumpy()))


@pytest.mark.parametrize(
    "fn",
    [
        lambda x, t: ops.nan_to_num(x, t),
        lambda x, t: ops.hardtanh(x, -1, t),
        lambda x, t: ops.softshrink(x, t),
        lambda x, t: ops.hardshrink(x, t),
    ],
)
def test_parameters_that_compiled_code_must_know(fn):
    with pytest.raises(StaticValueError, match=r"must be a (constant|Python number)"):
        ms.jit(fn)(X, Tensor(0.5))


def test_leaky_relu_broadcasts():
    slope = X * 0.1
    expected = np.where(slope.asnumpy()[0] > 0, slope.asnumpy()[0], slope.asnumpy()[0] * X.asnumpy())
    for f in (ops.leaky_relu, ms.jit(lambda x, a: ops.leaky_relu(x, a))):
        np.testing.assert_array_equal(f(slope[0] - 0.2, X).asnumpy().shape, (2, 3))
        np.testing.assert_allclose(f(slope[0], X).asnumpy(), expected, rtol=1e-6)
