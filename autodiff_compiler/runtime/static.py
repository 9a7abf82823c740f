"""Queries of Cells whose answers are constants for compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["static_query"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def static_query(method: _Function) -> _Function:
    """Marks a method of a Cell that runs while compiling; code is compiled again when its answer changes.

    It returns existing objects (Parameters, Cells, names) in a list, dict, view or iterator; every change of an answer
    must move the epoch.
    """
    method.__graph_query__ = True  # type: ignore[attr-defined]
    return method
