"""What kernels are given to emit code with: the operand of each value, and how buffers are allocated and copied."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from ....dtypes import DType
from ....ir.core import Block, Module, Op, Value
from ....ir.sizes import Size
from ....ir.types import TensorType, Type, tensor
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


class Step(NamedTuple):
    """A fused loop, or one op, and the first tick of its code."""

    tick: int
    ops: Sequence[Op]
    fused: bool


class Region:
    """A loop that is being lowered: `touched` are the buffers from before it that it uses, live until it ends.

    `moving`: the buffers of its carries, which each trip overwrites.  `records`: those of sequences that it collects.
    """

    def __init__(self, start: int, records: tuple[Buffer, ...]) -> None:
        self.start, self.records = start, records
        self.touched: set[Buffer] = set()
        self.moving: set[Buffer] = set()


class BufferPlan(Emitter, ABC):
    """An emitter with the state of a lowering that kernels need: which operand stands for each value, and how long.

    It holds, as far as the program is lowered: the operands (`env`), the current step (`tick`), where values are wanted
    (`wanted`), the loops around (`regions`), and which ops are done (`written`).  Allocating and copying are abstract:
    `Lowering` implements them, so that kernels need not import it.
    """

    def __init__(self, module: Module, machine: Machine, *, records: bool, timed: bool) -> None:
        super().__init__(module, machine)
        self.env: dict[Value, Operand] = {}
        self.uses = uses(module.entry)
        #: timers between the steps, where they are asked for
        self.timers = Timers(self) if timed else None
        self.trace = KernelTrace(module, self.env, self.ways, self.timers, records=records or timed)
        #: the number of the current step
        self.tick = 0
        #: the nesting depth of blocks around the next op
        self.depth = 0
        #: whether all ops are lowered, and results are copied to where they leave
        self.leaving = False
        self.versions = Versions({})
        #: where values are to be written
        self.wanted: dict[Value, Place] = {}
        #: next versions of carries that were written where they are wanted
        self.carried: dict[Value, Carried] = {}
        #: by version of a carry: the carry and its next version, which is copied home once this one is dead
        self.unsettled: dict[Value, tuple[OneBuffer, Value]] = {}
        #: ops of the innermost loop that are lowered already
        self.written: set[Op] = set()
        #: the loops around
        self.regions: list[Region] = []
        #: pending `commit`s: run only if the next op that may raise does so
        self.commits: list[Op] = []
        #: the `commit`s that run if the current op raises
        self.noting: list[Op] = []
        #: values that may be undefined at run time; nobody reads them then
        self.undefined = undefined_values(module)
        #: memo: whether there are loops in a block
        self.looping: dict[Block, bool] = {}
        #: the results that are tensors; sequences leave through `sequence_arguments`
        self.outs = [out for out in module.entry.outs if isinstance(out.type, TensorType)]
        #: the number of the result that a value becomes
        self.results: dict[Value, int] = {}

    # ------------------------------------------------------------------------------------------- buffers
    @abstractmethod
    def buffer(self, nbytes: Size) -> Buffer:
        """A new buffer."""

    @abstractmethod
    def array(self, type: TensorType, buffer: Buffer | None = None) -> Array:
        """An array in C order in a buffer of its own."""

    def empty_array(self, type: TensorType) -> Array:
        """An array in a new buffer that is dead until it is written."""
        made = self.array(type)
        made.roots[0].idle = self.tick
        return made

    @abstractmethod
    def target(self, value: Value, *, over: bool = False) -> Array:
        """The array that a value is to be written to, now its operand: a result, a wanted place, or a new buffer.

        `over`: it is the next version of a carry and may be written in place over this version.
        """

    def target_in_memory(self, value: Value) -> Array:
        """The same for a kernel, which writes scalars to memory, too: `load_scalar` is called after it."""
        assert isinstance(value.type, TensorType)
        return self.target(value) if value.type.shape else self.array(value.type)

    def load_scalar(self, value: Value, array: Array) -> None:
        """The operand of a value that a kernel has written: of a scalar a register."""
        if array.shape == ():
            self.env[value] = Spread(array.type, self.one.load(array.base, array.dtype))

    @abstractmethod
    def touch(self, operand: Operand) -> None:
        """The current step reads or writes the operand: its buffers are live."""

    def may_fail(self) -> None:
        """The current step may raise."""
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
        """Copies an array into another one, cast to its dtype."""

    def sliceable(self, value: Value) -> Array:
        """A value as an array whose offset from its base is a size, as `part` needs it."""
        found = self.in_memory(value, ordered=False)
        return self.in_memory(value) if isinstance(found.offset, Reg) else found

    def in_dtype(self, array: Array, dtype: DType) -> Array:
        """An array, or a copy of it cast to a dtype."""
        if array.dtype is dtype:
            return array
        made = self.array(tensor(dtype, array.type.shape))
        self.copy_array(array, made)
        return made

    def new_in_dtype(self, target: Array, dtype: DType) -> Array:
        """The target itself, or an array of its shape for results in another dtype; `give` copies these."""
        return target if target.dtype is dtype else self.array(tensor(dtype, target.type.shape))

    def give(self, made: Array, target: Array) -> None:
        """Copies an array to its target, cast to the dtype of that, unless it was made there."""
        if made is not target:
            self.copy_array(made, target)

    # ------------------------------------------------------------------------------------------- operands
    def at_pointer(self, type: TensorType, place: Reg, roots: tuple[Buffer, ...]) -> Array:
        """An array in C order at a pointer."""
        return Array(type, place, row_major(type.shape, type.dtype.itemsize), 0, roots)

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
        """Whether a value is an array whose pointer may be null: undefined at run time."""
        if value not in self.undefined or not isinstance(operand, Array):
            return False
        return all(root.base != operand.base for root in operand.roots)

    def stand_in(self, type: Type, operand: Operand, like: Value | None = None) -> Value:
        """A value outside the module for an operand; it may be undefined if the value that it is `like` may be."""
        value = Value(type, Block(), 0)
        self.env[value] = operand
        if like in self.undefined:
            self.undefined.add(value)
        return value
