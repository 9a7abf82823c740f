"""Residuals: how an adjoint block gets at the values of its forward block, saved or computed again.

An adjoint block is first built as if it saw the forward block.  Then dead ops are dropped (`prune`), `choose` decides
for every forward value still mentioned how it arrives (by bytes, and by the `cost` that each primitive declares), and
`take_over` puts the replacements in.  Computing again means copying the same ops on the same values: it is bit-equal.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from ..ir.core import Attrs, Block, Module, Op, Value
from ..ir.definition import Definition
from ..ir.primitive import COSTLY, Effect
from ..ir.sizes import Symbol, symbol_of
from ..ir.types import Seq, TensorType, TupleType, Type
from ..ir.walk import effect_of, ops_of, symbols_at, symbols_of_type
from ..primitives.control import COUNT
from ..primitives.shape import SizeValue
from ..primitives.sizes_of_data import BindSize, WithSizes, erased

#: The highest cost at which a residual of a loop is recomputed: where saving it takes memory in every trip, and where
#: #: it would only take one more carry.
BUDGET, TRIFLE = 32, 3
_UNKNOWN_SIZE = 1 << 10  # a symbolic dimension, when bytes are compared
_UNKNOWN_TRIPS = 1 << 20


# ------------------------------------------------------------------------------------------------------- dead ops
def prune(
    block: Block,
    module: Module,
    roots: Iterable[Value],
    carried: Mapping[Value, Value] | None = None,
    dead: Collection[Op] = (),
) -> set[Value]:
    """Drops the ops of a block on which neither `roots` nor any effect depends; returns the values that are needed.

    `carried` leads from a loop's carry to what the block yields for it: a carry nobody needs keeps nothing alive.
    Effects of the ops in `dead` do not count.
    """
    carried = carried or {}
    memo: dict[str, Effect] = {}
    needed: set[Value] = set()
    live: set[Op] = set()
    stack: list[Value] = list(roots)

    def keep(op: Op) -> None:
        live.add(op)
        stack.extend(op.operands)
        for inner in op.blocks:
            stack.extend(_mentions(inner))

    for op in block.ops:
        if effect_of(op, module, memo) > Effect.READ and op not in dead:
            keep(op)
    while stack:
        v = stack.pop()
        if v in needed:
            continue
        needed.add(v)
        if v in carried:
            stack.append(carried[v])
        elif type(v.owner) is Op and v.owner.parent is block and v.owner not in live:
            keep(v.owner)
    block.ops = [op for op in block.ops if op in live]
    return needed


def _mentions(block: Block) -> Iterable[Value]:
    """Every operand and out of a block and of the blocks inside it."""
    yield from block.outs
    for op in ops_of(block):
        yield from op.operands
        for inner in op.blocks:
            yield from inner.outs


# ------------------------------------------------------------------------------------------------------ the choice
@dataclass(slots=True)
class Choice:
    """How the forward values that an adjoint block mentions reach it.

    `taken`: handed over (saved, or at hand anyway).  `shifted`: what a trip leaves in a carry: the carry's saved
    values, read one trip later.  `recomputed`: the ops to run again.
    """

    taken: list[Value] = field(default_factory=list)
    shifted: list[Value] = field(default_factory=list)
    recomputed: set[Op] = field(default_factory=set)


def choose(
    mentioned: Iterable[Value],
    forward: Block,
    *,
    at_hand: Collection[Value] = (),
    visible: Callable[[Value], bool],
    carried: Mapping[Value, Value] | None = None,
    once: bool = False,
) -> Choice:
    """Decides for every residual: taken, shifted or recomputed; bytes decide, then the cost of recomputing.

    `at_hand` are values of the block that cost nothing to hand over; `visible` says whether a value from around the
    block is used by the adjoint anyway; `carried` leads from what a loop's body yields for a carry to the carry.
    With `once` a value is saved only once (not in every trip of a loop), so that nothing costly is computed twice.
    """
    budget = COSTLY - 1 if once else BUDGET
    position = {op: i for i, op in enumerate(forward.ops)}
    mentioned = sorted(mentioned, key=lambda v: (position.get(v.owner, -1), v.index))  # type: ignore[arg-type]
    choice, carried = Choice(), carried or {}
    price: dict[Value, int] = {}  # what it takes to have a value in the adjoint, for every value decided
    for v in mentioned:
        if v in price:
            continue
        chain = None if v in at_hand else _chain(v, forward, price, at_hand, visible, budget)
        source = carried.get(v)
        shiftable = source in price and source not in choice.shifted
        if chain is not None and (chain.price <= TRIFLE or not shiftable):
            price[v] = chain.price
            choice.recomputed |= chain.ops
            for x in chain.leaves:
                price[x] = 0
            choice.taken += chain.leaves
        elif shiftable and v not in at_hand:
            price[v] = 0
            choice.shifted.append(v)
        else:
            price[v] = 0
            choice.taken.append(v)
    return choice


@dataclass(slots=True)
class _Chain:
    """Ops that give a value again, from values already decided and from `leaves`."""

    ops: set[Op]
    leaves: list[Value]
    price: int


def _chain(
    v: Value,
    forward: Block,
    price: Mapping[Value, int],
    at_hand: Collection[Value],
    visible: Callable[[Value], bool],
    budget: int,
) -> _Chain | None:
    """The ops that compute `v` again; None if they cost too much or keep as many bytes alive as saving `v`."""
    chain = _Chain(set(), [], 0)
    alive = 0
    seen: set[Value] = set()
    stack = [v]
    while stack:
        x = stack.pop()
        if x in seen:
            continue
        seen.add(x)
        if x in price:
            chain.price += price[x]
        elif x in at_hand:
            chain.leaves.append(x)
        elif x.block is not forward:
            alive += 0 if visible(x) else _bytes(x.type)
        else:
            cost = x.owner.defn.cost if type(x.owner) is Op else None
            if cost is not None and chain.price + cost <= budget:
                assert type(x.owner) is Op
                chain.price += cost
                chain.ops.add(x.owner)
                stack.extend(x.owner.operands)
            elif x is v:
                return None
            else:
                chain.leaves.append(x)
                alive += _bytes(x.type)
    return chain if chain.price <= budget and (alive == 0 or alive < _bytes(v.type)) else None


def _bytes(type: Type) -> int:
    if isinstance(type, TensorType):
        size = type.dtype.itemsize
        for d in type.shape:
            size *= d if isinstance(d, int) else _UNKNOWN_SIZE
        return size
    if isinstance(type, TupleType):
        return sum(map(_bytes, type.elems))
    assert isinstance(type, Seq)
    return _bytes(type.elem) * _UNKNOWN_TRIPS


# ------------------------------------------------------------------------------------------------- sizes of data
class Unveiled:
    """The sizes of data that a forward block binds, and that its adjoint mentions.

    What leaves the forward block has erased sizes there (`hidden`); the adjoint block begins with what binds the
    symbols again, and says the types of what arrives (`shown`).
    """

    def __init__(self, forward: Block, adjoint: Block) -> None:
        self.forward, self.adjoint = forward, adjoint
        self._bound = {op.attrs[0]: op for op in forward.ops if op.defn.name == "bind_size"}
        self._symbols = {symbol_of(size): size for size in self._bound}
        self._hidden: dict[Value, Value] = {}
        self._begin: list[Op] = []

    def hidden(self, v: Value) -> Value:
        """What leaves the forward block in the place of a value."""
        type = erased(v.type, self._symbols.__contains__) if self._symbols else v.type
        if type is v.type:
            return v
        if v not in self._hidden:
            self._hidden[v] = _appended(self.forward, WithSizes, (v,), type, (type,))
            self._hidden[v].named_after(v)
        return self._hidden[v]

    def shown(self, arriving: Value, v: Value) -> Value:
        """A value in the adjoint block, from what arrives there."""
        if arriving.type is v.type:
            return arriving
        op = Op(WithSizes, (arriving,), (v.type,), (v.type,), (), None, self.adjoint)
        op.results[0].name = arriving.name
        self._begin.append(op)
        return op.results[0]

    def bind(self, arrives: Callable[[Value], Value], known: Collection[Symbol] = ()) -> None:
        """Binds the symbols that the adjoint block mentions, but for those known there; its first ops are complete.

        `arrives` hands a value of the forward block over.
        """
        if not self._symbols:
            return
        self.adjoint.ops[:0] = self._begin
        mentioned = {s for op in ops_of(self.adjoint) for s in symbols_at(op)}
        mentioned.update(s for v in (*self.adjoint.outs, *self.adjoint.args) for s in symbols_of_type(v.type))
        binds = []
        for symbol, size in self._symbols.items():
            if symbol in mentioned and symbol not in known:
                binder = self._bound[size]
                number = _appended(self.forward, SizeValue, (), COUNT, (size,))
                place = binder.loc and binder.loc.tagged("adjoint")
                binds.append(Op(BindSize, (arrives(number),), (COUNT,), binder.attrs, (), place, self.adjoint))
        self.adjoint.ops[:0] = binds


def _appended(block: Block, defn: type[Definition], operands: tuple[Value, ...], type: Type, attrs: Attrs) -> Value:
    op = Op(defn, operands, (type,), attrs, (), None, block)
    block.ops.append(op)
    return op.results[0]


# ------------------------------------------------------------------------------------------------- the replacement
def residual_name(how: str, x: Value) -> str:
    """The name of a value that stands for `x` in an adjoint: "saved", what it "was", or computed "again"."""
    name = x.name or x.number
    return how if name is None else f"{how}_{name}"


def take_over(block: Block, forward: Block, mapping: dict[Value, Value], recomputed: set[Op]) -> None:
    """Replaces what an adjoint block mentions of its forward block: by `mapping`, or by ops run again at first use."""
    if recomputed:
        position = {op: i for i, op in enumerate(forward.ops)}
        ops: list[Op] = []
        for op in block.ops:
            wanted = [*op.operands, *(v for inner in op.blocks for v in _mentions(inner))]
            _run_again(wanted, block, ops, mapping, recomputed, position)
            ops.append(op)
        _run_again(block.outs, block, ops, mapping, recomputed, position)
        block.ops = ops
    if mapping:
        for op in ops_of(block):
            op.operands = tuple([mapping.get(x, x) for x in op.operands])
            for inner in op.blocks:
                inner.outs = [mapping.get(x, x) for x in inner.outs]
        block.outs = [mapping.get(x, x) for x in block.outs]


def _run_again(
    values: Iterable[Value],
    block: Block,
    ops: list[Op],
    mapping: dict[Value, Value],
    recomputed: set[Op],
    position: Mapping[Op, int],
) -> None:
    """Appends to `ops` what gives those of `values` that are recomputed and not yet there, in the forward order."""
    wanted: dict[int, Op] = {}
    stack = [v for v in values if v.owner in recomputed and v not in mapping]
    while stack:
        op = stack.pop().owner
        assert type(op) is Op
        if position[op] in wanted:
            continue
        wanted[position[op]] = op
        stack.extend(x for x in op.operands if x.owner in recomputed and x not in mapping)
    for _, op in sorted(wanted.items()):
        again = Op(
            op.defn, op.operands, [r.type for r in op.results], op.attrs, (),
            None if op.loc is None else op.loc.tagged("recomputed"), block,
        )  # fmt: skip
        for old, new in zip(op.results, again.results, strict=True):
            new.name = residual_name("again", old) if op.defn.name != "const" else None
            mapping[old] = new
        ops.append(again)
