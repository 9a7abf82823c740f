"""Reverse mode: the adjoint of a list of ops, emitted as more ops.

`adjoint` is the algorithm: from the last op to the first, the derivative rule (vjp) of each turns the cotangents of its
results into shares of those of its operands, which are added up.  A rule is ordinary code over primitives: called with
a builder current, it emits.  The rules of ops that own blocks (`control`) call `adjoint` for the blocks inside and emit
structured ops, so the derivative of a derivative is this same code.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..errors import CompileError, InternalCompilerError, NotDifferentiableError
from ..ir.build import Builder
from ..ir.core import Op, Value
from ..ir.primitive import Context, F
from ..ir.types import TensorType
from ..ir.walk import is_met, meets
from ..primitives.family import cotangent_in
from ..primitives.sizes_of_data import may_be
from ..source import Loc
from .accumulate import ReadsOfMade, added_into, summed, zeros_like
from .masks import MaskedRuns, Masks, either, joined
from .provenance import Provenance, Uses

#: What a rule gives the cotangents of the operands: a value, its share, and the mask of that.
Shares: TypeAlias = Iterable[tuple[Value, Value | None, Value | None]]
#: The rule of an op that owns blocks, or calls: `(sweep, builder, op, cotangents of its results, masks of these)`.
Rule: TypeAlias = "Callable[[Sweep, Builder, Op, list[Value | None], Masks], Shares]"
#: The rules of ops that own blocks, by name.
STRUCTURED: dict[str, Rule] = {}


@dataclass(slots=True)
class Sweep:
    """What a reverse sweep and those of the blocks inside share; `sums` and `provenance` grow on the way."""

    #: the values whose cotangents are wanted
    active: set[Value]
    #: the rule of `call`: it knows the backward functions
    call: Rule
    provenance: Provenance
    #: results of adjoint loops that begin as zeros, and to which every trip adds
    sums: set[Value] = field(default_factory=set)
    #: the arguments of what is differentiated whose masks are wanted, too
    masked: Collection[Value] = ()

    def has_upstream(self, x: Value) -> bool:
        """Whether a mask of the cotangent of `x` matters: at most arguments of what is differentiated none does."""
        return x.op is not None or (x.block is not None and x.block.parent is not None) or x in self.masked


class Cotangents:
    """The cotangents that one block has produced so far, by value; a value that is absent has the cotangent zero."""

    __slots__ = ("builder", "masks", "pending", "runs", "sweep", "uses")

    def __init__(self, sweep: Sweep, builder: Builder) -> None:
        self.sweep, self.builder = sweep, builder
        self.pending: dict[Value, Value] = {}
        #: by the value whose cotangent it is, not by the cotangent: another value may share that without a mask
        self.masks: dict[Value, Value] = {}
        self.runs = MaskedRuns(builder, sweep.active)
        self.uses = Uses(sweep.provenance)

    def add(
        self,
        x: Value,
        g: Value | None,
        mask: Value | None = None,
        *,
        reads: Callable[[Value], int | None] | None = None,
        place: Loc | None = None,
    ) -> None:
        """Adds one share of the cotangent of `x`; an inactive value has none.  All sums are emitted here.

        `reads` counts the reads of the values that the share was computed from: one with a single read may be rewritten
        to start from the sum so far.  `place` is where `x` is used, if not where the builder is.
        """
        if g is None or x not in self.sweep.active:
            return
        g = in_sizes_of(self.builder, x, g)
        self.uses.add(x, g, place or self.builder.loc)
        before = self.pending.get(x)
        if before is None:
            if mask is not None:
                self.masks[x] = mask
            self.pending[x] = g
            return
        other = self.masks.pop(x, None)
        if mask is not None and other is not None:
            self.masks[x] = mask = joined(self.builder, other, mask)
        else:
            mask = None
        builder = self.builder if reads is not None else self.runs.for_sum(mask, before, g)
        before, g = self.runs.seen(builder, x, before), self.runs.seen(builder, x, g)
        total = None if reads is None else added_into(builder, before, g, self.sweep.sums, reads)
        self.pending[x] = summed(builder, before, g) if total is None else total

    def pop(self, x: Value, under: Builder | None = None) -> Value | None:
        """The whole cotangent of `x`, as ops of a builder see it; None if it is zero."""
        g = self.pending.pop(x, None)
        if g is not None:
            g = self.runs.seen(under or self.builder, x, g)
            self.uses.whole(x, g)
        return g

    def given(self, x: Value) -> bool | Value:
        """Whether the block produces a cotangent of `x`: True, False or its mask."""
        return self.masks.get(x, x in self.pending)

    def pop_masks(self, xs: Sequence[Value]) -> Masks:
        return [self.masks.pop(x, None) for x in xs] if self.masks else [None] * len(xs)

    def pop_or_zero(self, x: Value) -> Value:
        g = self.pop(x)
        return zeros_like(self.builder, x) if g is None else g

    def pop_share(self, x: Value) -> Value:
        """The share that this block has in the cotangent of a value from around it."""
        g = self.pending.pop(x, None)
        if g is None:
            return zeros_like(self.builder, x)
        self.uses.of_block(x, g)
        return g


def in_sizes_of(builder: Builder, x: Value, g: Value) -> Value:
    """A derivative of `x` in the type of x: a rule may give it sizes that a check has found to be equal."""
    if g.type is x.type:
        return g
    if not may_be(g.type, x.type):
        raise InternalCompilerError(f"the cotangent of {x} has the type {g.type}", loc=builder.loc)
    with builder:
        return F.with_sizes(g, type=x.type)  # type: ignore[no-any-return]


def adjoint(sweep: Sweep, builder: Builder, ops: Sequence[Op], cotangents: Cotangents) -> None:
    """Emits the adjoint of `ops` into `builder` and moves the cotangents of their results to what they depend on.

    `ops` lie in one block, in order.  Afterwards `cotangents` holds those of values defined around `ops`.
    Raises NotDifferentiableError where an op without a derivative is on the way.
    """
    pending = cotangents.pending
    with builder:
        for op in reversed(ops):
            if pending.keys().isdisjoint(op.results) and not meets(op, builder.module):
                sweep.provenance.passed(op)
                continue
            builder.loc = sweep.provenance.place_of(op)
            pull_back = _structured if op.defn.infer_blocks is not None else _together if is_met(op) else _plain
            pull_back(sweep, builder, op, cotangents)
        cotangents.runs.end()
    for x, g in pending.items():
        pending[x] = cotangents.runs.seen(builder, x, g)
    cotangents.uses.leave(pending)


def _plain(sweep: Sweep, builder: Builder, op: Op, cotangents: Cotangents) -> None:
    """The adjoint of an op without blocks: its `vjp`, under the mask of its cotangents."""
    mask = either([cotangents.pending.get(r) for r in op.results], cotangents.pop_masks(op.results))
    run = cotangents.runs.under(mask)
    gs = [cotangents.pop(r, run) for r in op.results]
    with run:
        shares = _vjp(op, gs, sweep.active)
    for x, g in shares:
        cotangents.add(x, g, mask)
    if mask is not None:
        cotangents.runs.keep_order(mask)


def _together(sweep: Sweep, builder: Builder, op: Op, cotangents: Cotangents) -> None:
    """The adjoint of a collective: on no condition, with zeros for cotangents that have not arrived here."""
    cotangents.pop_masks(op.results)
    cotangents.runs.end()
    gs: list[Value | None] = [cotangents.pop_or_zero(r) for r in op.results]
    for x, g in _vjp(op, gs, sweep.active):
        cotangents.add(x, g)


def _structured(sweep: Sweep, builder: Builder, op: Op, cotangents: Cotangents) -> None:
    """The adjoint of an op that owns blocks, or calls."""
    rule = sweep.call if op.defn.name == "call" else STRUCTURED.get(op.defn.name)
    if rule is None:
        raise InternalCompilerError(f"`{op.defn.name}` is differentiated too late", loc=op.loc)
    cotangents.runs.end()
    masks = cotangents.pop_masks(op.results)
    gs = [cotangents.pop(r) for r in op.results]
    start = len(builder.block.ops)
    with sweep.provenance.blocks_of_op() as inside:
        shares = list(rule(sweep, builder, op, gs, masks))
    reads = ReadsOfMade(builder.block, start, [g for _, g, _ in shares if g is not None])
    for x, g, mask in shares:
        cotangents.add(x, g, mask, reads=reads, place=inside.get(x))


def _vjp(op: Op, gs: list[Value | None], active: set[Value]) -> Iterable[tuple[Value, Value | None]]:
    """What the derivative rule of an op without blocks gives each of its operands."""
    defn, operands = op.defn, op.operands
    flags = tuple([x in active for x in operands])
    if True not in flags and not is_met(op):
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
    """A cotangent cast to the dtype of its operand: rules may compute that of an integer in floats."""
    integer = isinstance(x.type, TensorType) and not x.dtype.is_float
    # MindSpore 2.10: integers are variables; their cotangents are of the integer dtype, truncated where a float one
    # arrives.
    return cotangent_in(g, x.dtype) if integer and g is not None else g
