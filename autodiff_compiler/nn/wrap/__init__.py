"""Cells that wrap a network: with its loss, its gradient, or a whole training step."""

from __future__ import annotations

from .cell_wrapper import ForwardValueAndGrad, TrainOneStepCell, WithEvalCell, WithGradCell, WithLossCell
from .grad_reducer import DistributedGradReducer
from .loss_scale import DynamicLossScaleUpdateCell, FixedLossScaleUpdateCell, TrainOneStepWithLossScaleCell
from .micro_batches import GradAccumulationCell, MicroBatchInterleaved

__all__ = [
    "DistributedGradReducer",
    "DynamicLossScaleUpdateCell",
    "FixedLossScaleUpdateCell",
    "ForwardValueAndGrad",
    "GradAccumulationCell",
    "MicroBatchInterleaved",
    "TrainOneStepCell",
    "TrainOneStepWithLossScaleCell",
    "WithEvalCell",
    "WithGradCell",
    "WithLossCell",
]
