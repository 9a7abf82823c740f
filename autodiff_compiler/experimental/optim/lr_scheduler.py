"""Schedulers: objects that change the `lr` of an optimizer's groups, once in every epoch by ``scheduler.step()``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ... import ops
from ...dtypes import float32
from ...runtime.parameter import Parameter
from ...runtime.tensor import Tensor
from ...transforms.classes import jit_class
from .optimizer import Optimizer
from .plateau import ReduceLROnPlateau

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]


@jit_class
class LRScheduler:
    """Base of schedulers: a subclass defines `get_lr`, which returns the rates of all groups in epoch `last_epoch`.

    It may use `base_lrs`, the rates at the beginning, and `_last_lr`, the Parameters that hold the present ones.
    Making a scheduler takes the first step, to epoch 0; with another `last_epoch` than -1 it goes on from there, and
    each group must have an `initial_lr` (KeyError).  TypeError for what is no optimizer of this package, ValueError
    for a `last_epoch` below -1.

    >>> from autodiff_compiler.experimental import optim
    >>> class Halving(LRScheduler):
    ...     def get_lr(self):
    ...         return [lr * 0.5**self.last_epoch for lr in self.base_lrs]
    >>> optimizer = optim.SGD([Parameter([1.0], name="p")], lr=1.0)
    >>> scheduler = Halving(optimizer)
    >>> _ = scheduler.step(), scheduler.step(); [lr.item() for lr in scheduler.get_last_lr()]
    [0.25]
    """

    last_epoch: Any

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"a scheduler takes an optimizer of experimental.optim, not a {type(optimizer).__name__}")
        if isinstance(last_epoch, bool) or not isinstance(last_epoch, int):
            raise TypeError(f"`last_epoch` must be an int, not a {type(last_epoch).__name__}")
        if last_epoch < -1:
            raise ValueError(f"`last_epoch` must be at least -1, not {last_epoch}")
        for index, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", Tensor(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(f"group {index} of the optimizer needs 'initial_lr' to go on from epoch {last_epoch}")
        self.optimizer = optimizer
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self._last_lr = [group["lr"] for group in optimizer.param_groups]
        self.last_epoch = Parameter(
            Tensor(last_epoch, float32), f"last_epoch_{type(self).__name__}", requires_grad=False
        )
        self.step()

    def get_lr(self) -> list[Any]:
        """The rates of all groups in epoch `last_epoch`."""
        raise NotImplementedError(f"{type(self).__name__} has no method 'get_lr'")

    def get_last_lr(self) -> list[Any]:
        """The present rates of all groups, as Tensors."""
        return [lr * 1.0 for lr in self._last_lr]

    def step(self, epoch: Any = None) -> bool:
        """Goes to the next epoch, or to `epoch`, and sets the rates of all groups."""
        if epoch is None:
            ops.assign_add(self.last_epoch, Tensor(1.0, float32))
            rates = self.get_lr()
        else:
            ops.assign(self.last_epoch, ops.cast(Tensor(epoch), float32))
            rates = self._get_closed_form_lr()
        for holder, rate in zip(self._last_lr, rates, strict=True):
            ops.assign(holder, ops.cast(rate, float32))
        return True

    def _get_closed_form_lr(self) -> list[Any]:
        """The rates of epoch `last_epoch`, whatever the rates before were."""
        return self.get_lr()


class _Factors(LRScheduler):
    """Multiplicative schedulers: `ratio` is the factor to the epoch before, `share` that to the beginning.

    A step multiplies the present rate, so that schedulers can be chained; a jump to an epoch takes the share.
    """

    def ratio(self, epoch: Any) -> Any:
        raise NotImplementedError

    def share(self, epoch: Any) -> Any:
        raise NotImplementedError

    def get_lr(self) -> list[Any]:
        """The rates of all groups in epoch `last_epoch`."""
        factor = self.ratio(self.last_epoch)
        return [lr * factor for lr in self._last_lr]

    def _get_closed_form_lr(self) -> list[Any]:
        factor = self.share(self.last_epoch)
        return [lr * factor for lr in self.base_lrs]


class StepLR(_Factors):
    """The rates are multiplied by `gamma` every `step_size` epochs.

    >>> from autodiff_compiler.experimental import optim
    >>> scheduler = StepLR(optim.SGD([Parameter([1.0], name="p")], lr=1.0), step_size=2, gamma=0.5)
    >>> [(scheduler.step(), scheduler.get_last_lr()[0].item())[1] for _ in range(4)]
    [1.0, 0.5, 0.5, 0.25]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def ratio(self, epoch: Any) -> Any:
        return ops.where(ops.logical_and(epoch > 0, epoch % self.step_size == 0), self.gamma, 1.0)

    def share(self, epoch: Any) -> Any:
        return self.gamma ** (epoch // self.step_size)


class MultiStepLR(_Factors):
    """The rates are multiplied by `gamma` in each epoch of `milestones`, which must rise.

    >>> from autodiff_compiler.experimental import optim
    >>> scheduler = MultiStepLR(optim.SGD([Parameter([1.0], name="p")], lr=1.0), [1, 3], gamma=0.5)
    >>> [(scheduler.step(), scheduler.get_last_lr()[0].item())[1] for _ in range(4)]
    [0.5, 0.5, 0.25, 0.25]
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Sequence[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def ratio(self, epoch: Any) -> Any:
        return self._power([epoch == m for m in self.milestones])

    def share(self, epoch: Any) -> Any:
        return self._power([epoch >= m for m in self.milestones])

    def _power(self, reached: list[Any]) -> Any:
        factor = Tensor(1.0, float32)
        for now in reached:
            factor = factor * ops.where(now, self.gamma, 1.0)
        return factor


class ExponentialLR(_Factors):
    """The rates are multiplied by `gamma` in every epoch.

    >>> from autodiff_compiler.experimental import optim
    >>> scheduler = ExponentialLR(optim.SGD([Parameter([1.0], name="p")], lr=1.0), gamma=0.5)
    >>> _ = scheduler.step(); scheduler.get_last_lr()[0].item()
    0.5
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def ratio(self, epoch: Any) -> Any:
        return ops.where(epoch > 0, self.gamma, 1.0)

    def share(self, epoch: Any) -> Any:
        return self.gamma**epoch


class PolynomialLR(_Factors):
    """The rates go down to 0 in epoch `total_iters`, as ``(1 - epoch / total_iters)**power``.

    >>> from autodiff_compiler.experimental import optim
    >>> scheduler = PolynomialLR(optim.SGD([Parameter([1.0], name="p")], lr=1.0), total_iters=4)
    >>> _ = scheduler.step(); scheduler.get_last_lr()[0].item()
    0.75
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def ratio(self, epoch: Any) -> Any:
        within = ops.logical_and(epoch > 0, epoch <= self.total_iters)
        inside = ops.where(within, epoch, 1.0)
        change = (1.0 - inside / self.total_iters) / (1.0 - (inside - 1.0) / self.total_iters)
        return ops.where(within, change**self.power, 1.0)

    def share(self, epoch: Any) -> Any:
        return (1.0 - ops.minimum(epoch, float(self.total_iters)) / self.total_iters) ** self.power


class ConstantLR(_Factors):
    """The rates are multiplied by `factor` until epoch `total_iters`.

    ValueError if `factor` is not between 0 and 1.

    >>> from autodiff_compiler.experimental import optim
    >>> scheduler = ConstantLR(optim.SGD([Parameter([1.0], name="p")], lr=1.0), factor=0.5, total_iters=2)
    >>> [(scheduler.step(), scheduler.get_last_lr()[0].item())[1] for _ in range(3)]
    [0.5, 1.0, 1.0]
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 <= factor <= 1:
            raise ValueError(f"`factor` must be between 0 and 1, not {factor}")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def ratio(self, epoch: Any) -> Any:
        return ops.where(epoch == 0, self.factor, ops.where(epoch == self.total_iters, 1.0 / self.factor, 1.0))

    def share(self, epoch: Any) -> Any:
        return ops.where(epoch < self.total_iters, self.factor, 1.0)


class LinearLR(_Factors):
    """The rates are multiplied by a factor that goes from `start_factor` to `end_factor` in `total_iters` epochs.

    ValueError if `start_factor` is not in (0, 1], or `end_factor` not in [0, 1].

    >>> from autodiff_compiler.experimental import optim
    >>> scheduler = LinearLR(optim.SGD([Parameter([1.0], name="p")], lr=1.0), start_factor=0.5, total_iters=4)
    >>> _ = scheduler.step(); scheduler.get_last_lr()[0].item()
    0.625
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError(f"`start_factor` must be greater than 0 and at most 1, not {start_factor}")
        if not 0 <= end_factor <= 1:
            raise ValueError(f"`end_factor` must be between 0 and 1, not {end_factor}")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def ratio(self, epoch: Any) -> Any:
        rise = self.end_factor - self.start_factor
        within = ops.logical_and(epoch > 0, epoch <= self.total_iters)
        before = ops.where(within, epoch, 1.0) - 1.0
        change = 1.0 + rise / (self.total_iters * self.start_factor + before * rise)
        return ops.where(within, change, ops.where(epoch == 0, self.start_factor, 1.0))

    def share(self, epoch: Any) -> Any:
        passed = ops.minimum(epoch, float(self.total_iters)) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * passed


class LambdaLR(LRScheduler):
    """The rates at the beginning times ``lr_lambda(epoch)``: one function for all groups, or a list with one for each.

    The functions are given a float32 Tensor without dimensions.

    >>> from autodiff_compiler.experimental import optim
    >>> scheduler = LambdaLR(optim.SGD([Parameter([1.0], name="p")], lr=1.0), lambda epoch: 0.5**epoch)
    >>> _ = scheduler.step(); scheduler.get_last_lr()[0].item()
    0.5
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas = _one_for_each(lr_lambda, optimizer)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of all groups in epoch `last_epoch`."""
        return [lr * f(self.last_epoch) for lr, f in zip(self.base_lrs, self.lr_lambdas, strict=True)]


class MultiplicativeLR(LRScheduler):
    """The rates of the epoch before times ``lr_lambda(epoch)``: one function, or a list with one for each group.

    >>> from autodiff_compiler.experimental import optim
    >>> scheduler = MultiplicativeLR(optim.SGD([Parameter([1.0], name="p")], lr=1.0), lambda epoch: 0.5)
    >>> _ = scheduler.step(), scheduler.step(); scheduler.get_last_lr()[0].item()
    0.25
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas = _one_for_each(lr_lambda, optimizer)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of all groups in epoch `last_epoch`."""
        return [
            lr * ops.where(self.last_epoch > 0, f(self.last_epoch), 1.0)
            for lr, f in zip(self._last_lr, self.lr_lambdas, strict=True)
        ]


def _one_for_each(given: Any, optimizer: Any) -> list[Callable[[Any], Any]]:
    count = len(optimizer.param_groups) if isinstance(optimizer, Optimizer) else 0
    if not isinstance(given, list | tuple):
        return [given] * count
    if len(given) != count:
        raise ValueError(f"there are {count} groups, but {len(given)} functions")
    return list(given)


class CosineAnnealingLR(LRScheduler):
    """The rates follow a cosine wave between the beginning's and `eta_min`, which they reach in epoch `T_max`.

    >>> from autodiff_compiler.experimental import optim
    >>> scheduler = CosineAnnealingLR(optim.SGD([Parameter([1.0], name="p")], lr=1.0), T_max=2)
    >>> [(scheduler.step(), round(scheduler.get_last_lr()[0].item(), 4))[1] for _ in range(2)]
    [0.5, 0.0]
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of all groups in epoch `last_epoch`."""
        epoch, low = self.last_epoch, self.eta_min
        # At the lowest point the rate is eta_min, so the next one is not a multiple of the difference, 0.
        lowest = (epoch - 1.0 - self.T_max) % (2 * self.T_max) == 0
        before = ops.where(lowest, 2.0, 1.0 + ops.cos(math.pi * (epoch - 1.0) / self.T_max))
        change = (1.0 + ops.cos(math.pi * epoch / self.T_max)) / before
        return [
            ops.where(
                epoch == 0,
                lr,
                ops.where(
                    lowest, lr + (base - low) * (1.0 - math.cos(math.pi / self.T_max)) / 2.0, change * (lr - low) + low
                ),
            )
            for lr, base in zip(self._last_lr, self.base_lrs, strict=True)
        ]

    def _get_closed_form_lr(self) -> list[Any]:
        height = (1.0 + ops.cos(math.pi * self.last_epoch / self.T_max)) / 2.0
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half cosine waves from the rates of the beginning to `eta_min`, of `T_0` epochs, each `T_mult` times as long.

    ValueError if `T_0` or `T_mult` is no int above 0.

    >>> from autodiff_compiler.experimental import optim
    >>> scheduler = CosineAnnealingWarmRestarts(optim.SGD([Parameter([1.0], name="p")], lr=1.0), T_0=2)
    >>> [(scheduler.step(), round(scheduler.get_last_lr()[0].item(), 4))[1] for _ in range(2)]
    [0.5, 1.0]
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        for name, value in (("T_0", T_0), ("T_mult", T_mult)):
            if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
                raise ValueError(f"`{name}` must be an int greater than 0, not {value}")
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of all groups in epoch `last_epoch`."""
        epoch = self.last_epoch
        length: Any = float(self.T_0)
        if self.T_mult == 1:
            passed = epoch % self.T_0
        else:
            # A wave begins at a whole power; float32's logarithm may fall just below it.
            waves = ops.floor(ops.log(epoch / self.T_0 * (self.T_mult - 1) + 1.0) / math.log(self.T_mult) + 1e-5)
            power = float(self.T_mult) ** waves
            passed, length = epoch - self.T_0 * (power - 1.0) / (self.T_mult - 1), self.T_0 * power
        height = (1.0 + ops.cos(math.pi * passed / length)) / 2.0
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: Any = None) -> None:  # type: ignore[override]  # as MindSpore's returns nothing here
        """Goes to the next epoch, or to `epoch`, which need not be whole, and sets the rates of all groups."""
        super().step(epoch)


