"""Questions about an object's parts whose answers compiled code takes as constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["static_query"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def static_query(method: _Function) -> _Function:
    """Marks a method of a Cell: compiled code runs it while compiling, and anew once its answer would be another.

    It answers with objects that are there already (Parameters, Cells, names), in a list, a dict, a view or an iterator;
    every change of an answer moves the epoch.
    """
    method.__graph_query__ = True  # type: ignore[attr-defined]
    return method
