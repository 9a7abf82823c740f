"""The steps that a program is made of, and `Run`: one execution, with the block of every value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from ...errors import InternalCompilerError
from .arrays import uploaded
from .device import Block, Device
from .emit import Buffer, Call, Ref
from .launch import Placed


class SeqKey:
    """A sequence: a Python list, one entry per trip."""

    __slots__ = ()


Key: TypeAlias = "Buffer | SeqKey"
#: A value as the compiler knows it: a view, a sequence, a tuple of them, or None if it is undefined.
Operand: TypeAlias = "Ref | SeqKey | tuple[Any, ...] | None"
Frame: TypeAlias = dict[Any, Any]


def keys_of(operand: Operand) -> Iterator[Key]:
    """The keys of a value in the frame: one for a tensor or sequence, several for a tuple."""
    if isinstance(operand, Ref):
        yield operand.buffer
    elif isinstance(operand, tuple):
        for x in operand:
            yield from keys_of(x)
    elif operand is not None:
        yield operand


def taken(frame: Frame, operand: Operand) -> Any:
    """An operand's value in a run: a block, a list, or a tuple of them."""
    if isinstance(operand, tuple):
        return tuple([taken(frame, x) for x in operand])
    return None if operand is None else frame.get(operand.buffer if isinstance(operand, Ref) else operand)


def given(frame: Frame, operand: Operand, value: Any) -> None:
    """Sets an operand's value in a run."""
    if isinstance(operand, tuple):
        for x, v in zip(operand, value if value is not None else [None] * len(operand), strict=True):
            given(frame, x, v)
    elif operand is not None and value is not None:
        frame[operand.buffer if isinstance(operand, Ref) else operand] = value


@dataclass
class Segment:
    """Operators in order.  `made`: buffers that other steps read, allocated first; `offsets`: those in the arena.

    `outside`: all buffers that do not lie in the arena.
    """

    calls: list[Call]
    made: list[Buffer] = field(default_factory=list)
    outside: list[Buffer] = field(default_factory=list)
    offsets: dict[Buffer, int] = field(default_factory=dict)
    arena: int = 0
    dead: list[Key] = field(default_factory=list)


@dataclass
class Host:
    """A function that the host runs between segments: operands are downloaded, results uploaded."""

    name: str
    run: Callable[..., Sequence[Any]]
    operands: list[Operand]
    results: list[Buffer]
    loc: str
    #: a `Commit` (see `runtime.commits`): it runs only if an exception follows, or a step that `sees`
    commit: bool = False
    #: a host function that reads states written before it
    sees: bool = False
    dead: list[Key] = field(default_factory=list)


@dataclass
class Bind:
    """Binds names to values; elements of tuples and sequences too."""

    run: Callable[[Frame], None]
    reads: list[Key]
    makes: list[Key]
    dead: list[Key] = field(default_factory=list)


@dataclass
class Collective:
    """What the stream does together with those of other processes; `run` queues it."""

    name: str
    run: Callable[[Run], None]
    reads: list[Key]
    makes: list[Key]
    loc: str
    dead: list[Key] = field(default_factory=list)


@dataclass
class Branch:
    """One of two lists of steps, by a bool on the device."""

    test: Ref
    arms: tuple[list[Any], list[Any]]
    makes: list[Key]
    loc: str
    dead: list[Key] = field(default_factory=list)


@dataclass
class Loop:
    """A loop: `run` drives it, and calls back to execute its blocks, lists of steps."""

    run: Callable[[Execute, Run], None]
    blocks: list[list[Any]]
    reads: list[Key]
    makes: list[Key]
    loc: str
    dead: list[Key] = field(default_factory=list)


Step: TypeAlias = "Segment | Host | Bind | Collective | Branch | Loop"
#: Runs steps in order.
Execute: TypeAlias = "Callable[[Sequence[Any], Run], None]"


class Run:
    """One execution of a program, with the values of its frame."""

    __slots__ = ("commits", "device", "frame")

    def __init__(self, device: Device, frame: Frame) -> None:
        self.device, self.frame = device, frame
        #: pending commits, with the values of their operands
        self.commits: dict[int, tuple[Host, Frame]] = {}

    def note(self) -> None:
        """Runs the pending commits."""
        waiting, self.commits = self.commits, {}
        for step, then in waiting.values():
            before = Run(self.device, then)
            step.run(*[before.fetched(x) for x in step.operands])

    def block(self, buffer: Buffer) -> Block:
        """The block of a value; zeros for an undefined one, whose uses are on paths that are not taken."""
        found: Block | None = self.frame.get(buffer)
        if found is None:
            if not buffer.optional:
                raise InternalCompilerError(f"a value is read that nothing made: {buffer.label or 'it has no name'}")
            self.store(np.zeros(buffer.nbytes, np.uint8), buffer)
            found = self.frame[buffer]
        return found

    def placed(self, x: Ref, segment: Segment | None = None, arena: int = 0) -> Placed:
        """A view with the address that it has in this run."""
        at = segment.offsets.get(x.buffer) if segment is not None else None
        address = self.block(x.buffer).address if at is None else arena + at
        elements = x.buffer.nbytes // x.dtype.itemsize
        return Placed(address, elements, x.dtype, x.shape, x.strides, x.offset)

    def fetch(self, x: Ref) -> np.ndarray[Any, Any]:
        """A value as an ndarray; waits for the device, unless the host has a copy."""
        block = self.block(x.buffer)
        if block.known is not None and block.known.dtype == x.dtype.numpy:
            raw = block.known
        else:
            raw = np.empty(x.buffer.nbytes // x.dtype.itemsize, x.dtype.numpy)
            self.device.download(block.address, raw)
        steps = [s * raw.itemsize for s in x.strides]
        view = np.lib.stride_tricks.as_strided(raw[x.offset :], x.shape, steps, writeable=False)
        return np.array(view)

    def fetched(self, x: Operand) -> Any:
        """`fetch` for tuples, too."""
        if isinstance(x, Ref):
            return self.fetch(x)
        if isinstance(x, tuple):
            return tuple(map(self.fetched, x))
        if x is None:
            return None
        raise InternalCompilerError("a sequence cannot be given to the host")

    def store(self, array: np.ndarray[Any, Any], buffer: Buffer) -> None:
        """Uploads an array to a new block for a buffer."""
        self.frame[buffer] = uploaded(array, self.device, buffer.label)
