"""The interface of backends: compiling a module into a program, and the coverage of its ops."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from ..ir.core import Module, Op
from .stacks import Bytes
from .target import Target

__all__ = ["Backend", "Coverage", "Executable", "HostBackend", "Move", "Piece", "SilentExecutable", "Storage", "Work"]


@runtime_checkable
class Executable(Protocol):
    """A compiled module: called with the arrays of the entry function, it returns its results as a tuple.

    `run` is the entry itself; where it guards against floating-point warnings, `run.__wrapped__` does not.
    `overwrites`: the positions of the arguments (states) that it updates in place; they must share no memory with other
    arguments.
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
    """Base of executables whose code gives no floating-point warnings, so that nothing need guard against them."""


@dataclass(frozen=True)
class Coverage:
    """How a backend runs the ops of a module: the name of each op with the way it is run, or why it cannot be.

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
    read: int
    written: int


@dataclass(frozen=True)
class Piece:
    """A part of a program that runs as a whole: a loop over memory that ops share, a call, or control flow.

    `calls`: the number of Python functions it calls.  `scalar`: instructions on single numbers.  `blocks`: the pieces
    in the blocks of a control flow op, in the op's order.
    """

    ops: tuple[Op, ...]
    moves: tuple[Move, ...] = ()
    calls: int = 0
    scalar: bool = False
    blocks: tuple[tuple[Piece, ...], ...] = ()


@dataclass(frozen=True)
class Storage:
    """Bytes a program takes besides its arguments and results.

    `arena`: for values between arguments and results; `stacks`: for what loops leave behind trip by trip.  `alive`:
    what the arena must hold at the worst step; None where that is not known.
    """

    constants: int
    arena: int
    stacks: Bytes
    alive: int | None = None


@dataclass(frozen=True)
class Work:
    """The static description of a program's work per call, for estimates of cost.

    `backend`: the name of the one that runs it.
    """

    backend: str
    pieces: tuple[Piece, ...]
    storage: Storage


class Backend(Protocol):
    """Turns modules into programs for one kind of machine."""

    target: Target

    def compile(self, module: Module) -> Executable:
        """The module as a program; InternalCompilerError where an op is left that a pass should have removed."""
        ...

    def coverage(self, module: Module) -> Coverage:
        """Which ops of the module run natively, which fall back and which cannot run."""
        ...

    def work(self, module: Module, *, in_place: Collection[str] = ()) -> Work:
        """What the program of the module does when it is called; `in_place` as it was compiled with."""
        ...


class HostBackend(Backend, Protocol):
    """A backend whose programs run on the arrays of this process."""

    def compile(self, module: Module, *, in_place: Collection[str] = (), timed: bool = False) -> Executable:
        """The next versions of the states `in_place` may be written over the arguments: see `Executable.overwrites`.

        `timed`: the program measures what its parts take (see `timed`).
        """
        ...
