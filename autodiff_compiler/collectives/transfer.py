"""Collectives of NumPy arrays.

An array is C-contiguous, of a dtype of this package.  `out` is where the result goes, a new array without it; `at` is
the user's line, "file:line", for messages (without it, the line that calls); `group` is a `Group` or its name, and a
root is a number in the group.  Sums and products of float16 and bfloat16 are computed in float32 and rounded once; of
bools, sum and maximum are "or", product and minimum "and".  Each `start_...` returns a `Handle` at once, and its arrays
must stay as they are until it is waited for.

All of the group call the same one, in one order.  That is checked before any data moves, and after the start of one
that is not waited for; AC_CHECK_COLLECTIVES=0 leaves it out.  CollectiveError: the calls differ, a process has left or
died, or has not come in time (CollectiveTimeoutError).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import calls
from .group import Group
from .waiting import Handle

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_v",
    "barrier",
    "broadcast",
    "gather",
    "receive",
    "reduce",
    "reduce_scatter",
    "scatter",
    "send",
    "start_all_gather",
    "start_all_reduce",
    "start_all_to_all",
    "start_all_to_all_v",
    "start_barrier",
    "start_broadcast",
    "start_gather",
    "start_receive",
    "start_reduce",
    "start_reduce_scatter",
    "start_scatter",
    "start_send",
]

_Array = np.ndarray[Any, Any]
_Out = _Array | None


def all_reduce(x: _Array, op: str, group: Group | str, out: _Out = None, at: str = "") -> _Array:
    """The sum, prod, max or min over the processes, for all of them."""
    return calls.now(calls.all_reduce(x, op, group, out), at)


def start_all_reduce(x: _Array, op: str, group: Group | str, out: _Out = None, at: str = "") -> Handle:
    """`all_reduce` without waiting."""
    return calls.start(calls.all_reduce(x, op, group, out), at)


def all_gather(x: _Array, group: Group | str, out: _Out = None, at: str = "") -> _Array:
    """The arrays of all processes one behind the other along axis 0: shape (size * n, ...)."""
    return calls.now(calls.all_gather(x, group, out), at)


def start_all_gather(x: _Array, group: Group | str, out: _Out = None, at: str = "") -> Handle:
    """`all_gather` without waiting."""
    return calls.start(calls.all_gather(x, group, out), at)


def reduce_scatter(x: _Array, op: str, group: Group | str, out: _Out = None, at: str = "") -> _Array:
    """Of `all_reduce`, the equal part of axis 0 that belongs to this process."""
    return calls.now(calls.reduce_scatter(x, op, group, out), at)


def start_reduce_scatter(x: _Array, op: str, group: Group | str, out: _Out = None, at: str = "") -> Handle:
    """`reduce_scatter` without waiting."""
    return calls.start(calls.reduce_scatter(x, op, group, out), at)


def broadcast(x: _Array, root: int, group: Group | str, out: _Out = None, at: str = "") -> _Array:
    """The array of the root, for all; of the others' arrays only shape and dtype count, which are the same."""
    return calls.now(calls.broadcast(x, root, group, out), at)


def start_broadcast(x: _Array, root: int, group: Group | str, out: _Out = None, at: str = "") -> Handle:
    """`broadcast` without waiting."""
    return calls.start(calls.broadcast(x, root, group, out), at)


def reduce(x: _Array, op: str, root: int, group: Group | str, out: _Out = None, at: str = "") -> _Array:
    """The sum, prod, max or min over the processes, for the root; zeros for the others."""
    return calls.now(calls.reduce(x, op, root, group, out), at)


def start_reduce(x: _Array, op: str, root: int, group: Group | str, out: _Out = None, at: str = "") -> Handle:
    """`reduce` without waiting."""
    return calls.start(calls.reduce(x, op, root, group, out), at)


def all_to_all(x: _Array, group: Group | str, out: _Out = None, at: str = "") -> _Array:
    """Part i of axis 0 goes to process i, and the parts that come stand one behind the other; all parts are equal."""
    return calls.now(calls.all_to_all(x, group, out), at)


def start_all_to_all(x: _Array, group: Group | str, out: _Out = None, at: str = "") -> Handle:
    """`all_to_all` without waiting."""
    return calls.start(calls.all_to_all(x, group, out), at)


def all_to_all_v(
    x: _Array,
    send_counts: Sequence[int],
    receive_counts: Sequence[int],
    group: Group | str,
    out: _Out = None,
    at: str = "",
) -> _Array:
    """`all_to_all` of parts that may differ: `send_counts[i]` rows of axis 0 go to process i, so many come from it."""
    return calls.now(calls.all_to_all_v(x, send_counts, receive_counts, group, out), at)


def start_all_to_all_v(
    x: _Array,
    send_counts: Sequence[int],
    receive_counts: Sequence[int],
    group: Group | str,
    out: _Out = None,
    at: str = "",
) -> Handle:
    """`all_to_all_v` without waiting."""
    return calls.start(calls.all_to_all_v(x, send_counts, receive_counts, group, out), at)


def gather(x: _Array, root: int, group: Group | str, out: _Out = None, at: str = "") -> _Array:
    """`all_gather` for the root; zeros of that shape for the others."""
    return calls.now(calls.gather(x, root, group, out), at)


def start_gather(x: _Array, root: int, group: Group | str, out: _Out = None, at: str = "") -> Handle:
    """`gather` without waiting."""
    return calls.start(calls.gather(x, root, group, out), at)


def scatter(x: _Array, root: int, group: Group | str, out: _Out = None, at: str = "") -> _Array:
    """Of the root's array, the equal part of axis 0 that belongs to this process; of others' only the shape counts."""
    return calls.now(calls.scatter(x, root, group, out), at)


def start_scatter(x: _Array, root: int, group: Group | str, out: _Out = None, at: str = "") -> Handle:
    """`scatter` without waiting."""
    return calls.start(calls.scatter(x, root, group, out), at)


def send(x: _Array, to: int, tag: int, group: Group | str, at: str = "") -> None:
    """Sends an array to one process of the group, which calls `receive` with the same tag."""
    calls.now(calls.send(x, to, tag, group), at)


def start_send(x: _Array, to: int, tag: int, group: Group | str, at: str = "") -> Handle:
    """`send` without waiting."""
    return calls.start(calls.send(x, to, tag, group), at)


def receive(
    shape: tuple[int, ...], dtype: Any, source: int, tag: int, group: Group | str, out: _Out = None, at: str = ""
) -> _Array:
    """The array that a process of the group sends; CollectiveError if it has another shape or dtype."""
    return calls.now(calls.receive(shape, dtype, source, tag, group, out), at)


def start_receive(
    shape: tuple[int, ...], dtype: Any, source: int, tag: int, group: Group | str, out: _Out = None, at: str = ""
) -> Handle:
    """`receive` without waiting."""
    return calls.start(calls.receive(shape, dtype, source, tag, group, out), at)


def barrier(group: Group | str, at: str = "") -> None:
    """Returns when all of the group have called it."""
    calls.now(calls.barrier(group), at)


def start_barrier(group: Group | str, at: str = "") -> Handle:
    """`barrier` without waiting."""
    return calls.start(calls.barrier(group), at)
