"""`ops` on Python's numbers and containers, the functions that change a Tensor, Fourier frequencies, refused names."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.errors import CompileError, MissingAttributeError, ShapeError
from tests.agreement import assert_same

#: name, arguments, what Python says
VALUES: list[tuple[str, tuple[Any, ...], Any]] = [
    ("scalar_add", (2, 3), 5), ("scalar_sub", (2, 3), -1), ("scalar_mul", (2, 3), 6), ("scalar_div", (3, 2), 1.5),
    ("scalar_floordiv", (-7, 2), -4), ("scalar_mod", (-7, 2), 1), ("scalar_pow", (2, 3), 8), ("scalar_max", (2, 3), 3),
    ("scalar_min", (2, 3), 2), ("scalar_eq", (2, 2.0), True), ("scalar_ne", (2, 3), True), ("scalar_lt", (2, 3), True),
    ("scalar_le", (3, 3), True), ("scalar_gt", (2, 3), False), ("scalar_ge", (2, 3), False), ("scalar_uadd", (2,), 2),
    ("scalar_usub", (2,), -2), ("scalar_log", (2.0,), math.log(2.0)), ("bool_and", (True, False), False),
    ("bool_or", (True, False), True), ("bool_not", (True,), False), ("bool_eq", (True, True), True),
    ("augassign_add", (2, 3), 5), ("augassign_sub", (2, 3), -1), ("augassign_mul", (2, 3), 6),
    ("augassign_div", (3, 2), 1.5), ("augassign_floordiv", (7, 2), 3), ("augassign_mod", (7, 2), 1),
    ("identity", ((1, "a"),), (1, "a")), ("make_tuple", (1, 2), (1, 2)), ("make_list", (1, 2), [1, 2]),
    ("make_dict", (("a", "b"), (1, 2)), {"a": 1, "b": 2}), ("make_slice", (1, 5, 2), slice(1, 5, 2)),
    ("make_range", (1, 7, 3), (1, 4)), ("tuple_getitem", ((1, 2, 3), -1), 3), ("tuple_len", ((1, 2, 3),), 3),
    ("tuple_setitem", ((1, 2, 3), -1, 9), (1, 2, 9)), ("tuple_reversed", ((1, 2, 3),), (3, 2, 1)),
    ("tuple_equal", ((1, 2), (1, 2)), True), ("tuple_div", ((8, 6), (2, 3)), (4, 2)), ("tail", ((1, 2, 3),), (2, 3)),
    ("shape_mul", ((2, 3, 4),), 24), ("list_getitem", ([1, 2], 0), 1), ("list_len", ([1, 2],), 2),
    ("list_setitem", ([1, 2], 0, 5), [5, 2]), ("list_equal", ([1], [2]), False),
    ("is_sequence_value_unknown", ((1, 2),), False), ("is_sequence_shape_unknown", ((1, 2),), False),
    ("dict_getitem", ({"a": 1}, "a"), 1), ("dict_setitem", ({"a": 1}, "b", 2), {"a": 1, "b": 2}),
    ("in_dict", ("a", {"a": 1}), True), ("not_in_dict", ("a", {"a": 1}), False), ("string_concat", ("a", "b"), "ab"),
    ("string_eq", ("a", "b"), False), ("is_", (None, None), True), ("is_not", (None, 1), True),
    ("array_to_scalar", (Tensor([3]),), 3), ("is_nonzero", (Tensor([0.5]),), True), ("is_nonzero", (Tensor(0),), False),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "expected"), VALUES)
def test_values(name: str, args: tuple[Any, ...], expected: Any) -> None:
    function = getattr(ops, name)

    def run(args: Any) -> Any:
        return function(*args)

    for call in (run, ms.jit(run)):
        found = call(ms.mutable(args) if name == "array_to_scalar" else args)
        assert found == expected
        assert type(found) is type(expected)


def test_what_containers_refuse() -> None:
    for run in (ops.tuple_div, ms.jit(lambda x, y: ops.tuple_div(x, y))):
        with pytest.raises(ValueError, match="7 is no multiple of 2"):
            run((4, 7), (2, 2))
    for run in (ops.is_nonzero, ms.jit(lambda x: ops.is_nonzero(x))):
        with pytest.raises(ValueError, match="only a tensor of one element"):
            run(Tensor([1, 2]))


def test_tensors_pass_through_containers_with_their_derivatives() -> None:
    def f(x: Any) -> Any:
        parts = ops.make_tuple(x, ops.scalar_mul(x, x), ops.deepcopy(x))
        parts = ops.tuple_setitem(parts, 0, ops.scalar_usub(x))
        return ops.scalar_add(ops.tuple_getitem(parts, 0), ops.scalar_add(parts[1], parts[2])).sum()

    for grad in (ms.grad(f), ms.jit(ms.grad(f))):
        assert grad(Tensor([1.0, 3.0])).tolist() == [2.0, 6.0]  # of x * x


# ------------------------------------------------------------------------------------------------ in place
def test_functions_that_change_a_tensor() -> None:
    def f(x: Any) -> Any:
        y = x + 0
        ops.clamp_(y, -1, 1)
        z = ops.tanh_(x + 0)
        ops.put_(z, Tensor([0]), Tensor([9.0]), accumulate=True)
        return y, z, ops.zero_(x + 0), ops.inplace_sigmoid(x + 0), ops.erfinv_(x * 0), ops.relu(x + 0, inplace=True)

    x = np.array([-2.0, 0.5, 3.0], np.float32)
    moved = np.tanh(x) + [9, 0, 0]
    known = (np.clip(x, -1, 1), moved, x * 0, 1 / (1 + np.exp(-x)), x * 0, np.maximum(x, 0))
    for run in (f, ms.jit(f)):
        for found, expected in zip(run(Tensor(x)), known, strict=True):
            np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-6, atol=1e-7)
    given = Tensor(x)
    assert ops.relu(given, True) is given
    assert given.tolist() == [0.0, 0.5, 3.0]


@pytest.mark.parametrize("name", ["bernoulli_", "exponential_", "normal_", "random_", "uniform_"])
def test_functions_that_fill_a_tensor(name: str) -> None:
    function = getattr(ops, name)

    def f(x: Any) -> Any:
        return function(x + 0)

    found = []
    for run in (f, ms.jit(f), lambda x: getattr(x, name)()):
        ms.set_seed(3)
        found.append(run(Tensor(np.zeros(500))).asnumpy())
    assert_same(found[1], found[0], each=True)
    assert (found[0] == found[2]).all()
    assert found[0].std() > 0
    with pytest.raises(TypeError, match="Generator or None"):
        function(Tensor([0.0]), generator=1)


# ------------------------------------------------------------------------------------------------ others
def test_frequencies() -> None:
    for n, d in ((1, 1.0), (4, 0.5), (5, 2.0)):
        for ours, theirs in ((ops.fftfreq, np.fft.fftfreq), (ops.rfftfreq, np.fft.rfftfreq)):
            found = ours(n, d, ms.float64)
            np.testing.assert_allclose(found.asnumpy(), theirs(n, d), rtol=1e-15)
            assert ours(n, d).dtype is ms.float32
    x = np.arange(30.0).reshape(5, 6)
    for dim in (None, 0, (0, 1), (-1,)):
        for ours, theirs in ((ops.fftshift, np.fft.fftshift), (ops.ifftshift, np.fft.ifftshift)):
            for run in (lambda x: ours(x, dim), ms.jit(lambda x: ours(x, dim))):
                np.testing.assert_array_equal(run(Tensor(x)).asnumpy(), theirs(x, dim))


def test_padding() -> None:
    for run in (ops.padding, ms.jit(lambda x, n: ops.padding(x, n))):
        assert run(Tensor([[5], [6]]), 3).tolist() == [[5, 0, 0], [6, 0, 0]]
        with pytest.raises(ShapeError, match="last dimension of size 1"):
            run(Tensor([[5, 6]]), 3)


def test_other_names() -> None:
    x = Tensor(np.arange(16.0).reshape(1, 4, 4))
    assert ops.adaptive_avg_pool2d_ext(x, 2).tolist() == [[[2.5, 4.5], [10.5, 12.5]]]
    found = ops.mixed_precision_cast(ms.float16, {"a": x, "b": [Tensor(1), 2]})
    assert (found["a"].dtype, found["b"][0].dtype, found["b"][1]) == (ms.float16, ms.int64, 2)
    assert ops.subtract(Tensor([5]), Tensor([2]), alpha=2).tolist() == [1]
    assert ops.true_divide(dividend=Tensor([1]), divisor=2).tolist() == [0.5]
    assert ops.heaviside(input=Tensor([0.0]), values=Tensor([0.25])).tolist() == [0.25]


# ------------------------------------------------------------------------------------------------ complex numbers
REFUSED = [
    "complex", "eig", "fft", "fft2", "fftn", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ihfft", "ihfft2",
    "ihfftn", "irfft", "irfft2", "irfftn", "polar", "rfft", "rfft2", "rfftn", "stft", "view_as_complex", "view_as_real",
]  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_complex_results_are_refused(name: str) -> None:
    function = getattr(ops, name)
    for run in (lambda x: function(x), ms.jit(lambda x: function(x))):
        with pytest.raises(CompileError, match=f"{name} works with complex numbers, which are not supported"):
            run(Tensor([1.0, 2.0]))


def test_complex_dtypes_are_refused() -> None:
    x = Tensor([1.0])
    assert not hasattr(ms, "complex64")
    with pytest.raises(AttributeError, match=r"'complex128': complex numbers are not supported"):
        _ = ms.complex128
    with pytest.raises(MissingAttributeError) as caught:
        ms.jit(lambda x: x.astype(ms.complex64))(x)
    assert "complex numbers are not supported" in str(caught.value)
    for made in (
        lambda: Tensor(1j),
        lambda: Tensor([1j]),
        lambda: Tensor(np.array([1j])),
        lambda: x.astype("complex64"),
    ):
        with pytest.raises(TypeError, match="complex numbers are not supported"):
            made()
