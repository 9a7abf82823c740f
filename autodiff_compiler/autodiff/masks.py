"""Cotangent masks: whether a cotangent was produced, where only run time can tell.

A value that one arm of an `if` uses has a cotangent only if that arm ran.  Its mask is a bool, or for a sequence the
sequence of the masks of its elements, one per trip.  No mask (None): always.

Where a mask is false no derivative rule upstream may run: an infinite derivative would make NaN of the zero cotangent
(0 * inf), and a user's rule must not see a cotangent that was not produced.  `MaskedRuns` emits it under
`if mask`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from ..dtypes import bool_
from ..ir.build import Builder
from ..ir.core import Block, Op, Value
from ..ir.primitive import Effect, F, trace
from ..ir.types import Seq, Type, tensor
from ..ir.walk import free_values, ops_of, splice
from ..primitives.control import COUNT, If, Scan
from .accumulate import zeros_like
from .activity import holds_floats

MASK = tensor(bool_, ())
#: The masks of several cotangents.
Masks: TypeAlias = Sequence[Value | None]


# --------------------------------------------------------------------------------------------------- ops under masks
def or_zeros(builder: Builder, mask: Value, block: Block, xs: Sequence[Value]) -> list[Value]:
    """The cotangents of `xs` that a block yields; where the mask is false they are zeros, and it does not run."""
    skip = builder.nested()
    skip.ret(*[zeros_like(skip, x) for x in xs])
    return builder.emit_op(If, (mask,), (), [block, skip.block]).results


@dataclass(slots=True, eq=False)
class _Run:
    """Ops under one mask: `ops` where it is true, `zeros` where it is not, both arms of `op` once that is emitted.

    `given` are the cotangents from outside that it reads, `results` the results of `op` by what it yields for them.
    """

    mask: Value
    ops: Builder
    zeros: Block = field(default_factory=Block)
    given: set[Value] = field(default_factory=set)
    op: Op | None = None
    results: dict[Value, Value] = field(default_factory=dict)


class MaskedRuns:
    """Gathers the masked ops of one block's adjoint: one `if` around all that follow each other under the same mask.

    The `if` of a run is emitted when an op outside reads one of its values.  A run that reads results of an earlier
    `if` on the same condition is appended to the arm of that one.  A run that reads no floats of the forward pass is
    linear with finite coefficients: zero cotangents stay zero, so its ops need no `if`.
    """

    __slots__ = ("_active", "_builder", "_by_block", "_open", "_start")

    def __init__(self, builder: Builder, active: set[Value]) -> None:
        self._builder, self._active = builder, active
        self._start = len(builder.block.ops)  # before it there may be the ops that are differentiated
        self._open: dict[Value, _Run] = {}
        self._by_block: dict[Block | None, _Run] = {}

    def under(self, mask: Value | None) -> Builder:
        """The builder for ops under a mask."""
        if mask is None:
            return self._builder
        run = self._open.get(mask)
        if run is None:
            run = self._open[mask] = _Run(mask, self._builder.nested())
            self._by_block[run.ops.block] = run
        run.ops.loc = self._builder.loc
        return run.ops

    def for_sum(self, mask: Value | None, x: Value, y: Value) -> Builder:
        """The builder for the sum of two cotangents, which has this mask."""
        run = None if mask is None else self._open.get(mask)
        return run.ops if run is not None and run.ops.block in (x.block, y.block) else self._builder

    def seen(self, builder: Builder, x: Value, g: Value) -> Value:
        """The cotangent `g` of `x` as ops of this builder see it: a result of the `if` of its run, if it is another."""
        run = self._by_block.get(g.block)
        if builder.block is not g.block and run is not None and (run.op is not None or self._emitted(run)):
            if g not in run.results:
                assert run.op is not None
                run.results[g] = run.op.add_result(g.type)
                g.block.outs.append(g)  # type: ignore[union-attr]
                # Emitted late, it must not find its constants among what stands behind the `if` by then.
                zeros = Builder(run.zeros, module=builder.module, rules=builder.rules, loc=run.op.loc)
                run.zeros.outs.append(zeros_like(zeros, x))
            g = run.results[g]
        if builder is not self._builder and g.block is not builder.block:
            self._by_block[builder.block].given.add(g)
        return g

    def end(self) -> None:
        """Emits all runs."""
        for run in list(self._open.values()):
            self._emitted(run)

    def keep_order(self, mask: Value) -> None:
        """Ends the run under a mask if it has an effect, so that effects keep their order."""
        run = self._open.get(mask)
        if run is not None and any(op.defn.effect > Effect.READ for op in run.ops.block.ops):
            self._emitted(run)

    def _emitted(self, run: _Run) -> bool:
        """Emits a run as an `if` or into the arm of one: True.  Ops that need no mask move to the block: False."""
        del self._open[run.mask]
        block = run.ops.block
        read = free_values(block)
        effects = any(op.defn.effect > Effect.READ for op in ops_of(block))
        if not effects and all(x in run.given or self._keeps_zeros(x, block) for x in read):
            del self._by_block[block]
            splice(block, self._builder.block, {})
            self._builder.numbers |= run.ops.numbers
            return False
        if not self._continues(run, read):
            around, self._builder.loc = self._builder.loc, run.ops.loc
            run.op = self._builder.emit_op(If, (run.mask,), (), [block, run.zeros])
            self._builder.loc = around
        return True

    def _continues(self, run: _Run, read: Sequence[Value]) -> bool:
        """Appends a run to the arm of an earlier `if` on its mask; False if it reads results of ops after that `if`."""
        block = self._builder.block
        for op in {x.op: None for x in run.given if x.op is not None and x.block is block and x.made_by("if")}:
            negated = run.mask.made_by("logical_not") and run.mask.op.operands[0]  # type: ignore[union-attr]
            if run.mask is not op.operands[0] and negated is not op.operands[0]:
                continue
            place = block.ops.index(op)
            later = {r for other in block.ops[place + 1 :] for r in other.results}
            if place >= self._start and later.isdisjoint(read):
                then, zeros = op.blocks if run.mask is op.operands[0] else op.blocks[::-1]
                run.op, run.zeros = op, zeros
                self._by_block[then] = run
                splice(run.ops.block, then, dict(zip(op.results, then.outs, strict=True)))
                return True
        return False

    def _keeps_zeros(self, x: Value, block: Block) -> bool:
        """Whether zero times `x` is zero: `x` is no float of the forward pass, and finite if it is a constant."""
        if not x.made_by("const"):
            return x not in self._active and not holds_floats(x.type)
        number = x.constant
        held = self._builder.module.constants[x.op.attrs[0][1:]] if number is None else number  # type: ignore[union-attr]
        divides = any(op.defn.name == "div" and op.operands[1] is x for op in ops_of(block))
        return bool(np.isfinite(held).all() and (np.all(held) or not divides))


# -------------------------------------------------------------------------------------------------- masks as values
def either(gs: Iterable[Value | None], masks: Masks) -> Value | None:
    """The mask of what needs one of these cotangents, as one bool; None if one has no mask, false if there is none."""
    found: dict[Value, None] = {}
    for g, mask in zip(gs, masks, strict=True):
        if g is not None:
            if mask is None:
                return None
            found[mask] = None
    if not found:
        return trace.builder.const(False, MASK)  # type: ignore[no-any-return]
    return functools.reduce(lambda p, q: F.logical_or(p, q), [any_of(trace.builder, mask) for mask in found])


def masks_of_arms(
    condition: Value, given: Mapping[Value, Sequence[bool | Value]]
) -> tuple[dict[Value, Value], list[Value]]:
    """The masks of what one arm of an `if` gives, and the values whose masks its arms must yield.

    `given` says for each value what both arms give: True, False or a mask.
    """
    known, told = {}, []
    for v, (then, other) in given.items():
        if then is True and other is True:
            continue
        if isinstance(then, bool) and isinstance(other, bool):
            known[v] = condition if then else F.logical_not(condition)
        else:
            told.append(v)
    return known, told


def joined(builder: Builder, p: Value, q: Value) -> Value:
    """The mask of a sum of two cotangents with these masks: for a sequence element by element."""
    if p is q:
        return p
    sequences = [v for v in (p, q) if isinstance(v.type, Seq)]
    if not sequences:
        with builder:
            return F.logical_or(p, q)  # type: ignore[no-any-return]

    def of_trip(trip: Builder, elems: Sequence[Value]) -> Value:
        following = iter(elems)
        a, b = (next(following) if isinstance(v.type, Seq) else v for v in (p, q))
        return joined(trip, a, b)

    return _by_element(builder, sequences, of_trip)


def any_of(builder: Builder, mask: Value) -> Value:
    """Whether anything is given, as one bool."""
    if not isinstance(mask.type, Seq):
        return mask
    trip = builder.nested([COUNT, MASK, mask.type.elem])
    _, so_far, elem = trip.block.args
    trip.ret(joined(trip, so_far, any_of(trip, elem)))
    with builder:
        operands = (F.seq_len(mask), builder.const(False, MASK), mask)
        return builder.emit_op(Scan, operands, (1, False), (trip.block,)).results[0]


def one_mask(builder: Builder, mask: bool | Value) -> Value:
    """The mask as one bool; a Python bool is known while compiling."""
    return any_of(builder, mask) if isinstance(mask, Value) else builder.const(mask, MASK)


def finest(masks: Iterable[bool | Value]) -> Type:
    """The most detailed type among these masks (a sequence before a bool); a Python bool is known while compiling."""
    return max((mask.type if isinstance(mask, Value) else MASK for mask in masks), key=_depth)


def spread(builder: Builder, mask: bool | Value, type: Type, x: Value) -> Value:
    """The mask as one of this type, of the cotangent of `x`: that of a sequence holds for all its elements."""
    mask = mask if isinstance(mask, Value) else builder.const(mask, MASK)
    if mask.type is type:
        return mask
    assert isinstance(type, Seq)
    assert isinstance(x.type, Seq)
    inner, sequences = type.elem, [x] if not isinstance(mask.type, Seq) else [x, mask]
    return _by_element(builder, sequences, lambda trip, elems: spread(trip, [*elems, mask][1], inner, elems[0]))


def _depth(type: Type) -> int:
    return 1 + _depth(type.elem) if isinstance(type, Seq) else 0


def _by_element(
    builder: Builder, sequences: Sequence[Value], of_trip: Callable[[Builder, Sequence[Value]], Value]
) -> Value:
    """The sequence of what these elements of sequences give."""
    trip = builder.nested([COUNT, *(s.type.elem for s in sequences)])  # type: ignore[attr-defined]
    trip.ret(of_trip(trip, trip.block.args[1:]))
    with builder:
        operands = (F.seq_len(sequences[0]), *sequences)
        return builder.emit_op(Scan, operands, (0, False), (trip.block,)).results[0]
