"""Train cells and loss scale in both modes, against formulas written out here in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, ParameterTuple, Tensor, amp, nn, ops

RNG = np.random.RandomState(0)
X = RNG.standard_normal((6, 3)).astype(np.float32)
Y = RNG.standard_normal((6, 1)).astype(np.float32)
W = RNG.standard_normal((1, 3)).astype(np.float32)


def linear() -> nn.Dense:
    return nn.Dense(3, 1, Tensor(W), has_bias=False)


def loss_and_gradient(w: np.ndarray, x: np.ndarray = X, y: np.ndarray = Y) -> tuple[float, np.ndarray]:
    """Those of the mean square error of a linear map."""
    with np.errstate(invalid="ignore"):
        error = x.astype(np.float64) @ w.T - y
    return float((error**2).mean()), 2 * error.T @ x / len(x)


# ---------------------------------------------------------------------------------------------------- loss, gradient
def test_network_with_loss(mode: str) -> None:
    net = linear()
    with_loss = nn.WithLossCell(net, nn.MSELoss())
    assert with_loss(Tensor(X), Tensor(Y)).item() == pytest.approx(loss_and_gradient(W)[0], rel=1e-6)
    assert with_loss.backbone_network is net
    assert [p.name for p in with_loss.trainable_params()] == ["weight"]


@pytest.mark.parametrize("cast", [False, True])
def test_network_for_evaluation(mode: str, cast: bool) -> None:
    evaluated = nn.WithEvalCell(linear().to_float(ms.float16), nn.MSELoss(), cast)
    loss, outputs, label = evaluated(Tensor(X), Tensor(Y, ms.float16))
    wanted = ms.float32 if cast else ms.float16
    assert (outputs.dtype, label.dtype, loss.dtype) == (wanted,) * 3
    np.testing.assert_allclose(outputs.asnumpy(), X @ W.T, rtol=2e-2, atol=2e-3)
    with pytest.raises(TypeError, match="add_cast_fp32"):
        nn.WithEvalCell(linear(), nn.MSELoss(), 1)


@pytest.mark.parametrize("sens", [None, 4.0])
def test_gradients_of_a_network(mode: str, sens: float | None) -> None:
    net = linear()
    (found,) = nn.WithGradCell(net, nn.MSELoss(), None if sens is None else Tensor(sens))(Tensor(X), Tensor(Y))
    np.testing.assert_allclose(found.asnumpy(), loss_and_gradient(W)[1] * (sens or 1), rtol=1e-5)
    assert net.training


@pytest.mark.parametrize("get_all", [False, True])
@pytest.mark.parametrize("by_list", [False, True])
@pytest.mark.parametrize("sens", [False, True])
def test_forward_value_and_gradients(mode: str, get_all: bool, by_list: bool, sens: bool) -> None:
    class Product(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w = Parameter(Tensor([2.0, 3.0]), name="w")

        def construct(self, x, y):
            return x * y * self.w

    net = Product()
    x, y, w, s = np.array([1.0, 4.0]), np.array([5.0, -1.0]), np.array([2.0, 3.0]), np.array([1.0, 2.0])
    cell = nn.ForwardValueAndGrad(net, ParameterTuple(net.trainable_params()), get_all, by_list, sens)
    operands = [Tensor(v, ms.float32) for v in ([x, y, s] if sens else [x, y])]
    value, grads = cell(*operands)
    np.testing.assert_array_equal(value.asnumpy(), x * y * w)
    scale = s if sens else 1
    dx, dy, dw = y * w * scale, x * w * scale, x * y * scale
    wanted: Any = (dx, dy) if get_all else dx
    if by_list:
        wanted = (wanted, (dw,)) if get_all else (dw,)

    def same(found: Any, wanted: Any) -> None:
        assert isinstance(found, tuple) == isinstance(wanted, tuple)
        if isinstance(wanted, tuple):
            for a, b in zip(found, wanted, strict=True):
                same(a, b)
        else:
            np.testing.assert_array_equal(found.asnumpy(), wanted)

    same(grads, wanted)


def test_forward_value_and_gradients_of_functions_and_wrong_arguments(mode: str) -> None:
    def cube(x):
        return x**3

    value, grad = nn.ForwardValueAndGrad(cube)(Tensor(2.0))
    assert (value.item(), grad.item()) == (8.0, 12.0)
    for wrong in (3, {"get_all": 1}, {"get_by_list": "yes"}, {"get_by_list": True}):
        with pytest.raises(TypeError):
            nn.ForwardValueAndGrad(cube, **wrong) if isinstance(wrong, dict) else nn.ForwardValueAndGrad(wrong)


# ---------------------------------------------------------------------------------------------------- a step
@pytest.mark.parametrize("sens", [None, 8.0])
def test_steps_follow_momentum(mode: str, sens: float | None) -> None:
    net = linear()
    optimizer = nn.Momentum(net.trainable_params(), 0.05, 0.9, loss_scale=sens or 1.0)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer, sens).set_train()
    w, v = W.astype(np.float64), np.zeros_like(W, np.float64)
    for _ in range(4):
        loss, g = loss_and_gradient(w)
        v = 0.9 * v + g
        assert step(Tensor(X), Tensor(Y)).item() == pytest.approx(loss, rel=1e-5)
        w = w - 0.05 * v
        np.testing.assert_allclose(net.weight.asnumpy(), w, rtol=1e-5)
    if mode == "graph":
        assert step._as_compiled().cache_info()["compiles"] == 1


def test_a_step_returns_its_gradients_by_name(mode: str) -> None:
    net = linear()
    step = nn.TrainOneStepCell(
        nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1), 4.0, return_grad=True
    )
    loss, grads = step(Tensor(X), Tensor(Y))
    assert loss.item() == pytest.approx(loss_and_gradient(W)[0], rel=1e-6)
    assert list(grads) == ["weight"]
    np.testing.assert_allclose(grads["weight"].asnumpy(), 4 * loss_and_gradient(W)[1], rtol=1e-5)


@pytest.mark.parametrize("sens", [None, 2.0])
def test_the_network_runs_once_in_a_step(mode: str, sens: float | None) -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w = Parameter(Tensor([2.0]), name="w")
            self.runs = Parameter(Tensor(0, ms.int32), name="runs", requires_grad=False)

        def construct(self, x):
            self.runs += 1
            return (x * self.w).sum()

    net = Net()
    step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1), sens)
    for _ in range(3):
        step(Tensor([1.0]))
    assert net.runs.item() == 3


def test_a_loss_with_elements_is_summed_with_sens(mode: str) -> None:
    net = nn.Dense(1, 1, 3.0, has_bias=False)
    step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.5), 2.0)
    assert step(Tensor([[1.0], [2.0]])).tolist() == [[3.0], [6.0]]
    assert net.weight.item() == 3.0 - 0.5 * 2.0 * (1.0 + 2.0)


def test_a_users_step_calls_the_network_and_its_gradient(mode: str) -> None:
    class Clipped(nn.TrainOneStepCell):
        def construct(self, x, y):
            loss = self.network(x, y)
            sens = ops.fill(loss.dtype, loss.shape, self.sens)
            grads = self.grad(self.network, self.weights)(x, y, sens)
            grads = ops.clip_by_global_norm(self.grad_reducer(grads), 0.5)
            return ops.depend(loss, self.optimizer(grads))

    net = linear()
    step = Clipped(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1))
    loss, g = loss_and_gradient(W)
    assert step(Tensor(X), Tensor(Y)).item() == pytest.approx(loss, rel=1e-6)
    norm = max(np.sqrt((g**2).sum()), 0.5)
    np.testing.assert_allclose(net.weight.asnumpy(), W - 0.1 * g * 0.5 / norm, rtol=1e-5)


def test_only_a_users_step_keeps_what_the_network_computed() -> None:
    class Mine(nn.TrainOneStepCell):
        def construct(self, x):
            return self.network(x)

    class Named(nn.TrainOneStepWithLossScaleCell):
        """With the step of its base."""

    for make, keeps in (
        (nn.TrainOneStepCell, False),
        (lambda net, optimizer: Named(net, optimizer, Tensor(1.0)), False),
        (Mine, True),
    ):
        net = linear()
        make(net, nn.SGD(net.trainable_params(), 0.1))
        assert net.requires_grad is keeps


def test_a_step_without_cotangent_is_refused() -> None:
    net = linear()
    with pytest.raises(ValueError, match="sens"):
        nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1), 0)


def test_gradients_of_one_process_are_reduced_to_themselves() -> None:
    grads = (Tensor([1.0]),)
    assert nn.DistributedGradReducer(linear().trainable_params())(grads)[0].tolist() == [1.0]
    with pytest.raises(ValueError, match="degree"):
        nn.DistributedGradReducer([], degree=0)
    with pytest.raises(TypeError, match="Parameters"):
        nn.DistributedGradReducer([Tensor([1.0])])


def test_the_mean_of_gradients_is_their_sum_divided_by_the_degree() -> None:
    reducer = nn.DistributedGradReducer([Parameter([1.0], name="p")], mean=True, degree=4)
    assert reducer((Tensor([1.0]),))[0].tolist() == [0.25]


# ---------------------------------------------------------------------------------------------------- loss scale
def scales(start: float, factor: float, window: int, overflows: list[bool]) -> list[float]:
    """The scale after each step: divided at an overflow, multiplied when `window` steps went well since a change."""
    scale, calm, found = start, 0, []
    for overflow in overflows:
        calm = 0 if overflow else calm + 1
        if overflow:
            scale = max(scale / factor, 1.0)
        elif calm == window:
            scale, calm = scale * factor, 0
        found.append(scale)
    return found


OVERFLOWS = [False, False, False, True, False, True, True, True, False, False, False, False]


@pytest.mark.parametrize("window", [1, 2, 3])
def test_the_scale_follows_overflows(mode: str, window: int) -> None:
    scale = Parameter(Tensor(4.0), name="scale")
    update = nn.DynamicLossScaleUpdateCell(4.0, 2, window)
    found = []
    for overflow in OVERFLOWS:
        assert update(scale, Tensor(overflow)).item() is overflow
        found.append(scale.item())
    assert found == scales(4.0, 2, window, OVERFLOWS)
    assert update.get_loss_scale() == 4.0


def test_an_overflow_leaves_the_step_out(mode: str) -> None:
    net = linear()
    optimizer = nn.Momentum(net.trainable_params(), 0.05, 0.9)
    update = nn.DynamicLossScaleUpdateCell(1024.0, 2, 2)
    step = nn.TrainOneStepWithLossScaleCell(nn.WithLossCell(net, nn.MSELoss()), optimizer, update).set_train()
    w, v, done = W.astype(np.float64), np.zeros_like(W, np.float64), 0
    wanted = scales(1024.0, 2, 2, OVERFLOWS)
    for overflow, after in zip(OVERFLOWS, wanted, strict=True):
        x = X.copy()
        x[2, 1] = np.inf if overflow else x[2, 1]
        loss, seen, scale = step(Tensor(x), Tensor(Y))
        assert (seen.item(), scale.item(), step.scale_sense.item()) == (overflow, after, after)
        if not overflow:
            value, g = loss_and_gradient(w)
            assert loss.item() == pytest.approx(value, rel=1e-5)
            v = 0.9 * v + g
            w, done = w - 0.05 * v, done + 1
        np.testing.assert_allclose(net.weight.asnumpy(), w, rtol=1e-5)
        np.testing.assert_allclose(optimizer.moments[0].asnumpy(), v, rtol=1e-4, atol=1e-6)
    assert optimizer.global_step.tolist() == [done]
    if mode == "graph":
        assert step._as_compiled().cache_info()["compiles"] == 1


@pytest.mark.parametrize("shape", [(), (1,)])
def test_a_scale_that_the_user_sets(mode: str, shape: tuple[int, ...]) -> None:
    net = nn.Dense(1, 1, 1.0, has_bias=False)
    step = nn.TrainOneStepWithLossScaleCell(net, nn.SGD(net.trainable_params(), 0.5), ops.full(shape, 64.0))
    loss, overflow, scale = step(Tensor([[2.0]], ms.float32))
    assert (loss.item(), overflow.item(), scale.tolist()) == (2.0, False, [64.0] if shape else 64.0)
    assert net.weight.item() == 1.0 - 0.5 * 2.0  # the scale is gone from the gradient
    step.set_sense_scale(ops.full(shape, 2.0**127))
    assert step(Tensor([[4.0]], ms.float32))[1].item() is True
    assert net.weight.item() == 0.0
    with pytest.raises(TypeError, match="scale"):
        step.set_sense_scale(3.0)


def test_scales_that_are_refused() -> None:
    net = linear()
    for wrong, error in ((1024.0, TypeError), (Tensor([1.0, 2.0]), ValueError)):
        with pytest.raises(error, match="scale_sense"):
            nn.TrainOneStepWithLossScaleCell(net, nn.SGD(net.trainable_params(), 0.1), wrong)


def test_a_users_step_with_loss_scale(mode: str) -> None:
    """As it is written for MindSpore, with the overflow checks of a step of one's own."""

    class Mine(nn.TrainOneStepWithLossScaleCell):
        def construct(self, *inputs):
            loss = self.network(*inputs)
            scaling_sens = self.scale_sense
            status, scaling_sens = self.start_overflow_check(loss, scaling_sens)
            filled = ops.ones_like(loss) * ops.cast(scaling_sens, ops.dtype(loss))
            grads = self.grad(self.network, self.weights)(*inputs, filled)
            grads = tuple([g / scaling_sens for g in grads])
            cond = self.get_overflow_status(status, self.grad_reducer(grads))
            overflow = self.process_loss_scale(cond)
            if not overflow:
                self.optimizer(grads)
            return loss, cond

    net = linear()
    update = amp.DynamicLossScaleManager(256.0, 2, 1).get_update_cell()
    step = Mine(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1), update)
    loss, g = loss_and_gradient(W)
    assert step(Tensor(X), Tensor(Y))[0].item() == pytest.approx(loss, rel=1e-6)
    np.testing.assert_allclose(net.weight.asnumpy(), W - 0.1 * g, rtol=1e-5)
    assert step.scale_sense.item() == 512.0


