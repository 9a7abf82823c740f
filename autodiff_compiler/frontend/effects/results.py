"""What leaves a compiled function: the structures of values, and the results of the program that fill them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...errors import CompileError, LoopError, RecursionDepthError, UnsupportedSyntaxError
from ...ir.core import Value
from ...ir.primitive import trace
from ..variables import cells
from ..variables.base import Variable, kind, variable_of
from ..variables.changing import is_aliased
from ..variables.rows import rows_of
from ..variables.structure import elements, form_of, rebuild
from ..variables.unions import may_be_undefined, of_rank
from ..variables.values import TensorVar, describe, is_box, usable
from .effects import EffectContext
from .may_alias import where
from .outside_containers import Standing


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
class ByRank:
    """A Tensor whose rank the result `rank` is: the structures of it by ranks."""

    rank: Out
    ways: dict[int, Any]


@dataclass(frozen=True, eq=False)
class Unstacked:
    """A list of the slices of result number `index` along its first dimension, which are Tensors or Python numbers."""

    index: int
    numbers: bool


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


@kind(Standing)
class _StandingVariable(Variable):
    """An object from outside, which leaves the call as itself."""

    __slots__ = ()

    def result(self, out: Any) -> Any:
        return self.value


#: What stands for a structure while it is made.
_UNFINISHED = object()


def structures(lowering: EffectContext, returned: list[Any], kept: list[Any]) -> tuple[list[Any], list[Value]]:
    """The structures of what is returned and of what objects from outside keep, and the Values that the entry gives."""
    made = _Structures(lowering)
    try:
        found = [made.structure(x) for x in returned]
        made.is_returned = False
        return [*found, *(made.structure(x) for x in kept)], made.outs
    except CompileError as error:
        raise error.at(lowering.report.returned_at) from None


class _Structures:
    """Makes the structures, and gathers the Values that they need (see `variables.base.Results`)."""

    def __init__(self, lowering: EffectContext) -> None:
        self._lw = lowering
        self.outs: list[Value] = []
        self._places: dict[int, int] = {}
        self._inputs, self._arguments = lowering.effects.inputs.number, len(lowering.program.entry.args)
        self._tensors: dict[int, Any] = {}
        self._made: dict[int, Any] = {}
        #: whether it is of the returned value, and not of what objects from outside keep
        self.is_returned = True

    def structure(self, x: Any) -> Any:
        """The structure, in which one list stands for every place of one list."""
        return self._made_here(x) if is_aliased(x) and not is_box(x) else variable_of(x).result(self)

    def _made_here(self, x: Any) -> Any:
        """A container that compiled code made, or that stands for one from outside."""
        opened = self._lw.effects.containers.of_outside(x)
        if opened is not None:
            return opened.place
        if id(x) not in self._made:
            self._made[id(x)] = _UNFINISHED
            self._made[id(x)] = self.known(usable(x))
        if self._made[id(x)] is _UNFINISHED:
            raise RecursionDepthError(
                f"{describe(x)} that holds itself cannot leave compiled code",
                hint="return it without the way back, or build it outside of the function",
            )
        return self._made[id(x)]

    # ------------------------------------------------------------------------------------------- asked by values
    def tensor(self, x: Any) -> Any:
        place = self._inputs.get(id(x))
        if place is not None and x.value not in self._lw.effects.inputs.bases:  # the caller's own has not these hooks
            return Arg(place)
        if id(x) not in self._tensors:
            self._lw.effects.snapshots.note_read(x, self._lw.here)
            self._tensors[id(x)] = self._chosen(x)
        return self._tensors[id(x)]

    def number(self, x: Any) -> Any:
        place = self._inputs.get(id(x), self._arguments)
        return Arg(place, x.kind) if place < self._arguments else self._out(x, x.value, x.kind)

    def size(self, x: Any, value: Value) -> Any:
        return self._out(x, value, int)

    def union(self, x: Any) -> Any:
        ways = {rank: variable_of(self._defined(x, rank, way)).result(self) for rank, way in x.by_rank.items()}
        return ByRank(self._out(x.rank, x.rank.value, int), ways)

    def array(self, x: Any) -> Any:
        return self._out(x, x.value, x.kind) if x.owner is None else Shared(self.structure(x.owner))

    def constant_array(self, x: Any) -> Any:
        return Copied(x)

    def parameter(self, x: Any) -> Any:
        return State(x.source)

    def known(self, x: Any) -> Any:
        if hasattr(type(x), "static_items"):
            raise UnsupportedSyntaxError(
                f"an iterator cannot leave compiled code, here an object of the class {getattr(x, 'name', 'range')}",
                code="AC1106",
                hint="return a list of its elements; instead of a generator expression, a list comprehension",
            )
        rows = rows_of(x)
        if rows is not None and not self.is_returned:
            variable_of(rows).settle_length()
            raise LoopError(
                "a list whose length is known only at run time cannot leave compiled code in an object from outside",
                code="AC1504",
                hint="return it, or keep one Tensor: `ops.stack` of it",
            )
        if rows is not None:
            return Unstacked(self._out(rows, rows.value, None).index, rows.number is not None)
        form_of(x).check_leaving(x)
        items = elements(x)
        return cells.leaving(self._lw, x) if items is None else rebuild(x, [self.structure(i) for i in items])

    def _defined(self, union: Any, rank: int, x: Any) -> Any:
        """A Tensor of a union, with a value where that has another rank: every result of a program has one."""
        if not may_be_undefined(x):
            return x
        made = TensorVar(of_rank(union, rank, x.value))
        self._lw.effects.ties.add(made, x, union.has_rank(rank), scope=trace.builder.block)
        return made

    def _out(self, x: Any, value: Value, number: type | None) -> Out:
        if id(x) not in self._places:  # one Tensor returned twice is one object, two equal Tensors are two
            self._places[id(x)] = len(self.outs)
            self.outs.append(value)
        return Out(self._places[id(x)], number)

    def _chosen(self, x: TensorVar) -> Any:
        """What the caller gets for a Tensor that may be an input, or one that it gets already."""
        ways, inputs = [], self._inputs
        for other, chains in self._lw.effects.ties.spread(x):
            known = Arg(inputs[id(other)]) if id(other) in inputs else self._tensors.get(id(other))
            holds = where(chains, self._lw.effects.known) if known is not None and is_box(other) else None
            if holds is not None:
                ways.append((self._out(holds, holds, None).index, known))
        new = self._out(x, x.value, None)
        return Chosen(tuple(ways), new) if ways else new
