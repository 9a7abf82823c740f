"""`unroll` and `keep`: how compiled code runs a loop; in eager mode both are the identity."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

__all__ = ["keep", "unroll"]

T = TypeVar("T")


def unroll(iterable: Iterable[T]) -> Iterable[T]:
    """Marks a loop to be unrolled, whatever its number of trips (which must be known at compile time).

    >>> [i for i in unroll(range(3))]
    [0, 1, 2]
    """
    return iterable


def keep(iterable: Iterable[T]) -> Iterable[T]:
    """Marks a loop to be kept as a loop; LoopError (AC1502) says why where that is impossible.

    >>> [i for i in keep(range(3))]
    [0, 1, 2]
    """
    return iterable


unroll.__graph_name__ = "unroll"  # type: ignore[attr-defined]
keep.__graph_name__ = "keep"  # type: ignore[attr-defined]
