"""Which products are code of their own and which the BLAS library's: the small ones never wake its threads."""

from __future__ import annotations

import re

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, TensorSpec
from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.config import context

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))

LAYOUTS = {
    "rows by rows": (lambda x, w: x @ w.T, lambda n, k, m: ((n, k), (m, k))),
    "as written": (lambda x, w: x @ w, lambda n, k, m: ((n, k), (k, m))),
    "columns by rows": (lambda x, w: x.T @ w, lambda n, k, m: ((k, n), (k, m))),
}
#: The product of a batch of 128 with a layer of 32 by 128, as in a small network, and others up to a million.
OWN = [(128, 32, 128), (128, 128, 32), (7, 300, 300), (16, 1024, 32), (97, 53, 131), (100, 100, 100)]


@pytest.fixture(autouse=True)
def machine_code():
    before = context.backend
    context.set(backend="native")
    yield
    context.set(backend=before)


def calls_blas(f, shapes):
    """Whether the code has a call with BLAS's word for matrices by row, 101."""
    text = str(ms.jit(f).lower(*[TensorSpec(shape, ms.float32) for shape in shapes]).ir("code"))
    return re.search(r"call void %\S+\(i32 101, i32 11[12], i32 11[12], ", text) is not None


@pytest.mark.some(3)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("size", OWN, ids=lambda s: "x".join(map(str, s)))
def test_small_products_are_code_of_their_own(size, layout):
    f, shapes = LAYOUTS[layout]
    assert not calls_blas(f, shapes(*size))
    rng = np.random.default_rng(0)
    a, b = [rng.standard_normal(shape).astype(np.float32) for shape in shapes(*size)]
    expected = f(a.astype(np.float64), b.astype(np.float64))
    found = ms.jit(f)(Tensor(a), Tensor(b)).asnumpy()
    # Each of k partial sums is rounded; they are of size sqrt(k), and so is the number of errors that do not cancel.
    np.testing.assert_allclose(found, expected, rtol=0, atol=4 * max(size[1], 16) * np.finfo(np.float32).eps)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_large_products_are_the_librarys(layout):
    f, shapes = LAYOUTS[layout]
    assert calls_blas(f, shapes(128, 128, 128))


def test_a_product_of_what_is_cut_off_an_axis_that_may_be_empty():
    w = np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)
    f = ms.jit(lambda x, w: x[:, :-1] @ w)
    for b, t in ((2, 3), (3, 4), (5, 6), (7, 9), (2, 1)):
        x = np.random.default_rng(t).normal(size=(b, t, 4)).astype(np.float32)
        np.testing.assert_allclose(f(ms.Tensor(x), ms.Tensor(w)).asnumpy(), x[:, :-1] @ w, rtol=1e-5, atol=1e-6)
    assert f.cache_info()["compiles"] == 2
