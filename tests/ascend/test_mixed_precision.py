"""Float16 and bfloat16 on the device; whether gradients are finite, with infinities and with results that saturate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, amp, nn, ops
from autodiff_compiler.backends.ascend.device import current, shutdown
from tests.ascend.on_device import MODES, array, ascend

WAYS = ("INFNAN_MODE", "SATURATION_MODE")


@pytest.fixture(params=WAYS)
def way(request: Any, device: Any, monkeypatch: Any) -> Iterator[str]:
    """What overflowing results become, as MindSpore's variable says; the device starts with it."""
    monkeypatch.setenv("MS_ASCEND_CHECK_OVERFLOW_MODE", request.param)
    with ascend():
        assert current().saturates == (request.param == "SATURATION_MODE")
        current().overflowed()  # the status is the process's: it still knows of other tests
        yield request.param


def test_the_device_saturates_only_as_long_as_it_is_asked_to(device: Any, monkeypatch: Any) -> None:
    def found() -> Any:
        with ascend():
            return (Tensor(np.finfo(np.float32).max) * 2).asnumpy()

    before = found()
    for name in WAYS:
        shutdown()
        monkeypatch.setenv("MS_ASCEND_CHECK_OVERFLOW_MODE", name)
        assert np.isinf(found()) == (name == "INFNAN_MODE")
    shutdown()
    monkeypatch.delenv("MS_ASCEND_CHECK_OVERFLOW_MODE")
    assert found() == before
    shutdown()
    monkeypatch.setenv("MS_ASCEND_CHECK_OVERFLOW_MODE", "bogus")
    with pytest.raises(ms.AscendError, match="'bogus'; it may be SATURATION_MODE or INFNAN_MODE"):
        found()
    assert ms.get_context("device_target") == "CPU"


@pytest.mark.parametrize("dtype", [ms.float16, ms.float32])
def test_what_overflow_gives(way: str, dtype: Any) -> None:
    largest = np.finfo(np.float16 if dtype is ms.float16 else np.float32).max
    found = (Tensor(largest, dtype) * 2).asnumpy()
    assert found == (np.inf if way == "INFNAN_MODE" else largest)


def test_all_finite_of_values(way: str) -> None:
    assert amp.all_finite((Tensor([1.0, 2.0]), Tensor([3.0], ms.float16))).item() is True
    assert amp.all_finite((Tensor([1.0, np.inf]),)).item() is False
    assert amp.all_finite((Tensor([np.nan]),)).item() is False


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_all_finite_sees_what_overflowed_on_the_way(way: str, compiled: bool) -> None:
    """At 40 the square and its derivative fit float16, but not times 1024; unscaled in float32 they look finite."""

    def step(x: Any, scale: Any) -> Any:
        g = ms.grad(lambda x: ((x * x) * scale).sum())(x)
        small = g.astype(ms.float32) / scale.astype(ms.float32)
        return amp.all_finite((small,)), small

    run = ms.jit(step) if compiled else step
    x = Tensor(np.array([40.0, 1.0], np.float16))
    for scale, finite in ((1.0, True), (1024.0, False), (1.0, True)):
        found, small = run(x, Tensor(scale, ms.float16))
        assert found.item() is finite, scale
        if finite:
            np.testing.assert_array_equal(small.asnumpy(), [80, 2])


@pytest.mark.parametrize("mode", MODES)
def test_a_loss_scale_falls_until_gradients_are_finite(way: str, mode: str) -> None:
    ms.set_context(ascend_mode=mode)
    scaler = amp.DynamicLossScaler(2.0**20, 2, 1000)
    weight = ms.Parameter(Tensor(array(4, 3) * 4, ms.float32), name="w")
    x = Tensor(array(5, 4, seed=1) * 4)

    def loss(x: Any) -> Any:
        y = ops.matmul(x.astype(ms.float16), weight.astype(ms.float16)).astype(ms.float32)
        return scaler.scale((y * y).mean())

    gradient = ms.value_and_grad(loss, None, [weight])

    @ms.jit
    def step(x: Any) -> Any:
        _, grads = gradient(x)
        finite = amp.all_finite(grads)
        scaler.adjust(finite)
        return finite, scaler.unscale(grads)

    for _ in range(25):
        finite, grads = step(x)
        if finite.item():
            break
    assert finite.item()
    scale = scaler.scale_value.item()
    assert 1 <= scale < 2.0**20, "the first scales are too large for float16"
    xs, w = x.asnumpy().astype(float), weight.asnumpy().astype(float)
    np.testing.assert_allclose(grads[0].asnumpy(), xs.T @ (2 * (xs @ w) / 15), rtol=2e-2, atol=2e-2)
    ms.set_context(ascend_mode="per_call")


@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16])
def test_a_network_of_mixed_precision(device: Any, dtype: Any) -> None:
    """Layers compute in half the bits, normalisation and loss in float32; as on the CPU up to rounding."""
    ms.set_seed(3)
    net = nn.SequentialCell(nn.Dense(6, 8), nn.LayerNorm((8,)), nn.ReLU(), nn.Dense(8, 2))
    amp.auto_mixed_precision(net, "O2", dtype)
    x, y = Tensor(array(4, 6)), Tensor(array(4, 2, seed=1))

    def loss(x: Any, y: Any) -> Any:
        return ops.mse_loss(net(x).astype(ms.float32), y)

    run = ms.jit(ms.value_and_grad(loss, None, net.trainable_params()))
    value, grads = run(x, y)
    expected = [value.asnumpy(), *[g.asnumpy() for g in grads]]
    with ascend():
        value, grads = run(x, y)
        found = [value.asnumpy(), *[g.asnumpy() for g in grads]]
    for f, e in zip(found, expected, strict=True):
        tolerance = 1e-2 if dtype is ms.float16 else 6e-2
        np.testing.assert_allclose(f.astype(float), e.astype(float), rtol=tolerance, atol=tolerance)
