"""MindSpore's `mint`: the functions of `ops` with `dim` and `keepdim`.  Imported at the first access."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from .. import ops
from ..errors import did_you_mean
from ..surface import table as _table
from . import functions
from .functions import *  # noqa: F403

#: The functions of `ops` that have a body there and the same arguments here.
_SAME = ("addbmm", "baddbmm", "div", "divide", "dot", "kthvalue", "searchsorted", "trace")
_MODULES = ("distributed", "linalg", "nn", "special")

__all__: list[str] = []
__all__ += _MODULES
__all__ += functions.__all__
__all__ += _table.MINT
__all__ += _SAME


def __lacking__(name: str) -> str | None:
    """Advice on a name that is not here: the function of `ops`, or what comes near."""
    if hasattr(ops, name):
        return f"`ops.{name}` does it, perhaps with other names of arguments"
    return did_you_mean(name, __all__)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name not in _table.MINT and name not in _SAME:
        advice = None if name.startswith("__") else __lacking__(name)
        text = f"module {__name__!r} has no attribute {name!r}" + (f": {advice}" if advice else "")
        raise AttributeError(text, name=name, obj=sys.modules[__name__])
    value = _table.of_mint(name) if name in _table.MINT else getattr(ops, name)
    return globals().setdefault(name, value)  # another thread may have made it meanwhile


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
