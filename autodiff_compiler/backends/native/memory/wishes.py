"""Requests for where values are to be written, and the choice between one buffer and two for a carry."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from ....ir.core import Value
from ....ir.sizes import Size, usual
from ..codegen.values import Array, Operand
from ..jit.machine import Machine

#: Copies of so many bytes are always cheap enough.
_SMALL = 4096
#: A copy of more may take at most 1/8 of the estimated time of the code around it.
_SHARE = 8


def too_dear(machine: Machine, nbytes: Size, cost: int) -> bool:
    """Whether copying an array takes too large a part of `cost`, estimated nanoseconds."""
    most = usual(nbytes)
    return most > _SMALL and 2 * most // machine.vector_bytes * _SHARE > cost


@dataclass
class Keeping:
    """How a whole program keeps the arrays that control flow passes on.

    `one`: carries have one buffer (see `one_place`), except `dear` ones, whose copies would take too long.  `moves`:
    arms of `if`s copy what they yield to one buffer for each result (see `moves`).  `turns` is found while lowering:
    whether a carry has two buffers, which are swapped.
    """

    one: bool = False
    moves: bool = False
    dear: set[Value] = field(default_factory=set)
    turns: bool = False


class OneBuffer(Protocol):
    """A carry with one buffer."""

    def settle(self, value: Value) -> None:
        """Copies the next version home if it lies elsewhere and this version is dead."""

    def needs_copy(self, operand: Operand) -> bool:
        """Whether the next version lies, or may lie, in memory that the next trip overwrites."""


class Carried:
    """The next version of an array carry: `arg` is this version, `following` where the next one is to be written.

    `in_place`: it is written over this version, element by element or after the last use.  `changed`: on each path a
    trip only updates elements of it.  `one`: the carry, if it has one buffer for both versions.
    """

    def __init__(self, arg: Value, following: Array, one: OneBuffer | None = None) -> None:
        self.arg, self.following, self.changed, self.in_place = arg, following, False, False
        self.one = one


class Place(NamedTuple):
    """Where a value is to be written; `fixed`: it is copied there if it was written elsewhere."""

    array: Array
    fixed: bool
    carried: Carried | None = None
