"""Optimizers: Cells that change Parameters by their gradients."""

from __future__ import annotations

from .adam import Adam
from .momentum import SGD, Momentum
from .optimizer import Optimizer

__all__ = ["SGD", "Adam", "Momentum", "Optimizer"]
