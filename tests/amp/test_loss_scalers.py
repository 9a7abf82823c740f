"""Loss scalers and `all_finite`, in eager and in compiled code."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, amp, nn, ops

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize("compiled", [False, True])
def test_scaling_keeps_structure_and_dtype(compiled: bool) -> None:
    scaler = amp.StaticLossScaler(8)

    def both(x, y):
        return scaler.scale(x), scaler.scale((x, [y])), scaler.unscale({"x": x, "y": y})

    run = ms.jit(both) if compiled else both
    x, y = Tensor([1.0, 4.0], ms.float16), Tensor(16.0)
    one, (first, (second,)), divided = run(x, y)
    assert (one.tolist(), one.dtype) == ([8.0, 32.0], ms.float16)
    assert (first.tolist(), second.item(), second.dtype) == ([8.0, 32.0], 128.0, ms.float32)
    assert (divided["x"].tolist(), divided["x"].dtype, divided["y"].item()) == ([0.125, 0.5], ms.float16, 2.0)
    assert scaler.adjust(Tensor(False)) is False
    assert scaler.scale_value.item() == 8.0


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("window", [1, 2, 3])
def test_a_dynamic_scale_follows_overflows(compiled: bool, window: int) -> None:
    scaler = amp.DynamicLossScaler(4, 2, window)

    def step(finite):
        return scaler.adjust(finite)

    run = ms.jit(step) if compiled else step
    scale, calm = 4.0, 0
    for finite in (True, True, True, False, True, False, False, False, True, True, True, True):
        assert run(Tensor(finite)) is True
        calm = calm + 1 if finite else 0
        if not finite:
            scale = max(scale / 2, 1.0)
        elif calm == window:
            scale, calm = scale * 2, 0
        assert (scaler.scale_value.item(), scaler.counter.item()) == (scale, calm)
    if compiled:
        assert run.cache_info()["compiles"] == 1


def test_a_dynamic_scale_stays_finite() -> None:
    scaler = amp.DynamicLossScaler(2.0**127, 2, 1)
    scaler.adjust(Tensor(True))
    assert scaler.scale_value.item() == 2.0**127


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("values", "finite"),
    [
        (([1.0], [2.0]), True),
        (([1.0], [2.0, INF]), False),
        (([-INF],), False),
        (([0.0, NAN], [1.0]), False),
        (((), [1.0]), True),
    ],
)
def test_all_finite(compiled: bool, values: tuple[list[float], ...], finite: bool) -> None:
    run = ms.jit(amp.all_finite) if compiled else amp.all_finite
    for dtype in (ms.float16, ms.float32, ms.float64, ms.bfloat16):
        tensors = tuple(Tensor(np.array(v, np.float32), dtype) for v in values)
        found = run(tensors)
        assert (found.shape, found.dtype, found.item()) == ((), ms.bool_, finite)
        assert run(list(tensors)).item() is finite
    assert run((Tensor([1, 2]), [Tensor(1.0)])).item() is True
    assert amp.all_finite((Tensor(1.0),), amp.init_status()).item() is True


def test_all_finite_takes_tensors() -> None:
    with pytest.raises(TypeError, match="all_finite"):
        amp.all_finite((1.0,))


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: amp.StaticLossScaler(0), ValueError),
        (lambda: amp.StaticLossScaler("8"), TypeError),
        (lambda: amp.DynamicLossScaler(0.5, 2, 1), ValueError),
        (lambda: amp.DynamicLossScaler(2, 2, 0), ValueError),
        (lambda: amp.DynamicLossScaler(2, 0, 1), ValueError),
        (lambda: amp.DynamicLossScaler(2, 1.5, 1), TypeError),
        (lambda: amp.LossScaler(), TypeError),
    ],
)
def test_scalers_that_are_refused(make, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


@pytest.mark.parametrize("compiled", [False, True])
def test_a_functional_step_with_a_users_scaler(compiled: bool) -> None:
    """The tutorials' train step: scale, differentiate, unscale, look, update, adjust."""

    class Doubling(amp.LossScaler):
        def __init__(self):
            self.value = ms.Parameter(Tensor(2.0), name="value", requires_grad=False)

        def scale(self, inputs):
            return inputs * self.value

        def unscale(self, inputs):
            return tuple([g / self.value for g in inputs])

        def adjust(self, grads_finite):
            ops.assign(self.value, self.value * 2)
            return True

    net = nn.Dense(1, 1, 4.0, has_bias=False)
    optimizer = nn.SGD(net.trainable_params(), 0.5)
    scaler = Doubling()

    def forward(x):
        loss = net(x).sum()
        return scaler.scale(loss), loss

    derivative = ms.value_and_grad(forward, None, optimizer.parameters, has_aux=True)

    def step(x):
        (_, loss), grads = derivative(x)
        grads = scaler.unscale(grads)
        finite = amp.all_finite(grads)
        if finite:
            optimizer(grads)
        scaler.adjust(finite)
        return loss, finite

    run = ms.jit(step) if compiled else step
    w = 4.0
    for x in (2.0, INF, 1.0):
        loss, finite = run(Tensor([[x]], ms.float32))
        assert (loss.item(), finite.item()) == (w * x, x != INF)
        w = w if x == INF else w - 0.5 * x
        assert net.weight.item() == w
    assert scaler.value.item() == 16.0


def test_the_maps_that_scalers_of_users_import() -> None:
    from autodiff_compiler.amp import _grad_scale_map, _grad_unscale_map

    scale, grads = Parameter(Tensor(4.0), name="scale"), (Tensor([1.0]), [Tensor([2.0], dtype=ms.float16)])
    up = _grad_scale_map(scale, grads)
    assert (up[0].tolist(), up[1][0].tolist(), up[1][0].dtype) == ([4.0], [8.0], ms.float16)
    assert _grad_unscale_map(scale, up)[1][0].tolist() == [2.0]
