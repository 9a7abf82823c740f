"""Where values are wanted before they are written, and how many buffers the versions of a carry have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from ....ir.core import Value
from ..codegen.values import Array

__all__ = ["Carried", "Keeping", "Place"]


@dataclass
class Keeping:
    """What is decided for the whole program about carries that are arrays.

    `one`: they keep one buffer (see `one_place`), but for `dear` ones, which would be copied for too long.  `turns`:
    whether there are some with two buffers that change places.
    """

    one: bool = False
    dear: set[Value] = field(default_factory=set)
    turns: bool = False


class Carried:
    """The next version of a carry that is an array: `arg` is the version now, `following` where the next one goes.

    `in_place`: whoever writes it reads the old version element by element or not at all, and nobody reads that later.
    `changed`: all that a trip does with it is to change some elements, on each of its paths.
    `settle`, if there is no other place for the next version than that of this one: copies one that was made elsewhere.
    """

    def __init__(self, arg: Value, following: Array, settle: Callable[[Value], None] | None = None) -> None:
        self.arg, self.following, self.changed, self.in_place = arg, following, False, False
        self.settle = settle


class Place(NamedTuple):
    """Where a value is wanted; `fixed`: if it lies elsewhere it will be copied."""

    array: Array
    fixed: bool
    carried: Carried | None = None
