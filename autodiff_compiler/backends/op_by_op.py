"""The work of programs without fusion: each op reads its operands from memory and writes its results there."""

from __future__ import annotations

from ..ir.core import Block, Module, Op, Value
from ..ir.sizes import Size, is_at_most, largest, largest_of, smallest, usual
from ..ir.types import TensorType
from ..ir.walk import callee_of
from ..primitives.flops import bytes_of_type, functions_of
from .base import Move, Piece

#: Ops that take no time: constants, tuples, and what their users do.
_FREE = frozenset({"const", "undef", "broadcast_to", "tuple_make", "tuple_get", "stop_gradient", "seq_len"})


def pieces_of(module: Module) -> tuple[Piece, ...]:
    """A piece for each op of the entry; callees are the blocks of the ops that call them."""
    return _pieces(module, module.entry.body, (module.entry.name,))


def piece_of(module: Module, op: Op) -> Piece:
    """The piece of an op of the entry."""
    return _piece(module, op, (module.entry.name,))


def _pieces(module: Module, block: Block, around: tuple[str, ...]) -> tuple[Piece, ...]:
    return tuple([_piece(module, op, around) for op in block.ops if op.defn.name not in _FREE])


def _piece(module: Module, op: Op, around: tuple[str, ...]) -> Piece:
    callee = callee_of(op)
    if callee is not None and callee not in around:
        return Piece((op,), blocks=(_pieces(module, module.functions[callee].body, (*around, callee)),))
    if op.blocks:
        return Piece((op,), blocks=tuple([_pieces(module, block, around) for block in op.blocks]))
    functions = max(1, len(functions_of(op)))
    if op.defn.view is not None:
        return Piece((op,), calls=functions)
    read = sum(map(nbytes, dict.fromkeys(map(_before_broadcast, op.operands))), 0)
    written = sum(map(nbytes, op.results), 0)
    if op.defn.picks is not None:
        picked = _before_broadcast(op.operands[op.defn.operand_names.index(op.defn.picks)])
        read = read - largest(0, nbytes(picked) - written)
    scalar = all(x.type.shape == () for x in (*op.operands, *op.results) if isinstance(x.type, TensorType))
    if scalar:
        return Piece((op,), calls=functions, scalar=True)
    if op.results and all(_usually_at_most(nbytes(x), written) for x in op.operands):
        # intermediate arrays have that size, too
        read, written = read + (functions - 1) * written, functions * written
    return Piece((op,), (Move(op, read, written),), calls=functions)


def _usually_at_most(a: Size, b: Size) -> bool:
    known = is_at_most(a, b)
    return usual(a) <= usual(b) if known is None else known


def _before_broadcast(x: Value) -> Value:
    """The value that a `broadcast_to` repeats, or x."""
    while isinstance(x.owner, Op) and x.owner.defn.name == "broadcast_to":
        x = x.owner.operands[0]
    return x


def nbytes(x: Value) -> Size:
    """The bytes of a tensor; 0 for splats and for what is no tensor."""
    return bytes_of_type(x.type) if isinstance(x.type, TensorType) and x.constant is None else 0


def peak(block: Block, leaving: bool = True) -> Size:
    """The most bytes of a block's values that are live at once, without its outs if `leaving`.

    One dying operand per op is reused for a result.
    """
    bases: dict[Value, Value] = {}  # of views
    last: dict[Value, int] = {}
    for i, op in enumerate(block.ops):
        for x in _mentioned(op):
            last[bases.get(x, x)] = i
        if op.defn.view is not None or op.defn.name in ("tuple_get", "stop_gradient"):
            bases[op.results[0]] = bases.get(op.operands[0], op.operands[0])
    outs = {bases.get(x, x) for x in block.outs} if leaving else set()
    alive: Size = 0
    found: list[Size] = []
    sizes: dict[Value, Size] = {}
    for i, op in enumerate(block.ops):
        mine = {x: nbytes(x) for x in op.results if x not in bases and x not in outs}
        dying = [x for x in {bases.get(y, y): None for y in _mentioned(op)} if x in sizes and last[x] == i]
        reused = smallest(sizes[dying[0]], largest_of(mine.values())) if dying and not op.blocks else 0
        sizes |= mine
        alive = alive + sum(mine.values(), 0)
        found.append(alive - reused + largest_of([peak(b, leaving=False) for b in op.blocks]))
        alive = alive - sum([sizes.pop(x) for x in [*dying, *(x for x in mine if x not in last)]], 0)
    return largest_of(found)


def _mentioned(op: Op) -> list[Value]:
    found = list(op.operands)
    for block in op.blocks:
        for inner in block.ops:
            found += _mentioned(inner)
        found += block.outs
    return found
