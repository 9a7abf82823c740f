"""The decisions of the specification that are no rows of its tables, each with its test."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import namedtuple

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.transforms import jit as jit_module
from tests.agreement import assert_same, bits

X = Tensor([1.0, 2.0])


@pytest.fixture
def graph_mode():
    ms.set_context(mode=ms.GRAPH_MODE)
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


@pytest.fixture
def compiles(monkeypatch):
    """A list that grows with every compilation."""
    made = []
    one = jit_module.specialise
    monkeypatch.setattr(jit_module, "specialise", lambda *args, **kwargs: made.append(1) or one(*args, **kwargs))
    return made


class Net(nn.Cell):
    def construct(self, x):
        return x * 2.0


def square(x):
    return (x * x).sum()


# ------------------------------------------------------------------------------------------------ 1: modes
def test_the_default_mode_is_eager():
    told = "import autodiff_compiler as ms; print(ms.get_context('mode') == ms.PYNATIVE_MODE)"
    assert subprocess.run([sys.executable, "-c", told], capture_output=True, text=True).stdout == "True\n"


def test_graph_mode_compiles_cells_and_derivatives_but_no_other_function(graph_mode, compiles):
    square(X)
    assert not compiles
    Net()(X)
    assert len(compiles) == 1
    ms.grad(square)(X)
    assert len(compiles) == 2


def test_eager_mode_compiles_what_jit_says(compiles):
    Net()(X)
    ms.grad(square)(X)
    assert not compiles
    ms.jit(square)(X)
    assert len(compiles) == 1


def test_jit_can_be_switched_off(graph_mode, compiles):
    seen = []

    def f(x):
        seen.append(type(x))
        return x * 2

    with ms.disable_jit():
        assert ms.jit(f)(X).tolist() == [2.0, 4.0]
        Net()(X)
        ms.grad(square)(X)
    assert seen == [Tensor]
    assert not compiles
    program = "import autodiff_compiler as ms; ms.jit(lambda x: print(type(x).__name__))(ms.Tensor(1.0))"
    environment = {"AC_DISABLE_JIT": "1", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.stdout == "Tensor\n"


# ------------------------------------------------------------------------------------------------ 2: tapes
def test_a_compiled_call_is_one_node_of_a_tape(monkeypatch):
    from autodiff_compiler.compiler import program

    nodes = []
    one = program.record
    monkeypatch.setattr(program, "record", lambda *args, **more: nodes.append(1) or one(*args, **more))
    f = ms.jit(lambda x: ops.exp(ops.sin(x) * x).sum())
    gradient = ms.grad(lambda x: f(x))(X)
    assert len(nodes) == 1
    np.testing.assert_allclose(gradient.asnumpy(), ms.grad(f.__wrapped__)(X).asnumpy(), rtol=1e-6 if bits() else 3e-6)
    second = ms.grad(lambda x: ms.grad(f)(x).sum())
    np.testing.assert_allclose(
        second(X).asnumpy(), ms.grad(lambda x: ms.grad(f.__wrapped__)(x).sum())(X).asnumpy(), rtol=1e-5
    )


# ------------------------------------------------------------------------------------------------ 3: results
def test_arrays_give_tensors_and_are_not_written():
    a = np.array([1.0, 2.0])
    result = ms.jit(lambda x: x + 1)(a)
    assert type(result) is Tensor
    assert result.tolist() == [2.0, 3.0]
    assert a.tolist() == [1.0, 2.0]


Pair = namedtuple("Pair", "first second")


def test_inputs_and_containers_come_back_as_they_are():
    f = ms.jit(lambda x, y: (x, Pair(y, x), [x * 2], {"y": y}))
    x, y = Tensor([1.0]), Tensor([2.0])
    same, pair, listed, by_name = f(x, y)
    assert same is x
    assert type(pair) is Pair
    assert pair.first is y
    assert pair.second is x
    assert type(listed) is list
    assert by_name["y"] is y


# ------------------------------------------------------------------------------------------------ 4: mutability
def test_an_eager_tensor_is_a_box_whose_bytes_a_tape_holds():
    x = Tensor([1.0, 2.0])
    x.asnumpy()[0] = 5.0
    assert x.tolist() == [5.0, 2.0]

    def f(x):
        y = x * x
        held = y * y
        y[0] = 0.0
        return held.sum()

    assert ms.grad(f)(Tensor([1.0, 2.0])).tolist() == [4.0, 32.0]


def test_compiled_code_may_return_arrays():
    result = ms.jit(lambda x: (x * 2).asnumpy())(X)
    assert type(result) is np.ndarray
    assert result.tolist() == [2.0, 4.0]


# ------------------------------------------------------------------------------------------------ 6: threads
def test_the_mode_is_of_the_process_and_tapes_are_of_a_thread():
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        found = []
        thread = threading.Thread(target=lambda: found.append(ms.get_context("mode")))
        thread.start()
        thread.join()
        assert found == [ms.GRAPH_MODE]
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)

    def f(x):
        def other():
            inner.append(ms.grad(square)(Tensor([3.0])).tolist())

        inner = []
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert inner == [[6.0]]
        return square(x)

    assert ms.grad(f)(X).tolist() == [2.0, 4.0]


# ------------------------------------------------------------------------------------------------ 7: options
def test_options_of_jit():
    for options in (
        {"jit_level": "O0"}, {"jit_level": "O2"}, {"backend": "ms_backend"}, {"backend": "GE"}, {"backend": "numpy"},
        {"optimize": 1},
    ):  # fmt: skip
        assert ms.jit(square, **options)(X).item() == 5.0
        assert ms.jit(**options)(square)(X).item() == 5.0
    with pytest.raises(ValueError, match="there is no backend 'fpga'"):
        ms.jit(square, backend="fpga")
    with pytest.raises(ValueError, match="optimize is 0, 1 or 2"):
        ms.jit(square, optimize=3)


def test_without_optimisation_nothing_is_rewritten():
    def f(x):
        return (x * x * 1.0).sum()

    plain, better = (ms.jit(f, optimize=level).lower(X).ir("opt") for level in (0, 2))
    assert plain.count("mul") == 2
    assert better.count("mul") == 1
    x = Tensor(np.linspace(-2, 2, 7))
    for g in (f, ms.grad(f)):
        assert_same(ms.jit(g, optimize=0)(x).asnumpy(), g(x).asnumpy())


# ------------------------------------------------------------------------------------------------ 8: dtypes
@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("bfloat16", "float16", "float32"),
        ("bfloat16", "float32", "float32"),
        ("bfloat16", "float64", "float64"),
        ("int32", "bfloat16", "bfloat16"),
    ],
)
def test_dtypes(a, b, expected):
    x, y = Tensor([1, 2], getattr(ms, a)), Tensor([3, 4], getattr(ms, b))
    for result in (x + y, y + x, ms.jit(lambda x, y: x + y)(x, y)):
        assert result.dtype is getattr(ms, expected)
        assert [float(v) for v in result.astype(ms.float64).tolist()] == [4.0, 6.0]


# ------------------------------------------------------------------------------------------------ 9: frozen Parameters
def test_a_frozen_parameter_asked_for_gives_its_gradient():
    w = ms.Parameter(Tensor([3.0]), name="w", requires_grad=False)
    f = lambda x: (x * w).sum()
    for g in (ms.grad(f, None, (w,)), ms.jit(ms.grad(f, None, (w,)))):
        (found,) = g(Tensor([2.0]))
        assert found.tolist() == [2.0]


# ------------------------------------------------------------------------------------------------ 11: entries
@pytest.mark.filterwarnings("ignore::autodiff_compiler.errors.RecompileWarning")
def test_entries_are_bounded_and_the_least_recently_used_goes():
    f = ms.jit(lambda x, n: x * n)
    for n in range(64):
        f(X, n)
    f(X, 0)
    f(X, 64)
    assert f.cache_info()["entries"] == 64
    before = f.cache_info()["compiles"]
    f(X, 0)
    assert f.cache_info()["compiles"] == before
    f(X, 1)
    assert f.cache_info()["compiles"] == before + 1


def test_a_derivative_made_anew_at_each_step_hits(graph_mode, compiles):
    def f(x):
        return (x * x).sum()

    for _ in range(3):
        ms.grad(f)(X)
        ms.value_and_grad(f)(X)
        ms.GradOperation()(f)(X)
    assert len(compiles) == 3


class Model:
    def loss(self, x):
        return (x * x).sum()


def test_a_derivative_made_in_eager_mode_hits_in_graph_mode(compiles):
    model = Model()
    for fn in (model.loss, lambda x: (x * x).sum()):
        compiles.clear()
        for _ in range(3):
            gradient = ms.grad(fn)
            ms.set_context(mode=ms.GRAPH_MODE)
            try:
                assert gradient(X).tolist() == [2.0, 4.0]
            finally:
                ms.set_context(mode=ms.PYNATIVE_MODE)
        assert len(compiles) == 1


# ------------------------------------------------------------------------------------------------ 12: sizes
@pytest.mark.parametrize("f", [lambda x: x[x > 1.0], lambda x: x[0:1] if x[0] > 0 else x])
def test_sizes_that_depend_on_data(f):
    assert ms.jit(f)(X).tolist() == f(X).tolist()
    assert f(X).shape == (1,)


def test_an_element_can_be_assigned_by_its_method():
    def f(x):
        y = x * 1
        y.__setitem__(0, x[1] * 3)
        return (y * y).sum()

    assert ms.jit(f)(X).item() == f(X).item() == 40.0
    assert ms.jit(ms.grad(f))(X).tolist() == ms.grad(f)(X).tolist() == [0.0, 40.0]  # 9 b**2 + b**2
