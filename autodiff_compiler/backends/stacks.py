"""Bytes of the sequences that loops collect: known trips multiply, unknown ones are counted per trip."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..ir.core import Block, Module, Op, Value
from ..ir.loops import Loop, trips_of
from ..ir.sizes import Size, largest_of
from ..ir.types import Seq
from ..ir.walk import callee_of
from ..primitives.flops import bytes_of_type


@dataclass(frozen=True)
class Bytes:
    """`known` bytes, and `per_trip` more in each trip of loops whose length is known only at run time."""

    known: Size = 0
    per_trip: Size = 0

    def __add__(self, other: Bytes) -> Bytes:
        return Bytes(self.known + other.known, self.per_trip + other.per_trip)

    def in_trips(self, trips: Size | None) -> Bytes:
        """The bytes of all trips of a loop.

        Trips of unknown number are those of all runs of the loop, whatever loops are around it.
        """
        if trips is None:
            return Bytes(0, self.known + self.per_trip)
        return Bytes(self.known * trips, self.per_trip if trips else 0)

    def told(self, size: Callable[[Size], str]) -> str:
        """The text for messages, with numbers as `size` writes them; empty for 0 bytes."""
        grows = f"{size(self.per_trip)} for each trip" if self.per_trip else ""
        return " and ".join(part for part in (size(self.known) if self.known else "", grows) if part)


def _sum(found: Iterable[Bytes]) -> Bytes:
    return sum(found, Bytes())


def _either(found: Iterable[Bytes]) -> Bytes:
    """The largest of alternatives."""
    sizes = [Bytes(), *found]
    return Bytes(largest_of(s.known for s in sizes), largest_of(s.per_trip for s in sizes))


class Stacks:
    """The bytes that the loops of a module collect.

    `element`: the bytes of one element of a collected sequence, without sequences inside it.  `one_room`: a trip that
    yields a sequence keeps all that was collected in it, as native code's room does.
    """

    def __init__(
        self, module: Module, element: Callable[[Value], Size] | None = None, *, one_room: bool = False
    ) -> None:
        self.module, self._element, self._one_room = module, element or _element, one_room
        self._calls = [module.entry.name]

    def of(self, x: Value) -> Bytes:
        """The bytes of a value; of a sequence those of its elements, with sequences inside it."""
        if not isinstance(x.type, Seq):
            return Bytes(bytes_of_type(x.type))
        op, index = x.op, x.index
        if op is None:
            return Bytes()
        name = op.defn.name
        if name == "if":
            return _either([self._made_in(block, block.outs[index]) for block in op.blocks])
        callee = self._callee(op)
        if callee is not None:
            self._calls.append(callee)
            body = self.module.functions[callee].body
            found = self._made_in(body, body.outs[index])
            self._calls.pop()
            return found
        if name not in ("scan", "while"):
            shown = [y for y in op.operands if isinstance(y.type, Seq)]
            return self.of(shown[0]) if shown else Bytes()
        loop = Loop(op)
        made = next((out for out, result in loop.collected if result is x), None)
        if made is None:  # a carry: the next version replaces the last one
            return Bytes()
        return (Bytes(self._element(x)) + self._made_in(loop.body, made)).in_trips(trips_of(op))

    def whole(self) -> Bytes:
        """The most bytes at a time, if each loop runs once in each trip of those around it."""
        return self._block(self.module.entry.body)

    def _block(self, block: Block) -> Bytes:
        """The most bytes while a block runs, without what it yields, which its user counts."""
        found = Bytes()
        for op in block.ops:
            callee = self._callee(op)
            if callee is None and not op.blocks:
                continue
            found += _sum(self.of(x) for x in op.results if isinstance(x.type, Seq) and x not in block.outs)
            if callee is not None:
                self._calls.append(callee)
                found += self._block(self.module.functions[callee].body)
                self._calls.pop()
            elif op.defn.name == "if":
                found += _either(map(self._block, op.blocks))
            else:
                inside = _sum(map(self._block, op.blocks))
                kept = self._one_room and any(isinstance(x.type, Seq) for x in op.blocks[-1].outs)
                found += inside.in_trips(trips_of(op)) if kept else inside
        return found

    def _made_in(self, block: Block, x: Value) -> Bytes:
        """What a sequence that a block yields holds, if it is made there."""
        return self.of(x) if isinstance(x.type, Seq) and x.block is block else Bytes()

    def _callee(self, op: Op) -> str | None:
        """The callee, unless it is recursive and being counted already."""
        name = callee_of(op)
        return None if name in self._calls else name


def _element(x: Value) -> Size:
    assert isinstance(x.type, Seq)
    return bytes_of_type(x.type.elem)
