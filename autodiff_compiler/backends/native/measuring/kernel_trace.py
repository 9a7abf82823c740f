"""The trace of a program's kernels, recorded while it is written: which ops run together, and which bytes they move.

Writers of fused loops and copies say so (`fused_loop`, `copy`); for other ops it follows from where operands and
results lie.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod

from ....ir.core import Block, Module, Op, Value
from ....ir.sizes import Size, largest, smallest
from ....ir.types import Shape
from ...base import Move, Piece
from ...stacks import Bytes, Stacks
from ..codegen.emit import Text
from ..codegen.values import HOST, Array, Buffer, Operand, Spread, size_of
from ..fusion.loop_plan import Memory, Passes, Source
from .instrumentation import Timers


@dataclass
class _Entry:
    """A piece that is being written."""

    ops: tuple[Op, ...]
    moves: list[Move] = field(default_factory=list)
    fused: bool = False
    calls: int = 0
    blocks: list[tuple[Piece, ...]] = field(default_factory=list)
    #: the kernels that it calls, without those of its blocks
    kernels: list[Text] = field(default_factory=list)

    def made(self) -> Piece:
        scalar = not (self.fused or self.moves or self.calls or self.blocks)
        return Piece(self.ops, tuple(self.moves), self.calls, scalar, tuple(self.blocks))


class KernelTrace:
    """The pieces of a program by block; `pieces`: those of the last finished block, in the end the program's.

    `records`: whether pieces are recorded; if not, only the comments of kernels say which ops they run.
    """

    def __init__(
        self,
        module: Module,
        env: Mapping[Value, Operand],
        ways: Mapping[str, str],
        timers: Timers | None,
        *,
        records: bool,
    ) -> None:
        self._module, self._env, self._ways, self._laps = module, env, ways, timers
        self.records = records
        self.pieces: tuple[Piece, ...] = ()
        #: how many calls of kernels there are
        self.called = 0
        #: sequences that loops collect in the call's room, and the bytes of an element
        self._elements: dict[Value, Size] = {}
        self._open: list[_Entry] = []
        self._last: list[Move] = []

    @contextmanager
    def block(self, block: Block) -> Iterator[list[Piece]]:
        """Around the writing of a block; gives the list of its pieces."""
        pieces: list[Piece] = []
        if self._laps is not None:
            self._laps.open_block(block)
        yield pieces
        if self._laps is not None:
            self._laps.close_block()
        self.pieces = tuple(pieces)
        if self._open:
            self._open[-1].blocks.append(self.pieces)

    @contextmanager
    def piece(self, ops: Iterable[Op], pieces: list[Piece]) -> Iterator[None]:
        """Around the writing of a piece: ops that run together."""
        entry = _Entry(tuple(ops))
        self._open.append(entry)
        if self._laps is not None:
            self._laps.open_piece(entry.ops)
        yield
        assert self._open.pop() is entry
        if self.records:
            if len(entry.ops) == 1 and not entry.ops[0].blocks:
                self._of_op(entry, entry.ops[0])
            pieces.append(entry.made())
        if self._laps is not None:
            self._laps.close_piece(pieces[-1], [kernel.name for kernel in entry.kernels])
        for kernel in entry.kernels:
            kernel.about = kernel.about or _places(entry.ops)

    def calls(self, kernel: Text) -> None:
        """Records that the piece being written calls a kernel, which others may call, too."""
        self.called += 1
        if self._open:
            self._open[-1].kernels.append(kernel)

    def fused_loop(
        self, sources: Mapping[Value, Source], sinks: Mapping[Value, Memory], shape: Shape, passes: Passes
    ) -> None:
        """A fused loop over `shape`; temporaries between passes count only if the cache does not hold a row."""
        if not self.records:
            return
        entry = self._open[-1] if self._open else None
        ops, found = entry.ops if entry else (), dict[Op | None, list[Size]]()
        for x, source in sources.items():
            if isinstance(source, Memory) and not source.is_iota:
                reader = next((op for op in ops if x in op.operands), None)
                found.setdefault(reader, [0, 0])[0] += _bytes(source, shape) * (1 + passes.rereads.get(x, 0))
        for x, sink in sinks.items():
            kept = x in passes.temporaries
            if not kept or x in passes.rereads:
                maker = x.owner if isinstance(x.owner, Op) and x.owner in ops else None
                nbytes = size_of(x.type) if kept else _bytes(sink, shape)
                count = found.setdefault(maker, [0, 0])
                count[0] += nbytes * passes.rereads.get(x, 0)
                count[1] += nbytes
        moves = [Move(op, *both) for op, both in found.items()]
        if entry is None:
            self._last += moves
        else:
            entry.moves += moves
            entry.fused = True

    @contextmanager
    def once(self) -> Iterator[None]:
        """Around code that runs in at most one trip of a loop: it is not recorded, as each trip would count it."""
        before, self.records = self.records, False
        yield
        self.records = before

    def copy(self, nbytes: Size) -> None:
        """Records a copy."""
        if not self.records:
            return
        (self._open[-1].moves if self._open else self._last).append(Move(None, nbytes, nbytes))

    def collect(self, sequence: Value, nbytes: Size) -> None:
        """Records that a loop collects a sequence in the call's room, whose elements have `nbytes`."""
        self._elements[sequence] = nbytes

    def stacks(self) -> Bytes:
        """The bytes of the sequences that loops collect."""
        return Stacks(self._module, lambda x: self._elements.get(x, 0), one_room=True).whole()

    def end(self) -> tuple[Piece, ...]:
        """The program's pieces, with those that hand out results."""
        return (*self.pieces, *self.last())

    def last(self) -> tuple[Piece, ...]:
        """The piece behind the last op: copies that hand out results."""
        return (Piece((), tuple(self._last)),) if self._last else ()

    def _of_op(self, entry: _Entry, op: Op) -> None:
        """An op that is in no fused loop: reads its operands and writes its results, unless these are views."""
        if entry.fused and any(m.op is op for m in entry.moves):
            return
        env, roots = self._env, set[Buffer]()
        operands = [x for x in dict.fromkeys(op.operands) if x in env]
        for x in operands:
            roots.update(_roots(env[x]))
        arrays = {x: _size(env[x]) for x in operands}
        by_python = self._ways.get(op.defn.name) == HOST
        fresh = [r for r in op.results if r in env and _size(env[r]) and not roots.issuperset(_roots(env[r]))]
        numbers = [r for r in op.results if isinstance(env.get(r), Spread) and r.type.shape == ()]  # type: ignore[attr-defined]
        if op.defn.inplace is not None and not fresh:  # written over the operand
            target = op.operands[op.defn.operand_names.index(op.defn.inplace)]
            read = written = sum(n for x, n in arrays.items() if x is not target)
        elif fresh or by_python or (numbers and any(arrays.values()) and op.defn.view is None):
            written = sum(_size(env[r]) for r in fresh)
            picks = op.defn.picks and op.operands[op.defn.operand_names.index(op.defn.picks)]
            read = sum(smallest(n, written) if x is picks else n for x, n in arrays.items())
        else:
            return
        entry.calls += by_python
        copied = [m for m in entry.moves if m.op is None]  # the op's own copies are counted already
        read = largest(0, read - sum(m.read for m in copied))
        written = largest(0, written - sum(m.written for m in copied))
        if read != 0 or written != 0:
            entry.moves.append(Move(op, read, written))


def _places(ops: Iterable[Op]) -> list[str]:
    """Comments for a kernel: its ops by the user's lines."""
    lines: dict[str, list[str]] = {}
    for op in ops:
        name = op.results[0].name if op.results else None
        lines.setdefault(str(op.loc or "-"), []).append(f"{name} = {op.defn.name}" if name else op.defn.name)
    return [f"{', '.join(names)}: {place}" for place, names in lines.items()]


def _bytes(memory: Memory, shape: Shape) -> Size:
    """The bytes of the elements that a fused loop reads, each once."""
    return memory.dtype.itemsize * prod(d for d, stride in zip(shape, memory.strides, strict=True) if stride != 0)


def _size(operand: object) -> Size:
    return size_of(operand.type) if isinstance(operand, Array) and not operand.is_iota else 0


def _roots(operand: object) -> tuple[Buffer, ...]:
    return operand.roots if isinstance(operand, Array) else ()