# ---------------------------------------------------------------------------------------------------- managers
def test_managers() -> None:
    fixed = amp.FixedLossScaleManager(1024.0)
    fixed.update_loss_scale(True)
    assert (fixed.get_loss_scale(), fixed.get_drop_overflow_update()) == (1024.0, True)
    assert isinstance(fixed.get_update_cell(), nn.FixedLossScaleUpdateCell)
    assert amp.FixedLossScaleManager(8.0, False).get_update_cell() is None
    dynamic = amp.DynamicLossScaleManager(4.0, 2, 3)
    assert dynamic.get_drop_overflow_update() is True
    for overflow, wanted in zip([False] * 3 + [True] * 4, [4.0, 4.0, 8.0, 4.0, 2.0, 1.0, 1.0], strict=True):
        dynamic.update_loss_scale(overflow)
        assert dynamic.get_loss_scale() == wanted
    dynamic.bad_step_max = 4
    with pytest.raises(RuntimeError, match="overflow"):
        dynamic.update_loss_scale(True)
    for make in (
        lambda: amp.FixedLossScaleManager(0.5),
        lambda: amp.DynamicLossScaleManager(0.5),
        lambda: amp.DynamicLossScaleManager(2, 0),
        lambda: amp.DynamicLossScaleManager(2, 2, 0),
    ):
        with pytest.raises(ValueError, match="must be"):
            make()
    assert ms.FixedLossScaleManager is amp.FixedLossScaleManager
    assert ms.train.loss_scale_manager.LossScaleManager is ms.LossScaleManager
