"""Training: checkpoints, and what MindSpore keeps here of mixed precision."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .serialization import CheckpointError, load_checkpoint, load_param_into_net, save_checkpoint

if TYPE_CHECKING:
    from .amp import build_train_network
    from .loss_scale_manager import DynamicLossScaleManager, FixedLossScaleManager, LossScaleManager

#: Names that are loaded when first asked for, by their modules.
_MODULES = {
    "amp": ("build_train_network",),
    "loss_scale_manager": ("DynamicLossScaleManager", "FixedLossScaleManager", "LossScaleManager"),
}
_WHERE = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "CheckpointError",
    "DynamicLossScaleManager",
    "FixedLossScaleManager",
    "LossScaleManager",
    "build_train_network",
    "load_checkpoint",
    "load_param_into_net",
    "save_checkpoint",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_WHERE[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_WHERE})
