"""The functions of `ops` by name: those of rows, and those that modules here write."""

from __future__ import annotations

from typing import Any

from ..surface.table import ROWS, public
from . import (
    aliases,
    array,
    basic,
    composite_functions,
    in_place,
    indexing,
    linalg,
    math,
    nn_func,
    python_values,
    random,
    spectral,
    state,
    vision,
)

__all__ = ["NAMES", "functions"]

_WRITTEN = (
    *(aliases, array, basic, composite_functions, in_place, indexing, linalg, math, nn_func, python_values),
    *(random, spectral, state, vision),
)
_WHERE = {name: module for module in _WRITTEN for name in module.__all__}

NAMES = ROWS.keys() | _WHERE.keys()


class _Functions:
    """`functions.name` is a function of `ops`, looked up at the first access; AttributeError: there is none."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(_WHERE.get(name, public), name)
        setattr(self, name, found)
        return found


functions = _Functions()
