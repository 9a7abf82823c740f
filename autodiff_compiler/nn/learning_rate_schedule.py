"""Learning rate schedules as Cells: from the number of a step to its learning rate."""

from __future__ import annotations

import math
from typing import Any

from .. import ops
from ..dtypes import float32
from .cell import Cell

__all__ = [
    "CosineDecayLR",
    "ExponentialDecayLR",
    "InverseDecayLR",
    "LearningRateSchedule",
    "NaturalExpDecayLR",
    "PolynomialDecayLR",
    "WarmUpLR",
]


class LearningRateSchedule(Cell):
    """Base of schedules: `construct` takes the number of the step, from 0, and returns its learning rate.

    >>> from autodiff_compiler import Tensor
    >>> class Halving(LearningRateSchedule):
    ...     def construct(self, global_step):
    ...         return 0.5**global_step
    >>> Halving()(Tensor(2)).item()
    0.25
    """

    def construct(self, global_step: Any) -> Any:
        """The learning rate of a step."""
        raise NotImplementedError(f"{type(self).__name__} has no method 'construct'")


class ExponentialDecayLR(LearningRateSchedule):
    """``learning_rate * decay_rate**(step / decay_steps)``; the exponent is rounded down if `is_stair`.

    TypeError for arguments that are no floats (`decay_steps`: int), ValueError for those that are not positive.

    >>> from autodiff_compiler import Tensor
    >>> ExponentialDecayLR(1.0, 0.5, 4, is_stair=True)(Tensor(9)).item()
    0.25
    """

    def __init__(self, learning_rate: float, decay_rate: float, decay_steps: int, is_stair: bool = False) -> None:
        super().__init__()
        self.learning_rate = positive_float("learning_rate", learning_rate)
        self.decay_rate = positive_float("decay_rate", decay_rate)
        self.decay_steps = positive_int("decay_steps", decay_steps)
        self.is_stair = _flag("is_stair", is_stair)

    def construct(self, global_step: Any) -> Any:
        """The learning rate of a step."""
        return self.learning_rate * self.decay_rate ** self.periods(global_step)

    def periods(self, global_step: Any) -> Any:
        """``global_step / decay_steps``, rounded down if `is_stair`."""
        passed = ops.cast(global_step, float32) / self.decay_steps
        return ops.floor(passed) if self.is_stair else passed


class NaturalExpDecayLR(ExponentialDecayLR):
    """``learning_rate * exp(-decay_rate * step)``; if `is_stair`, steps are multiples of `decay_steps`, rounded down.

    >>> from autodiff_compiler import Tensor
    >>> round(NaturalExpDecayLR(1.0, 0.5, 4, is_stair=True)(Tensor(7)).item(), 4)  # exp(-2)
    0.1353
    """

    def construct(self, global_step: Any) -> Any:
        """The learning rate of a step."""
        step = ops.cast(global_step, float32)
        if self.is_stair:
            step = self.periods(global_step) * self.decay_steps
        return self.learning_rate * ops.exp(-self.decay_rate * step)


class InverseDecayLR(ExponentialDecayLR):
    """``learning_rate / (1 + decay_rate * step / decay_steps)``; the quotient is rounded down if `is_stair`.

    >>> from autodiff_compiler import Tensor
    >>> InverseDecayLR(1.0, 0.5, 2)(Tensor(4)).item()
    0.5
    """

    def construct(self, global_step: Any) -> Any:
        """The learning rate of a step."""
        return self.learning_rate / (1.0 + self.decay_rate * self.periods(global_step))


class CosineDecayLR(LearningRateSchedule):
    """Half a cosine wave from `max_lr` down to `min_lr`, which is reached at `decay_steps` and stays.

    ValueError: `max_lr` is not above `min_lr`, or `min_lr` is negative.

    >>> from autodiff_compiler import Tensor
    >>> [round(CosineDecayLR(0.0, 1.0, 4)(Tensor(i)).item(), 4) for i in (0, 2, 4, 5)]
    [1.0, 0.5, 0.0, 0.0]
    """

    def __init__(self, min_lr: float, max_lr: float, decay_steps: int) -> None:
        super().__init__()
        self.min_lr, self.max_lr = checked_ends(min_lr, max_lr)
        self.decay_steps = positive_int("decay_steps", decay_steps)

    def construct(self, global_step: Any) -> Any:
        """The learning rate of a step."""
        share = ops.minimum(ops.cast(global_step, float32), float(self.decay_steps)) / self.decay_steps
        return self.min_lr + 0.5 * (self.max_lr - self.min_lr) * (1.0 + ops.cos(math.pi * share))


