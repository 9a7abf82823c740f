"""MindSpore's older place of mixed precision: see `autodiff_compiler.amp`."""

from __future__ import annotations

from ..amp.mixed_precision import auto_mixed_precision, custom_mixed_precision, get_black_list, get_white_list
from ..amp.train_network import build_train_network

__all__ = ["auto_mixed_precision", "build_train_network", "custom_mixed_precision", "get_black_list", "get_white_list"]
