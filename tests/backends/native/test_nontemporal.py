"""Large results that nobody reads are written past the caches, and are what they are else; others are not."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.backends.native.jit.machine import machine, why_not
from autodiff_compiler.backends.native.loops import nontemporal
from autodiff_compiler.backends.native.memory.large_alloc import LARGE
from tests.backends.native.against_numpy import optimised, ulps
from tests.backends.native.sampled import native, vectors_of

pytestmark = [
    pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}"),
    pytest.mark.skipif(why_not() is None and "x86" not in machine().triple, reason="measured on x86 alone"),
]

#: As large as a result must be to lie at a multiple of a vector.
N = LARGE // 4


@pytest.fixture(params=[64, 32], ids=lambda n: f"{n} bytes", autouse=True)
def vectors(request, monkeypatch):
    monkeypatch.setattr(nontemporal, "NONTEMPORAL_FROM", LARGE)
    with vectors_of(request.param):
        yield request.param


def given(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).uniform(-2, 2, shape).astype(dtype)


def program(f, *xs):
    return native(optimised(f, *xs))


def nontemporal_stores(made):
    return made.source.count("!nontemporal")


def same(f, *xs):
    """A program whose results are NumPy's, in two calls; the first result outlives the second call."""
    made, expected = program(f, *xs), [np.asarray(y) for y in _tuple(f(*map(ms.Tensor, xs)))]
    first = made(*xs)
    second = made(*[x + 1 for x in xs])
    for a, b in zip(first, expected, strict=True):
        assert ulps(a, b) == 0
        assert not any(np.shares_memory(a, c) for c in second)
    for function in made.source.split("\ndefine "):
        assert ("call void @llvm.x86.sse.sfence()" in function) is ("!nontemporal" in function)
    return made


def _tuple(y):
    return [t.asnumpy() for t in (y if isinstance(y, tuple) else (y,))]


@pytest.mark.parametrize("n", [N, N + 1, N + 7, N + 8, N + 15, N + 4097])
def test_vectors_and_what_is_left_over(n):
    assert nontemporal_stores(same(lambda x, y: x + 2.5 * y, given(n), given(n, seed=1)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64, np.int32, np.uint8])
def test_of_any_element(dtype):
    x = given(LARGE // np.dtype(dtype).itemsize + 3).astype(dtype)
    made = same(lambda x: x + x, x)
    lanes = machine().vector_bytes // max(4, x.itemsize)
    assert bool(nontemporal_stores(made)) is (lanes * x.itemsize >= 16)  # else there is no such store


def test_of_conditions_too():
    same(lambda x: x > 0.5, given(4 * N + 5))


def test_several_results():
    made = same(lambda x, y: (x + y, x - y, x * y), given(N + 5), given(N + 5, seed=1))
    assert nontemporal_stores(made) >= 3


@pytest.mark.parametrize(("columns", "aligned"), [(4096, True), (1000, False), (1001, False), (5, False)])
def test_rows_with_a_number_each(columns, aligned):
    """Rows that are no multiple of a vector begin anywhere."""
    x, row = given(N // columns + 1, columns), given(N // columns + 1, 1, seed=1)
    made = same(lambda x, row: x * row, x, row)
    assert bool(nontemporal_stores(made)) is aligned or (columns == 1000 and machine().vector_bytes == 32)


def test_rows_that_are_gone_through_twice():
    x = given(N // 4096 + 1, 4096)
    made = program(lambda x: ms.ops.softmax(x, -1), x)
    assert nontemporal_stores(made)
    e = np.exp(x.astype(np.float64))
    np.testing.assert_allclose(made(x)[0], e / e.sum(-1, keepdims=True), rtol=1e-5)


def test_a_copy():
    assert nontemporal_stores(same(lambda x: x.copy(), given(N + 3)))


def test_a_result_that_is_read_again_is_not():
    def f(x):
        y = x + 1
        return y, ms.ops.cumsum(y, 0)

    x = given(2 * N).astype(np.float64) / N
    assert not nontemporal_stores(program(lambda x: f(x)[1], x))
    made = program(f, x)
    assert not nontemporal_stores(made)
    np.testing.assert_array_equal(made(x)[0], x + 1)


def test_a_small_result_is_not():
    assert not nontemporal_stores(program(lambda x: x + 1, given(N - 1)))


def test_what_is_written_over_a_state_is_not():
    """It may lie anywhere."""
    before = ms.get_context("backend")
    ms.set_context(backend="native")
    try:

        class Step(ms.nn.Cell):
            def __init__(self):
                super().__init__()
                room = np.zeros(N + 9, np.float32)
                self.p = ms.Parameter(ms.Tensor.from_numpy(room[9:]), name="p")

            def construct(self, x):
                self.p = self.p + x
                return x.sum()

        step, x = Step(), given(N)
        for _ in range(2):
            step(ms.Tensor(x))
        np.testing.assert_array_equal(step.p.asnumpy(), x + x)
    finally:
        ms.set_context(backend=before)


def test_a_carry_of_a_loop_is_not():
    def f(x):
        x = x * 8
        i = x.sum() * 0
        while i < 3:
            x = x + 1
            i = i + 1
        return x

    x = given(N)
    made = program(f, x)
    np.testing.assert_array_equal(made(x)[0], x * 8 + 1 + 1 + 1)
