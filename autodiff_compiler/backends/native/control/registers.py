"""Any value as registers, for phis: where the arms of an `if` meet, and from trip to trip of a loop.

A number is a register, an array in C order a pointer, a sequence its length and, for every tensor (or sequence) that
its elements consist of, the place of the first and the distance to the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....ir.types import Seq, TensorType, TupleType, Type
from ..codegen.emit import Reg, i64, known
from ..codegen.values import Buffer, Operand, Pack, Sequence, Spread, Undefined
from ..lower import Lowering
from ..memory.sequences import NULL, leaves, of_leaves, places
from .sequence_ops import anchored


class Roots:
    """The set of buffers that some values may alias, in order."""

    def __init__(self) -> None:
        self.found: dict[Buffer, None] = {}

    def add(self, roots: Iterable[Buffer]) -> None:
        self.found.update(dict.fromkeys(roots))

    def __iter__(self) -> Iterator[Buffer]:
        return iter(self.found)


def elements_of(operand: Operand, type: TupleType) -> list[Operand]:
    """The elements of a tuple; of an undefined one, undefined elements."""
    return operand.elems if isinstance(operand, Pack) else [Undefined()] * len(type.elems)


def registers_of(low: Lowering, operand: Operand, type: Type, roots: Roots) -> list[Reg]:
    """The registers of a value; adds the buffers that they may point into to `roots`."""
    if isinstance(type, TupleType):
        parts = zip(elements_of(operand, type), type.elems, strict=True)
        return [r for part, t in parts for r in registers_of(low, part, t, roots)]
    if isinstance(type, Seq):
        if not isinstance(operand, Sequence):
            return [i64(0), *[r for _ in leaves(type.elem) for r in (NULL, i64(0))]]
        operand = anchored(low, operand, escapes=False)
        low.touch(operand)
        roots.add(operand.roots)
        return [operand.length, *[r for base, step in places(low, operand) for r in (base, low.text.whole(step))]]
    assert isinstance(type, TensorType)
    if type.shape == ():
        return [low.lane(operand, type).reg]
    if isinstance(operand, Undefined):
        return [NULL]
    array = low.ordered(operand, type)
    low.touch(array)
    roots.add(array.roots)
    return [low.text.at(array.base, array.offset)]


def operand_of(low: Lowering, type: Type, registers: Iterator[Reg], roots: tuple[Buffer, ...]) -> Operand:
    """The operand of such registers."""
    if isinstance(type, TupleType):
        return Pack([operand_of(low, t, registers, roots) for t in type.elems])
    if isinstance(type, Seq):
        length = next(registers)
        pairs = [(next(registers), known(next(registers))) for _ in leaves(type.elem)]
        return Sequence(type.elem, length, of_leaves(type.elem, iter(pairs)), roots)
    assert isinstance(type, TensorType)
    if type.shape == ():
        return Spread(type, low.one.lane(next(registers), type.dtype))
    return low.at_pointer(type, next(registers), roots)
