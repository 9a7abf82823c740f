"""Optimizers against their formulas, written out here in float64 NumPy."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn

STEPS = 5
# Rates and momenta are kept as float32: these numbers are exact in it.
RATE, MOMENTUM = 0.125, 0.75
START = {"w": np.array([[1.0, -2.0], [0.5, 3.0]]), "bn.gamma": np.array([1.0, 2.0])}
Update = Callable[[np.ndarray, np.ndarray], np.ndarray]


def gradients(step: int) -> list[np.ndarray]:
    rng = np.random.RandomState(step)
    return [rng.uniform(-1, 1, p.shape) for p in START.values()]


def sgd(
    lr: Any = RATE, momentum: float = 0.0, dampening: float = 0.0, nesterov: bool = False
) -> Iterator[np.ndarray | None]:
    """A coroutine: takes gradients, gives what is subtracted from the parameter."""
    v, delta = None, None
    while True:
        g = yield delta
        v = g if v is None else momentum * v + (1 - dampening) * g
        delta = lr * (g + momentum * v if nesterov else v)


def adam(
    lr: Any = RATE, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8, nesterov: bool = False, amsgrad: bool = False
) -> Iterator[np.ndarray | None]:
    m = v = vhat = t = 0
    delta = None
    while True:
        g = yield delta
        t += 1
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        vhat = np.maximum(vhat, v) if amsgrad else v
        top = b1 * m + (1 - b1) * g if nesterov else m
        delta = lr * np.sqrt(1 - b2**t) / (1 - b1**t) * top / (np.sqrt(vhat) + eps)


CASES = {
    "sgd": (lambda ps: nn.SGD(ps, RATE), sgd),
    "sgd momentum": (lambda ps: nn.SGD(ps, RATE, MOMENTUM), lambda: sgd(momentum=MOMENTUM)),
    "sgd dampening": (lambda ps: nn.SGD(ps, RATE, MOMENTUM, 0.25), lambda: sgd(momentum=MOMENTUM, dampening=0.25)),
    "sgd nesterov": (
        lambda ps: nn.SGD(ps, RATE, MOMENTUM, nesterov=True),
        lambda: sgd(momentum=MOMENTUM, nesterov=True),
    ),
    "momentum": (lambda ps: nn.Momentum(ps, RATE, MOMENTUM), lambda: sgd(momentum=MOMENTUM)),
    "momentum nesterov": (
        lambda ps: nn.Momentum(ps, RATE, MOMENTUM, use_nesterov=True),
        lambda: sgd(momentum=MOMENTUM, nesterov=True),
    ),
    "adam": (lambda ps: nn.Adam(ps, RATE), adam),
    "adam betas": (lambda ps: nn.Adam(ps, RATE, 0.6, 0.7, 1e-2), lambda: adam(b1=0.6, b2=0.7, eps=1e-2)),
    "adam nesterov": (lambda ps: nn.Adam(ps, RATE, use_nesterov=True), lambda: adam(nesterov=True)),
    "adam amsgrad": (
        lambda ps: nn.Adam(ps, RATE, 0.5, 0.5, use_amsgrad=True),
        lambda: adam(b1=0.5, b2=0.5, amsgrad=True),
    ),
}


def expected_after(rule: Callable[[], Any], prepared: Any = lambda name, p, g: g) -> list[np.ndarray]:
    values = [p.copy() for p in START.values()]
    rules = [rule() for _ in values]
    for r in rules:
        next(r)
    for step in range(STEPS):
        for i, (name, g) in enumerate(zip(START, gradients(step), strict=True)):
            values[i] = values[i] - rules[i].send(prepared(name, values[i], g))
    return values


def trained(make: Callable[[list[Parameter]], nn.Optimizer], mode: str, scale: float = 1.0) -> list[np.ndarray]:
    """The Parameters after some steps; in graph mode the optimizer is called inside a compiled function."""
    parameters = [Parameter(value, name=name) for name, value in START.items()]
    optimizer = make(parameters)

    def step(gs):
        return optimizer(gs)

    run = ms.jit(step) if mode == "graph" else step
    for i in range(STEPS):
        given = tuple(Tensor(g * scale) for g in gradients(i))
        if i == 1:
            optimizer(given)  # called as a Cell in between
        else:
            run(given)
    assert optimizer.global_step.item() == STEPS
    return [p.asnumpy() for p in parameters]


def compare(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("case", CASES)
def test_steps_follow_the_formula(mode: str, case: str) -> None:
    make, rule = CASES[case]
    compare(trained(make, mode), expected_after(rule))


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda ps, **kw: nn.SGD(ps, RATE, MOMENTUM, **kw), lambda: sgd(momentum=MOMENTUM)),
        (lambda ps, **kw: nn.Momentum(ps, RATE, MOMENTUM, **kw), lambda: sgd(momentum=MOMENTUM)),
        (lambda ps, **kw: nn.Adam(ps, RATE, **kw), adam),
    ],
    ids=["sgd", "momentum", "adam"],
)
def test_weight_decay_and_loss_scale(mode: str, make: Any, rule: Any) -> None:
    """Gradients are divided by the scale, then 0.5 * p is added to those whose name has no beta and no gamma."""
    found = trained(lambda ps: make(ps, weight_decay=0.5, loss_scale=8.0), mode, scale=8.0)
    compare(found, expected_after(rule, lambda name, p, g: g if "gamma" in name else g + 0.5 * p))


class Halving(nn.Cell):
    def construct(self, global_step):
        return 1.0 / 2.0**global_step


@pytest.mark.parametrize("kind", ["list", "Tensor", "Cell", "new value"])
def test_rates_may_change_from_step_to_step(mode: str, kind: str) -> None:
    p = Parameter([0.0], name="p")
    rates = {"list": [1.0, 0.5, 0.25], "Tensor": Tensor([1.0, 0.5, 0.25]), "Cell": Halving(), "new value": 1.0}
    optimizer = nn.SGD([p], rates[kind])
    seen = []
    for i in range(4):
        if kind == "new value" and i:
            optimizer.learning_rate = Tensor(0.5**i)
        before = p.item()
        assert optimizer.rates()[0].item() == before - (optimizer((Tensor([1.0]),)), p.item())[1]
        seen.append(before - p.item())
    # The last rate of a list stays.
    assert seen == [1.0, 0.5, 0.25, 0.25 if kind in ("list", "Tensor") else 0.125]


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda ps: nn.SGD(ps, 0.1), ["accum.a", "accum.b", "momentum", "stat.a", "stat.b"]),
        (lambda ps: nn.Momentum(ps, 0.1, 0.9), ["moments.a", "moments.b", "momentum"]),
        (
            lambda ps: nn.Adam(ps, 0.1),
            ["beta1_power", "beta2_power", "moment1.a", "moment1.b", "moment2.a", "moment2.b"],
        ),
    ],
    ids=["sgd", "momentum", "adam"],
)
def test_state_is_kept_in_named_parameters(make: Any, names: list[str]) -> None:
    parameters = [Parameter(1.0, name="a"), Parameter([1.0], name="b")]
    optimizer = make(parameters)
    assert sorted(p.name for p in optimizer.get_parameters()) == sorted(
        ["a", "b", "global_step", "learning_rate", *names]
    )
    assert [p.name for p in optimizer.trainable_params()] == ["a", "b"]
    assert [p.name for p in parameters] == ["a", "b"]
    assert list(optimizer.parameters) == parameters


def test_lower_precision_is_kept() -> None:
    p = Parameter(np.ones(2, np.float16), name="p")
    optimizer = nn.Adam([p], 0.25)
    optimizer((Tensor(np.array([2.0, -2.0], np.float16)),))
    assert p.dtype is ms.float16
    assert optimizer.moment1[0].dtype is ms.float16
    assert p.tolist() == [0.75, 1.25]


def test_a_copied_optimizer_trains_its_own_parameters() -> None:
    net = nn.Dense(1, 1, 1.0, has_bias=False)
    pair = (net, nn.SGD(net.trainable_params(), 0.5))
    twin, optimizer = copy.deepcopy(pair)
    optimizer((Tensor([[1.0]]),))
    assert (net.weight.item(), twin.weight.item()) == (1.0, 0.5)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda p: nn.SGD([], 0.1), ValueError, "at least one"),
        (lambda p: nn.SGD(p, 0.1), TypeError, "list of Parameters"),
        (lambda p: nn.SGD([Tensor([1.0])], 0.1), TypeError, "trains Parameters"),
        (lambda p: nn.SGD([p, p], 0.1), ValueError, "once"),
        (lambda p: nn.SGD([p], -0.1), ValueError, "learning_rate"),
        (lambda p: nn.SGD([p], [0.1, -0.1]), ValueError, "learning_rate"),
        (lambda p: nn.SGD([p], []), ValueError, "learning_rate"),
        (lambda p: nn.SGD([p], "0.1"), TypeError, "learning_rate"),
        (lambda p: nn.SGD([p], 0.1, nesterov=True), ValueError, "nesterov"),
        (lambda p: nn.SGD([p], 0.1, weight_decay="x"), TypeError, "weight_decay"),
        (lambda p: nn.SGD([p], 0.1, weight_decay=-1.0), ValueError, "weight_decay"),
        (lambda p: nn.SGD([p], 0.1, loss_scale=0.0), ValueError, "loss_scale"),
        (lambda p: nn.Momentum([p], 0.1, "x"), TypeError, "momentum"),
        (lambda p: nn.Adam([p], 0.1, beta1=1.0), ValueError, "beta1"),
        (lambda p: nn.Adam([p], 0.1, unknown=1), TypeError, "unknown"),
        (lambda p: nn.Adam([p], 0.1, use_lazy=True, use_amsgrad=True), ValueError, "use_lazy"),
    ],
)
def test_bad_arguments(make: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        make(Parameter([1.0, 2.0], name="p"))


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (Tensor([1.0, 2.0]), TypeError),
        ((), ValueError),
        ((Tensor([1.0, 2.0]), Tensor([1.0, 2.0])), ValueError),
        ((Tensor(1.0),), ValueError),
        ((Tensor([[1.0, 2.0]]),), ValueError),
    ],
)
def test_bad_gradients_change_nothing(mode: str, given: Any, error: type[Exception]) -> None:
    p = Parameter([1.0, 2.0], name="p")
    optimizer = nn.Momentum([p], 0.1, 0.9)
    with pytest.raises(error):
        optimizer(given)
    assert p.tolist() == [1.0, 2.0]
    assert optimizer.global_step.item() == 0
