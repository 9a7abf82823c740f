"""The protocol of backends: a module becomes a program; what a backend says of its ops and of the program's work."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from ..ir.core import Module, Op
from ..ir.sizes import Size
from .stacks import Bytes


@runtime_checkable
class Executable(Protocol):
    """A compiled module: called with the arrays of the entry function, it returns its results as a tuple.

    `run` is the entry itself; if it silences floating-point warnings, `run.__wrapped__` does not.  `overwrites`: the
    positions of arguments that their next versions are written over; they must not alias other arguments.
    """

    overwrites: tuple[int, ...]
    filename: str
    run: Any

    @property
    def source(self) -> str:
        """The program as text."""
        ...

    def __call__(self, *arrays: Any) -> tuple[Any, ...]: ...

    def save(self, path: str) -> None:
        """Writes the program (and its large constants) where it can be run again."""
        ...


class SilentExecutable:
    """Base of executables whose code gives no floating-point warnings: nothing need silence them."""


@dataclass(frozen=True)
class Coverage:
    """How a backend runs the ops of a module, by their names; `missing`: why it cannot run others.

    >>> str(Coverage({"mul": "inline"}, {"grad": "must be expanded before"}))
    'mul: inline\\ngrad: NOT COVERED (must be expanded before)'
    """

    ways: dict[str, str]
    missing: dict[str, str]

    @property
    def complete(self) -> bool:
        return not self.missing

    def __str__(self) -> str:
        lines = [f"{name}: {way}" for name, way in self.ways.items()]
        return "\n".join(lines + [f"{name}: NOT COVERED ({why})" for name, why in self.missing.items()])


@dataclass(frozen=True)
class Move:
    """Bytes that an op reads from memory and writes there; each element counts once."""

    op: Op | None
    read: Size
    written: Size


@dataclass(frozen=True)
class Piece:
    """A part of a program that runs as a whole: a fused loop, a call, or control flow.

    `calls`: how many Python functions are called to run it.  `scalar`: it is instructions on scalars.  `blocks`: the
    pieces of the blocks of an op of control flow.
    """

    ops: tuple[Op, ...]
    moves: tuple[Move, ...] = ()
    calls: int = 0
    scalar: bool = False
    blocks: tuple[tuple[Piece, ...], ...] = ()


@dataclass(frozen=True)
class Storage:
    """Bytes a program takes besides its arguments and results.

    `arena`: for intermediate values; `stacks`: for sequences that loops collect.  `alive`: what is live in the arena at
    the worst step; None where that is not known.
    """

    constants: int
    arena: Size
    stacks: Bytes
    alive: Size | None = None


@dataclass(frozen=True)
class Work:
    """The work of one call of a program, as far as it is known before; `backend`: the name of the one that runs it.

    Where sizes of the module are symbolic, figures are formulas of the symbols.
    """

    backend: str
    pieces: tuple[Piece, ...]
    storage: Storage
    #: of machine code: how many functions its kernels are, and how many calls of them it has
    functions: int = 0
    calls: int = 0


def first_fit(size: int, taken: Iterable[tuple[int, int]], start: int = 0) -> int:
    """The lowest offset, from `start` on, at which `size` bytes fit between the ranges taken."""
    offset = start
    for first, end in sorted(taken):
        if offset + size <= first:
            break
        offset = max(offset, end)
    return offset


class Backend(Protocol):
    """Turns modules into programs for one kind of machine."""

    def compile(self, module: Module) -> Executable:
        """The module as a program; InternalCompilerError where an op is left that a pass should have removed."""
        ...

    def coverage(self, module: Module) -> Coverage:
        """How the ops of the module are run, and which cannot be."""
        ...

    def work(self, module: Module, *, in_place: Collection[str] = ()) -> Work:
        """The work of the module's program; `in_place` as in `compile`."""
        ...


class HostBackend(Backend, Protocol):
    """A backend whose programs run on the arrays of this process."""

    def compile(self, module: Module, *, in_place: Collection[str] = (), timed: bool = False) -> Executable:
        """`in_place`: states whose next versions may be written over the arguments (see `Executable.overwrites`).

        `timed`: the program has timers (see `timed.py`).
        """
        ...
