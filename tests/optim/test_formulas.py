"""Every optimizer's steps against its formula, written out here in float64 NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn
from tests.agreement import assert_same

STEPS = 6
RATE = 0.125  # exact in float32, in which rates are kept
START = {"w": np.array([[1.0, -2.0, 0.25], [0.5, 3.0, -0.75]]), "bn.gamma": np.array([1.0, 2.0]), "c": np.array(1.5)}


def gradients(step: int) -> list[np.ndarray]:
    rng = np.random.RandomState(100 + step)
    return [rng.uniform(-1, 1, p.shape) for p in START.values()]


# Each rule is a function of (p, g, lr, t, state) that returns the new p; `state` is a dict of its own per Parameter.
Rule = Callable[[np.ndarray, np.ndarray, float, int, dict[str, Any]], np.ndarray]


def adam_weight_decay(p, g, lr, t, s, b1=0.9, b2=0.999, eps=1e-6, decay=0.0):
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g**2
    return p - lr * (s["m"] / (np.sqrt(s["v"]) + eps) + decay * p)


def adam_w(p, g, lr, t, s, b1=0.9, b2=0.999, eps=1e-8, decay=0.0):
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g**2
    return p - lr * (s["m"] / (1 - b1**t) / (np.sqrt(s["v"] / (1 - b2**t)) + eps) + decay * p)


def adam(p, g, lr, t, s, b1=0.9, b2=0.999, eps=1e-8):
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g**2
    return p - lr * np.sqrt(1 - b2**t) / (1 - b1**t) * s["m"] / (np.sqrt(s["v"]) + eps)


def ada_max(p, g, lr, t, s, b1=0.9, b2=0.999, eps=1e-8):
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["u"] = np.maximum(b2 * s.get("u", 0), np.abs(g))
    return p - lr / (1 - b1**t) * s["m"] / (s["u"] + eps)


def adagrad(p, g, lr, t, s, accum=0.1, frozen=False):
    s["s"] = s.get("s", accum) + (0 if frozen else g**2)
    return p - lr * g / np.sqrt(s["s"])


def proximal_adagrad(p, g, lr, t, s, accum=0.1, l1=0.0, l2=0.0):
    q = adagrad(p, g, lr, t, s, accum)
    return np.sign(q) / (1 + lr * l2) * np.maximum(np.abs(q) - lr * l1, 0)


def ftrl(p, g, lr, t, s, accum=0.1, power=0.5, l1=0.0, l2=0.0):
    old = s.get("s", accum)
    s["s"] = old + g**2
    s["u"] = s.get("u", 0) + g - (s["s"] ** power - old**power) / lr * p
    new = (np.sign(s["u"]) * l1 - s["u"]) / (s["s"] ** power / lr + 2 * l2)
    return np.where(np.abs(s["u"]) > l1, new, 0)


def rms_prop(p, g, lr, t, s, decay=0.9, momentum=0.0, eps=1e-10, centered=False):
    s["s"] = decay * s.get("s", 1.0) + (1 - decay) * g**2
    s["a"] = decay * s.get("a", 0.0) + (1 - decay) * g
    s["m"] = momentum * s.get("m", 0.0) + lr * g / np.sqrt(s["s"] - (s["a"] ** 2 if centered else 0) + eps)
    return p - s["m"]


def adadelta(p, g, lr, t, s, rho=0.9, eps=1e-6):
    s["s"] = rho * s.get("s", 0) + (1 - rho) * g**2
    d = np.sqrt(s.get("u", 0) + eps) / np.sqrt(s["s"] + eps) * g
    s["u"] = rho * s.get("u", 0) + (1 - rho) * d**2
    return p - lr * d


def rprop(p, g, lr, t, s, etas=(0.5, 1.2), sizes=(1e-6, 50.0)):
    same = np.sign(g * s.get("g", 0 * g))
    factor = np.where(same > 0, etas[1], np.where(same < 0, etas[0], 1.0))
    s["size"] = np.clip(s.get("size", lr) * factor, *sizes)
    s["g"] = np.where(same < 0, 0, g)
    return p - np.sign(s["g"]) * s["size"]


def asgd(p, g, lr, t, s, lambd=1e-4, alpha=0.75, t0=1e6):
    eta, mu = s.get("eta", lr), s.get("mu", 1.0)
    p = p * (1 - lambd * eta) - eta * g
    s["ax"] = p if mu == 1 else s["ax"] + (p - s["ax"]) * mu
    s["eta"], s["mu"] = lr / (1 + lambd * lr * t) ** alpha, 1 / max(1, t - t0)
    return p


def lion(p, g, lr, t, s, b1=0.9, b2=0.99, decay=0.0):
    d = np.sign(b1 * s.get("m", 0) + (1 - b1) * g)
    s["m"] = b2 * s.get("m", 0) + (1 - b2) * g
    return p - lr * (d + decay * p)


def lamb(p, g, lr, t, s, b1=0.9, b2=0.999, eps=1e-6, decay=0.0):
    step = p - adam_w(p, g, 1.0, t, s, b1, b2, eps, decay)
    return p - lr * np.linalg.norm(p) / np.linalg.norm(step) * step


def ada_factor(p, g, lr, t, s, eps=(1e-30, 1e-3), clip=1.0, power=0.8, b1=0.9, decay=0.0, relative=True, scaled=True):
    b = 1 - t**-power
    q = g**2 + eps[0]
    if g.ndim > 1:
        s["r"] = b * s.get("r", 0) + (1 - b) * q.mean(-1)
        s["c"] = b * s.get("c", 0) + (1 - b) * q.mean(-2)
        v = s["r"][..., :, None] * s["c"][..., None, :] / s["r"].mean(-1, keepdims=True)[..., None]
    else:
        v = s["v"] = b * s.get("v", 0) + (1 - b) * q
    d = g / np.sqrt(v)
    d = d / max(1, np.sqrt(np.mean(d**2)) / clip)
    rate = min(1e-2, 1 / np.sqrt(t)) if relative else lr
    rate *= max(eps[1], np.sqrt(np.mean(p**2))) if scaled else 1
    d = d * rate
    if b1:
        d = s["m"] = b1 * s.get("m", 0) + (1 - b1) * d
    return p - d - decay * rate * p


def with_arguments(rule: Rule, **given: Any) -> Rule:
    return lambda p, g, lr, t, s: rule(p, g, lr, t, s, **given)


CASES: dict[str, tuple[Any, Rule]] = {
    "AdamWeightDecay": (lambda ps: nn.AdamWeightDecay(ps, RATE), adam_weight_decay),
    "AdamWeightDecay betas": (
        lambda ps: nn.AdamWeightDecay(ps, RATE, 0.6, 0.7, 1e-2),
        with_arguments(adam_weight_decay, b1=0.6, b2=0.7, eps=1e-2),
    ),
    "AdamW": (lambda ps: nn.AdamW(ps, RATE, weight_decay=0.0), adam_w),
    "LazyAdam": (lambda ps: nn.LazyAdam(ps, RATE), adam),
    "AdamOffload": (lambda ps: nn.AdamOffload(ps, RATE), adam),
    "AdaMax": (lambda ps: nn.AdaMax(ps, RATE), ada_max),
    "AdaMax betas": (lambda ps: nn.AdaMax(ps, RATE, 0.5, 0.5, 1e-2), with_arguments(ada_max, b1=0.5, b2=0.5, eps=1e-2)),
    "Adagrad": (lambda ps: nn.Adagrad(ps, learning_rate=RATE), adagrad),
    "Adagrad frozen": (
        lambda ps: nn.Adagrad(ps, 0.5, RATE, update_slots=False),
        with_arguments(adagrad, accum=0.5, frozen=True),
    ),
    "ProximalAdagrad": (
        lambda ps: nn.ProximalAdagrad(ps, 0.2, RATE, l1=0.5, l2=0.25),
        with_arguments(proximal_adagrad, accum=0.2, l1=0.5, l2=0.25),
    ),
    "FTRL": (lambda ps: nn.FTRL(ps, learning_rate=RATE), ftrl),
    "FTRL penalties": (
        lambda ps: nn.FTRL(ps, 0.3, RATE, -0.75, l1=0.5, l2=0.25),
        with_arguments(ftrl, accum=0.3, power=0.75, l1=0.5, l2=0.25),
    ),
    "RMSProp": (lambda ps: nn.RMSProp(ps, RATE), rms_prop),
    "RMSProp momentum": (
        lambda ps: nn.RMSProp(ps, RATE, 0.5, 0.5, 1e-3),
        with_arguments(rms_prop, decay=0.5, momentum=0.5, eps=1e-3),
    ),
    "RMSProp centered": (
        lambda ps: nn.RMSProp(ps, RATE, 0.75, 0.5, 1e-3, centered=True),
        with_arguments(rms_prop, decay=0.75, momentum=0.5, eps=1e-3, centered=True),
    ),
    "Adadelta": (lambda ps: nn.Adadelta(ps, RATE), adadelta),
    "Adadelta rho": (lambda ps: nn.Adadelta(ps, RATE, 0.5, 1e-2), with_arguments(adadelta, rho=0.5, eps=1e-2)),
    "Rprop": (lambda ps: nn.Rprop(ps, RATE), rprop),
    "Rprop bounds": (
        lambda ps: nn.Rprop(ps, RATE, (0.25, 2.0), (0.0625, 0.25)),
        with_arguments(rprop, etas=(0.25, 2.0), sizes=(0.0625, 0.25)),
    ),
    "ASGD": (lambda ps: nn.ASGD(ps, RATE), asgd),
    "ASGD averaging": (
        lambda ps: nn.ASGD(ps, RATE, 0.25, 0.5, 2.0),
        with_arguments(asgd, lambd=0.25, alpha=0.5, t0=2.0),
    ),
    "Lion": (lambda ps: nn.Lion(ps, RATE), lion),
    "Lamb": (lambda ps: nn.Lamb(ps, RATE), lamb),
    "AdaFactor": (lambda ps: nn.AdaFactor(ps), ada_factor),
    "AdaFactor given rate": (
        lambda ps: nn.AdaFactor(ps, RATE, clip_threshold=0.5, beta1=None, scale_parameter=False, relative_step=False),
        with_arguments(ada_factor, clip=0.5, b1=0.0, relative=False, scaled=False),
    ),
}


def expected_after(rule: Rule, prepared: Any = lambda name, p, g: g, rate: Any = lambda t: RATE) -> list[np.ndarray]:
    values, states = [p.copy() for p in START.values()], [{} for _ in START]
    for step in range(STEPS):
        for i, (name, g) in enumerate(zip(START, gradients(step), strict=True)):
            values[i] = rule(values[i], prepared(name, values[i], g), rate(step), step + 1, states[i])
    return values


def trained(make: Any, mode: str, scale: float = 1.0, dtype: Any = np.float64) -> list[np.ndarray]:
    """The Parameters after some steps; in graph mode the optimizer is called inside a compiled function."""
    parameters = [Parameter(value.astype(dtype), name=name) for name, value in START.items()]
    optimizer = make(parameters)

    def step(gs):
        return optimizer(gs)

    run = ms.jit(step) if mode == "graph" else step
    for i in range(STEPS):
        run(tuple(Tensor((g * scale).astype(dtype)) for g in gradients(i)))
    assert optimizer.global_step.item() == STEPS
    return [p.asnumpy() for p in parameters]


def compare(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_steps_follow_the_formula(mode: str, case: str) -> None:
    make, rule = CASES[case]
    compare(trained(make, mode), expected_after(rule))


@pytest.mark.some(2)
@pytest.mark.parametrize("case", CASES)
def test_modes_agree_to_the_last_bit(case: str) -> None:
    """In float32, the precision of training."""
    make, _ = CASES[case]
    for a, b in zip(trained(make, "eager", dtype=np.float32), trained(make, "graph", dtype=np.float32), strict=True):
        assert a.dtype == np.float32
        assert_same(b, a)


#: Weight decay that is a part of the gradient, and the loss scale.
COUPLED = {
    "RMSProp": (lambda ps, **kw: nn.RMSProp(ps, RATE, **kw), rms_prop),
    "Adagrad": (lambda ps, **kw: nn.Adagrad(ps, learning_rate=RATE, **kw), adagrad),
    "ProximalAdagrad": (lambda ps, **kw: nn.ProximalAdagrad(ps, learning_rate=RATE, **kw), proximal_adagrad),
    "Adadelta": (lambda ps, **kw: nn.Adadelta(ps, RATE, **kw), adadelta),
    "AdaMax": (lambda ps, **kw: nn.AdaMax(ps, RATE, **kw), ada_max),
    "LazyAdam": (lambda ps, **kw: nn.LazyAdam(ps, RATE, **kw), adam),
}


@pytest.mark.parametrize("case", COUPLED)
def test_weight_decay_and_loss_scale(mode: str, case: str) -> None:
    make, rule = COUPLED[case]
    found = trained(lambda ps: make(ps, weight_decay=0.5, loss_scale=8.0), mode, scale=8.0)
    compare(found, expected_after(rule, lambda name, p, g: g if "gamma" in name else g + 0.5 * p))


def test_weight_decay_of_ftrl_leaves_no_name_out(mode: str) -> None:
    found = trained(lambda ps: nn.FTRL(ps, learning_rate=RATE, weight_decay=0.5), mode)
    compare(found, expected_after(ftrl, lambda name, p, g: g + 0.5 * p))


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda ps: nn.AdamWeightDecay(ps, RATE, weight_decay=0.5), adam_weight_decay),
        (lambda ps: nn.AdamW(ps, RATE, weight_decay=0.5), adam_w),
        (lambda ps: nn.Lamb(ps, RATE, weight_decay=0.5), lamb),
        (lambda ps: nn.Lion(ps, RATE, weight_decay=0.5), lion),
        (lambda ps: nn.AdaFactor(ps, weight_decay=0.5), ada_factor),
    ],
    ids=["AdamWeightDecay", "AdamW", "Lamb", "Lion", "AdaFactor"],
)
def test_decoupled_weight_decay(mode: str, make: Any, rule: Any) -> None:
    """Decay is no part of the gradient and its means; the name with gamma is left out."""
    states: list[dict[str, Any]] = [{} for _ in START]
    values = [p.copy() for p in START.values()]
    for step in range(STEPS):
        for i, (name, g) in enumerate(zip(START, gradients(step), strict=True)):
            decay = 0.0 if "gamma" in name else 0.5
            values[i] = rule(values[i], g, RATE, step + 1, states[i], decay=decay)
    compare(trained(make, mode), values)


@pytest.mark.parametrize("use_clip", [False, True])
def test_lars_scales_the_gradients_of_another_optimizer(mode: str, use_clip: bool) -> None:
    def rule(p, g, lr, t, s, decay):
        norm, size = np.linalg.norm(p), np.linalg.norm(g)
        local = 0.5 * norm / (size + decay * norm + 1e-3)
        local = min(local / lr, 1) if use_clip else local
        s["v"] = 0.75 * s.get("v", 0) + local * (g + decay * p)
        return p - lr * s["v"]

    values, states = [p.copy() for p in START.values()], [{} for _ in START]
    for step in range(STEPS):
        for i, (name, g) in enumerate(zip(START, gradients(step), strict=True)):
            values[i] = rule(values[i], g, RATE, step + 1, states[i], 0.0 if "gamma" in name else 0.25)

    def make(ps):
        inner = nn.Momentum(ps, RATE, 0.75, weight_decay=0.25, loss_scale=4.0)
        return nn.LARS(inner, epsilon=1e-3, coefficient=0.5, use_clip=use_clip)

    compare(trained(make, mode, scale=4.0), values)


def test_lars_leaves_filtered_parameters_alone(mode: str) -> None:
    found = trained(
        lambda ps: nn.LARS(nn.Momentum(ps, RATE, 0.0, weight_decay=0.25), lars_filter=lambda p: False), mode
    )
    compare(found, expected_after(lambda p, g, lr, t, s: p - lr * g))


@pytest.mark.parametrize(
    "make", [lambda p: nn.Lamb([p], 0.5), lambda p: nn.LARS(nn.SGD([p], 0.5))], ids=["Lamb", "LARS"]
)
def test_parameters_that_are_zero_are_trained_all_the_same(mode: str, make: Any) -> None:
    p = Parameter(np.zeros(2), name="p")
    make(p)((Tensor(np.array([1.0, -1.0])),))
    np.testing.assert_allclose(p.asnumpy(), [-0.5, 0.5], rtol=1e-5)


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda ps: nn.AdamWeightDecay(ps), ["adam_m.a", "adam_v.a"]),
        (lambda ps: nn.LazyAdam(ps), ["beta1_power", "beta2_power", "moment1.a", "moment2.a"]),
        (lambda ps: nn.AdaMax(ps), ["beta1_power", "moment1.a", "moment2.a"]),
        (lambda ps: nn.Adagrad(ps), ["accum.a"]),
        (lambda ps: nn.ProximalAdagrad(ps), ["accum.a"]),
        (lambda ps: nn.FTRL(ps), ["linear.a", "moments.a"]),
        (lambda ps: nn.RMSProp(ps), ["mean_square.a", "moment.a"]),
        (lambda ps: nn.RMSProp(ps, centered=True), ["mean_grad.a", "mean_square.a", "moment.a"]),
        (lambda ps: nn.Adadelta(ps), ["accum.a", "accum_update.a"]),
        (lambda ps: nn.Rprop(ps), ["prev.a", "step_size.a"]),
        (lambda ps: nn.ASGD(ps), ["ax_.a", "eta_a", "mu_a"]),
        (lambda ps: nn.Lamb(ps, 0.1), ["lamb_m.a", "lamb_v.a"]),
    ],
)
def test_state_is_kept_in_named_parameters(make: Any, names: list[str]) -> None:
    """MindSpore's names, by which checkpoints find them."""
    optimizer = make([Parameter([1.0], name="a")])
    assert sorted(p.name for p in optimizer.get_parameters()) == sorted(["a", "global_step", "learning_rate", *names])
    assert [p.name for p in optimizer.trainable_params()] == ["a"]


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda p: nn.AdamWeightDecay([p], beta2=0.0), ValueError, "beta2"),
        (lambda p: nn.AdamWeightDecay([p], eps=0.0), ValueError, "eps"),
        (lambda p: nn.AdaMax([p], beta1=1.0), ValueError, "beta1"),
        (lambda p: nn.Adagrad([p], accum=-1.0), ValueError, "accum"),
        (lambda p: nn.Adagrad([p], update_slots=1), TypeError, "update_slots"),
        (lambda p: nn.ProximalAdagrad([p], l1=-1.0), ValueError, "l1"),
        (lambda p: nn.FTRL([p], lr_power=0.5), ValueError, "lr_power"),
        (lambda p: nn.FTRL([p], learning_rate=[0.1, 0.2]), ValueError, "FTRL"),
        (lambda p: nn.FTRL([{"params": [p], "lr": 0.1}]), ValueError, "FTRL"),
        (lambda p: nn.RMSProp([p], epsilon=0.0), ValueError, "epsilon"),
        (lambda p: nn.RMSProp([p], momentum=-0.5), ValueError, "momentum"),
        (lambda p: nn.RMSProp([p], centered=1), TypeError, "centered"),
        (lambda p: nn.Adadelta([p], rho=1.5), ValueError, "rho"),
        (lambda p: nn.Rprop([p], etas=[0.5, 1.2]), TypeError, "etas"),
        (lambda p: nn.Rprop([p], etas=(0.5, 1.0)), ValueError, "etas"),
        (lambda p: nn.Rprop([p], step_sizes=(2.0, 1.0)), ValueError, "step_sizes"),
        (lambda p: nn.ASGD([p], lambd="x"), TypeError, "lambd"),
        (lambda p: nn.LARS(p), TypeError, "optimizer"),
        (lambda p: nn.AdaFactor([p], 0.1), ValueError, "relative_step"),
        (lambda p: nn.AdaFactor([p], relative_step=False), ValueError, "learning_rate"),
        (lambda p: nn.Adam([p], use_nesterov=1), TypeError, "use_nesterov"),
    ],
)
def test_bad_arguments(make: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        make(Parameter([1.0, 2.0], name="p"))
