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

from ...errors import InternalCompilerError
from ...runtime.device_array import DeviceArray
from . import launch
from .arrays import AscendArray
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
    "keys_of",
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


@dataclass
class Segment:
    """Operators in order.  `made`: buffers that others read, allocated first; `offsets`: where the rest lies."""

    calls: list[Call]
    made: list[Buffer] = field(default_factory=list)
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
    #: notes what was written by now if an exception comes; it runs only then
    commit: bool = False
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
        self.commits: list[tuple[Host, Frame]] = []

    def placed(self, x: Ref, segment: Segment | None = None, arena: int = 0) -> launch.Placed:
        """A view with the address that it has in this run."""
        at = segment.offsets.get(x.buffer) if segment is not None else None
        address = self.frame[x.buffer].address if at is None else arena + at
        elements = x.buffer.nbytes // x.dtype.itemsize
        return launch.Placed(address, elements, x.dtype, x.shape, x.strides, x.offset)

    def fetch(self, x: Ref) -> np.ndarray[Any, Any]:
        """A value as an ndarray of the host; waits for it."""
        raw = np.empty(x.buffer.nbytes // x.dtype.itemsize, x.dtype.numpy)
        self.device.download(self.frame[x.buffer].address, raw)
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
        block = self.device.allocate(buffer.nbytes, buffer.label)
        self.device.upload(np.ascontiguousarray(array), block.address)
        self.frame[buffer] = block


class AscendProgram:
    """A compiled module: called with the arrays of the entry function (of the host or the device).

    It returns its results as arrays of the device.  `source` is the sequence of operators as text.
    """

    def __init__(
        self,
        name: str,
        source: str,
        steps: list[Any],
        args: list[Ref],
        outs: list[Ref],
        constants: dict[Buffer, np.ndarray[Any, Any]],
        mode: Mode,
    ) -> None:
        self.name, self.source, self.filename = name, source, f"<ascend program {name}>"
        self.steps, self.args, self.outs, self.constants, self.mode = steps, args, outs, constants, mode
        self.run = self
        #: arguments that a call writes over: none, results are always new
        self.overwrites: tuple[int, ...] = ()
        self._blocks: dict[int, dict[Buffer, Block]] = {}

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        device = current()
        frame: Frame = dict(self._constants(device))
        for ref, array in zip(self.args, arrays, strict=True):
            frame[ref.buffer] = AscendArray.of(array, device, ref.buffer.label).block
        run = Run(device, frame)
        try:
            self.execute(self.steps, run)
        except Exception:
            for step, frame in run.commits:
                before = Run(device, frame)
                step.run(*[before.fetched(x) for x in step.operands])
            raise
        taken: set[int] = {id(frame[ref.buffer]) for ref in self.args}
        return tuple([self._result(run, ref, taken) for ref in self.outs])

    def _constants(self, device: Device) -> dict[Buffer, Block]:
        found = self._blocks.get(device.number)
        if found is None:
            run = Run(device, {})
            for buffer, array in self.constants.items():
                run.store(array, buffer)
            found = self._blocks[device.number] = run.frame
        return found

    def _result(self, run: Run, ref: Ref, taken: set[int]) -> DeviceArray:
        block = run.frame[ref.buffer]
        if id(block) in taken or ref.buffer in self.constants:  # results never share memory with anything else
            copy = run.device.allocate(ref.buffer.nbytes, ref.buffer.label)
            to = launch.Placed(copy.address, ref.size, ref.dtype, ref.shape, ref.strides, 0)
            launch.launch(run.device, "InplaceCopy", [to, run.placed(ref)])
            block = copy
        taken.add(id(block))
        return AscendArray(block, ref.dtype, ref.shape)

    def execute(self, steps: Sequence[Any], run: Run) -> None:
        """Runs steps in order, and lets go of what nobody needs any more."""
        for step in steps:
            if isinstance(step, Segment):
                self.mode.run(step, run)
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
            run.commits.append((step, dict(run.frame)))
            return
        operands = [run.fetched(x) for x in step.operands]
        for buffer, array in zip(step.results, step.run(*operands), strict=True):
            run.store(np.asarray(array), buffer)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the sequence of operators as text; it is for reading."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.source)