class PolynomialDecayLR(LearningRateSchedule):
    """``(learning_rate - end_learning_rate) * (1 - step / decay_steps)**power + end_learning_rate``.

    After `decay_steps` the end stays; with `update_decay_steps` the decay is instead stretched to the next multiple of
    `decay_steps`.

    >>> from autodiff_compiler import Tensor
    >>> [round(PolynomialDecayLR(1.0, 0.0, 4, 2.0)(Tensor(i)).item(), 4) for i in (0, 2, 4, 5)]
    [1.0, 0.25, 0.0, 0.0]
    """

    def __init__(
        self,
        learning_rate: float,
        end_learning_rate: float,
        decay_steps: int,
        power: float,
        update_decay_steps: bool = False,
    ) -> None:
        super().__init__()
        self.learning_rate = positive_float("learning_rate", learning_rate)
        self.end_learning_rate = non_negative_float("end_learning_rate", end_learning_rate)
        self.decay_steps = positive_int("decay_steps", decay_steps)
        self.power = positive_float("power", power)
        self.update_decay_steps = _flag("update_decay_steps", update_decay_steps)

    def construct(self, global_step: Any) -> Any:
        """The learning rate of a step."""
        step = ops.cast(global_step, float32)
        length: Any = float(self.decay_steps)
        if self.update_decay_steps:
            length = length * ops.maximum(ops.ceil(step / length), 1.0)
        rest = 1.0 - ops.minimum(step, length) / length
        return (self.learning_rate - self.end_learning_rate) * rest**self.power + self.end_learning_rate


class WarmUpLR(LearningRateSchedule):
    """``learning_rate * min(step, warmup_steps) / warmup_steps``.

    >>> from autodiff_compiler import Tensor
    >>> [WarmUpLR(1.0, 4)(Tensor(i)).item() for i in (0, 1, 4, 5)]
    [0.0, 0.25, 1.0, 1.0]
    """

    def __init__(self, learning_rate: float, warmup_steps: int) -> None:
        super().__init__()
        self.learning_rate = non_negative_float("learning_rate", learning_rate)
        self.warmup_steps = positive_int("warmup_steps", warmup_steps)

    def construct(self, global_step: Any) -> Any:
        """The learning rate of a step."""
        share = ops.minimum(ops.cast(global_step, float32), float(self.warmup_steps)) / self.warmup_steps
        return self.learning_rate * share


# --------------------------------------------------------------------------- arguments, here and in `dynamic_lr`
def non_negative_float(name: str, value: Any) -> float:
    """The float; TypeError if it is none, ValueError if it is negative or not finite."""
    if not isinstance(value, float):
        raise TypeError(f"`{name}` must be a float, not a {type(value).__name__}")
    if not 0.0 <= value < math.inf:
        raise ValueError(f"`{name}` must be a finite number and not negative, not {value}")
    return value


def positive_float(name: str, value: Any) -> float:
    """The float; TypeError if it is none, ValueError if it is not positive."""
    if non_negative_float(name, value) == 0.0:
        raise ValueError(f"`{name}` must be greater than 0")
    return float(value)


def positive_int(name: str, value: Any) -> int:
    """The int; TypeError if it is none, ValueError if it is not positive."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"`{name}` must be an int, not a {type(value).__name__}")
    if value <= 0:
        raise ValueError(f"`{name}` must be greater than 0, not {value}")
    return value


def checked_ends(min_lr: Any, max_lr: Any) -> tuple[float, float]:
    """The lowest and the highest rate; ValueError if they are not in this order."""
    low, high = non_negative_float("min_lr", min_lr), positive_float("max_lr", max_lr)
    if low >= high:
        raise ValueError(f"`max_lr` must be greater than `min_lr`, but {high} is not greater than {low}")
    return low, high


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"`{name}` must be a bool, not a {type(value).__name__}")
    return value
