"""Optimizers: Cells that update Parameters by their gradients.  Submodules are imported at the first access."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .adafactor import *  # noqa: F403
    from .adagrad import *  # noqa: F403
    from .adam import *  # noqa: F403
    from .layerwise import *  # noqa: F403
    from .momentum import *  # noqa: F403
    from .optimizer import *  # noqa: F403
    from .rmsprop import *  # noqa: F403
    from .sign import *  # noqa: F403

_MODULES = {
    "adafactor": ("AdaFactor",),
    "adagrad": ("FTRL", "Adagrad", "ProximalAdagrad"),
    "adam": ("AdaMax", "Adam", "AdamOffload", "AdamW", "AdamWeightDecay", "LazyAdam"),
    "layerwise": ("LARS", "Lamb"),
    "momentum": ("ASGD", "SGD", "Momentum"),
    "optimizer": ("Optimizer",),
    "rmsprop": ("Adadelta", "RMSProp"),
    "sign": ("Lion", "Rprop"),
}
_WHERE = {name: module for module, names in _MODULES.items() for name in names}

__all__ = list(_WHERE)


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_WHERE[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
