"""Where the values of a program lie while it is written: what kernels take."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from ....ir.core import Block, Module, Op, Value
from ....ir.types import TensorType, Type
from ....ir.undefined import undefined_values
from ....ir.walk import uses
from ..codegen.emit import Reg
from ..codegen.emitter import Emitter
from ..codegen.lanes import Lane
from ..codegen.values import Array, Buffer, Operand, Spread, Undefined, row_major
from ..jit.machine import Machine
from ..measuring.instrumentation import Timers
from ..measuring.kernel_trace import KernelTrace
from .versions import Versions
from .wishes import Carried, OneBuffer, Place

__all__ = ["BufferPlan", "Region", "Step"]


class Step(NamedTuple):
    """Ops that are written together, as a fused loop or alone, and the first tick of what is written for them."""

    tick: int
    ops: Sequence[Op]
    fused: bool


class Region:
    """A loop that is being written: the buffers from before it that it uses, which it needs until it ends.

    Those of its carries are `moving`: each trip writes them anew.
    """

    def __init__(self, start: int, records: tuple[Buffer, ...]) -> None:
        self.start, self.records = start, records
        self.touched: set[Buffer] = set()
        self.moving: set[Buffer] = set()


class BufferPlan(Emitter, ABC):
    """An emitter that knows what each value is; how buffers are found and filled, `Lowering` says."""

    def __init__(self, module: Module, machine: Machine, *, records: bool, timed: bool) -> None:
        super().__init__(module, machine)
        self.env: dict[Value, Operand] = {}
        self.uses = uses(module.entry)
        #: timers between the steps, where they are asked for
        self.timers = Timers(self) if timed else None
        self.trace = KernelTrace(module, self.env, self.ways, self.kernels, self.timers, records=records or timed)
        #: the number of the step that is being written
        self.tick = 0
        #: how many blocks of ops the next op lies in
        self.depth = 0
        #: whether all ops are written: what follows takes results to where they leave
        self.leaving = False
        self.versions = Versions({})
        #: where values are to be written
        self.wanted: dict[Value, Place] = {}
        #: carries whose next version was written where it is wanted
        self.carried: dict[Value, Carried] = {}
        #: by versions of carries, those and their next versions, which are copied once nobody needs these
        self.unsettled: dict[Value, tuple[OneBuffer, Value]] = {}
        #: ops of the loop around that are written already
        self.written: set[Op] = set()
        #: the loops around
        self.regions: list[Region] = []
        #: pending `commit`s: run only if the next op that may raise does so
        self.commits: list[Op] = []
        #: what is to be noted if the op that is being written is left by an exception
        self.noting: list[Op] = []
        #: values that may be there without anybody reading them
        self.undefined = undefined_values(module)
        #: blocks, each with whether there are loops in it
        self.looping: dict[Block, bool] = {}
        #: the results that are tensors; the others leave in another way
        self.outs = [out for out in module.entry.outs if isinstance(out.type, TensorType)]
        #: the number of the result that a value becomes
        self.results: dict[Value, int] = {}

    # ------------------------------------------------------------------------------------------- buffers
    @abstractmethod
    def buffer(self, nbytes: int) -> Buffer:
        """A new buffer."""

    @abstractmethod
    def array(self, type: TensorType, buffer: Buffer | None = None) -> Array:
        """An array in C order in a buffer of its own."""

    def empty_array(self, type: TensorType) -> Array:
        """An array in a buffer of its own that holds nothing before it is written."""
        made = self.array(type)
        made.roots[0].idle = self.tick
        return made

    @abstractmethod
    def target(self, value: Value, *, over: bool = False) -> Array:
        """Where a value is to be written: the result that it becomes, if it only becomes that.

        `over`: it may be written over the version now of the carry whose next version it is.
        """

    @abstractmethod
    def touch(self, operand: Operand) -> None:
        """The step that is being written reads or writes the operand."""

    def may_fail(self) -> None:
        """The step that is being written may end the program with an exception."""
        self.versions.may_fail(self.tick)

    # ------------------------------------------------------------------------------------------- copies
    @abstractmethod
    def in_memory(self, value: Value, *, ordered: bool = True) -> Array:
        """A value as an array, in C order if that is asked for."""

    @abstractmethod
    def copy(self, value: Value, to: Array) -> None:
        """Writes the elements of a value into an array."""

    @abstractmethod
    def copy_operand(self, operand: Operand, to: Array) -> None:
        """Writes the elements of a tensor into an array."""

    @abstractmethod
    def copy_array(self, source: Array, to: Array) -> None:
        """Writes the elements of an array into another one, as its dtype."""

    # ------------------------------------------------------------------------------------------- operands
    def at_pointer(self, type: TensorType, place: Reg, roots: tuple[Buffer, ...]) -> Array:
        """The array in C order that a pointer points to."""
        return Array(type, place, row_major(type.shape, type.dtype.itemsize), 0, roots)  # type: ignore[arg-type]

    def scalar(self, value: Value) -> Lane:
        """A value of one element as a register."""
        assert isinstance(value.type, TensorType)
        return self.lane(self.env[value], value.type)

    def lane(self, operand: Operand, type: TensorType) -> Lane:
        """A tensor of one element as a register."""
        if isinstance(operand, Undefined):
            return self.one.number(0, type.dtype)
        if isinstance(operand, Spread):
            number = operand.number
            return number if isinstance(number, Lane) else self.one.number(number, type.dtype)
        assert isinstance(operand, Array)
        self.touch(operand)
        place = self.text.at(operand.base, operand.offset)
        return self.one.iota(place, type.dtype, 0) if operand.is_iota else self.one.load(place, type.dtype)

    def may_be_nowhere(self, value: Value, operand: Operand) -> bool:
        """Whether a value is an array that may be a null pointer, as nobody reads it then."""
        if value not in self.undefined or not isinstance(operand, Array):
            return False
        return all(root.base != operand.base for root in operand.roots)

    def stand_in(self, type: Type, operand: Operand, like: Value | None = None) -> Value:
        """A value for an operand that is none of the module; it may be undefined if the one it is `like` may be."""
        value = Value(type, Block(), 0)
        self.env[value] = operand
        if like in self.undefined:
            self.undefined.add(value)
        return value
