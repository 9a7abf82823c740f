"""Optimizers with `param_groups` and their schedulers, against formulas written out here in float64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler.experimental import optim
from autodiff_compiler.experimental.optim import lr_scheduler
from tests.agreement import assert_same

from .test_formulas import START, STEPS, ada_max, adadelta, adagrad, adam_w, asgd, compare, gradients, rprop

RATE = 0.125


def sgd(p, g, lr, t, s, momentum=0.0, dampening=0.0, nesterov=False):
    s["v"] = g if t == 1 else momentum * s["v"] + (1 - dampening) * g
    return p - lr * (g + momentum * s["v"] if nesterov else s["v"])


def amsgrad(p, g, lr, t, s, b1=0.5, b2=0.5, eps=1e-8):
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g**2
    s["top"] = np.maximum(s.get("top", 0), s["v"])
    return p - lr * s["m"] / (1 - b1**t) / (np.sqrt(s["top"] / (1 - b2**t)) + eps)


def decayed_adagrad(p, g, lr, t, s):
    s["s"] = s.get("s", 0.5) + g**2
    return p - lr / (1 + (t - 1) * 0.25) * g / (np.sqrt(s["s"]) + 1e-10)


def rms_prop(p, g, lr, t, s, alpha=0.99, eps=1e-8, momentum=0.0, centered=False):
    s["s"] = alpha * s.get("s", 0) + (1 - alpha) * g**2
    s["a"] = alpha * s.get("a", 0) + (1 - alpha) * g
    s["m"] = momentum * s.get("m", 0) + g / (np.sqrt(s["s"] - (s["a"] ** 2 if centered else 0)) + eps)
    return p - lr * s["m"]


def n_adam(p, g, lr, t, s, b1=0.9, b2=0.999, eps=1e-8, rise=4e-3):
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g**2
    now, following = (b1 * (1 - 0.5 * 0.96 ** (u * rise)) for u in (t, t + 1))
    s["w"] = s.get("w", 1.0) * now
    top = following * s["m"] / (1 - s["w"] * following) + (1 - now) * g / (1 - s["w"])
    return p - lr * top / (np.sqrt(s["v"] / (1 - b2**t)) + eps)


def r_adam(p, g, lr, t, s, b1=0.9, b2=0.999, eps=1e-8):
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g**2
    m, r0 = s["m"] / (1 - b1**t), 2 / (1 - b2) - 1
    r = r0 - 2 * t * b2**t / (1 - b2**t)
    if r <= 5:
        return p - lr * m
    factor = math.sqrt((r - 4) * (r - 2) * r0 / ((r0 - 4) * (r0 - 2) * r))
    return p - lr * m * math.sqrt(1 - b2**t) / (np.sqrt(s["v"]) + eps) * factor


CASES: dict[str, tuple[Any, Any]] = {
    "SGD": (lambda ps: optim.SGD(ps, RATE), sgd),
    "SGD dampening": (lambda ps: optim.SGD(ps, RATE, 0.75, 0.25), lambda *a: sgd(*a, momentum=0.75, dampening=0.25)),
    "SGD nesterov": (
        lambda ps: optim.SGD(ps, RATE, 0.75, nesterov=True),
        lambda *a: sgd(*a, momentum=0.75, nesterov=True),
    ),
    "Adam": (lambda ps: optim.Adam(ps, RATE), adam_w),
    "Adam amsgrad": (lambda ps: optim.Adam(ps, RATE, (0.5, 0.5), amsgrad=True), amsgrad),
    "AdamW": (lambda ps: optim.AdamW(ps, RATE, weight_decay=0.25), lambda *a: adam_w(*a, decay=0.25)),
    "Adamax": (lambda ps: optim.Adamax(ps, RATE), lambda *a: ada_max(*a, eps=0.0)),
    "NAdam": (lambda ps: optim.NAdam(ps, RATE), n_adam),
    "RAdam": (lambda ps: optim.RAdam(ps, RATE), r_adam),
    "RAdam soon rectified": (lambda ps: optim.RAdam(ps, RATE, (0.5, 0.9)), lambda *a: r_adam(*a, b1=0.5, b2=0.9)),
    "Adagrad": (lambda ps: optim.Adagrad(ps, RATE), lambda *a: adagrad(*a, accum=0.0)),
    "Adagrad decay": (lambda ps: optim.Adagrad(ps, RATE, 0.25, initial_accumulator_value=0.5), decayed_adagrad),
    "Adadelta": (lambda ps: optim.Adadelta(ps, RATE), adadelta),
    "RMSprop": (lambda ps: optim.RMSprop(ps, RATE), rms_prop),
    "RMSprop centered": (
        lambda ps: optim.RMSprop(ps, RATE, 0.5, 1e-3, momentum=0.5, centered=True),
        lambda *a: rms_prop(*a, alpha=0.5, eps=1e-3, momentum=0.5, centered=True),
    ),
    "ASGD": (lambda ps: optim.ASGD(ps, RATE, 0.25, 0.5, 2.0), lambda *a: asgd(*a, lambd=0.25, alpha=0.5, t0=2.0)),
    "Rprop": (lambda ps: optim.Rprop(ps, RATE, (0.25, 2.0)), lambda *a: rprop(*a, etas=(0.25, 2.0))),
}


def trained(make: Any, mode: str, dtype: Any = np.float64) -> list[np.ndarray]:
    parameters = [Parameter(value.astype(dtype), name=name) for name, value in START.items()]
    optimizer = make(parameters)

    def step(gs):
        return optimizer(gs)

    run = ms.jit(step) if mode == "graph" else step
    for i in range(STEPS):
        run(tuple(Tensor(g.astype(dtype)) for g in gradients(i)))
    assert mode == "eager" or run.cache_info()["compiles"] == 1
    return [p.asnumpy() for p in parameters]


def expected_after(rule: Any, prepared: Any = lambda i, p, g: g, rate: Any = lambda i: RATE) -> list[np.ndarray]:
    values, states = [p.copy() for p in START.values()], [{} for _ in START]
    for step in range(STEPS):
        for i, g in enumerate(gradients(step)):
            values[i] = rule(values[i], prepared(i, values[i], g), rate(i), step + 1, states[i])
    return values


@pytest.mark.parametrize("case", CASES)
def test_steps_follow_the_formula(mode: str, case: str) -> None:
    make, rule = CASES[case]
    compare(trained(make, mode), expected_after(rule))


@pytest.mark.some(2)
@pytest.mark.parametrize("case", CASES)
def test_modes_agree_to_the_last_bit(case: str) -> None:
    make, _ = CASES[case]
    for a, b in zip(trained(make, "eager", np.float32), trained(make, "graph", np.float32), strict=True):
        assert_same(b, a)


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda gs, **kw: optim.SGD(gs, RATE, 0.5, **kw), lambda *a: sgd(*a, momentum=0.5)),
        (lambda gs, **kw: optim.Adam(gs, RATE, **kw), adam_w),
    ],
    ids=["SGD", "Adam"],
)
def test_groups_decay_and_maximize(mode: str, make: Any, rule: Any) -> None:
    """Decay takes in all names; `maximize` turns the gradient round before the decay is added."""

    def groups(ps: list[Parameter]) -> Any:
        return make([{"params": ps[0], "lr": 0.5}, {"params": ps[1:], "weight_decay": 0.25}], maximize=True)

    expected = expected_after(rule, lambda i, p, g: -g + (0.25 * p if i else 0), lambda i: RATE if i else 0.5)
    compare(trained(groups, mode), expected)


def test_a_whole_train_step_with_a_scheduler_is_one_compilation() -> None:
    def run(compiled: bool) -> tuple[list[float], Any]:
        net = nn.Dense(2, 1, 0.5, 0.0)
        optimizer = optim.AdamW(net.trainable_params(), lr=0.125)
        scheduler = lr_scheduler.StepLR(optimizer, 2, 0.5)
        derivative = ms.value_and_grad(lambda x: (net(x) ** 2).mean(), None, optimizer.parameters)

        def step(x):
            loss, grads = derivative(x)
            optimizer(ops.clip_by_global_norm(grads, 1.0))
            return loss

        f = ms.jit(step) if compiled else step
        losses = []
        for i in range(6):
            losses.append(f(Tensor([[1.0, 2.0], [float(i), 1.0]])).item())
            scheduler.step()
        assert scheduler.get_last_lr()[0].item() == 0.015625
        return losses, f

    eager, _ = run(False)
    compiled, f = run(True)
    np.testing.assert_allclose(compiled, eager, rtol=1e-6)
    assert f.cache_info()["compiles"] == 1


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda p: optim.SGD([], 0.1), ValueError, "at least one"),
        (lambda p: optim.SGD(p, 0.1), TypeError, "list of Parameters"),
        (lambda p: optim.SGD([Tensor([1.0])], 0.1), TypeError, "trains Parameters"),
        (lambda p: optim.SGD([{"lr": 0.1}], 0.1), KeyError, "params"),
        (lambda p: optim.SGD([{"params": [p]}, {"params": [p]}], 0.1), ValueError, "once"),
        (lambda p: optim.SGD([p], -0.1), ValueError, "lr"),
        (lambda p: optim.SGD([p], [0.1]), TypeError, "lr"),
        (lambda p: optim.SGD([p], Tensor([0.1])), ValueError, "lr"),
        (lambda p: optim.SGD([p], 0.1, nesterov=True), ValueError, "nesterov"),
        (lambda p: optim.SGD([p], 0.1, weight_decay=-1.0), ValueError, "weight_decay"),
        (lambda p: optim.Adam([p], betas=(1.0, 0.5)), ValueError, "betas"),
        (lambda p: optim.AdamW([p], eps=-1.0), ValueError, "eps"),
        (lambda p: optim.Adadelta([p], rho=1.5), ValueError, "rho"),
        (lambda p: lr_scheduler.StepLR(nn.SGD([p], 0.1), 2), TypeError, "experimental"),
        (lambda p: lr_scheduler.StepLR(optim.SGD([p], 0.1), 2, last_epoch=3), KeyError, "initial_lr"),
        (lambda p: lr_scheduler.StepLR(optim.SGD([p], 0.1), 2, last_epoch=-2), ValueError, "last_epoch"),
        (lambda p: lr_scheduler.LinearLR(optim.SGD([p], 0.1), 0.0), ValueError, "start_factor"),
        (lambda p: lr_scheduler.ReduceLROnPlateau(optim.SGD([p], 0.1), factor=1.0), ValueError, "factor"),
        (lambda p: lr_scheduler.LambdaLR(optim.SGD([p], 0.1), [abs, abs]), ValueError, "groups"),
    ],
)
def test_bad_arguments(make: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        make(Parameter([1.0], name="p"))


def optimizer() -> Any:
    a, b = (Parameter([1.0], name=name) for name in ("a", "b"))
    return optim.SGD([{"params": [a]}, {"params": [b], "lr": 0.25}], lr=1.0)


def restarts(e: int) -> float:
    length = 2
    while e >= length:
        e, length = e - length, length * 3
    return (1 + math.cos(math.pi * e / length)) / 2


#: The rate of each epoch, as a share of the rate at the beginning.
SCHEDULERS: dict[str, tuple[Any, Any]] = {
    "StepLR": (lambda o: lr_scheduler.StepLR(o, 3, 0.5), lambda e: 0.5 ** (e // 3)),
    "MultiStepLR": (lambda o: lr_scheduler.MultiStepLR(o, [2, 5], 0.5), lambda e: 0.5 ** ((e >= 2) + (e >= 5))),
    "ExponentialLR": (lambda o: lr_scheduler.ExponentialLR(o, 0.5), lambda e: 0.5**e),
    "PolynomialLR": (lambda o: lr_scheduler.PolynomialLR(o, 6, 2.0), lambda e: (1 - min(e, 6) / 6) ** 2),
    "ConstantLR": (lambda o: lr_scheduler.ConstantLR(o, 0.5, 3), lambda e: 0.5 if e < 3 else 1),
    "LinearLR": (lambda o: lr_scheduler.LinearLR(o, 0.5, 0.75, 4), lambda e: 0.5 + 0.25 * min(e, 4) / 4),
    "LambdaLR": (lambda o: lr_scheduler.LambdaLR(o, lambda e: 1 / (e + 1)), lambda e: 1 / (e + 1)),
    "MultiplicativeLR": (lambda o: lr_scheduler.MultiplicativeLR(o, lambda e: 1 / e), lambda e: 1 / math.factorial(e)),
    "CosineAnnealingLR": (
        lambda o: lr_scheduler.CosineAnnealingLR(o, 4),
        lambda e: (1 + math.cos(math.pi * e / 4)) / 2,
    ),
    "CosineAnnealingWarmRestarts": (lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 2, 3), restarts),
    "CosineAnnealingWarmRestarts 1": (
        lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 3),
        lambda e: (1 + math.cos(math.pi * (e % 3) / 3)) / 2,
    ),
    "ChainedScheduler": (
        lambda o: lr_scheduler.ChainedScheduler(
            [lr_scheduler.LinearLR(o, 0.5, 1.0, 4), lr_scheduler.ExponentialLR(o, 0.5)]
        ),
        lambda e: (0.5 + 0.5 * min(e, 4) / 4) * 0.5**e,
    ),
    "SequentialLR": (
        lambda o: lr_scheduler.SequentialLR(
            o,
            [lr_scheduler.ConstantLR(o, 0.5, 9), lr_scheduler.ExponentialLR(o, 0.5), lr_scheduler.StepLR(o, 2, 0.25)],
            [3, 6],
        ),
        lambda e: 0.5 if e < 3 else 0.5 ** (e - 3) if e < 6 else 0.25 ** ((e - 6) // 2),
    ),
}


@pytest.mark.parametrize("case", SCHEDULERS)
def test_schedulers(mode: str, case: str) -> None:
    make, share = SCHEDULERS[case]
    o = optimizer()
    scheduler = make(o)

    def step():
        scheduler.step()

    run = ms.jit(step) if mode == "graph" else step
    for epoch in range(9):
        for lr, base in zip(scheduler.get_last_lr(), (1.0, 0.25), strict=True):
            np.testing.assert_allclose(lr.item(), base * share(epoch), rtol=1e-5, atol=1e-6, err_msg=f"epoch {epoch}")
        run()
    assert [group["lr"].item() for group in o.param_groups] == [lr.item() for lr in scheduler.get_last_lr()]


@pytest.mark.parametrize(
    "case", [name for name in SCHEDULERS if name not in ("ChainedScheduler", "SequentialLR", "MultiplicativeLR")]
)
def test_schedulers_jump_to_an_epoch(case: str) -> None:
    make, share = SCHEDULERS[case]
    scheduler = make(optimizer())
    for epoch in (5, 1, 7):
        scheduler.step(epoch)
        np.testing.assert_allclose(scheduler.get_last_lr()[0].item(), share(epoch), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("mode_", "height"),
    [("triangular", lambda i: 1.0), ("triangular2", lambda i: 0.5 ** (i // 6)), ("exp_range", lambda i: 0.5**i)],
)
def test_cycles(mode_: str, height: Any) -> None:
    scheduler = lr_scheduler.CyclicLR(optimizer(), 0.125, [1.0, 2.0], 2, 4, mode_, 0.5)
    for i in range(14):
        place = i % 6
        rise = place / 2 if place <= 2 else (6 - place) / 4
        expected = [0.125 + (high - 0.125) * rise * height(i) for high in (1.0, 2.0)]
        np.testing.assert_allclose([lr.item() for lr in scheduler.get_last_lr()], expected, rtol=1e-5, atol=1e-6)
        scheduler.step()


@pytest.mark.parametrize(
    ("kind", "losses", "expected"),
    [
        ({}, [4, 4, 4, 4, 3, 3, 3, 3], [1, 1, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25]),
        ({"cooldown": 2}, [4, 4, 4, 4, 4, 4, 4, 4], [1, 1, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25]),
        ({"mode": "max"}, [1, 2, 3, 3, 3, 4, 4, 4], [1, 1, 1, 1, 0.5, 0.5, 0.5, 0.25]),
        ({"min_lr": 0.75}, [4, 4, 4, 4, 4, 4, 4, 4], [1, 1, 0.75, 0.75, 0.75, 0.75, 0.75, 0.75]),
        (
            {"threshold": 0.5, "threshold_mode": "abs"},
            [4, 3.75, 3.6, 3, 3, 3, 3, 3],
            [1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.125],
        ),
    ],
)
def test_rates_are_reduced_on_a_plateau(mode: str, kind: Any, losses: Any, expected: Any) -> None:
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer(), factor=0.5, patience=1, **kind)

    def step(loss):
        scheduler.step(loss)

    run = ms.jit(step) if mode == "graph" else step
    seen = []
    for loss in losses:
        run(Tensor(float(loss)))
        seen.append(scheduler.get_last_lr()[0].item())
    assert seen == expected


def test_groups_are_added(mode: str) -> None:
    class Plain(optim.Optimizer):
        def update(self, i: int, p: Any, g: Any, group: dict[str, Any]) -> Any:
            return ops.assign(p, p - group["lr"] * g)

    p, q = Parameter([1.0], name="p"), Parameter([[1.0, 1.0]], name="q")
    plain = Plain([p], {"lr": 0.5})
    plain((Tensor([1.0]),))
    plain.add_param_group({"params": q, "lr": 0.25})
    assert (plain.group_start_id, [x.name for x in plain.parameters]) == ([0, 1, 2], ["p", "q"])
    plain((Tensor([1.0]), Tensor([[2.0, 4.0]])))
    assert (p.tolist(), q.tolist()) == ([0.0], [[0.5, 0.0]])
    with pytest.raises(RuntimeError, match="all groups at once"):
        optim.Adam([p]).add_param_group({"params": q})


def test_warm_restarts_jump_between_epochs() -> None:
    scheduler = lr_scheduler.CosineAnnealingWarmRestarts(optim.SGD([Parameter([1.0], name="p")], lr=2.0), T_0=2)
    for epoch in (0.5, 1.0, 2.5):
        assert scheduler.step(epoch) is None
        wanted = 1 + math.cos(math.pi * (epoch % 2) / 2)
        assert scheduler.get_last_lr()[0].item() == pytest.approx(wanted, abs=1e-6)
