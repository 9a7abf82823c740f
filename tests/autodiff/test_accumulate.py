"""A trip of an adjoint loop costs the elements that the forward trip read, counted by the ops in its body."""

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor
from autodiff_compiler.backends.native.jit.machine import why_not
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


@pytest.mark.some(2)
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


def read_under_if(x, a, v):
    y = x + a if v[0] > 0 else x + 1
    s = 0.0
    if v[1] > 0:
        s = s + y[1] * y[1]
    return s + (x * x).sum()


def kept_or_added(x, a, v):
    y = x
    if v[0] > 0:
        y = y + a
    s = 0.0
    if v[1] > 0:
        s = s + y[2]
    return s + (x * x * x).sum()


def read_in_a_loop(x, a, v):
    y = x
    if v[0] > 0:
        y = y + a
    s, i = 0.0, 0
    while i < 3 and v[i] > 0:
        s = s + y[i] * y[i]
        i = i + 1
    return s + (x * x * x).sum()


def added_in_a_loop(x, a, v):
    y = x
    for j in range(3):
        if v[j] > 0:
            y = y + a
        else:
            y = y * 1.0
    t = 0.0
    if v[1] > 0:
        t = y[2] * y[2]
    return t + (x * x * x).sum()


def in_each_trip(x, a, v):
    s = (x * 0).sum()
    for j in range(4):
        y = x
        if v[j] > 0:
            y = y + a
        if v[1] > 0:
            s = s + y[2] * y[2] * a[j]
        s = s + (x * x * x).sum()
    return s


@pytest.mark.parametrize("f", [read_under_if, kept_or_added, read_in_a_loop, added_in_a_loop, in_each_trip])
@pytest.mark.parametrize("v", [[1.0, 0.5, 1, 2, 1], [-1.0, 0.5, -1, 2, 1], [1.0, -0.5, 1, -2, 1]], ids=str)
def test_a_cotangent_of_which_another_value_has_its_share(f, v):
    """Both arms hand the cotangent of `y` on to `x`, and one to `a` as well: it must not begin from that of `x`."""
    x, a = np.random.default_rng(5).standard_normal((2, 5))
    wanted = []
    for which in range(2):
        steps = np.eye(5) * 1e-30j  # the imaginary part of f(x + ih) is h f'(x), without a difference
        points = [(x + h, a) if which == 0 else (x, a + h) for h in steps]
        wanted.append([f(*point, np.array(v)).imag / 1e-30 for point in points])
    arguments = Tensor(x), Tensor(a), Tensor(np.array(v))
    for derivative in (ms.jit(ms.grad(f, (0, 1)), unroll_max=1), ms.grad(ms.jit(f, unroll_max=1), (0, 1))):
        for got, share in zip(derivative(*arguments), wanted, strict=True):
            np.testing.assert_allclose(got.asnumpy(), share, rtol=1e-12)
