"""Compiled programs: segments of operators on the stream, and the host's steps between them.

The host reads the conditions of branches and loops; everything else it only queues.  Values live in blocks of the
device's pool until their last use, those of one segment in its arena.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import escape
from ...errors import UnsupportedCallError
from ...whole_files import write_text
from . import memory
from .arrays import AscendArray, uploaded
from .device import Block, Device, current
from .emit import Buffer, Ref
from .modes import Mode
from .steps import Branch, Collective, Frame, Host, Loop, Operand, Run, Segment, given, keys_of, taken


def _argument(run: Run, operand: Operand, x: Any) -> Any:
    """A caller's argument as blocks; an undefined value (None, or another shape) as a block that is never read."""
    if isinstance(operand, Ref):
        if isinstance(x, memory.Block):
            return x
        label = operand.buffer.label
        if x is None or tuple(x.shape) != operand.shape:
            return run.device.allocate(operand.buffer.nbytes, label)
        return AscendArray.of(x, run.device, label).block
    if isinstance(operand, tuple):
        return tuple([_argument(run, one, v) for one, v in zip(operand, x, strict=True)])
    return x


def _result(run: Run, x: Operand) -> Any:
    """A result for the caller; None if it is undefined."""
    found = taken(run.frame, x)
    return AscendArray(found, x.dtype, x.shape) if isinstance(x, Ref) and found is not None else found


def _constant(device: Device, buffer: Buffer, array: np.ndarray[Any, Any]) -> Block:
    """A constant on the device, once for all programs that mention its buffer."""
    found: Block | None = device.kept.get(buffer)
    if found is None:
        found = device.kept[buffer] = uploaded(array, device, buffer.label)
    return found


class AscendProgram:
    """A compiled module: called with the arrays of the entry function (of the host or the device).

    It returns its results as arrays of the device, tuples and sequences among them as blocks in tuples and lists, for
    another program.  What a block holds never changes once its program has ended, so a result may be an argument's.
    `text` writes the sequence of operators.
    """

    def __init__(
        self,
        name: str,
        text: Callable[[], str],
        steps: list[Any],
        args: Sequence[Operand],
        outs: Sequence[Operand],
        constants: dict[Buffer, np.ndarray[Any, Any]],
        mode: Mode,
        refusal: Callable[[], UnsupportedCallError] | None = None,
    ) -> None:
        self.name, self._text, self.filename = name, text, f"<ascend program {escape.line(name)}>"
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

    @property
    def source(self) -> str:
        """The sequence of operators as text."""
        return self._text()

    def _constants(self, device: Device) -> dict[Buffer, Block]:
        found = device.kept.get(self)
        if found is None:
            found = device.kept[self] = {b: _constant(device, b, array) for b, array in self.constants.items()}
        return dict(found)

    def execute(self, steps: Sequence[Any], run: Run) -> None:
        """Runs steps in order, and frees values after their last use."""
        for step in steps:
            if isinstance(step, Segment):
                with run.device.order:
                    run.device.enter()
                    self.mode.run(step, run)
                run.frame.pop(id(step), None)  # its arena: what comes later on the stream may have it
            elif isinstance(step, Host):
                self._host(step, run)
            elif isinstance(step, Collective):
                step.run(run)
            elif isinstance(step, Branch):
                self.execute(step.arms[0 if bool(run.fetch(step.test)) else 1], run)
            elif isinstance(step, Loop):
                step.run(self.execute, run)
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
