"""Attributes and elements that look alike and are not: zeros of both signs, sums of elements of many dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from tests.ascend.on_device import Copies, array, ascend


def test_zeros_of_both_signs_are_two_attributes(device: Any) -> None:
    x = Tensor([1.0])
    with ascend():
        for _ in range(2):  # whichever came first
            assert (1 / ops.pad(x, (1, 0), value=0.0)).asnumpy()[0] == np.inf
            assert (1 / ops.pad(x, (1, 0), value=-0.0)).asnumpy()[0] == -np.inf


def test_nan_is_one_attribute(device: Any) -> None:
    from autodiff_compiler.eager import on_device

    with ascend():
        ops.pad(Tensor([1.0]), (1, 0), value=float("nan"))
        before = len(on_device._programs)
        for _ in range(3):
            assert np.isnan(ops.pad(Tensor([1.0]), (1, 0), value=float("nan")).asnumpy()[0])
        assert len(on_device._programs) == before


def test_cotangents_of_sequences_of_many_dimensions_are_added(device: Any) -> None:
    def f(x: Any) -> Any:
        rows = []
        for row in x:
            rows.append(ops.tanh(row))
        total = x[0] * 0
        for row in rows:
            total = total * 0.5 + row * row
        for row in rows:
            total = total * 0.3 + row
        return (total * total).sum()

    x = Tensor(array(12, *(1,) * 8, 2))
    second = ms.grad(lambda x: (ms.grad(f)(x) ** 2).sum())
    expected = ms.jit(second)(x).asnumpy()
    with ascend(ascend_fallback="host"):
        np.testing.assert_allclose(ms.jit(second)(x).asnumpy(), expected, rtol=1e-5, atol=1e-6)


def test_an_array_that_somebody_holds_is_sent_once_per_call(device: Any, monkeypatch: Any) -> None:
    f = ms.jit(lambda x: ops.tanh(x) * 2)
    x = Tensor(array(100))
    held = x.asnumpy()
    with ascend():
        f(x)
        copies = Copies(monkeypatch)
        assert copies.of(lambda: f(x)) == (1, 0)
    assert held is not None
