"""MindSpore's operator classes for special functions, diagonals, distances and plain values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .operation import constant, operation

__all__: list[str] = []

_Function = Callable[..., Any]
_MAKERS: dict[str, Callable[..., _Function]] = {}
#: Classes without constants.
_FUNCTIONS: dict[str, _Function] = {}


_MAKERS |= {name: constant(function) for name, function in _FUNCTIONS.items()}
for _name, _make in _MAKERS.items():
    globals()[_name] = operation(_name, _make, __name__)
__all__ += _MAKERS
