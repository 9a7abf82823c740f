"""MindSpore's older place of loss scale managers: see `autodiff_compiler.amp`."""

from __future__ import annotations

from ..amp.loss_scale_manager import DynamicLossScaleManager, FixedLossScaleManager, LossScaleManager

__all__ = ["DynamicLossScaleManager", "FixedLossScaleManager", "LossScaleManager"]
