"""Learning-rate schedules, as Cells and as lists, against their formulas."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn

STEPS = range(12)

CELLS: dict[str, tuple[Any, Any]] = {
    "exponential": (lambda: nn.ExponentialDecayLR(0.1, 0.9, 4), lambda i: 0.1 * 0.9 ** (i / 4)),
    "exponential stairs": (lambda: nn.ExponentialDecayLR(0.1, 0.9, 4, True), lambda i: 0.1 * 0.9 ** (i // 4)),
    "natural": (lambda: nn.NaturalExpDecayLR(0.1, 0.3, 4), lambda i: 0.1 * math.exp(-0.3 * i)),
    "natural stairs": (lambda: nn.NaturalExpDecayLR(0.1, 0.3, 4, True), lambda i: 0.1 * math.exp(-0.3 * (i // 4 * 4))),
    "inverse": (lambda: nn.InverseDecayLR(0.1, 0.5, 4), lambda i: 0.1 / (1 + 0.5 * i / 4)),
    "inverse stairs": (lambda: nn.InverseDecayLR(0.1, 0.5, 4, True), lambda i: 0.1 / (1 + 0.5 * (i // 4))),
    "cosine": (
        lambda: nn.CosineDecayLR(0.01, 0.1, 5),
        lambda i: 0.01 + 0.045 * (1 + math.cos(math.pi * min(i, 5) / 5)),
    ),
    "polynomial": (
        lambda: nn.PolynomialDecayLR(0.1, 0.01, 5, 0.5),
        lambda i: 0.09 * math.sqrt(1 - min(i, 5) / 5) + 0.01,
    ),
    "polynomial stretched": (
        lambda: nn.PolynomialDecayLR(0.1, 0.01, 5, 2.0, True),
        lambda i: 0.09 * (1 - i / (5 * max(1, math.ceil(i / 5)))) ** 2 + 0.01,
    ),
    "warm up": (lambda: nn.WarmUpLR(0.1, 4), lambda i: 0.1 * min(i, 4) / 4),
}


@pytest.mark.parametrize("case", CELLS)
def test_schedules_as_cells(mode: str, case: str) -> None:
    make, formula = CELLS[case]
    schedule = make()
    found = [schedule(Tensor(i, ms.int32)) for i in STEPS]
    assert all(lr.dtype is ms.float32 and lr.shape == () for lr in found)
    np.testing.assert_allclose([lr.item() for lr in found], [formula(i) for i in STEPS], rtol=2e-6, atol=1e-9)


@pytest.mark.parametrize("case", CELLS)
def test_schedules_in_a_compiled_step_cost_one_compilation(case: str) -> None:
    make, formula = CELLS[case]
    p = Parameter([0.0], name="p")
    optimizer = nn.SGD([p], make())
    step = ms.jit(lambda g: optimizer((g,)))
    before, seen = 0.0, []
    for _ in STEPS:
        step(Tensor([1.0]))
        seen.append(before - p.item())
        before = p.item()
    np.testing.assert_allclose(seen, [formula(i) for i in STEPS], rtol=1e-4, atol=1e-7)
    assert step.cache_info()["compiles"] == 1


LISTS: dict[str, tuple[Any, Any]] = {
    "exponential": (lambda: nn.exponential_decay_lr(0.1, 0.9, 12, 2, 4), lambda e: 0.1 * 0.9 ** (e / 4)),
    "exponential stairs": (lambda: nn.exponential_decay_lr(0.1, 0.9, 12, 2, 4, True), lambda e: 0.1 * 0.9 ** (e // 4)),
    "natural": (lambda: nn.natural_exp_decay_lr(0.1, 0.3, 12, 2, 4), lambda e: 0.1 * math.exp(-0.3 * e)),
    "natural stairs": (
        lambda: nn.natural_exp_decay_lr(0.1, 0.3, 12, 2, 4, True),
        lambda e: 0.1 * math.exp(-0.3 * (e // 4 * 4)),
    ),
    "inverse": (lambda: nn.inverse_decay_lr(0.1, 0.5, 12, 2, 4), lambda e: 0.1 / (1 + 0.5 * e / 4)),
    "inverse stairs": (lambda: nn.inverse_decay_lr(0.1, 0.5, 12, 2, 4, True), lambda e: 0.1 / (1 + 0.5 * (e // 4))),
    "cosine": (
        lambda: nn.cosine_decay_lr(0.01, 0.1, 12, 2, 3),
        lambda e: 0.01 + 0.045 * (1 + math.cos(math.pi * min(e, 3) / 3)),
    ),
    "polynomial": (
        lambda: nn.polynomial_decay_lr(0.1, 0.01, 12, 2, 3, 0.5),
        lambda e: 0.09 * math.sqrt(1 - min(e, 3) / 3) + 0.01,
    ),
    "polynomial stretched": (
        lambda: nn.polynomial_decay_lr(0.1, 0.01, 12, 2, 2, 2.0, True),
        lambda e: 0.09 * (1 - e / (2 * max(1, math.ceil(e / 2)))) ** 2 + 0.01,
    ),
    "warm up": (lambda: nn.warmup_lr(0.1, 12, 2, 4), lambda e: 0.1 * min(e, 4) / 4),
}


@pytest.mark.parametrize("case", LISTS)
def test_schedules_as_lists(case: str) -> None:
    make, formula = LISTS[case]
    found = make()
    assert all(isinstance(rate, float) for rate in found)
    np.testing.assert_allclose(found, [formula(i // 2) for i in STEPS], rtol=1e-12, atol=1e-15)


def test_piecewise_constant_rates() -> None:
    assert nn.piecewise_constant_lr([2, 5, 6], [0.1, 0.05, 0.01]) == [0.1, 0.1, 0.05, 0.05, 0.05, 0.01]


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: nn.ExponentialDecayLR(-0.1, 0.9, 4), ValueError, "learning_rate"),
        (lambda: nn.ExponentialDecayLR(1, 0.9, 4), TypeError, "learning_rate"),
        (lambda: nn.ExponentialDecayLR(0.1, 0.0, 4), ValueError, "decay_rate"),
        (lambda: nn.NaturalExpDecayLR(0.1, 0.9, 0), ValueError, "decay_steps"),
        (lambda: nn.InverseDecayLR(0.1, 0.9, 4.0), TypeError, "decay_steps"),
        (lambda: nn.InverseDecayLR(0.1, 0.9, 4, 1), TypeError, "is_stair"),
        (lambda: nn.CosineDecayLR(0.1, 0.1, 4), ValueError, "max_lr"),
        (lambda: nn.CosineDecayLR(-0.1, 0.1, 4), ValueError, "min_lr"),
        (lambda: nn.PolynomialDecayLR(0.1, 0.01, 4, 0.0), ValueError, "power"),
        (lambda: nn.WarmUpLR(0.1, 0), ValueError, "warmup_steps"),
        (lambda: nn.piecewise_constant_lr([2, 2], [0.1, 0.2]), ValueError, "rise"),
        (lambda: nn.piecewise_constant_lr([2], [0.1, 0.2]), ValueError, "milestones"),
        (lambda: nn.piecewise_constant_lr(2, [0.1]), TypeError, "milestone"),
        (lambda: nn.exponential_decay_lr(0.1, 0.9, 0, 1, 1), ValueError, "total_step"),
        (lambda: nn.cosine_decay_lr(0.2, 0.1, 4, 1, 1), ValueError, "max_lr"),
        (lambda: nn.polynomial_decay_lr(0.1, 0.01, 4, 1, 1, 1.0, 1), TypeError, "update_decay_epoch"),
        (lambda: nn.warmup_lr(0.1, 4, 1, 0), ValueError, "warmup_epoch"),
    ],
)
def test_bad_arguments(make: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        make()


def test_the_modules_of_mindspore_are_attributes() -> None:
    assert issubclass(nn.WarmUpLR, nn.learning_rate_schedule.LearningRateSchedule)
    assert nn.dynamic_lr.warmup_lr is nn.warmup_lr
    assert nn.optim.Adam is nn.Adam
