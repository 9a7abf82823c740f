"""What leaves a compiled function: the structures of values, and the results of the program that fill them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import StaticValueError, UnsupportedSyntaxError
from ..ir.core import Value
from .lowering import Lowering
from .values import (
    ArrayVar,
    LocalDict,
    LocalList,
    LocalObject,
    StateVar,
    TensorVar,
    Text,
    Weak,
    elements,
    rebuild,
    usable,
)

__all__ = ["Arg", "Copied", "Out", "State", "structures"]


@dataclass(frozen=True)
class Out:
    """Result number `index`; a Python number of `kind` unless None."""

    index: int
    kind: type | None = None


@dataclass(frozen=True)
class Arg:
    """Input number `index` (of the arguments' dynamic leaves and then what was captured): the caller's own object.

    One that stands for a Python number has its `kind`.
    """

    index: int
    kind: type | None = None


@dataclass(frozen=True, eq=False)
class Copied:
    """A constant array: every call gets one of its own."""

    array: Any


@dataclass(frozen=True)
class State:
    """A Parameter returned as it is."""

    source: Any


def structures(lowering: Lowering, returned: list[Any]) -> tuple[list[Any], list[Value]]:
    """The structures of the returned value and of what else leaves the call, and the Values that the entry returns."""
    outs: list[Value] = []
    places: dict[int, int] = {}
    inputs, arguments = lowering.inputs.number, len(lowering.entry.args)

    def out(x: Any, value: Value, kind: type | None) -> Out:
        if id(x) not in places:  # one Tensor returned twice is one object, two equal Tensors are two
            places[id(x)] = len(outs)
            outs.append(value)
        return Out(places[id(x)], kind)

    def leaf(x: Any) -> Any:
        place = inputs.get(id(x))
        if place is not None and (type(x) is TensorVar or place < arguments):
            return Arg(place, x.kind if type(x) is Weak else None)
        if type(x) is TensorVar:
            lowering.snapshots.note_read(x, lowering.here)
            return out(x, x.value, None)
        if type(x) is Weak:
            return out(x, x.value, x.kind)
        if type(x) is ArrayVar:
            return out(x, x.value, x.kind)
        if isinstance(x, np.ndarray):
            return Copied(x)
        if type(x) is StateVar:
            return State(x.source)
        if hasattr(x, "static_items"):
            raise UnsupportedSyntaxError(
                "an iterator cannot leave compiled code", code="AC1106", hint="return a list of its elements"
            )
        return x

    made: dict[int, Any] = {}

    def structure(x: Any) -> Any:
        """The structure, in which one list stands for every place of one list."""
        if type(x) is Text:
            raise StaticValueError(
                "a str known only at run time cannot leave compiled code", hint="print it there, or return its parts"
            ).about(x)
        if isinstance(x, LocalList | LocalDict | LocalObject):
            if id(x) not in made:
                made[id(x)] = rebuild(x, [structure(i) for i in elements(usable(x))])
            return made[id(x)]
        items = elements(x)
        return leaf(x) if items is None else rebuild(x, [structure(i) for i in items])

    return [structure(x) for x in returned], outs
