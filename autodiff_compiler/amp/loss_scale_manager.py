"""Loss scale managers: the settings of loss scaling for a training."""

from __future__ import annotations

from typing import Any

from ..nn.arguments import number, positive
from ..nn.wrap.loss_scale import DynamicLossScaleUpdateCell, FixedLossScaleUpdateCell

__all__ = ["DynamicLossScaleManager", "FixedLossScaleManager", "LossScaleManager"]


class LossScaleManager:
    """Base of loss scale managers: a subclass defines these methods."""

    def get_loss_scale(self) -> Any:
        """The loss scale."""

    def update_loss_scale(self, overflow: bool) -> None:
        """Adapts the loss scale to whether a step overflowed."""

    def get_update_cell(self) -> Any:
        """The Cell that adapts the loss scale in `nn.TrainOneStepWithLossScaleCell`; None: steps are not checked."""


class FixedLossScaleManager(LossScaleManager):
    """A constant loss scale; with `drop_overflow_update` steps whose gradients overflow are skipped.

    Without it the optimizer has to divide by the scale: give it the same `loss_scale`.  ValueError: a scale below 1.

    >>> FixedLossScaleManager(1024.0).get_loss_scale(), FixedLossScaleManager(8.0, False).get_update_cell()
    (1024.0, None)
    """

    def __init__(self, loss_scale: float = 128.0, drop_overflow_update: bool = True) -> None:
        self._loss_scale = _at_least_one("loss_scale", loss_scale)
        self._drop_overflow_update = drop_overflow_update

    def get_loss_scale(self) -> Any:
        """The loss scale."""
        return self._loss_scale

    def get_drop_overflow_update(self) -> bool:
        """Whether steps whose gradients overflow are left out."""
        return self._drop_overflow_update

    def update_loss_scale(self, overflow: bool) -> None:
        """Changes nothing."""

    def get_update_cell(self) -> FixedLossScaleUpdateCell | None:
        """A `nn.FixedLossScaleUpdateCell`, or None if steps are not to be checked."""
        return FixedLossScaleUpdateCell(self._loss_scale) if self._drop_overflow_update else None


class DynamicLossScaleManager(LossScaleManager):
    """A loss scale that shrinks by `scale_factor` at an overflow and grows by it after `scale_window` steps without.

    ValueError: a scale below 1, a factor or window that is not positive.

    >>> manager = DynamicLossScaleManager(1024.0, 2, 1)
    >>> manager.update_loss_scale(True); manager.get_loss_scale()
    512.0
    """

    #: So many overflows in a row have another cause than the scale.
    bad_step_max = 1000

    def __init__(self, init_loss_scale: float = 2**24, scale_factor: int = 2, scale_window: int = 2000) -> None:
        self.loss_scale = _at_least_one("init_loss_scale", init_loss_scale)
        self.scale_window = positive("scale_window", scale_window)
        if number("scale_factor", scale_factor) <= 0:
            raise ValueError(f"`scale_factor` must be positive, not {scale_factor}")
        self.scale_factor = self.increase_ratio = scale_factor
        self.decrease_ratio = 1 / scale_factor
        self.cur_iter, self.last_overflow_iter, self.bad_step = 1, 0, 0

    def get_loss_scale(self) -> Any:
        """The loss scale now."""
        return self.loss_scale

    def update_loss_scale(self, overflow: bool) -> None:
        """Adapts the loss scale to a step; RuntimeError after more than 1000 overflows one after the other."""
        if overflow:
            self.loss_scale = max(self.loss_scale * self.decrease_ratio, 1)
            self.last_overflow_iter = self.cur_iter
            self.bad_step += 1
        else:
            if (self.cur_iter - self.last_overflow_iter) % self.scale_window == 0:
                self.loss_scale *= self.increase_ratio
            self.bad_step = 0
        if self.bad_step > self.bad_step_max:
            raise RuntimeError(f"gradients overflowed in {self.bad_step} steps one after the other")
        self.cur_iter += 1

    def get_drop_overflow_update(self) -> bool:
        """True: steps whose gradients overflow are left out."""
        return True

    def get_update_cell(self) -> DynamicLossScaleUpdateCell:
        """A `nn.DynamicLossScaleUpdateCell` that begins with the present scale."""
        return DynamicLossScaleUpdateCell(self.loss_scale, self.scale_factor, self.scale_window)


def _at_least_one(name: str, value: float) -> float:
    if number(name, value) < 1:
        raise ValueError(f"`{name}` must be at least 1, not {value}")
    return value
