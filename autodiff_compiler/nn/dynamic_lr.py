"""Learning rate schedules as lists: one rate per step, constant within an epoch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from .learning_rate_schedule import checked_ends, non_negative_float, positive_float, positive_int

__all__ = [
    "cosine_decay_lr",
    "exponential_decay_lr",
    "inverse_decay_lr",
    "natural_exp_decay_lr",
    "piecewise_constant_lr",
    "polynomial_decay_lr",
    "warmup_lr",
]


def piecewise_constant_lr(milestone: Sequence[int], learning_rates: Sequence[float]) -> list[float]:
    """``learning_rates[i]`` in all steps before ``milestone[i]``.

    TypeError for what are no lists or tuples of ints and floats; ValueError: different lengths, milestones that do not
    rise, rates below 0.

    >>> piecewise_constant_lr([2, 3], [0.1, 0.05])
    [0.1, 0.1, 0.05]
    """
    for name, given in (("milestone", milestone), ("learning_rates", learning_rates)):
        if not isinstance(given, tuple | list):
            raise TypeError(f"`{name}` must be a list or a tuple, not a {type(given).__name__}")
    if len(milestone) != len(learning_rates) or not milestone:
        raise ValueError(f"there are {len(milestone)} milestones, but {len(learning_rates)} learning rates")
    rates: list[float] = []
    for step, rate in zip(milestone, learning_rates, strict=True):
        if positive_int("milestone", step) <= len(rates):
            raise ValueError(f"milestones must rise, but {step} follows {len(rates)}")
        rates += [non_negative_float("learning_rates", rate)] * (step - len(rates))
    return rates


def exponential_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """``learning_rate * decay_rate**(epoch / decay_epoch)``; the exponent is rounded down if `is_stair`.

    >>> exponential_decay_lr(1.0, 0.5, 4, 1, 2, is_stair=True)
    [1.0, 1.0, 0.5, 0.5]
    """
    _check(learning_rate, decay_rate, is_stair)
    passed = _passed(decay_epoch, is_stair)
    return _by_epoch(total_step, step_per_epoch, lambda epoch: learning_rate * decay_rate ** passed(epoch))


def natural_exp_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """``learning_rate * exp(-decay_rate * epoch)``; if `is_stair`, epochs are multiples of `decay_epoch`, rounded down.

    >>> [round(rate, 4) for rate in natural_exp_decay_lr(1.0, 0.5, 3, 1, 2, is_stair=True)]
    [1.0, 1.0, 0.3679]
    """
    _check(learning_rate, decay_rate, is_stair)
    every = positive_int("decay_epoch", decay_epoch) if is_stair else 1
    return _by_epoch(
        total_step, step_per_epoch, lambda epoch: learning_rate * math.exp(-decay_rate * (epoch // every * every))
    )


def inverse_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """``learning_rate / (1 + decay_rate * epoch / decay_epoch)``; the quotient is rounded down if `is_stair`.

    >>> inverse_decay_lr(1.0, 1.0, 4, 1, 1)[:2]
    [1.0, 0.5]
    """
    _check(learning_rate, decay_rate, is_stair)
    passed = _passed(decay_epoch, is_stair)
    return _by_epoch(total_step, step_per_epoch, lambda epoch: learning_rate / (1 + decay_rate * passed(epoch)))


def cosine_decay_lr(
    min_lr: float, max_lr: float, total_step: int, step_per_epoch: int, decay_epoch: int
) -> list[float]:
    """Half a cosine wave from `max_lr` down to `min_lr`, which is reached in epoch `decay_epoch` and stays.

    >>> cosine_decay_lr(0.0, 1.0, 3, 1, 1)
    [1.0, 0.0, 0.0]
    """
    low, high = checked_ends(min_lr, max_lr)
    end = positive_int("decay_epoch", decay_epoch)
    return _by_epoch(
        total_step,
        step_per_epoch,
        lambda epoch: low + 0.5 * (high - low) * (1 + math.cos(math.pi * min(epoch, end) / end)),
    )


def polynomial_decay_lr(
    learning_rate: float,
    end_learning_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    power: float,
    update_decay_epoch: bool = False,
) -> list[float]:
    """``(learning_rate - end_learning_rate) * (1 - epoch / decay_epoch)**power + end_learning_rate``.

    After `decay_epoch` the end stays; with `update_decay_epoch` the decay is instead stretched to the next multiple of
    `decay_epoch`.

    >>> polynomial_decay_lr(1.0, 0.0, 4, 1, 2, 2.0)
    [1.0, 0.25, 0.0, 0.0]
    """
    start, end = (
        positive_float("learning_rate", learning_rate),
        non_negative_float("end_learning_rate", end_learning_rate),
    )
    positive_float("power", power)
    every = positive_int("decay_epoch", decay_epoch)
    _check_flag("update_decay_epoch", update_decay_epoch)

    def rate(epoch: int) -> float:
        length = every * max(math.ceil(epoch / every), 1) if update_decay_epoch else every
        return (start - end) * (1 - min(epoch, length) / length) ** power + end

    return _by_epoch(total_step, step_per_epoch, rate)


def warmup_lr(learning_rate: float, total_step: int, step_per_epoch: int, warmup_epoch: int) -> list[float]:
    """``learning_rate * min(epoch, warmup_epoch) / warmup_epoch``.

    >>> warmup_lr(1.0, 4, 1, 2)
    [0.0, 0.5, 1.0, 1.0]
    """
    start, end = positive_float("learning_rate", learning_rate), positive_int("warmup_epoch", warmup_epoch)
    return _by_epoch(total_step, step_per_epoch, lambda epoch: start * min(epoch, end) / end)


def _by_epoch(total_step: int, step_per_epoch: int, rate: Callable[[int], float]) -> list[float]:
    total, length = positive_int("total_step", total_step), positive_int("step_per_epoch", step_per_epoch)
    return [rate(step // length) for step in range(total)]


def _passed(decay_epoch: int, is_stair: bool) -> Callable[[int], float]:
    every = positive_int("decay_epoch", decay_epoch)
    return lambda epoch: epoch // every if is_stair else epoch / every


def _check(learning_rate: float, decay_rate: float, is_stair: bool) -> None:
    positive_float("learning_rate", learning_rate)
    positive_float("decay_rate", decay_rate)
    _check_flag("is_stair", is_stair)


def _check_flag(name: str, value: bool) -> None:
    if not isinstance(value, bool):
        raise TypeError(f"`{name}` must be a bool, not a {type(value).__name__}")
