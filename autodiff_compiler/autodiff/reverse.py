"""Reverse mode: the adjoint of a list of ops, emitted as more ops.

A derivative rule is ordinary code over primitives: called with a builder current, it emits.  The rules of ops that own
blocks stand in `control`; they call `adjoint` again for the blocks inside, and emit structured ops themselves, so the
derivative of a derivative is this same code.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import CompileError, InternalCompilerError, NotDifferentiableError
from ..ir.build import Builder
from ..ir.core import Block, Op, Value
from ..ir.primitive import Context, F
from ..ir.types import Seq, TensorType, TupleType, Type
from ..ir.walk import free_values, ops_of, unpack
from ..primitives.autodiff import OF_USERS
from ..primitives.control import COUNT, If, Scan
from ..primitives.family import cotangent_in
from ..source import Loc
from .accumulate import ReadsOfMade, added_into, beside
from .activity import differentiable
from .cotangent_masks import Ways, either, joined

if TYPE_CHECKING:
    from .vjp_functions import Pairs

__all__ = [
    "STRUCTURED",
    "Cotangents",
    "Shares",
    "Sweep",
    "adjoint",
    "filled",
    "hint",
    "or_zeros",
    "order_of",
    "summed",
    "zeros_like",
]


@dataclass(frozen=True, slots=True)
class Sweep:
    """What holds for a whole reverse sweep, nested blocks included.

    `active` are the values that a cotangent is wanted for, `pairs` the forward and backward functions made for calls.
    """

    active: set[Value]
    pairs: Pairs
    #: whether users' rules are on the way: they are not asked where no path gives a cotangent
    conditional: bool = field(init=False)
    #: results of adjoint loops that begin as zeros, and to which every trip adds
    sums: set[Value] = field(default_factory=set)
    #: 1 for a derivative, 2 for one of a derivative, ...
    order: int = 1
    #: shares of cotangents, and the names of these
    shares: list[tuple[Value, str]] = field(default_factory=list)
    #: of values written on several lines: the lines that only decide by them, and those that give a cotangent
    deciding: dict[Value, set[tuple[str, int]]] = field(default_factory=dict)
    giving: dict[Value, set[tuple[str, int]]] = field(default_factory=dict)
    #: of what the blocks of an op give a cotangent to: where in them
    inside: dict[Value, Loc] = field(default_factory=dict)

    def __post_init__(self) -> None:
        found = any(v.op is not None and v.op.defn.name in OF_USERS for v in self.active)
        object.__setattr__(self, "conditional", found)

    def completed(self, x: Value, g: Value, uses: Sequence[tuple[Value, Loc | None]]) -> Value:
        """Names the whole cotangent of `x`, added up from these shares, and notes at which places `x` is used."""
        name = hint(x, self.order)
        if name is None:
            return g
        if g.name is None and _of_derivative(g):
            g.name = name
        if len(uses) > 1:
            self.shares.extend((share, name) for share, _ in uses)
            note_uses(g, uses)
        return g

    def place_of(self, op: Op, gives: bool) -> Loc | None:
        """Where an op is written that has a cotangent, or has none: not on lines that only decide by what it computes.

        Of what its operands are, which come later in the sweep, it notes on which lines they are read, and what for.
        """
        loc, out = op.loc, set[tuple[str, int]]()
        if loc is None:
            return None
        if loc.also and not loc.tag:  # adjoints of other lines that read its results are no uses of its operands
            loc = loc._replace(also=tuple([place for place in loc.also if not place.tag]))
        if loc.also and gives:
            none: set[tuple[str, int]] = set()
            out = {line for r in op.results for line in self.deciding.get(r, none) - self.giving.get(r, none)}
            kept = [place for place in loc.places if place[:2] not in out]
            if kept and len(kept) < len(loc.places):
                loc = kept[0]._replace(also=tuple(kept[1:]))
            else:
                out = set()
        for x in op.operands:
            if x in self.active and x.op is not None and x.op.loc is not None and x.op.loc.also:
                lines = {place[:2] for place in loc.places}
                if not gives:
                    self.deciding.setdefault(x, set()).update(lines)
                elif not op.blocks:  # what is read inside is noted there
                    self.giving.setdefault(x, set()).update(lines)
                    self.deciding.setdefault(x, set()).update(out)
        return loc

    def name_shares(self) -> None:
        """Names what is a part of a cotangent and nothing whole: to be called when all are complete."""
        numbers: Counter[str] = Counter()
        for share, name in self.shares:
            if share.name is None and _of_derivative(share):
                numbers[name] += 1
                share.name = f"{name}_part{numbers[name]}"


_ORDER = re.compile(r"d(\d*)_")
#: The cotangents that the rule of an op hands out: a value, one share of its cotangent, the way in which it is given.
Shares: TypeAlias = Iterable[tuple[Value, Value | None, Value | None]]
#: Rules of ops that own blocks, by name: `(sweep, builder, op, cotangents of its results, ways of these)`.
STRUCTURED: dict[str, Callable[[Sweep, Builder, Op, list[Value | None], Ways], Shares]] = {}


class Cotangents:
    """The cotangents collected so far, by value.  A value that is absent has the cotangent zero."""

    __slots__ = ("active", "pending", "uses", "when")

    def __init__(self, active: set[Value]) -> None:
        self.active = active
        self.pending: dict[Value, Value] = {}
        #: the shares of each, and the places of the uses that they come from
        self.uses: dict[Value, list[tuple[Value, Loc | None]]] = {}
        #: those that only some paths give, and the conditions of these: elsewhere they are zeros.  By the value whose
        #: cotangent it is: another value may have the same one in any case
        self.when: dict[Value, Value] = {}

    def add(
        self,
        builder: Builder,
        x: Value,
        g: Value | None,
        sweep: Sweep | None = None,
        reads: Callable[[Value], int | None] | None = None,
        place: Loc | None = None,
        way: Value | None = None,
    ) -> None:
        """Adds one share of the cotangent of `x`; an inactive value has none.  All sums are emitted here.

        `reads` says how often what the share was made of is read, by shares too: what nobody else reads may still be
        made to add to what there is.  `place` is where `x` is used, if not where the builder is; `way` is the condition
        under which the share is given, if not in any case.
        """
        if g is None or x not in self.active:
            return
        if g.type is not x.type:
            raise InternalCompilerError(f"the cotangent of {x} has the type {g.type}", loc=builder.loc)
        before = self.pending.get(x)
        place = place or builder.loc
        if before is None:
            self.uses[x] = [(g, place)]
            if way is not None:
                self.when[x] = way
        else:
            self.uses[x].append((g, place))
            if self.when and (other := self.when.pop(x, None)) is not None and way is not None:
                self.when[x] = joined(builder, other, way)
            total = None
            if sweep is not None and reads is not None:
                total = added_into(builder, before, g, sweep.sums, reads)
            g = summed(builder, before, g) if total is None else total
        self.pending[x] = g

    def pop(self, x: Value, sweep: Sweep) -> Value | None:
        """The whole cotangent of `x`; None if it is zero."""
        g = self.pending.pop(x, None)
        return None if g is None else sweep.completed(x, g, self.uses[x])

    def pop_or_zero(self, builder: Builder, x: Value, sweep: Sweep) -> Value:
        g = self.pop(x, sweep)
        return zeros_like(builder, x) if g is None else g

    def pop_share(self, builder: Builder, x: Value, sweep: Sweep) -> Value:
        """What one block gives to the cotangent of a value from around it."""
        g, name = self.pending.pop(x, None), hint(x, sweep.order)
        if g is None:
            return zeros_like(builder, x)
        if len(self.uses[x]) > 1:
            note_uses(g, self.uses[x])
        if name is not None:
            sweep.shares.append((g, name))
        return g


def _of_derivative(g: Value) -> bool:
    """Whether a value was made for a derivative; it may also be one of the program that happens to be the same."""
    op = g.op
    return op is None or op.loc is None or bool(op.loc.tag)


def note_uses(g: Value, uses: Sequence[tuple[Value, Loc | None]]) -> None:
    """Notes at which places the shares arise that `g` is the sum of."""
    op = g.op
    if op is not None and op.loc is not None and op.loc.tag:
        op.loc = op.loc._replace(uses=tuple([loc for _, loc in uses if loc is not None]))


def adjoint(sweep: Sweep, builder: Builder, ops: Sequence[Op], cotangents: Cotangents) -> None:
    """Emits the adjoint of `ops` into `builder` and moves the cotangents of their results to what they depend on.

    `ops` lie in one block, in order.  Afterwards `cotangents` holds those of values defined around `ops`.
    Raises NotDifferentiableError where an op without a derivative is on the way.
    """
    pop = cotangents.pop
    with builder:
        for op in reversed(ops):
            gs = [pop(r, sweep) for r in op.results]
            for g in gs:
                if g is not None:
                    break
            else:
                sweep.place_of(op, gives=False)
                continue
            ways: Ways = [cotangents.when.pop(r, None) for r in op.results] if cotangents.when else [None] * len(gs)
            place = sweep.place_of(op, gives=True)
            builder.loc = None if place is None else place.tagged("adjoint")
            start = len(builder.block.ops)
            if op.defn.infer_blocks is not None:
                rule = STRUCTURED.get(op.defn.name)
                if rule is None:
                    raise InternalCompilerError(f"`{op.defn.name}` is differentiated too late", loc=op.loc)
                beside = dict(sweep.inside)
                sweep.inside.clear()
                shares: Shares = list(rule(sweep, builder, op, gs, ways))
                inside = dict(sweep.inside)
                reads = ReadsOfMade(builder.block, start, [g for _, g, _ in shares if g is not None])
                sweep.inside.clear()
                sweep.inside.update(beside)
            else:
                shares, reads, inside = _guarded_shares(builder, op, gs, either(gs, ways), sweep.active), None, {}
            for x, g, way in shares:
                cotangents.add(builder, x, g, sweep, reads, inside.get(x), way)
    for x in cotangents.pending:
        for _, place in cotangents.uses[x]:
            if place is not None:
                sweep.inside[x] = sweep.inside[x].with_also(place) if x in sweep.inside else place


def _guarded_shares(
    builder: Builder, op: Op, gs: list[Value | None], way: Value | None, active: set[Value]
) -> Iterable[tuple[Value, Value | None, Value | None]]:
    """What the derivative rule of a plain op gives each of its operands, and in which way.

    What it reads of the forward pass is read only where a cotangent is given: elsewhere the next derivative would find
    a use of it, and ask users' rules behind that; and zero times an infinite derivative is no zero.
    """
    if way is None:
        return [(x, g, None) for x, g in _shares(op, gs, active)]
    run = builder.nested()
    with run:
        shares = [(x, g) for x, g in _shares(op, gs, active) if g is not None and x in active]
    run.ret(*[g for _, g in shares])
    read = {x for x in free_values(run.block) if not x.made_by("const")}
    if read <= set(gs):  # nothing of the forward pass
        unpack(builder, run.block, ())
        return [(x, g, way) for x, g in shares]
    results = or_zeros(builder, way, run.block, [x for x, _ in shares])
    return [(x, r, way) for (x, _), r in zip(shares, results, strict=True)]


def or_zeros(builder: Builder, way: Value, block: Block, xs: Sequence[Value]) -> list[Value]:
    """The cotangents of `xs` that a block yields, where they are given in this way; else zeros, without running it."""
    skip = builder.nested()
    skip.ret(*[zeros_like(skip, x) for x in xs])
    return builder.emit_op(If, (way,), (), [block, skip.block]).results


def _shares(op: Op, gs: list[Value | None], active: set[Value]) -> Iterable[tuple[Value, Value | None]]:
    """What the derivative rule of a plain op gives each of its operands."""
    defn, operands = op.defn, op.operands
    flags = tuple([x in active for x in operands])
    if True not in flags:
        return ()
    if defn.vjp is None:
        raise NotDifferentiableError(
            f"`{defn.name}` has no derivative, and the gradient asked for needs it", loc=op.loc,
            hint="put stop_gradient around its operands, or give the function a derivative of its own (bprop)",
        )  # fmt: skip
    context = Context(defn, op.attrs, op.results, flags)
    try:
        shares: Any = defn.vjp(context, gs if defn.multiple or len(gs) > 1 else gs[0], *operands)
    except CompileError as error:
        error.at(op.loc, "while its derivative was built")
        raise
    if not isinstance(shares, tuple | list):
        shares = (shares,)
    if len(shares) != len(operands):
        raise InternalCompilerError(f"the rule of `{defn.name}` gives {len(shares)} cotangents", loc=op.loc)
    return [(x, _in_dtype_of(x, g)) for x, g in zip(operands, shares, strict=True)]


def _in_dtype_of(x: Value, g: Value | None) -> Value | None:
    """A cotangent in the dtype of its operand: rules may compute that of an integer in floats."""
    if g is None or not isinstance(x.type, TensorType) or x.dtype.is_float:
        return g
    return cotangent_in(g, x.dtype)  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------------- values of cotangents
def hint(x: Value, order: int = 1) -> str | None:
    """The name under which the cotangent of `x` is printed in a derivative of this order."""
    name = x.name or x.number
    return None if name is None else f"d_{name}" if order == 1 else f"d{order}_{name}"


def order_of(block: Block) -> int:
    """Of which order a derivative of a block is: one more than the derivatives that it holds, by the names in them."""
    found = 0
    for op in ops_of(block):
        if op.loc is not None and op.loc.tag == "adjoint":
            for x in op.results:
                named = _ORDER.match(x.name) if x.name else None
                if named is not None:
                    found = max(found, int(named[1] or 1))
    return found + 1


def summed(builder: Builder, x: Value, y: Value) -> Value:
    """The sum of two cotangents of one type."""
    type = x.type
    total: Value
    with builder:
        if isinstance(type, TensorType):
            one = _one_slice(y)
            if beside(x, y):
                total = builder.emit(y.op.defn, (x, y.op.operands[1]), y.op.attrs)  # type: ignore[union-attr]
            else:
                total = F.add(x, y) if one is None else F.scatter_add(x, *one.operands[1:], axis=one.attr("axis"))
        elif isinstance(type, Seq):
            total = F.seq_add(x, y)
        else:
            assert isinstance(type, TupleType)
            parts = []
            for i, t in enumerate(type.elems):
                a, b = F.tuple_get(x, index=i), F.tuple_get(y, index=i)
                parts.append(summed(builder, a, b) if differentiable(t) else a)
            total = F.tuple_make(*parts)
    return total


def _one_slice(y: Value) -> Op | None:
    """What made a cotangent that is zero but for one slice: added in place, it costs the slice and not the whole."""
    op = y.op
    if op is None or op.defn.name != "scatter_add":
        return None
    zeros, index, _ = op.operands
    return op if zeros.constant == 0 and not index.shape else None


def filled(builder: Builder, type: Type, number: float) -> Value:
    """A value of `type` whose numbers all equal `number` and whose bools are false; `type` holds no sequence."""
    if isinstance(type, TensorType):
        return builder.const(0 if type.dtype.is_bool else number, type)
    if isinstance(type, TupleType):
        parts = [filled(builder, t, number) for t in type.elems]
        with builder:
            return F.tuple_make(*parts)  # type: ignore[no-any-return]
    raise InternalCompilerError(f"the length of {type} is unknown", loc=builder.loc)


def zeros_like(builder: Builder, x: Value) -> Value:
    """The zero cotangent of `x`; `x` itself is mentioned only where it tells the length of a sequence."""
    type = x.type
    if not _holds_sequence(type):
        return filled(builder, type, 0)
    with builder:
        if isinstance(type, TupleType):
            parts = [zeros_like(builder, F.tuple_get(x, index=i)) for i in range(len(type.elems))]
            return F.tuple_make(*parts)  # type: ignore[no-any-return]
        assert isinstance(type, Seq)
        ragged = _holds_sequence(type.elem)
        trip = builder.nested([COUNT, type.elem] if ragged else [COUNT], ["i", "x"] if ragged else ["i"])
        trip.ret(zeros_like(trip, trip.block.args[1]) if ragged else filled(trip, type.elem, 0))
        operands = (F.seq_len(x), x) if ragged else (F.seq_len(x),)
        return builder.emit_op(Scan, operands, (0, False), (trip.block,)).results[0]


def _holds_sequence(type: Type) -> bool:
    return isinstance(type, Seq) or (isinstance(type, TupleType) and any(map(_holds_sequence, type.elems)))
