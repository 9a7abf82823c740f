"""Eager mode on the device: every op runs there, results stay, tapes work as ever."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler.eager import on_device as programs
from tests.ascend.on_device import Copies, array, ascend

USES = {
    "operators": lambda x, y: (x + y, x - 2, 3 - x, x * y, x / y, 2 / x, -x, abs(x), x**2, x < y, x == y, x >= 1.5),
    "methods": lambda x, y: (x.exp(), x.tanh(), x.sum(), x.mean(0), x.max(), x.reshape(-1), x.T, x.astype("float16")),
    "indices": lambda x, y: (x[0], x[1:, None], x[..., -1], x[Tensor([1, 0])], x[0, Tensor([2, 1])]),
    "shapes": lambda x, y: (ops.concat((x, y)), ops.stack([x, y], 1), ops.transpose(x, (1, 0)), ops.tile(x, (2, 1))),
    "matrices": lambda x, y: (x @ y.T, ops.matmul(x, y.T), ops.bmm(x[None], y.T[None])),
    "numbers": lambda x, y: (ops.maximum(x, 0.0), ops.where(x > 0, x, 0.0), ops.pow(x, 2), x + True),
    "integers": lambda x, y: (Tensor([1, 2]) + 1, Tensor([7, 5]) // 2, Tensor([7, 5]) % 4, ops.arange(4)),
}


def flat(found: Any) -> list[Any]:
    return [t.asnumpy() for t in found]


@pytest.mark.parametrize("name", USES)
def test_values_are_those_of_the_cpu(name: str, device: Any) -> None:
    a, b = array(2, 3), array(2, 3, seed=1)
    wanted = flat(USES[name](Tensor(a), Tensor(b)))
    with ascend(ascend_fallback="host"):
        results = USES[name](Tensor(a), Tensor(b))
        assert {t.device for t in results} <= {"Ascend:0", "CPU"}
        for found, expected in zip(flat(results), wanted, strict=True):
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
            np.testing.assert_allclose(found, expected, rtol=1e-3 if found.dtype == np.float16 else 1e-5, atol=1e-6)


def test_the_fast_operators_come_back(device: Any) -> None:
    names = ("__add__", "__radd__", "__matmul__", "__getitem__", "exp", "__lt__")
    fast = {name: getattr(Tensor, name).__code__ for name in names}
    with ascend():
        assert {getattr(Tensor, name).__code__ for name in names} & set(fast.values()) == set()
    assert {name: getattr(Tensor, name).__code__ for name in names} == fast


def test_the_programs_of_ops_are_kept(device: Any, monkeypatch: Any) -> None:
    with ascend():
        x = Tensor(array(3, 5))
        (ops.tanh(x) * 2).sum()
        before = len(programs._programs)
        copies = Copies(monkeypatch)
        for _ in range(3):
            (ops.tanh(x) * 2).sum()
        assert len(programs._programs) == before
        assert (copies.up, copies.down) == (0, 0)  # the number 2 is there already, too


def test_gradients_with_hooks_rules_and_recomputation(device: Any) -> None:
    class Scaled(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w = Parameter(array(4), name="w")

        def construct(self, x: Any) -> Any:
            return ops.tanh(x * self.w)

    def taken(again: bool) -> list[Any]:
        cell = Scaled()
        seen: list[Any] = []
        cell.register_backward_hook(lambda cell, before, after: seen.append(after[0].asnumpy().copy()))
        if again:
            cell.recompute()
        gradient = ms.grad(lambda x: (cell(x) * cell(x + 1)).sum(), 0, [cell.w])
        dx, dw = gradient(Tensor(array(4, seed=2)))
        return [dx.asnumpy(), (dw[0] if isinstance(dw, tuple) else dw).asnumpy(), *seen]

    for again in (False, True):
        wanted = taken(again)
        with ascend():
            found = taken(again)
        assert len(found) == len(wanted) > 2
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_parameters_change_in_place(device: Any) -> None:
    with ascend():
        p = Parameter(np.array([1.0, 2.0], np.float32), name="p")
        q = p
        p += 1
        p *= 2
        assert (q is p, q.tolist(), q.device) == (True, [4, 6], "Ascend:0")
        ops.assign_add(p, Tensor(np.array([1.0, 1.0], np.float32)))
        assert p.tolist() == [5, 7]


def test_numbers_keep_their_sign_and_type(device: Any) -> None:
    with ascend():
        x = Tensor(np.array([1.0], np.float32))
        assert [(x / 0.0).item(), (x / -0.0).item()] == [np.inf, -np.inf]
        assert (Tensor([1, 2]) * 2).dtype == ms.int64
        assert (x * 2).dtype == ms.float32


def test_an_argument_that_the_path_of_a_compiled_function_does_not_use(device: Any) -> None:
    """Its mask comes from the device; d/dx (x * x) at 0, and d/dx log(x) at 0.5."""
    with ascend(ascend_fallback="host"):
        called = ms.jit(lambda y, x, c: y if c > 0 else x * x)
        both = ms.jit(lambda x: (ops.log(x), x * x))
        slope = ms.grad(lambda x, c: called(ops.log(x), x, c))
        assert slope(Tensor(0.0), Tensor(0.0)).asnumpy() == 0
        assert slope(Tensor(0.5), Tensor(1.0)).asnumpy() == pytest.approx(2, rel=1e-3)
        assert ms.grad(lambda x, c: slope(x, c))(Tensor(0.0), Tensor(0.0)).asnumpy() == 2
        for _ in range(2):
            assert ms.grad(lambda x: both(x)[1])(Tensor(0.0)).asnumpy() == 0
