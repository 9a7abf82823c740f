"""Training: `Model`, its callbacks, checkpoints; and MindSpore's aliases of metrics and mixed precision."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .serialization import CheckpointError, load_checkpoint, load_param_into_net, save_checkpoint

if TYPE_CHECKING:
    from .amp import build_train_network as build_train_network
    from .callback import *  # noqa: F403
    from .conversion import *  # noqa: F403
    from .dataset_helper import *  # noqa: F403
    from .loss_scale_manager import *  # noqa: F403
    from .metrics import *  # noqa: F403
    from .model import *  # noqa: F403

#: The names that are imported lazily, by their modules.
_MODULES = {
    "amp": ("build_train_network",),
    "callback": (
        *("BackupAndRestore", "Callback", "CheckpointConfig", "EarlyStopping", "History", "LambdaCallback"),
        *("LearningRateScheduler", "LossMonitor", "ModelCheckpoint", "OnRequestExit", "ReduceLROnPlateau"),
        *("RunContext", "TimeMonitor"),
    ),
    "conversion": ("async_ckpt_thread_status", "ckpt_to_safetensors", "load_checkpoint_async", "safetensors_to_ckpt"),
    "dataset_helper": ("DatasetHelper",),
    "loss_scale_manager": ("DynamicLossScaleManager", "FixedLossScaleManager", "LossScaleManager"),
    "metrics": (
        *("F1", "MAE", "MSE", "ROC", "Accuracy", "BleuScore", "ConfusionMatrix", "ConfusionMatrixMetric"),
        *("CosineSimilarity", "Dice", "Fbeta", "HausdorffDistance", "Loss", "MeanSurfaceDistance", "Metric"),
        *("OcclusionSensitivity", "Perplexity", "RootMeanSquareDistance", "auc"),
        *("Precision", "Recall", "Top1CategoricalAccuracy", "Top5CategoricalAccuracy", "TopKCategoricalAccuracy"),
        *("get_metric_fn", "get_metrics", "names", "rearrange_inputs"),
    ),
    "model": ("Model",),
}
_WHERE = {name: module for module, names in _MODULES.items() for name in names}

__all__ = ["CheckpointError", "load_checkpoint", "load_param_into_net", "save_checkpoint"]
__all__ += _WHERE


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
