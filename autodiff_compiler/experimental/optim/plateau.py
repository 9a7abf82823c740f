"""A scheduler that watches a number, such as the loss of an epoch."""

from __future__ import annotations

import math
from typing import Any

from ... import ops
from ...dtypes import float32, int32
from ...optim.groups import checked_number
from ...runtime.parameter import Parameter
from ...runtime.tensor import Tensor
from ...transforms.classes import jit_class
from .optimizer import Optimizer

__all__ = ["ReduceLROnPlateau"]


@jit_class
class ReduceLROnPlateau:
    """The rates are multiplied by `factor` when ``step(metrics)`` has not been given a better number for long.

    Better is (`mode` "min") a number below ``best * (1 - threshold)``, with `threshold_mode` "abs" below
    ``best - threshold``; with `mode` "max" above ``best * (1 + threshold)`` or ``best + threshold``.  After `patience`
    epochs without one the rates are reduced, not below `min_lr`, and `cooldown` epochs are not counted.  Changes of a
    rate by less than `eps` are left out.  ValueError: a `factor` of 1 or more, another mode.

    >>> from autodiff_compiler.experimental import optim
    >>> scheduler = ReduceLROnPlateau(optim.SGD([Parameter([1.0], name="p")], lr=1.0), factor=0.5, patience=1)
    >>> [(scheduler.step(Tensor(loss)), scheduler.get_last_lr()[0].item())[1] for loss in (3.0, 3.0, 3.0)]
    [1.0, 1.0, 0.5]
    """

    best: Any
    num_bad_epochs: Any
    cooldown_counter: Any

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: Any = 0.0,
        eps: float = 1e-8,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"a scheduler takes an optimizer of experimental.optim, not a {type(optimizer).__name__}")
        checked_number("factor", factor, below=1.0)
        if mode not in ("min", "max"):
            raise ValueError(f"`mode` must be 'min' or 'max', not {mode!r}")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"`threshold_mode` must be 'rel' or 'abs', not {threshold_mode!r}")
        groups = len(optimizer.param_groups)
        self.min_lrs = list(min_lr) if isinstance(min_lr, list | tuple) else [min_lr] * groups
        if len(self.min_lrs) != groups:
            raise ValueError(f"there are {groups} groups, but {len(self.min_lrs)} lowest rates")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown, self.eps = threshold, threshold_mode, cooldown, eps
        worst = math.inf if mode == "min" else -math.inf
        self.best = Parameter(Tensor(worst, float32), "best", requires_grad=False)
        self.num_bad_epochs = Parameter(Tensor(0, int32), "num_bad_epochs", requires_grad=False)
        self.cooldown_counter = Parameter(Tensor(0, int32), "cooldown_counter", requires_grad=False)

    def step(self, metrics: Any) -> bool:
        """Takes the number of an epoch, and reduces the rates if it is time."""
        metrics = ops.cast(Tensor(metrics), float32)
        better = self._better(metrics)
        bad = ops.where(better, 0, self.num_bad_epochs + 1)
        ops.assign(self.best, ops.where(better, metrics, self.best))
        cooling = self.cooldown_counter > 0
        rest = ops.where(cooling, self.cooldown_counter - 1, 0)
        bad = ops.where(cooling, 0, bad)
        due = bad > self.patience
        for group, lowest in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            lr = group["lr"]
            reduced = ops.maximum(lr * self.factor, lowest)
            ops.assign(lr, ops.where(ops.logical_and(due, lr - reduced > self.eps), reduced, lr))
        ops.assign(self.cooldown_counter, ops.cast(ops.where(due, self.cooldown, rest), int32))
        ops.assign(self.num_bad_epochs, ops.cast(ops.where(due, 0, bad), int32))
        return True

    def _better(self, metrics: Any) -> Any:
        sign = -1.0 if self.mode == "min" else 1.0
        edge = (
            self.best * (1.0 + sign * self.threshold)
            if self.threshold_mode == "rel"
            else self.best + sign * self.threshold
        )
        return metrics < edge if self.mode == "min" else metrics > edge

    def get_last_lr(self) -> list[Any]:
        """The present rates of all groups, as Tensors."""
        return [group["lr"] * 1.0 for group in self.optimizer.param_groups]