class CyclicLR(LRScheduler):
    """The rates go up from `base_lr` to `max_lr` in `step_size_up` steps and down again in `step_size_down`, in cycles.

    The height of a cycle is full in `mode` "triangular", halved from cycle to cycle in "triangular2", and multiplied by
    ``gamma**step`` in "exp_range"; `scale_fn` gives it instead, from the number of the cycle (from 1) or, with
    `scale_mode` "iterations", of the step.  ValueError: another mode.

    >>> from autodiff_compiler.experimental import optim
    >>> scheduler = CyclicLR(optim.SGD([Parameter([1.0], name="p")], lr=1.0), 0.0, 1.0, step_size_up=2)
    >>> [(scheduler.step(), scheduler.get_last_lr()[0].item())[1] for _ in range(4)]
    [0.5, 1.0, 0.5, 0.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[Any], Any] | None = None,
        scale_mode: str = "cycle",
        last_epoch: int = -1,
    ) -> None:
        if scale_fn is None and mode not in ("triangular", "triangular2", "exp_range"):
            raise ValueError(f"`mode` must be 'triangular', 'triangular2' or 'exp_range', not {mode!r}")
        if scale_mode not in ("cycle", "iterations"):
            raise ValueError(f"`scale_mode` must be 'cycle' or 'iterations', not {scale_mode!r}")
        down = step_size_up if step_size_down is None else step_size_down
        self.total_size = float(step_size_up + down)
        self.step_ratio = step_size_up / self.total_size
        self.mode, self.gamma, self.scale_fn, self.scale_mode = mode, gamma, scale_fn, scale_mode
        groups = len(optimizer.param_groups) if isinstance(optimizer, Optimizer) else 0
        self.low = list(base_lr) if isinstance(base_lr, list | tuple) else [base_lr] * groups
        self.high = list(max_lr) if isinstance(max_lr, list | tuple) else [max_lr] * groups
        if len(self.low) != groups or len(self.high) != groups:
            raise ValueError(f"`base_lr` and `max_lr` must be numbers, or lists with one for each of {groups} groups")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of all groups in step `last_epoch`."""
        cycle = ops.floor(1.0 + self.last_epoch / self.total_size)
        place = 1.0 + self.last_epoch / self.total_size - cycle
        down = (place - 1.0) / (self.step_ratio - 1.0) if self.step_ratio < 1.0 else 1.0
        height = ops.where(place <= self.step_ratio, place / self.step_ratio, down) * self._scale(cycle)
        return [low + (high - low) * height for low, high in zip(self.low, self.high, strict=True)]

    def _scale(self, cycle: Any) -> Any:
        if self.scale_fn is not None:
            return self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.mode == "triangular2":
            return 0.5 ** (cycle - 1.0)
        return 1.0 if self.mode == "triangular" else self.gamma**self.last_epoch


