"""What runs: segments of operators on the stream, and the host's part between them.

The host decides about branches and loops, so it reads their conditions; everything else it only queues.  Values live in
blocks of the device's pool from where they are made to their last use; what only one segment knows lies in its arena.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from ... import escape
from ...errors import InternalCompilerError, UnsupportedCallError
from ...whole_files import write_text
from . import launch
from .arrays import AscendArray, uploaded
from .device import Block, Device, current
from .emit import Buffer, Call, Ref
from .modes import Mode

__all__ = [
    "AscendProgram",
    "Bind",
    "Branch",
    "Frame",
    "Host",
    "Key",
    "Loop",
    "Operand",
    "Run",
    "Segment",
    "SeqKey",
    "Step",
    "given",
    "keys_of",
    "taken",
]


class SeqKey:
    """A sequence: a Python list, one entry per trip."""

    __slots__ = ()


Key: TypeAlias = "Buffer | SeqKey"
#: A value as the compiler knows it: a view, a sequence, a tuple of them, or None where nobody reads it.
Operand: TypeAlias = "Ref | SeqKey | tuple[Any, ...] | None"
Frame: TypeAlias = dict[Any, Any]


def keys_of(operand: Operand) -> Iterator[Key]:
    """The names that a value stands under at run time."""
    if isinstance(operand, Ref):
        yield operand.buffer
    elif isinstance(operand, tuple):
        for x in operand:
            yield from keys_of(x)
    elif operand is not None:
        yield operand


def taken(frame: Frame, operand: Operand) -> Any:
    """What an operand means in a run: a block, a list, or a tuple of them."""
    if isinstance(operand, tuple):
        return tuple([taken(frame, x) for x in operand])
    return None if operand is None else frame.get(operand.buffer if isinstance(operand, Ref) else operand)


def given(frame: Frame, operand: Operand, value: Any) -> None:
    """Gives an operand a meaning."""
    if isinstance(operand, tuple):
        for x, v in zip(operand, value if value is not None else [None] * len(operand), strict=True):
            given(frame, x, v)
    elif operand is not None and value is not None:
        frame[operand.buffer if isinstance(operand, Ref) else operand] = value


@dataclass
class Segment:
    """Operators in order.  `made`: buffers that others read, allocated first; `offsets`: where the rest lies.

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
    """A function of the host between segments: operands are fetched, results brought to the device."""

    name: str
    run: Callable[..., Sequence[Any]]
    operands: list[Operand]
    results: list[Buffer]
    loc: str
    #: notes what was written by now for an exception; it runs when there is one, or when somebody looks
    commit: bool = False
    #: runs a function that looks at what was written by now
    sees: bool = False
    dead: list[Key] = field(default_factory=list)


@dataclass
class Bind:
    """Names for values: `to` means from now on what `source` means; elements of tuples and sequences too."""

    run: Callable[[Frame], None]
    reads: list[Key]
    makes: list[Key]
    dead: list[Key] = field(default_factory=list)


@dataclass
class Branch:
    """One of two lists of steps, by a truth value of the device."""

    test: Ref
    arms: tuple[list[Any], list[Any]]
    makes: list[Key]
    loc: str
    dead: list[Key] = field(default_factory=list)


@dataclass
class Loop:
    """A loop: `run` drives it, its blocks are lists of steps."""

    run: Callable[[AscendProgram, Run], None]
    blocks: list[list[Any]]
    reads: list[Key]
    makes: list[Key]
    loc: str
    dead: list[Key] = field(default_factory=list)


Step: TypeAlias = "Segment | Host | Bind | Branch | Loop"


class Run:
    """One execution: where its values lie."""

    __slots__ = ("commits", "device", "frame")

    def __init__(self, device: Device, frame: Frame) -> None:
        self.device, self.frame = device, frame
        #: what notes earlier writes if an exception comes, with the values of its operands
        self.commits: dict[int, tuple[Host, Frame]] = {}

    def note(self) -> None:
        """Lets the steps run that note what was written."""
        waiting, self.commits = self.commits, {}
        for step, then in waiting.values():
            before = Run(self.device, then)
            step.run(*[before.fetched(x) for x in step.operands])

    def block(self, buffer: Buffer) -> Block:
        """Where a value lies.  One that only another path makes is zeros: what an operator makes of it is not used."""
        found: Block | None = self.frame.get(buffer)
        if found is None:
            if not buffer.optional:
                raise InternalCompilerError(f"a value is read that nothing made: {buffer.label or 'it has no name'}")
            self.store(np.zeros(buffer.nbytes, np.uint8), buffer)
            found = self.frame[buffer]
        return found

    def placed(self, x: Ref, segment: Segment | None = None, arena: int = 0) -> launch.Placed:
        """A view with the address that it has in this run."""
        at = segment.offsets.get(x.buffer) if segment is not None else None
        address = self.block(x.buffer).address if at is None else arena + at
        elements = x.buffer.nbytes // x.dtype.itemsize
        return launch.Placed(address, elements, x.dtype, x.shape, x.strides, x.offset)

    def fetch(self, x: Ref) -> np.ndarray[Any, Any]:
        """A value as an ndarray of the host; waits for it, unless it came from there."""
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
        """The same for tuples and sequences."""
        if isinstance(x, Ref):
            return self.fetch(x)
        if isinstance(x, tuple):
            return tuple(map(self.fetched, x))
        if x is None:
            return None
        raise InternalCompilerError("a sequence cannot be given to the host")

    def store(self, array: np.ndarray[Any, Any], buffer: Buffer) -> None:
        """Brings an array of the host to a new block for a buffer."""
        self.frame[buffer] = uploaded(array, self.device, buffer.label)


