"""A trip of an adjoint loop costs the elements that the forward trip read, counted by the ops in its body."""

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor
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


PROGRAMS = [
    (elements, (1500,), lambda x: 2 * x),
    (some_elements, (1500,), lambda x: 2 * x * (x > 0)),
    (rows, (1500, 2), lambda x: 2 * x),
    (places, (30, 20), lambda x: 2 * x),
]


@pytest.mark.parametrize(("f", "shape", "expected"), PROGRAMS, ids=[f.__name__ for f, _, _ in PROGRAMS])
def test_a_trip_adds_only_what_it_read(f, shape, expected):
    x = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    compiled = ms.jit(ms.grad(f), unroll_max=1)
    np.testing.assert_allclose(compiled(Tensor(x)).asnumpy(), expected(x), rtol=1e-6)
    entry = parse_module(compiled.lower(Tensor(x)).ir("opt")).entry
    loops = [op for op in ops_of(entry.body) if op.defn.name == "scan"]
    (body,) = next(op for op in loops if op.attr("reverse")).blocks
    whole = {op.defn.name for op in ops_of(body) for r in op.results if getattr(r.type, "shape", ()) == shape}
    assert whole <= {"scatter_add", "reshape", "if", "scan"}
