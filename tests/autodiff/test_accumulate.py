"""A trip of an adjoint loop costs the elements that the forward trip read, counted by the ops in its body."""

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor
from autodiff_compiler.backends.native.machine import why_not
from autodiff_compiler.ir.text import parse_module
from autodiff_compiler.ir.walk import ops_of


def elements(x):
    s = Tensor(0.0)
    for i in range(x.shape[0]):
        s = s + x[i] * x[i]
    return s


def some_elements(x):
    s = Tensor(0.0)
    for i in range(x.shape[0]):
        if x[i] > 0:
            s = s + x[i] * x[i]
    return s


def rows(x):
    s = Tensor(0.0)
    for i in range(x.shape[0]):
        s = s + (x[i] * x[i]).sum()
    return s


def places(x):
    s = Tensor(0.0)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            s = s + x[i, j] * x[i, j]
    return s


def columns(x):
    s = Tensor(0.0)
    for i in range(x.shape[0]):
        s = s + x[i, 0] * x[i, -1]
    return s


def parts_of_rows(x):
    s = Tensor(0.0)
    for i in range(x.shape[0]):
        s = s + (x[i, 1:3] * x[i, 2:4]).sum()
    return s


def some_places(x):
    s = Tensor(0.0)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j] > 0:
                s = s + x[i, j] * x[i, j]
    return s


def turned(x):
    s = Tensor(0.0)
    for i in range(x.shape[1]):
        if i > 2:
            s = s + x.T[i, 2] * x.T[i, 2]
    return s


def while_there_are_some(x):
    s, i = Tensor(0.0), Tensor(0)
    while i < x.shape[0]:
        if i > 3:
            s = s + x[i, i - 1, 0] * x[i, i - 1, 1]
        i = i + 1
    return s


def of_columns(x):
    g = np.zeros_like(x)
    g[:, 0], g[:, -1] = x[:, -1], x[:, 0]
    return g


def of_parts(x):
    g = np.zeros_like(x)
    g[:, 1:3] += x[:, 2:4]
    g[:, 2:4] += x[:, 1:3]
    return g


def of_turned(x):
    g = np.zeros_like(x)
    g[2, 3:] = 2 * x[2, 3:]
    return g


def of_triples(x):
    g = np.zeros_like(x)
    i = np.arange(4, x.shape[0])
    g[i, i - 1, 0], g[i, i - 1, 1] = x[i, i - 1, 1], x[i, i - 1, 0]
    return g


PROGRAMS = [
    (elements, (1500,), lambda x: 2 * x),
    (some_elements, (1500,), lambda x: 2 * x * (x > 0)),
    (rows, (1500, 2), lambda x: 2 * x),
    (places, (30, 20), lambda x: 2 * x),
    (some_places, (30, 20), lambda x: 2 * x * (x > 0)),
    (columns, (40, 5), of_columns),
    (parts_of_rows, (40, 5), of_parts),
    (turned, (5, 40), of_turned),
    (while_there_are_some, (12, 20, 2), of_triples),
]
BY_NAME = pytest.mark.parametrize(("f", "shape", "expected"), PROGRAMS, ids=[f.__name__ for f, _, _ in PROGRAMS])


@BY_NAME
def test_a_trip_adds_only_what_it_read(f, shape, expected):
    x = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    compiled = ms.jit(ms.grad(f), unroll_max=1)
    np.testing.assert_allclose(compiled(Tensor(x)).asnumpy(), expected(x), rtol=1e-6)
    entry = parse_module(compiled.lower(Tensor(x)).ir("opt")).entry
    loops = [op for op in ops_of(entry.body) if op.defn.name == "scan" and op.attr("reverse")]
    assert loops
    for loop in loops:
        ops = ops_of(loop.blocks[0])
        large = {op.defn.name for op in ops for r in op.results if np.prod(getattr(r.type, "shape", ())) > 3}
        assert large <= {"scatter_add", "if", "scan"}


@BY_NAME
@pytest.mark.parametrize("backend", ["native", "numpy"])
def test_derivatives_of_second_order(f, shape, expected, backend):
    """All functions are quadratic: the Hessian applied to a vector is the derivative at that vector."""
    if backend == "native" and why_not() is not None:
        pytest.skip(f"no machine code here: {why_not()}")
    x, v = np.random.default_rng(4).standard_normal((2, *shape)).astype(np.float32)
    x = np.abs(x)  # what is skipped depends on signs
    along = ms.jit(ms.grad(lambda x, v: (ms.grad(f)(x) * v).sum()), unroll_max=1, backend=backend)
    wanted = 2 * v if f in (some_elements, some_places) else expected(v)
    np.testing.assert_allclose(along(Tensor(x), Tensor(v)).asnumpy(), wanted, rtol=1e-6)
