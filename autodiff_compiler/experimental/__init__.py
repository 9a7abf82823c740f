"""MindSpore's experimental module: optimizers with `param_groups`, and learning rate schedulers."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["optim"]


def __getattr__(name: str) -> Any:
    if name != "optim":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(".optim", __name__)
