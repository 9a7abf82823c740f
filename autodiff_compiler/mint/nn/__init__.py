"""MindSpore's `mint.nn`: the Cells that have the same arguments as in `nn`, and `functional`."""

from __future__ import annotations

from ...nn import AdaptiveMaxPool2d, Identity, Linear, ReLU, SoftMarginLoss
from . import functional

__all__ = ["AdaptiveMaxPool2d", "Identity", "Linear", "ReLU", "SoftMarginLoss", "functional"]
