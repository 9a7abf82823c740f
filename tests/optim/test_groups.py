"""Parameter groups: own rates, weight decay, centralized gradients and a given order."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops


def three() -> list[Parameter]:
    return [Parameter(np.array([1.0, 2.0]), name=name) for name in ("a", "b", "gamma")]


def stepped(optimizer: Any, mode: str, steps: int = 3) -> list[list[float]]:
    """The Parameters after steps with the gradients 1, 2, 3 for the first, second, third Parameter."""

    def step(gs):
        return optimizer(gs)

    run = ms.jit(step) if mode == "graph" else step
    for _ in range(steps):
        run(tuple(Tensor(np.full(2, i + 1.0)) for i in range(len(optimizer.parameters))))
    return [p.tolist() for p in optimizer.parameters]


def decayed(p: Any, g: float, rates: list[float], decay: float) -> list[float]:
    p = np.array(p)
    for lr in rates:
        p = p - lr * (g + decay * p)
    return p.tolist()


def test_rates_and_decay_of_groups(mode: str) -> None:
    """In groups no name is left out: gamma is decayed."""
    a, b, c = three()
    optimizer = nn.Momentum(
        [{"params": [a], "lr": 0.5}, {"params": [b], "weight_decay": 0.25}, {"params": [c]}],
        learning_rate=0.125,
        momentum=0.0,
        weight_decay=0.5,
    )
    found = stepped(optimizer, mode)
    start = [1.0, 2.0]
    np.testing.assert_allclose(found[0], decayed(start, 1.0, [0.5] * 3, 0.5), rtol=1e-6)
    np.testing.assert_allclose(found[1], decayed(start, 2.0, [0.125] * 3, 0.25), rtol=1e-6)
    np.testing.assert_allclose(found[2], decayed(start, 3.0, [0.125] * 3, 0.5), rtol=1e-6)
    assert optimizer.global_step.item() == 3


class Halving(nn.learning_rate_schedule.LearningRateSchedule):
    def construct(self, global_step):
        return 1.0 / 2.0**global_step


def test_schedules_differ_between_groups(mode: str) -> None:
    a, b, c = three()
    optimizer = nn.SGD(
        [{"params": [a], "lr": Halving()}, {"params": [b], "lr": [0.25, 0.5, 0.125]}, {"params": [c]}], 0.0625
    )
    assert optimizer.dynamic_lr
    assert optimizer.is_group_lr
    found = stepped(optimizer, mode)
    assert found[0] == decayed([1.0, 2.0], 1.0, [1.0, 0.5, 0.25], 0.0)
    assert found[1] == decayed([1.0, 2.0], 2.0, [0.25, 0.5, 0.125], 0.0)
    assert found[2] == decayed([1.0, 2.0], 3.0, [0.0625] * 3, 0.0)


def test_weight_decay_may_change_from_step_to_step(mode: str) -> None:
    p = Parameter(np.array([1.0, 2.0]), name="p")
    optimizer = nn.SGD([p], 0.5, weight_decay=Halving())
    assert optimizer.dynamic_weight_decay
    expected = np.array([1.0, 2.0])
    for decay in (1.0, 0.5, 0.25):
        expected = expected - 0.5 * (1.0 + decay * expected)
    assert stepped(optimizer, mode)[0] == expected.tolist()


def test_order_params(mode: str) -> None:
    a, b, c = three()
    optimizer = nn.SGD([{"params": [c], "lr": 0.5}, {"params": [b, a]}, {"order_params": [a, b, c]}], 0.25)
    assert [p.name for p in optimizer.parameters] == ["a", "b", "gamma"]
    found = stepped(optimizer, mode, 1)
    assert found == [[0.75, 1.75], [0.5, 1.5], [-0.5, 0.5]]


def test_gradients_of_convolutions_are_centralized(mode: str) -> None:
    rng = np.random.RandomState(0)
    shapes = {"conv": (2, 3, 2, 2), "dense": (2, 3), "other": (2, 1, 2, 2)}
    parameters = [Parameter(np.zeros(shape), name=name) for name, shape in shapes.items()]
    gs = [rng.standard_normal(shape) for shape in shapes.values()]
    optimizer = nn.SGD(
        [{"params": parameters[:2], "grad_centralization": True}, {"params": parameters[2:]}], learning_rate=1.0
    )
    optimizer(tuple(Tensor(g) for g in gs))
    expected = [gs[0] - gs[0].mean((1, 2, 3), keepdims=True), gs[1], gs[2]]
    for p, g in zip(parameters, expected, strict=True):
        np.testing.assert_allclose(p.asnumpy(), -g, rtol=1e-6, atol=1e-9)


def test_adam_in_groups_equals_optimizers_of_their_own(mode: str) -> None:
    together, apart = three(), three()
    found = stepped(nn.Adam([{"params": together[:1], "lr": 0.5}, {"params": together[1:]}], 0.125), mode)
    for i, (p, lr) in enumerate(zip(apart, (0.5, 0.125, 0.125), strict=True)):
        optimizer = nn.Adam([p], lr)
        for _ in range(3):
            optimizer((Tensor(np.full(2, i + 1.0)),))
        assert found[i] == p.tolist()


def test_lars_of_groups(mode: str) -> None:
    a, b, _ = three()
    inner = nn.SGD([{"params": [a], "lr": 0.5, "weight_decay": 0.25}, {"params": [b]}], 0.125)
    found = stepped(nn.LARS(inner, epsilon=0.0, coefficient=0.5, use_clip=True), mode, 1)
    for i, (lr, decay) in enumerate([(0.5, 0.25), (0.125, 0.0)]):
        p, g = np.array([1.0, 2.0]), np.full(2, i + 1.0)
        local = min(0.5 * np.linalg.norm(p) / (np.linalg.norm(g) + decay * np.linalg.norm(p)) / lr, 1)
        np.testing.assert_allclose(found[i], p - lr * local * (g + decay * p), rtol=1e-6)


def test_the_holders_of_rates() -> None:
    a, b, c = three()
    schedule = nn.WarmUpLR(0.5, 2)
    optimizer = nn.SGD([{"params": [a], "lr": 0.5}, {"params": [b], "lr": schedule}, {"params": [c]}], 0.25)
    first, second, third = optimizer.get_lr_parameter([a, b, c])
    assert (first.name, first.item(), third.name, third.item()) == ("learning_rate_group_0", 0.5, "learning_rate", 0.25)
    assert second is schedule
    assert first in list(optimizer.get_parameters())
    ops.assign(first, Tensor(1.0))
    optimizer(tuple(Tensor(np.ones(2)) for _ in range(3)))
    assert (a.tolist(), b.tolist(), c.tolist()) == ([0.0, 1.0], [1.0, 2.0], [0.75, 1.75])
    single = nn.SGD([a, b], 0.25)
    assert single.get_lr_parameter(a) is single.learning_rate
    with pytest.raises(ValueError, match="gamma"):
        single.get_lr_parameter(c)
    with pytest.raises(TypeError, match="Parameter"):
        single.get_lr_parameter("a")


def test_asking_for_a_rate() -> None:
    """A rate that changes from step to step moves on when it is asked for, as in MindSpore; a constant stays."""
    constant, changing = nn.SGD(three(), 0.5), nn.SGD(three(), [0.5, 0.25])
    assert [constant.get_lr().item() for _ in range(2)] == [0.5, 0.5]
    assert [changing.get_lr().item() for _ in range(2)] == [0.5, 0.25]
    assert (constant.global_step.item(), changing.global_step.item()) == (0, 2)
    grouped = nn.SGD([{"params": three()[:2], "lr": 0.25}, {"params": three()[2:]}], 0.5)
    assert [lr.item() for lr in grouped.get_lr()] == [0.25, 0.25, 0.5]


class Own(nn.Optimizer):
    """An optimizer written for MindSpore: all of `construct`, and `get_lr` that counts the steps."""

    def __init__(self, params, learning_rate):
        super().__init__(learning_rate, params, weight_decay=0.5)
        self.moments = self.parameters.clone(prefix="moments", init="zeros")
        self.assign = ops.Assign()

    def construct(self, gradients):
        gradients = self.scale_grad(self.gradients_centralization(self.decay_weight(self.flatten_gradients(gradients))))
        lr = self.get_lr()
        for i in range(len(self.parameters)):
            self.assign(self.moments[i], self.moments[i] * 0.5 + gradients[i])
            self.assign(self.parameters[i], self.parameters[i] - self.moments[i] * lr)
        return self.parameters


def test_an_optimizer_of_the_users(mode: str) -> None:
    found = stepped(Own(three(), [1.0, 0.5, 0.25]), mode)
    for i in range(3):
        p, v = np.array([1.0, 2.0]), 0.0
        for lr in (1.0, 0.5, 0.25):
            v = 0.5 * v + (i + 1.0 + (0.5 * p if i < 2 else 0))
            p = p - lr * v
        np.testing.assert_allclose(found[i], p, rtol=1e-6)


_step_of_one = ops.MultitypeFuncGraph("step_of_one")


@_step_of_one.register("Tensor", "Number", "Tensor", "Tensor", "Tensor", "Bool", "Bool")
def _one(lr, decay, p, m, g, decays, kept):
    if kept:
        if decays:
            g = g + decay * p
        new = m * 0.5 + g
        ops.assign(m, new)
        ops.assign(p, p - lr * new)
    return True


class Mapped(nn.Optimizer):
    """In the style of MindSpore's own optimizers: a graph of functions mapped over what the base class keeps."""

    def __init__(self, params, learning_rate):
        super().__init__(learning_rate, params, 0.5)
        self.moments = self._parameters.clone(prefix="mapped", init="zeros")

    def construct(self, gradients):
        decay, lr = self.get_weight_decay(), self.get_lr()
        if not self._is_dynamic_lr_or_weight_decay():
            self.assignadd(self.global_step, self.global_step_increase_tensor)
        return self.hyper_map(
            ops.partial(_step_of_one, lr, decay),
            self._parameters,
            self.moments,
            gradients,
            self.decay_flags,
            self.optim_filter,
        )