@jit_class
class SequentialLR:
    """One scheduler after the other: from epoch ``milestones[i]`` on ``schedulers[i + 1]``, from its epoch 0.

    ValueError if the schedulers are not one more than the milestones, or belong to different optimizers.

    >>> from autodiff_compiler.experimental import optim
    >>> optimizer = optim.SGD([Parameter([1.0], name="p")], lr=1.0)
    >>> parts = [ConstantLR(optimizer, 0.5, 9), ExponentialLR(optimizer, 0.5)]
    >>> scheduler = SequentialLR(optimizer, parts, [2])
    >>> [(scheduler.step(), scheduler.get_last_lr()[0].item())[1] for _ in range(3)]
    [0.5, 1.0, 0.5]
    """

    last_epoch: Any

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[Any], milestones: Sequence[int], last_epoch: int = -1
    ) -> None:
        if any(scheduler.optimizer is not optimizer for scheduler in schedulers):
            raise ValueError("all schedulers must belong to the optimizer that is given")
        if len(schedulers) != len(milestones) + 1:
            raise ValueError(
                f"{len(schedulers)} schedulers need {len(schedulers) - 1} milestones, not {len(milestones)}"
            )
        self.optimizer, self._schedulers, self._milestones = optimizer, list(schedulers), list(milestones)
        self.last_epoch = Parameter(Tensor(last_epoch + 1, float32), "last_epoch_SequentialLR", requires_grad=False)
        # Each scheduler has taken its first step already: only the first of them counts.
        for group in optimizer.param_groups:
            ops.assign(group["lr"], group["initial_lr"])
        ops.assign(schedulers[0].last_epoch, Tensor(-1.0, float32))
        schedulers[0].step()

    def step(self) -> None:
        """Goes to the next epoch, and sets the rates of all groups."""
        ops.assign_add(self.last_epoch, Tensor(1.0, float32))
        ends = [*self._milestones, math.inf]
        begin = -math.inf
        for scheduler, end in zip(self._schedulers, ends, strict=True):
            if self.last_epoch == begin:
                scheduler.step(0)
            elif ops.logical_and(self.last_epoch > begin, self.last_epoch < end):
                scheduler.step()
            begin = end

    def get_last_lr(self) -> list[Any]:
        """The present rates of all groups, as Tensors."""
        return [group["lr"] * 1.0 for group in self.optimizer.param_groups]


@jit_class
class ChainedScheduler:
    """Schedulers of one optimizer that all take a step: their changes are multiplied.

    ValueError if they belong to different optimizers.

    >>> from autodiff_compiler.experimental import optim
    >>> optimizer = optim.SGD([Parameter([1.0], name="p")], lr=1.0)
    >>> scheduler = ChainedScheduler([ConstantLR(optimizer, 0.5, 9), ExponentialLR(optimizer, 0.5)])
    >>> scheduler.step(); scheduler.get_last_lr()[0].item()
    0.25
    """

    def __init__(self, schedulers: Sequence[Any]) -> None:
        self.optimizer = schedulers[0].optimizer
        if any(scheduler.optimizer is not self.optimizer for scheduler in schedulers):
            raise ValueError("all schedulers must belong to one optimizer")
        self._schedulers = list(schedulers)

    def step(self) -> None:
        """One step of each scheduler."""
        for scheduler in self._schedulers:
            scheduler.step()

    def get_last_lr(self) -> list[Any]:
        """The present rates of all groups, as Tensors."""
        return [group["lr"] * 1.0 for group in self.optimizer.param_groups]
