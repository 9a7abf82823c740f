"""What values and the rules of functions see of the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from ...ir.build import Builder
from ...ir.core import Function, Module, Value
from ...source import Loc
from ..guards.outside import Outside
from .frames import Frame
from .values import AttributeVar, TensorVar


class Diverged(Exception):
    """The path being compiled ends here: it raises at run time."""


@dataclass(frozen=True)
class Options:
    """How loops with a known number of trips are compiled (python_subset section 5), and how much is rewritten."""

    unroll_limit: int = 8
    unroll_max: int = 1024
    optimize: int | None = None
    backend: str = ""
    check_nonfinite: bool | str | None = None  # None: as the context says
    dynamic: bool | None = None  # whether sizes are symbolic: where calls differ, or (True) from the first call on


@dataclass
class Program:
    """The IR being made: the module, its entry with the builder of that, and what was found outside, as Values."""

    module: Module
    entry: Function
    builder: Builder
    captured: list[Value] = field(default_factory=list)


@dataclass
class Region:
    """Changes made to mutable compile-time objects since the region began: what they held then."""

    start: int
    saved: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    #: where the first of these changes was made
    first_change: Loc | None = None


class _Attributes(Protocol):
    """Attributes of objects from outside, which compiled code may write (see `effects.attributes`)."""

    def held_by(self, owner: Any, name: str) -> AttributeVar | None: ...
    def is_written(self, owner: Any, name: str | None = None) -> bool: ...
    def read(self, slot: AttributeVar) -> Any: ...
    def write(self, owner: Any, name: str, value: Any) -> None: ...
    def delete(self, owner: Any, name: str) -> None: ...
    def check_elements(self, container: Any) -> None: ...


class _Containers(Protocol):
    """Containers from outside, which compiled code may change (see `effects.outside_containers`)."""

    def open_for_change(self, owner: Any) -> None: ...
    def of_outside(self, local: Any) -> Any: ...
    def note_assigned(self, local: Any, index: Any) -> None: ...


class _Snapshots(Protocol):
    """Parameters that are assigned (see `effects.snapshots`)."""

    def note_write(self, state: str) -> None: ...
    def note_read(self, x: Any, loc: Loc | None) -> None: ...


class _Effects(Protocol):
    """The state of the call, which values change only here (see `effects.effects`)."""

    in_backward: bool

    @property
    def attributes(self) -> _Attributes: ...
    @property
    def containers(self) -> _Containers: ...
    @property
    def snapshots(self) -> _Snapshots: ...
    def check_writable(self, box: TensorVar) -> None: ...
    def refuse_collected(self, x: Any) -> None: ...
    def write(self, box: TensorVar, value: Value) -> None: ...
    def change(self, obj: Any) -> None: ...
    def touch(self, obj: Any) -> None: ...
    def region(self) -> AbstractContextManager[Region]: ...
    def export(self, state: str) -> bool: ...


class ValueContext(Protocol):
    """What values and rules get of the interpreter: where they are, and what they may ask of it."""

    @property
    def options(self) -> Options: ...
    @property
    def program(self) -> Program: ...
    @property
    def outside(self) -> Outside: ...
    @property
    def effects(self) -> _Effects: ...
    @property
    def frame(self) -> Frame: ...
    @property
    def here(self) -> Loc | None: ...
    @property
    def differentiated(self) -> bool: ...

    def call(self, fn: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """``fn(*args, **kwargs)`` on abstract values."""

    def call_python(self, fn: Any, args: list[Any], kwargs: dict[str, Any], method_of: Any = None) -> Any:
        """The call of a Python function, compiled into the current place."""

    def call_closure(self, closure: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """The call of a function that compiled code defined."""

    def call_cell(self, cell: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """The call of a Cell, with its hooks, its float type and its derivative."""

    def call_with_rule(self, *args: Any) -> Any:
        """A call with a user's derivative; see `derivatives.custom.call_with_rule`."""

    def native(self, fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any] | None = None) -> Any:
        """Runs a function of this package on Values: it emits ops."""

    def unwrap(self, x: Any) -> Any:
        """What a function of this package gets for an abstract value: Values for Tensors."""

    def is_tensor(self, x: Any) -> bool:
        """`values.is_tensor`, for rooms that import nothing of this one."""

    def branch(
        self, condition: Value, then: Callable[[], Any], other: Callable[[], Any], *, name: str = "the value"
    ) -> Any:
        """Both branches, compiled from the same state and joined; gives the joined value."""

    def each(self, iteration: Any, trip: Callable[[Any], Any], *, collects: bool = True, flat: bool = False) -> Any:
        """A loop over as many elements as run time knows: what its trips give as a list (see `collected.each`)."""

    def check(self, condition: Value, exception: Any) -> None:
        """Emits the raising of an exception where a condition does not hold at run time."""

    def raise_at_run_time(self, exception: Any) -> None:
        """Emits the raising of an exception, which ends the path."""

    def attribute_after_forward(self, owner: Any, name: str) -> Any:
        """``owner.name`` in a block that runs in the backward pass."""
