"""The entry's dynamic inputs: Tensors of the caller, which compiled code may write to.

The box of an argument or of a Tensor found outside stands for the caller's object.  What it holds in the end, if
that is not what it held at the entry, is written back.  Two inputs may be one object: then they share a box, and the
compiled code is valid for calls with the same pattern of equal inputs only.  Code that writes to no input need not
know, so boxes are shared from the first write on, or, where it comes too late, in a second compilation.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from ...ir.core import Value
from ..guards.outer_names import OuterNames
from ..variables.values import SymScalar, TensorVar


@dataclass(frozen=True)
class Foreknown:
    """What an earlier attempt at the same compilation found out too late."""

    #: an input is written, and some of the inputs are one Tensor
    aliased: bool = False
    #: alias tracking: loops carry along which of several Tensors a name holds
    following: bool = False
    #: why loops whose number of trips is known cannot collect what they append to lists, and are unrolled
    not_collected: str = ""
    #: the attributes (id of the object, name) whose numbers change, so they are known at run time only
    changing: frozenset[tuple[int, str]] = frozenset()
    #: the namespaces outside whose names are assigned, by id (see `guards.outer_names`)
    outer_names: dict[int, OuterNames] = field(default_factory=dict, compare=False)
    #: the containers from outside that are changed, by id; of the lists among them those that do more than grow; and
    #: the keys (with the id of the container) whose numbers change (see `outside_containers`)
    containers: frozenset[int] = frozenset()
    read: frozenset[int] = frozenset()
    numbers: frozenset[tuple[int, Any]] = frozenset()
    #: this compilation only looks for what attributes hold at the end; and what was found (see `after_forward`)
    scouting: bool = False
    finals: Mapping[tuple[int, str], Any] | None = None
    #: what hooks change of the objects outside (see `callbacks`)
    hooks_change: frozenset[Any] = frozenset()


class Again(BaseException):
    """Restarts the compilation with this knowledge."""

    def __init__(self, known: Foreknown) -> None:
        super().__init__()
        self.known = known


def follow(known: Foreknown) -> None:
    """Requires alias tracking (`Foreknown.following`); restarts the compilation with it on."""
    if not known.following:
        raise Again(replace(known, following=True))


def unroll_collecting(known: Foreknown, why: str) -> None:
    """Restarts the compilation without loops that collect what they append."""
    if not known.not_collected:
        raise Again(replace(known, not_collected=why))


class Inputs:
    """The dynamic leaves of the arguments in order, then what was found outside: their boxes and Values."""

    def __init__(self, known: Foreknown) -> None:
        self._known = known
        self._sharing = known.aliased
        self.boxes: list[Any] = []
        self._values: list[Value] = []
        self._sources: list[Any] = []
        self._identities: list[Hashable] = []
        self._first: dict[Hashable, int] = {}
        #: boxes that stand for others now, with their first Values and those others
        self._stand_ins: list[tuple[TensorVar, Value, Any]] = []
        #: the number of an input by the id of its box
        self.number: dict[int, int] = {}
        #: Values that are others with hooks, and those others
        self.bases: dict[Value, Value] = {}
        #: the hooks that some inputs must have, by their numbers
        self.hooks: dict[int, Any] = {}

    def add(self, value: Value, source: Any, kind: type | None = None, locked: str = "") -> Any:
        """The abstract value of one more input: a Tensor that is `source` now, or a Python number of a kind."""
        n = len(self.boxes)
        self._sources.append(source)  # kept alive, so that ids stay unique
        identity = ("number", n) if source is None else id(source)
        first = self._first.setdefault(identity, n)
        if first != n and self._sharing:
            box = self.boxes[first]
        else:
            box = TensorVar(value, locked) if kind is None else SymScalar(value, kind)
        if kind is None:
            box.serial = -1  # older than all that compiled code makes, wherever it is first met
        self.boxes.append(box)
        self._values.append(value)
        self._identities.append(identity)
        self.number.setdefault(id(box), n)
        return box

    def note_write(self, box: TensorVar) -> None:
        """Notes that a box is about to change; restarts the compilation if other inputs may be the same Tensor."""
        if id(box) not in self.number or self._sharing:
            return
        if len(self._first) < len(self.boxes):
            raise Again(replace(self._known, aliased=True))
        self._sharing = True

    def without_hooks(self, value: Value) -> Value:
        """The Value before its hooks."""
        return self.bases.get(value, value)

    def source(self, number: int) -> Any:
        """The caller's Tensor; None for what is no Tensor."""
        return self._sources[number]

    @property
    def pattern(self) -> tuple[int, ...] | None:
        """Which inputs are one object; None if that does not matter."""
        return pattern_of(self._identities) if self._sharing else None

    def written(self) -> list[tuple[int, Value]]:
        """The inputs that hold another Value than at the entry."""
        ends = {i: self.without_hooks(self.boxes[i].value) for i in self.number.values()}
        for box, value, original in self._stand_ins:
            if self.without_hooks(box.value) is not value and id(original) in self.number:
                ends[self.number[id(original)]] = self.without_hooks(box.value)
        return [(i, value) for i, value in ends.items() if value is not self._values[i]]

    @contextmanager
    def standing_in(self, pairs: Sequence[tuple[Any, Any]]) -> Iterator[None]:
        """Meanwhile boxes stand for others, as those of a differentiated function's arguments do for the caller's."""
        known = {id(box): original for box, _, original in self._stand_ins}
        before = self._stand_ins
        self._stand_ins = [*before, *((box, box.value, known.get(id(o), o)) for box, o in pairs)]
        try:
            yield
        finally:
            self._stand_ins = before


def pattern_of(identities: Sequence[Hashable]) -> tuple[int, ...]:
    """For each the number of the first that is equal to it."""
    first: dict[Hashable, int] = {}
    return tuple([first.setdefault(x, i) for i, x in enumerate(identities)])