@pytest.mark.parametrize("rates", [[1.0, 0.5, 0.25], 0.5], ids=["changing", "constant"])
def test_an_optimizer_that_maps_functions(mode: str, rates: Any) -> None:
    optimizer = Mapped(three(), rates)
    found = stepped(optimizer, mode)
    for i in range(3):
        p, v = np.array([1.0, 2.0]), 0.0
        for lr in rates if isinstance(rates, list) else [rates] * 3:
            v = 0.5 * v + (i + 1.0 + (0.5 * p if i < 2 else 0))
            p = p - lr * v
        np.testing.assert_allclose(found[i], p, rtol=1e-6)
    assert optimizer.global_step.item() == 3


def test_a_copy_trains_its_own_parameters() -> None:
    a, b, c = three()
    optimizer = nn.SGD([{"params": [a], "lr": 0.5}, {"params": [b, c]}], 0.25)
    twin = copy.deepcopy(optimizer)
    twin(tuple(Tensor(np.ones(2)) for _ in range(3)))
    assert a.tolist() == [1.0, 2.0]
    assert [p.tolist() for p in twin.parameters] == [[0.5, 1.5], [0.75, 1.75], [0.75, 1.75]]
    ops.assign(twin.group_rates[0], Tensor(0.125))
    assert (optimizer.get_lr()[0].item(), twin.get_lr()[0].item()) == (0.5, 0.125)


@pytest.mark.parametrize(
    ("groups", "error", "text"),
    [
        ([{}], KeyError, "params"),
        ([{"params": []}], ValueError, "empty"),
        ([{"params": [Tensor([1.0])]}], TypeError, "trains Parameters"),
        ([{"params": three(), "rate": 0.1}], KeyError, "rate"),
        ([{"params": three(), "lr": -0.1}], ValueError, "learning_rate"),
        ([{"params": three(), "weight_decay": -0.1}], ValueError, "weight_decay"),
        ([{"params": three(), "grad_centralization": 1}], TypeError, "grad_centralization"),
        ([{"params": three()}, *three()], TypeError, "groups"),
        ([{"params": three()}, {"order_params": three()}], ValueError, "order_params"),
        ([{"params": three(), "order_params": three()}], ValueError, "order_params"),
        ([{"order_params": three()}], ValueError, "params"),
    ],
)
def test_bad_groups(groups: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        nn.SGD(groups, 0.1)


def test_a_parameter_stands_in_one_group() -> None:
    a, b, _ = three()
    with pytest.raises(ValueError, match="once"):
        nn.SGD([{"params": [a]}, {"params": [a, b]}], 0.1)
