"""Callbacks of `train.Model`."""

from __future__ import annotations

from ._callback import Callback, RunContext
from ._callback import CallbackManager as _CallbackManager  # noqa: F401 - MindSpore's name for it
from ._callback import InternalCallbackParam as _InternalCallbackParam  # noqa: F401
from ._checkpoint import CheckpointConfig, ModelCheckpoint
from ._loss_monitor import LossMonitor
from ._time_monitor import TimeMonitor
from .backup import BackupAndRestore
from .history import History, LambdaCallback
from .learning_rate import LearningRateScheduler
from .on_request_exit import OnRequestExit
from .plateau import EarlyStopping, ReduceLROnPlateau

__all__ = [
    "BackupAndRestore",
    "Callback",
    "CheckpointConfig",
    "EarlyStopping",
    "History",
    "LambdaCallback",
    "LearningRateScheduler",
    "LossMonitor",
    "ModelCheckpoint",
    "OnRequestExit",
    "ReduceLROnPlateau",
    "RunContext",
    "TimeMonitor",
]
