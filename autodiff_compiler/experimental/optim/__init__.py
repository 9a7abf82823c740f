"""Optimizers with PyTorch's arguments, and schedulers that change their learning rates between epochs."""

from __future__ import annotations

from . import lr_scheduler
from .adam import Adam, Adamax, AdamW, NAdam, RAdam
from .descent import ASGD, SGD, Rprop
from .optimizer import Optimizer
from .scaled import Adadelta, Adagrad, RMSprop

__all__ = [
    "ASGD",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "lr_scheduler",
]
