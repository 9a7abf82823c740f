"""What compiled code does besides computing: the only owner of mutation, aliases and write-back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from ...errors import SideEffectError
from ...ir.core import Value
from ...ir.types import TensorType
from ...runtime.parameter import Parameter
from ...runtime.tensor import Tensor
from ..guards.outside import Outside, here
from ..report.report import Report
from ..variables.changing import serial_now
from ..variables.interpreter import Program, Region, ValueContext
from ..variables.values import COLLECTED, EITHER, StateVar, TensorVar
from .attributes import Attributes
from .host_code import HookChanges, HostRan
from .inputs import Foreknown, Inputs, follow, unroll_collecting
from .may_alias import Ties, chosen, unknown
from .outside_containers import OutsideContainers
from .snapshots import Snapshots


class Effects:
    """The effects of one compilation, and how values from outside become part of it (see `guards.outside.Found`)."""

    def __init__(self, known: Foreknown, program: Program) -> None:
        self.known = known
        #: whether some loop collects what it appends to lists
        self.collects = False
        self._program = program
        self.outside = Outside(program.module, self)
        self.regions: list[Region] = []
        self.ties = Ties()
        self.snapshots = Snapshots()
        self.inputs = Inputs(known)
        self.containers = OutsideContainers(known, self.outside)
        self.attributes = Attributes(known, self.outside, self.containers, self.touch)
        #: whether a block that runs in the backward pass is being compiled
        self.in_backward = False
        #: variables that such a block read, and the serial from which on frames are its own (see `after_forward`)
        self.late_reads: list[Any] = []
        self.backward_since = 0
        #: the state cells of attributes that a backward block reads, and whose they are (see `after_forward`)
        self.cells: dict[tuple[int, str], list[str]] = {}
        self.cell_owners: dict[tuple[int, str], tuple[Any, str]] = {}
        self.hooks = HookChanges(known)
        self.host_ran = HostRan()
        #: what was written to arguments and attributes by the places where the program may stop (see `commits`)
        self.sites: dict[Any, Any] = {}

    # ------------------------------------------------------------------------------------------- found outside
    def captured(self, type_: TensorType, name: str, source: Tensor | None, kind: type | None = None) -> Any:
        """The abstract value of a Tensor or number found outside: one more argument of the entry."""
        value = Value(type_, self._program.entry.body, -1, name)  # gets its index when all arguments are known
        self._program.captured.append(value)
        return self.inputs.add(value, source, kind)

    @staticmethod
    def parameter(name: str, type_: TensorType, source: Parameter) -> StateVar:
        """The abstract value of a Parameter found outside."""
        return StateVar(name, type_, source)

    def stands_for(self, value: Any) -> bool:
        """Whether a value from outside is or holds a container that compiled code changes."""
        return self.containers.holds(value)

    def opened(self, value: Any, key: tuple[Any, ...], what: str, fetch: Callable[[], Any]) -> Any:
        """What stands in compiled code for such a value."""
        return self.containers.opened(value, key, what, fetch)

    def note_read(self, value: Any, key: tuple[Any, ...]) -> None:
        """Notes a read from outside; refuses those that would see another content than the program has."""
        self.host_ran.read(key)
        if self.in_backward and self.containers.holds(value):
            raise SideEffectError(
                "code of the backward pass reads a container that compiled code changes",
                code="AC1602",
                hint="give it what it needs by an argument, or keep that in an attribute of a Cell",
            )
        self.hooks.note_read(value, key)

    # ------------------------------------------------------------------------------------------- backward pass
    @property
    def scouting(self) -> bool:
        """Whether this compilation only finds out what attributes hold at the end: backward blocks are left out."""
        return self.known.scouting

    @contextmanager
    def backward(self) -> Iterator[None]:
        """What is compiled inside runs in the backward pass."""
        outer = self.in_backward, self.backward_since
        self.in_backward, self.backward_since = True, serial_now()
        try:
            yield
        finally:
            self.in_backward, self.backward_since = outer

    # ------------------------------------------------------------------------------------------- mutation
    def check_writable(self, box: TensorVar) -> None:
        """Refuses writes to a Tensor that somebody may hold who would not see them."""
        if box.locked == EITHER:
            follow(self.known)
        self.refuse_collected(box)
        if box.locked:
            raise SideEffectError(
                f"an element of a Tensor that {box.locked} cannot be assigned in compiled code",
                code="AC1602",
                hint="copy it first: `x = x.copy()`, and return the copy",
            )

    def refuse_collected(self, x: Any) -> None:
        """Restarts the compilation without loops that collect lists, if one holds this object's value instead of it."""
        if x.locked == COLLECTED:
            unroll_collecting(self.known, "something that is in the list is changed in place")

    def write(self, box: TensorVar, value: Value) -> None:
        """Gives a Tensor other elements, for all names of it; an argument's are written back to the caller's Tensor."""
        self._set(box, value)
        for other, chains in self.ties.spread(box):
            self._set(other, chosen(box, other, chains, self.known))

    def _set(self, box: TensorVar, value: Value) -> None:
        self.check_writable(box)
        self.inputs.note_write(box)
        self.touch(box)
        box.value = value

    def change(self, obj: Any) -> None:
        """Notes that compiled code is about to change a list, dict, set or object that it made."""
        self.touch(obj)
        for other, _ in self.ties.spread(obj):
            self.touch(other)
            other.set_content(unknown(obj))

    def touch(self, obj: Any) -> None:
        """Notes what a mutable compile-time object holds, before that is replaced."""
        for region in reversed(self.regions):
            if id(obj) in region.saved or obj.serial >= region.start:
                return
            if not region.saved:
                region.first_change = here()
            region.saved[id(obj)] = (obj, obj.content())

    @contextmanager
    def region(self) -> Iterator[Region]:
        """Notes the objects changed inside, so that they can be put back or joined."""
        region = Region(serial_now())
        self.regions.append(region)
        try:
            yield region
        finally:
            self.regions.pop()

    @staticmethod
    def restore(region: Region) -> dict[int, tuple[Any, Any]]:
        """Puts the objects of a region back to what they held before; returns what they held at its end."""
        after = {}
        for key, (obj, before) in region.saved.items():
            after[key] = (obj, obj.content())
            obj.set_content(before)
        return after

    def export(self, state: str) -> bool:
        """Notes that an array shares the memory of a Parameter; False where a loop or branch has assigned that."""
        if self.regions and self.snapshots.written_since(state, self.regions[0].start):
            return False
        self.snapshots.exported.add(state)
        return True


class EffectContext(ValueContext, Protocol):
    """What effects see of the interpreter."""

    depth: int

    @property
    def effects(self) -> Effects: ...
    @property
    def report(self) -> Report: ...
