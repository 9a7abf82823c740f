"""Networks: Cells, layers, losses, and MindSpore's optimizers (which live in `optim`)."""

from __future__ import annotations

import importlib
from typing import Any

from .cell import Cell
from .containers import CellDict, CellList, SequentialCell
from .dropout import Dropout, Dropout1d, Dropout2d, Dropout3d
from .layers import Dense, Flatten, Identity, LogSoftmax, ReLU, Sigmoid, Softmax, Tanh, get_activation
from .losses import CrossEntropyLoss, L1Loss, LossBase, MSELoss, SoftmaxCrossEntropyWithLogits

_OPTIMIZERS = ("Adam", "Momentum", "Optimizer", "SGD")

__all__ = [
    "SGD",
    "Adam",
    "Cell",
    "CellDict",
    "CellList",
    "CrossEntropyLoss",
    "Dense",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "Flatten",
    "Identity",
    "L1Loss",
    "LogSoftmax",
    "LossBase",
    "MSELoss",
    "Momentum",
    "Optimizer",
    "ReLU",
    "SequentialCell",
    "Sigmoid",
    "Softmax",
    "SoftmaxCrossEntropyWithLogits",
    "Tanh",
    "get_activation",
]


def __getattr__(name: str) -> Any:
    # An optimizer is a Cell, so `optim` imports this package; importing it here as well would make a cycle.
    if name in _OPTIMIZERS:
        return getattr(importlib.import_module("..optim", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
