"""What leaves a compiled function: the structures of values, and the results of the program that fill them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import CompileError, RecursionDepthError, StaticValueError, UnsupportedSyntaxError
from ...ir.core import Value
from ..variables import cells
from ..variables.structure import elements, rebuild
from ..variables.values import (
    ArrayVar,
    LocalDict,
    LocalList,
    LocalObject,
    LocalSet,
    StateVar,
    TensorVar,
    Text,
    Weak,
    describe,
    usable,
)
from .effects import EffectContext
from .may_alias import where
from .outside_containers import Standing

__all__ = ["Arg", "Chosen", "Copied", "Out", "Shared", "State", "structures"]


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
class Chosen:
    """One of several Tensors, chosen at run time: the first of which the result of a number is true, else a new one."""

    ways: tuple[tuple[int, Any], ...]
    otherwise: Out


@dataclass(frozen=True, eq=False)
class Copied:
    """A constant array: every call gets one of its own."""

    array: Any


@dataclass(frozen=True)
class Shared:
    """The array that `asnumpy` gives of a Tensor that leaves the call, or that the caller has: it shares the memory."""

    tensor: Any


@dataclass(frozen=True)
class State:
    """A Parameter returned as it is."""

    source: Any


#: What stands for a structure while it is made.
_UNFINISHED = object()


def structures(lowering: EffectContext, returned: list[Any]) -> tuple[list[Any], list[Value]]:
    """The structures of the returned value and of what else leaves the call, and the Values that the entry returns."""
    made = _Structures(lowering)
    try:
        return [made.structure(x) for x in returned], made.outs
    except CompileError as error:
        raise error.at(lowering.report.returned_at) from None


class _Structures:
    def __init__(self, lowering: EffectContext) -> None:
        self._lw = lowering
        self.outs: list[Value] = []
        self._places: dict[int, int] = {}
        self._inputs, self._arguments = lowering.effects.inputs.number, len(lowering.program.entry.args)
        self._tensors: dict[int, Any] = {}
        self._made: dict[int, Any] = {}

    def structure(self, x: Any) -> Any:
        """The structure, in which one list stands for every place of one list."""
        if type(x) is Text:
            raise StaticValueError(
                "a str known only at run time cannot leave compiled code", hint="print it there, or return its parts"
            ).about(x)
        if isinstance(x, LocalList | LocalDict | LocalSet) and (opened := self._lw.effects.containers.of_outside(x)):
            return opened.place
        if type(x) is Standing:
            return x
        if isinstance(x, LocalList | LocalDict | LocalObject):
            if id(x) not in self._made:
                self._made[id(x)] = _UNFINISHED
                self._made[id(x)] = rebuild(x, [self.structure(i) for i in elements(usable(x))])
            if self._made[id(x)] is _UNFINISHED:
                raise RecursionDepthError(
                    f"{describe(x)} that holds itself cannot leave compiled code",
                    hint="return it without the way back, or build it outside of the function",
                )
            return self._made[id(x)]
        items = elements(x)
        return self._leaf(x) if items is None else rebuild(x, [self.structure(i) for i in items])

    def _leaf(self, x: Any) -> Any:
        place = self._inputs.get(id(x))
        hooked = (
            type(x) is TensorVar and x.value in self._lw.effects.inputs.bases
        )  # the caller's own has not these hooks
        if place is not None and not hooked and (type(x) is TensorVar or place < self._arguments):
            return Arg(place, x.kind if type(x) is Weak else None)
        if type(x) is TensorVar:
            if id(x) not in self._tensors:
                self._lw.effects.snapshots.note_read(x, self._lw.here)
                self._tensors[id(x)] = self._chosen(x)
            return self._tensors[id(x)]
        if type(x) is Weak:
            return self._out(x, x.value, x.kind)
        if type(x) is ArrayVar and x.owner is not None:
            return Shared(self._leaf(x.owner))
        if type(x) is ArrayVar:
            return self._out(x, x.value, x.kind)
        if isinstance(x, np.ndarray):
            return Copied(x)
        if type(x) is StateVar:
            return State(x.source)
        if hasattr(type(x), "static_items"):
            raise UnsupportedSyntaxError(
                f"an iterator cannot leave compiled code, here an object of the class {getattr(x, 'name', 'range')}",
                code="AC1106",
                hint="return a list of its elements; instead of a generator expression, a list comprehension",
            )
        return cells.leaving(self._lw, x)

    def _out(self, x: Any, value: Value, kind: type | None) -> Out:
        if id(x) not in self._places:  # one Tensor returned twice is one object, two equal Tensors are two
            self._places[id(x)] = len(self.outs)
            self.outs.append(value)
        return Out(self._places[id(x)], kind)

    def _chosen(self, x: TensorVar) -> Any:
        """What the caller gets for a Tensor that may be an input, or one that it gets already."""
        ways, inputs = [], self._inputs
        for other, ties in self._lw.effects.ties.spread(x):
            known = Arg(inputs[id(other)]) if id(other) in inputs else self._tensors.get(id(other))
            holds = where(ties, self._lw.effects.known) if known is not None and type(other) is TensorVar else None
            if holds is not None:
                ways.append((self._out(holds, holds, None).index, known))
        new = self._out(x, x.value, None)
        return Chosen(tuple(ways), new) if ways else new