def _argument(run: Run, operand: Operand, x: Any) -> Any:
    """What a caller gives, as blocks.  What stands for a value of a path that was not taken is never read."""
    if isinstance(operand, Ref):
        if isinstance(x, Block):
            return x
        label = operand.buffer.label
        if x is None or tuple(x.shape) != operand.shape:
            return run.device.allocate(operand.buffer.nbytes, label)
        return AscendArray.of(x, run.device, label).block
    if isinstance(operand, tuple):
        return tuple([_argument(run, one, v) for one, v in zip(operand, x, strict=True)])
    return x


def _result(run: Run, x: Operand) -> Any:
    """A result for the caller; None for what belongs to a path that was not taken."""
    found = taken(run.frame, x)
    return AscendArray(found, x.dtype, x.shape) if isinstance(x, Ref) and found is not None else found


class AscendProgram:
    """A compiled module: called with the arrays of the entry function (of the host or the device).

    It returns its results as arrays of the device, tuples and sequences among them as blocks in tuples and lists, for
    another program.  What a block holds never changes once its program has ended, so a result may be an argument's.
    `source` is the sequence of operators as text.
    """

    def __init__(
        self,
        name: str,
        source: str,
        steps: list[Any],
        args: Sequence[Operand],
        outs: Sequence[Operand],
        constants: dict[Buffer, np.ndarray[Any, Any]],
        mode: Mode,
        refusal: Callable[[], UnsupportedCallError] | None = None,
    ) -> None:
        self.name, self.source, self.filename = name, source, f"<ascend program {escape.line(name)}>"
        self.steps, self.args, self.outs, self.constants, self.mode = steps, args, outs, constants, mode
        #: makes the exception that calls raise: the device cannot run it
        self.refusal = refusal
        self.run = self
        #: arguments that a call writes over: none, results are always new
        self.overwrites: tuple[int, ...] = ()

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        if self.refusal is not None:
            raise self.refusal()
        device = current()
        frame: Frame = dict(self._constants(device))
        run = Run(device, frame)
        for operand, x in zip(self.args, arrays, strict=True):
            given(frame, operand, _argument(run, operand, x))
        try:
            self.execute(self.steps, run)
        except Exception:
            run.note()
            raise
        return tuple([_result(run, x) for x in self.outs])

    def _constants(self, device: Device) -> dict[Buffer, Block]:
        found = device.kept.get(self)
        if found is None:
            run = Run(device, {})
            for buffer, array in self.constants.items():
                run.store(array, buffer)
            found = device.kept[self] = run.frame
        return dict(found)

    def execute(self, steps: Sequence[Any], run: Run) -> None:
        """Runs steps in order, and lets go of what nobody needs any more."""
        for step in steps:
            if isinstance(step, Segment):
                with run.device.order:
                    run.device.enter()
                    self.mode.run(step, run)
                run.frame.pop(id(step), None)  # its arena: what comes later on the stream may have it
            elif isinstance(step, Host):
                self._host(step, run)
            elif isinstance(step, Branch):
                self.execute(step.arms[0 if bool(run.fetch(step.test)) else 1], run)
            elif isinstance(step, Loop):
                step.run(self, run)
            else:
                step.run(run.frame)
            for key in step.dead:
                run.frame.pop(key, None)

    def _host(self, step: Host, run: Run) -> None:
        if step.commit:
            run.commits.pop(id(step), None)  # of the trips of a loop the last one counts
            run.commits[id(step)] = step, {k: run.frame.get(k) for x in step.operands for k in keys_of(x)}
            return
        if step.sees:
            run.note()
        operands = [run.fetched(x) for x in step.operands]
        for buffer, array in zip(step.results, step.run(*operands), strict=True):
            run.store(np.asarray(array), buffer)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the sequence of operators as text; it is for reading."""
        write_text(path, self.source)
