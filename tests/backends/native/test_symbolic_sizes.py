"""One program of machine code for all sizes: every op and its derivative, at 0, 1, 2, 7 and 64, and its calls."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, TooLittleMemoryError, ops
from autodiff_compiler.backends.native.backend import NativeBackend, NativeProgram
from autodiff_compiler.backends.numpy import NumpyBackend
from autodiff_compiler.compiler.pipeline import optimise
from autodiff_compiler.ir.core import Module
from autodiff_compiler.ir.primitive import REGISTRY
from autodiff_compiler.ir.text import parse_module
from tests.backends.native.sampled import vectors_of
from tests.backends.test_numpy_symbolic_sizes import checked, examples, with_directions
from tests.primitives.test_symbolic_sizes import (
    OPS,
    WITHOUT,
    WITHOUT_DERIVATIVE,
    batched,
    derivative,
    forward,
    has_sizes,
)
from tests.programs.compare import define

NATIVE = NativeBackend(NumpyBackend)
#: Samples whose positions are distinct by assumption, which those of other sizes are not.
DISTINCT = ("add_along_axis", "take_along_axis")
#: Ops whose derivative is folded for a known size 0 before the shape in an attribute, which does not fit, is looked at.
UNFIT = ("unstretched",)


def compiled(module: Module) -> Any:
    """Machine code for symbolic sizes, which must not be refused, and NumPy for the others."""
    module = optimise(module).opt
    return NATIVE.native(module) if module.has_open_sizes else NumpyBackend().compile(module)


def program(text: str) -> NativeProgram:
    return NATIVE.native(optimise(parse_module(text)).opt)


@pytest.mark.some(8)
@pytest.mark.parametrize("name", [n for n in OPS if n not in (*WITHOUT, *DISTINCT) and has_sizes(REGISTRY[n])])
def test_ops(name: str) -> None:
    with np.errstate(all="ignore"):
        assert checked(name, functools.partial(forward, name), compiled, rtol=1e-9)


@pytest.mark.some(8)
@pytest.mark.parametrize("tangents", [False, True], ids=["reverse", "forward"])
@pytest.mark.parametrize(
    "name", [n for n in OPS if REGISTRY[n].vjp is not None and n not in (*WITHOUT_DERIVATIVE, *DISTINCT, *UNFIT)]
)
def test_derivatives(name: str, tangents: bool) -> None:
    with np.errstate(all="ignore"):
        given = with_directions if tangents else list
        assert checked(name, functools.partial(derivative, name, tangents=tangents), compiled, 1e-9, given)


@pytest.mark.some(8)
@pytest.mark.parametrize("name", [n for n in OPS if n not in (*WITHOUT, *DISTINCT) and has_sizes(REGISTRY[n])])
def test_examples(name: str) -> None:
    with np.errstate(all="ignore"):
        assert checked(name, functools.partial(batched, name, count=3), compiled, 1e-9, examples)


@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "bf16", "i64"])
@pytest.mark.parametrize("axis", [0, 1])
def test_sums_of_any_number_of_rows_and_columns(dtype: str, axis: int) -> None:
    """Blocks, unrolled vectors and the remainder, along rows and across them."""
    both = program(
        f"size @n {{low=0}} func @f(%x: {dtype}[n,3]) -> ({dtype}[{(3, 'n')[axis]}]) {{"
        f" %s: {dtype}[{(3, 'n')[axis]}] = sum %x {{axes=[{axis - 2}], keepdims=False}} return %s }}"
    )
    for n in (0, 1, 2, 15, 16, 17, 33, 64, 129, 5000, 9001):
        x = Tensor(np.arange(3 * n).reshape(n, 3) % 5, dtype={"f32": ms.float32, "f64": ms.float64, "f16": ms.float16,
                   "bf16": ms.bfloat16, "i32": ms.int32, "i64": ms.int64}[dtype])  # fmt: skip
        (found,) = both(x.asnumpy() if dtype != "bf16" else x._data)
        exact = (np.arange(3 * n).reshape(n, 3) % 5).sum(axis)
        np.testing.assert_allclose(np.asarray(found, np.float64), exact, rtol=0.01 if "16" in dtype else 0)


def test_a_sum_of_nothing_is_zero_and_keeps_the_sign_of_what_there_is() -> None:
    total = program(
        "size @n {low=0} func @f(%x: f64[n,2]) -> (f64[2], f64[]) {"
        " %a: f64[2] = sum %x {axes=[-2], keepdims=False}"
        " %b: f64[] = sum %x {axes=[-2, -1], keepdims=False} return %a, %b }"
    )
    for n, sign in ((0, False), (1, True), (9, True)):
        found = total(np.full((n, 2), -0.0))
        assert all((np.signbit(x) == sign).all() for x in found)


#: Rows, terms and columns: none, one, and every rest of rows and of vectors that tiles leave.
PRODUCTS = [
    (0, 3, 4), (1, 3, 1), (5, 0, 6), (7, 2, 5), (3, 3, 15), (11, 1, 16), (13, 8, 65), (29, 7, 50), (6, 3, 48),
    (23, 4, 33), (130, 90, 101),
]  # fmt: skip


@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize(("vectors", "dtype"), [(64, np.float32), (64, np.float64), (32, np.float32)])
def test_products_of_any_size(turned: tuple[bool, bool], vectors: int, dtype: Any) -> None:
    """By our own kernels and by the library, which the sizes of the call choose."""
    a, b = ("[2,k,m]" if turned[0] else "[2,m,k]"), ("[2,n,k]" if turned[1] else "[2,k,n]")
    t = f"f{8 * np.dtype(dtype).itemsize}"
    lines = f"%a: {t}[2,m,k] = {'transpose %x {axes=[-3, -1, -2]}' if turned[0] else 'stop_gradient %x'}"
    lines += f" %b: {t}[2,k,n] = {'transpose %y {axes=[-3, -1, -2]}' if turned[1] else 'stop_gradient %y'}"
    with vectors_of(vectors):
        product = program(
            "size @k {low=0} size @m {low=0} size @n {low=0}"
            f" func @f(%x: {t}{a}, %y: {t}{b}) -> ({t}[2,m,n]) {{ {lines} %c: {t}[2,m,n] = matmul %a, %b return %c }}"
        )
        assert f"share: product {t}" in product.source
        for m, k, n in PRODUCTS:
            x, y = (np.random.default_rng(0).normal(size=s).astype(dtype) for s in ((2, m, k), (2, k, n)))
            given = [np.ascontiguousarray(z.mT if t else z) for z, t in zip((x, y), turned, strict=True)]
            tolerance = 1e-12 if dtype is np.float64 else 1e-5
            exact = x.astype(np.float64) @ y
            np.testing.assert_allclose(product(*given)[0], exact, rtol=tolerance, atol=10 * tolerance)


def test_calls_of_other_sizes_are_refused_before_anything_is_read() -> None:
    f = program(
        "size @n {low=2, high=9} func @f(%x: f64[2*n+1], %y: f64[n]) -> (f64[n]) { %z: f64[n] = neg %y return %z }"
    )
    np.testing.assert_array_equal(f(np.zeros(7), np.ones(3))[0], -np.ones(3))
    for x, y in ((6, 3), (7, 2), (3, 1), (21, 10), (7, 4)):
        with pytest.raises(TypeError, match="not for arrays of the shapes"):
            f(np.zeros(x), np.ones(y))
    with pytest.raises(TypeError, match=r"expected f64\[n\]"):
        f(np.zeros(7), np.ones((3, 1)))


def test_a_frame_that_no_machine_has_is_a_memory_error() -> None:
    """Products of sizes that overflow 64 bits do not become small frames."""
    f = program(
        "size @n {low=0} func @f(%x: f64[n,0]) -> (f64[n]) { %a: f64[n] = sum %x {axes=[-1], keepdims=False}"
        " %b: f64[n,1] = expand_dims %a {axes=[-1]} %c: f64[n,n] = broadcast_to %b {shape=[n, n]}"
        " %d: f64[n,n] = cumsum %c {axis=-1} %e: f64[n] = sum %d {axes=[-1], keepdims=False} return %e }"
    )
    np.testing.assert_array_equal(f(np.zeros((5, 0)))[0], np.zeros(5))
    with pytest.raises(MemoryError):
        f(np.zeros((1 << 31, 0)))


def test_many_sizes_take_one_program_and_no_more_memory() -> None:
    step = ms.jit(ms.value_and_grad(lambda w, x: (ops.tanh(x @ w) ** 2).mean()))
    w = Tensor(np.ones((8, 4), np.float32))
    for n in (3, 4):
        step(w, Tensor(np.ones((n, 8), np.float32)))
    entries = len(step.cache_info()["keys"])
    for n in range(1, 300):
        value, gradient = step(w, Tensor(np.full((n, 8), 0.1, np.float32)))
        np.testing.assert_allclose(value.asnumpy(), np.tanh(0.8) ** 2, rtol=1e-5)
        assert gradient.shape == (8, 4)
    assert step.cache_info()["compiles"] == 2
    assert len(step.cache_info()["keys"]) == entries


#: Shapes of which the results of 64 elements along each axis would be written past the caches.
IMAGES = ((2, 3, 4, 5), (1, 1, 1, 3), (7, 3, 9, 5), (2, 3, 5, 1), (0, 1, 2, 3), (3, 3, 63, 65))


@pytest.mark.parametrize("spread", [False, True])
def test_results_of_four_symbolic_sizes_may_be_small(spread: bool) -> None:
    """No store relies on the alignment that only large results have."""
    f = ms.jit(lambda x: (ops.broadcast_to(x * 2, (3, *x.shape)) if spread else x * 2) + 1, dynamic=True)
    for shape in IMAGES:
        x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        expected = x * 2 + 1
        found = f(Tensor(x)).asnumpy()
        np.testing.assert_array_equal(found, np.stack([expected] * 3) if spread else expected)
    assert f.cache_info()["compiles"] == 1


@pytest.mark.parametrize(
    "condition",
    ["n * n * n < 10**6", "n**3 % 7 == 0", "n**4 - 3 * n**3 > 7 * n * n", "n * (n - 20) == 0", "n * 10**15 < 10**17"],
)
def test_guards_of_products_that_64_bits_do_not_hold(condition: str) -> None:
    """The entry leaves sizes to Python of which it cannot compare the products."""
    f = define(f"def f(x, y):\n    n = x.shape[0]\n    return y * 2 if {condition} else y + 5\n")
    compiled, y = ms.jit(f, dynamic=True), Tensor([1.0])
    for n in range(20, 50):  # now its fast path is open
        compiled(Tensor(np.ones((n, 0))), y)
    for n in (20, 100, 2**21, 2**21 + 1, 2**22, 2**31, 2**32, 2**32 + 3, 2**45, 2**59):
        x = Tensor(np.zeros((n, 0)))
        assert compiled(x, y).item() == f(x, y).item(), n


@pytest.mark.parametrize("n", [2**16, 2**22, 2**32])
def test_a_result_whose_sizes_64_bits_do_not_hold_is_a_memory_error(n: int) -> None:
    """No result is made of what is left of a product of sizes in 64 bits."""
    for shape in ("(n**4,)", "(2, n**4)", "(n, n, n, n)", "(n * n, n * n)"):
        f = define(f"def f(x):\n    n = x.shape[0]\n    return ops.zeros({shape}, ms.float32)\n", ops=ops, ms=ms)
        compiled = ms.jit(f, dynamic=True)
        assert compiled(Tensor(np.zeros((3, 0)))).shape == f(Tensor(np.zeros((3, 0)))).shape
        with pytest.raises(TooLittleMemoryError, match=r"there is no memory for f32\["):
            compiled(Tensor(np.zeros((n, 0))))
