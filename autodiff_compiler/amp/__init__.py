"""Mixed precision: loss scaling, and networks that compute in float16 or bfloat16.  Imported at the first access."""

from __future__ import annotations

from ..nn.wrap.overflow import all_finite
from .loss_scale_manager import DynamicLossScaleManager, FixedLossScaleManager, LossScaleManager
from .loss_scaler import DynamicLossScaler, LossScaler, StaticLossScaler, init_status
from .loss_scaler import _grad_scale_map as _grad_scale_map
from .loss_scaler import _grad_unscale_map as _grad_unscale_map
from .mixed_precision import auto_mixed_precision, custom_mixed_precision, get_black_list, get_white_list
from .train_network import build_train_network

__all__ = [
    "DynamicLossScaleManager",
    "DynamicLossScaler",
    "FixedLossScaleManager",
    "LossScaleManager",
    "LossScaler",
    "StaticLossScaler",
    "all_finite",
    "auto_mixed_precision",
    "build_train_network",
    "custom_mixed_precision",
    "get_black_list",
    "get_white_list",
    "init_status",
]
