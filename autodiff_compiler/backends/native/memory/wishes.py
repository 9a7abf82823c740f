"""Where values are wanted before they are written, and how many buffers the versions of a carry have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from ....ir.core import Value
from ..codegen.values import Array, Operand
from ..jit.machine import Machine

__all__ = ["Carried", "Keeping", "OneBuffer", "Place", "too_dear"]

#: Bytes that are copied in no time.
_SMALL = 4096
#: Copies take at most one part of so many of the time of what is around them, where arrays are larger.
_SHARE = 8


def too_dear(machine: Machine, nbytes: int, cost: int) -> bool:
    """Whether copying an array takes too much of estimated nanoseconds."""
    return nbytes > _SMALL and 2 * nbytes // machine.vector_bytes * _SHARE > cost


@dataclass
class Keeping:
    """What is decided for the whole program about arrays that control flow hands on.

    `one`: carries keep one buffer (see `one_place`), but for `dear` ones, which would be copied for too long.
    `moves`: what arms of `if`s yield is copied to one buffer for each result (see `moves`).  `turns`: whether there are
    carries with two buffers that change places.
    """

    one: bool = False
    moves: bool = False
    dear: set[Value] = field(default_factory=set)
    turns: bool = False


class OneBuffer(Protocol):
    """A carry that keeps one buffer."""

    def settle(self, value: Value) -> None:
        """Copies a next version that was made elsewhere, if nobody needs this one."""

    def needs_copy(self, operand: Operand) -> bool:
        """Whether a next version lies where it cannot stay, or may."""


class Carried:
    """The next version of a carry that is an array: `arg` is the version now, `following` where the next one goes.

    `in_place`: whoever writes it reads the old version element by element or not at all, and nobody reads that later.
    `changed`: all that a trip does with it is to change some elements, on each of its paths.
    `one`: the carry, if there is no other place for the next version than that of this one.
    """

    def __init__(self, arg: Value, following: Array, one: OneBuffer | None = None) -> None:
        self.arg, self.following, self.changed, self.in_place = arg, following, False, False
        self.one = one


class Place(NamedTuple):
    """Where a value is wanted; `fixed`: if it lies elsewhere it will be copied."""

    array: Array
    fixed: bool
    carried: Carried | None = None
