"""Adjoints of the ops that own blocks.

The adjoint of a structured op is a structured op.  It is built as if the values inside the forward op were in scope;
those that it reads then become residuals: further results of the forward op (`remat`).  Forward ops are extended in
place only here: the function being differentiated is always a private copy.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from ..errors import BpropError, HookError, NotDifferentiableError
from ..ir.build import Builder
from ..ir.core import Block, Op, Value
from ..ir.primitive import Effect, F
from ..ir.types import Seq, Type, seq
from ..ir.walk import Cloner, effect_of, free_values, is_met, meets
from ..primitives.container import Undef
from ..primitives.control import COUNT, If, Scan
from ..registration import Registrar
from .accumulate import added_into, readers, summed, zeros_like
from .masks import MASK, Masks, any_of, either, finest, masks_of_arms, one_mask, or_zeros, spread
from .recursion import backward_of
from .remat import Unveiled, choose, prune, residual_name, take_over
from .reverse import STRUCTURED, Cotangents, Shares, Sweep, adjoint

_rule = Registrar(STRUCTURED)


# -------------------------------------------------------------------------------------------------------------- if
@_rule("if")
def _if(sweep: Sweep, builder: Builder, op: Op, gs: list[Value | None], masks: Masks) -> Shares:
    """An `if` on the same condition, whose arms yield a cotangent for every captured value that one of them used."""
    arms: list[tuple[Builder, Cotangents]] = []
    for block in op.blocks:
        arm = builder.nested()
        cotangents = Cotangents(sweep, arm)
        for out, g, mask in zip(block.outs, gs, masks, strict=True):
            cotangents.add(out, g, mask)
        adjoint(sweep, arm, block.ops, cotangents)
        arms.append((arm, cotangents))
    captured = list(dict.fromkeys(v for _, cotangents in arms for v in cotangents.pending))
    if not captured and not any(_has_effects(arm.block, builder) for arm, _ in arms):
        return ()
    given = {v: [cotangents.given(v) for _, cotangents in arms] for v in captured}
    known, told = masks_of_arms(op.operands[0], {v: given[v] for v in captured if sweep.has_upstream(v)})
    for i, (arm, cotangents) in enumerate(arms):
        found = [spread(arm, given[v][i], finest(given[v]), v) for v in told]
        arm.ret(*[cotangents.pop_share(v) for v in captured], *found)
        prune(arm.block, builder.module, arm.block.outs)
    blocks = [arm.block for arm, _ in arms]
    _save_from_arms(op, blocks)
    results = builder.emit_op(If, op.operands, (), blocks).results
    known.update(zip(told, results[len(captured) :], strict=True))
    return [(v, g, known.get(v)) for v, g in zip(captured, results, strict=False)]


def _save_from_arms(op: Op, adjoints: Sequence[Block]) -> None:
    """Makes the residuals that the adjoint arms read of the forward arms results of the forward `if`.

    Only one arm runs, so residuals of one type from both arms share a result; where there is no partner the other arm
    yields `undef`, which holds no bytes.
    """
    mentions = [free_values(block) for block in adjoints]
    outside = {v for values in mentions for v in values if v.block not in op.blocks}
    first_new = len(op.results)
    vacant: dict[Type, list[int]] = {}
    for forward, block, values in zip(op.blocks, adjoints, mentions, strict=True):
        yielded = zip(forward.outs, op.results[:first_new], strict=False)
        at_hand = {v: r for v, r in yielded if v.block is forward}
        own = [v for v in values if v.block is forward]
        choice = choose(own, forward, at_hand=at_hand, visible=outside.__contains__, once=not _repeated(op))
        mapping: dict[Value, Value] = {}
        sizes = Unveiled(forward, block)

        def saved(v: Value, forward: Block = forward) -> Value:
            open_slots = vacant.get(v.type) if forward is op.blocks[1] else None
            if open_slots:
                slot = open_slots.pop(0)
            else:
                slot = len(op.results)
                op.add_result(v.type, residual_name("saved", v))
                for arm in op.blocks:
                    arm.outs.append(v)  # the other arm's is replaced below
                if forward is op.blocks[0]:
                    vacant.setdefault(v.type, []).append(slot)
            forward.outs[slot] = v
            return op.results[slot]

        for v in choice.taken:
            mapping[v] = at_hand[v] if v in at_hand else sizes.shown(saved(sizes.hidden(v)), v)
        take_over(block, forward, mapping, choice.recomputed)
        sizes.bind(saved)
    for arm, other in (op.blocks, op.blocks[::-1]):
        for slot in range(first_new, len(arm.outs)):
            if arm.outs[slot].block is other:
                arm.outs[slot] = _undef(arm, arm.outs[slot].type)


def _repeated(op: Op) -> bool:
    """Whether an op stands in a loop."""
    around = op.parent.parent if op.parent is not None else None
    while around is not None:
        if around.defn.name in ("while", "scan"):
            return True
        around = around.parent.parent if around.parent is not None else None
    return False


def _undef(block: Block, type: Type) -> Value:
    op = Op(Undef, (), (type,), (type,), (), None, block)
    block.ops.append(op)
    return op.results[0]


# ----------------------------------------------------------------------------------------------------------- loops
@dataclass(slots=True)
class Loop:
    """A `while` or `scan`: the body, its carries and the sequences it reads."""

    op: Op
    body: Block
    count: Value
    index: Value | None
    inits: Sequence[Value]
    carries: Sequence[Value]
    sequences: Sequence[Value]
    elems: Sequence[Value]
    first: int  # number of the result that is the first final carry
    reverse: bool

    @classmethod
    def of(cls, op: Op) -> Loop:
        if op.defn.name == "while":
            body = op.blocks[1]
            return cls(op, body, op.results[0], None, op.operands, body.args, (), (), 1, False)
        (body,), (k, reverse) = op.blocks, op.attrs
        xs, args = op.operands, body.args
        return cls(op, body, xs[0], args[0], xs[1 : 1 + k], args[1 : 1 + k], xs[1 + k :], args[1 + k :], 0, reverse)

    @property
    def finals(self) -> list[Value]:
        return self.op.results[self.first : self.first + len(self.inits)]

    def collected(self) -> dict[Value, Value]:
        """What the body yields beyond its carries, with the sequences that collect it."""
        k = len(self.inits)
        pairs = zip(self.body.outs[k:], self.op.results[self.first + k :], strict=True)
        return {v: xs for v, xs in pairs if v.block is self.body}

    def collect(self, v: Value) -> Value:
        """One more sequence: the values that `v` has in each trip."""
        self.body.outs.append(v)
        return self.op.add_result(seq(v.type), residual_name("saved", v))


@dataclass(slots=True)
class _Carry:
    """A carry of an adjoint loop; after the last trip it is the cotangent of the value `of`.

    `arg` is the argument of the body, `init` its value in the first trip, `out` what a trip yields for the next one;
    `mask` is the carry of the mask of that cotangent.
    """

    arg: Value
    init: Value
    out: Value
    of: Value
    mask: _Carry | None = None


@_rule("while", "scan")
def _loop(sweep: Sweep, builder: Builder, op: Op, gs: list[Value | None], masks: Masks) -> Shares:
    """A `scan` in the opposite direction.

    Its carries are the cotangents of the carries and a sum for every captured value; it reads the cotangents of the
    sequences that the loop collected, and collects those of the sequences that the loop read.
    """
    loop = Loop.of(op)
    k = len(loop.inits)
    trip = builder.nested([COUNT], ["i"])
    block, cotangents = trip.block, Cotangents(sweep, trip)
    arriving = {carry: Value(carry.type, block, 0) for carry in loop.carries if carry in sweep.active}
    carried_masks = _carried_masks(sweep, block, loop, gs, masks)
    for carry, out in zip(loop.carries, loop.body.outs[:k], strict=True):
        cotangents.add(out, arriving.get(carry), carried_masks.get(carry))
    read = _read(loop, cotangents, gs, masks)
    adjoint(sweep, trip, loop.body.ops, cotangents)

    carries: list[_Carry] = []
    ends = zip(loop.inits, loop.carries, loop.finals, gs[loop.first :], masks[loop.first :], strict=False)
    for init, carry, final, g, mask in ends:
        if carry in arriving:
            of_mask = None
            if carry in carried_masks:
                first = one_mask(builder, g is not None if mask is None else mask)
                of_mask = _Carry(carried_masks[carry], first, one_mask(trip, cotangents.given(carry)), init)
            start = zeros_like(builder, final) if g is None else g
            carries.append(_Carry(arriving[carry], start, cotangents.pop_or_zero(carry), init, of_mask))
    elems = [(xs, cotangents.pop(x), x) for xs, x in zip(loop.sequences, loop.elems, strict=True)]
    leaving = [(xs, g) for xs, g, _ in elems if g is not None]
    of_elems = [cotangents.masks.get(x) for _, g, x in elems if g is not None]
    sums = _sums(sweep, builder, cotangents, [*(c.out for c in carries), *(g for _, g in leaving)])
    captured = {c.arg for c in sums}
    carries = [each for c in carries + sums for each in ([c] if c.mask is None else [c.mask, c])]
    by_trip = [mask for mask in of_elems if mask is not None and mask.block in (block, loop.body)]
    carries = _needed(block, builder, sweep, carries, [*(g for _, g in leaving), *by_trip])
    # What every trip passes on unchanged (the cotangent of a sum over the trips) is its first value throughout.
    constant = {c.arg: c.init for c in carries if c.out is c.arg or (c.arg.type is MASK and c.out is c.init)}
    last = dict(constant)
    changing = [c for c in carries if c.arg not in constant]
    left: Sequence[Value] = ()
    if changing or leaving or _has_effects(block, builder):
        block.outs = [*(c.out for c in changing), *(g for _, g in leaving), *by_trip]
        shifts, more_read = _save_from_trips(loop, block, constant)
        results = _close(builder, loop, block, changing, shifts, read + more_read).results
        last.update(zip((c.arg for c in changing), results, strict=False))
        sweep.sums.update(last[c.arg] for c in changing if c.arg in captured)
        left = results[len(changing) + len(shifts) :]
    outer, collected = either(gs, masks), iter(left[len(leaving) :])
    masks_left = [outer if mask is None else next(collected) if mask in by_trip else mask for mask in of_elems]
    return [
        *_shares(loop, sorted(carries, key=lambda c: c.arg not in constant), captured, last, outer),
        *((xs, r, mask) for (xs, _), r, mask in zip(leaving, left, masks_left, strict=False)),
    ]


def _read(loop: Loop, cotangents: Cotangents, gs: Sequence[Value | None], masks: Masks) -> list[tuple[Value, Value]]:
    """Gives what the body collects its cotangents; the sequences that hold these, and their elements in the trip."""
    read: list[tuple[Value, Value]] = []
    first = len(loop.inits)
    following = zip(gs[loop.first + first :], masks[loop.first + first :], strict=True)
    for out, (g, mask) in zip(loop.body.outs[first:], following, strict=True):
        if g is None:
            continue
        block = cotangents.builder.block
        elem = Value(out.type, block, 0)
        read.append((g, elem))
        if mask is not None and isinstance(mask.type, Seq):
            read.append((mask, Value(mask.type.elem, block, 0)))
            mask = read[-1][1]
        cotangents.add(out, elem, mask)
    return read


def _shares(
    loop: Loop, carries: Iterable[_Carry], captured: set[Value], last: dict[Value, Value], outer: Value | None
) -> Shares:
    """The shares of an adjoint loop with these last values of its carries."""
    tripped = outer
    if captured:  # without a trip no captured value is used
        tripped = F.greater(loop.count, 0)
        tripped = tripped if outer is None else F.logical_and(tripped, outer)
    for c in carries:
        if c.arg.type is MASK:
            continue
        mask = tripped if c.arg in captured else outer
        if c.mask is not None:
            mask = last.get(c.mask.arg)
            if mask is not None and mask.constant is False:
                continue
        yield c.of, last[c.arg], None if mask is None or mask.constant is True else mask


def _carried_masks(
    sweep: Sweep, block: Block, loop: Loop, gs: Sequence[Value | None], masks: Masks
) -> dict[Value, Value]:
    """The masks of the carries whose cotangent not every trip produces, as arguments of the adjoint body."""
    given = [g is not None and mask is None for g, mask in zip(gs, masks, strict=True)]
    steady = _always_produced(loop, given, sweep.active)
    return {v: Value(MASK, block, 0) for v in loop.carries if v in sweep.active and v not in steady}


def _always_produced(loop: Loop, given: Sequence[bool], active: set[Value]) -> set[Value]:
    """The carries whose cotangent every trip produces, where these results of the loop have one."""
    given = given[loop.first :]
    steady = {v for v, known in zip(loop.carries, given, strict=False) if known}
    k = len(loop.inits)
    read = {v for v, known in zip(loop.body.outs[k:], given[k:], strict=False) if known}
    while True:
        ends = {out for v, out in zip(loop.carries, loop.body.outs, strict=False) if v in steady}
        found = steady & _always(loop.body.ops, ends | read, active)
        if found == steady:
            return steady
        steady = found


def _always(ops: Sequence[Op], given: set[Value], active: set[Value]) -> set[Value]:
    """The values that have a cotangent on every path if these have one."""
    found = set(given)
    for op in reversed(ops):
        reached = [r in found for r in op.results]
        if is_met(op):
            found.update(x for x in op.operands if x in active)
            continue
        if not any(reached):
            continue
        if op.defn.name == "if":
            outs = [{out for out, known in zip(b.outs, reached, strict=False) if known} for b in op.blocks]
            yes, no = (_always(b.ops, own, active) for b, own in zip(op.blocks, outs, strict=True))
            found |= yes & no
        elif op.defn.name in ("while", "scan"):
            loop = Loop.of(op)
            steady = _always_produced(loop, reached, active)
            found.update(x for x, v in zip(loop.inits, loop.carries, strict=True) if v in steady)
        else:
            found.update(x for x in receivers(op) if x in active)
    return found


def _sums(sweep: Sweep, builder: Builder, cotangents: Cotangents, known: Iterable[Value]) -> list[_Carry]:
    """The carries that accumulate the cotangents of the captured values over the trips."""
    trip = cotangents.builder
    counts = readers(trip.block, [*known, *cotangents.pending.values()])
    carries = []
    for v, g in cotangents.pending.items():
        name = sweep.provenance.hint(v)
        arg = Value(v.type, trip.block, 0, name and f"{name}_so_far")
        total = added_into(trip, arg, g, sweep.sums, counts.__getitem__)
        total = summed(trip, arg, g) if total is None else total
        sweep.provenance.part(v, total)
        of_mask = None
        if v in cotangents.masks and sweep.has_upstream(v):
            so_far = Value(MASK, trip.block, 0)
            with trip:
                either_trip = F.logical_or(so_far, any_of(trip, cotangents.masks[v]))
            of_mask = _Carry(so_far, builder.const(False, MASK), either_trip, v)
        carries.append(_Carry(arg, zeros_like(builder, v), total, v, of_mask))
    return carries


def _has_effects(block: Block, builder: Builder) -> bool:
    """Whether a block has effects, which come from users' backward rules and from collectives."""
    return any(effect_of(op, builder.module, {}) > Effect.READ for op in block.ops)


def _needed(
    block: Block, builder: Builder, sweep: Sweep, carries: list[_Carry], leaving: Iterable[Value]
) -> list[_Carry]:
    """Drops dead ops of the adjoint body, and the carries on which no cotangent wanted outside depends."""
    roots = [c.out for c in carries if c.of in sweep.active]
    wanted = prune(block, builder.module, [*roots, *leaving], {c.arg: c.out for c in carries})
    return [c for c in carries if c.of in sweep.active or c.arg in wanted]


def _save_from_trips(
    loop: Loop, block: Block, constant: dict[Value, Value]
) -> tuple[list[_Carry], list[tuple[Value, Value]]]:
    """Makes the residuals that the adjoint body reads of the forward body carries and sequences of the adjoint loop.

    `constant` are replacements for arguments of the adjoint body itself.
    """
    body, collected = loop.body, loop.collected()
    sequences = dict(zip(loop.elems, loop.sequences, strict=True)) | collected
    index = loop.index
    at_hand = sequences.keys() if index is None else {*sequences, index}
    following: dict[Value, Value] = {}
    for carry, out in zip(loop.carries, body.outs, strict=False):
        following.setdefault(out, carry)
    mentioned = [v for v in free_values(block) if v.block is body]
    choice = choose(mentioned, body, at_hand=at_hand, visible=lambda v: True, carried=following)
    mapping = dict(constant)
    read: list[tuple[Value, Value]] = []
    sizes = Unveiled(body, block)

    def was(v: Value) -> Value:
        read.append((sequences[v] if v in sequences else loop.collect(v), Value(v.type, block, 0)))
        read[-1][1].name = residual_name("was", v)
        return read[-1][1]

    for v in choice.taken:
        mapping[v] = block.args[0] if v is index else sizes.shown(was(sizes.hidden(v)), v)
    carries = []
    for v in choice.shifted:
        # Going backwards, the carry's saved value of this trip is what `v` was one trip earlier.
        carry = following[v]
        mapping[v] = Value(v.type, block, 0, residual_name("was", v))
        carries.append(_Carry(mapping[v], loop.finals[loop.carries.index(carry)], mapping[carry], v))
    take_over(block, body, mapping, choice.recomputed)
    sizes.bind(was)
    return carries, read


def _close(
    builder: Builder,
    loop: Loop,
    block: Block,
    carries: list[_Carry],
    shifts: list[_Carry],
    read: list[tuple[Value, Value]],
) -> Op:
    """Puts the arguments and outs of an adjoint body in order and emits the loop."""
    k = len(carries)
    block.args = [block.args[0], *(c.arg for c in carries + shifts), *(elem for _, elem in read)]
    for i, arg in enumerate(block.args):
        arg.index = i
    block.outs = [*block.outs[:k], *(c.out for c in shifts), *block.outs[k:]]
    operands = [loop.count, *(c.init for c in carries + shifts), *(xs for xs, _ in read)]
    return builder.emit_op(Scan, operands, (k + len(shifts), not loop.reverse), (block,))


# --------------------------------------------------------------------------------------------------- user overrides
@_rule("custom_vjp")
def _custom_vjp(sweep: Sweep, builder: Builder, op: Op, gs: list[Value | None], masks: Masks) -> Shares:
    """The user's backward block, copied in place; the forward block is not looked at."""
    cotangents = [zeros_like(builder, r) if g is None else g for g, r in zip(gs, op.results, strict=True)]
    refuse_missing(op, sweep.active)
    given = [*op.operands, *op.results, *cotangents]
    mask = None if meets(op, builder.module) else either(gs, masks)
    return _under_mask(builder, op, backward_of(op, builder), given, mask)


def _under_mask(builder: Builder, op: Op, block: Block, args: Sequence[Value], mask: Value | None) -> Shares:
    """The user's block, copied inside `if mask`: it does not run for a cotangent that was not produced."""
    operands = receivers(op)
    if mask is None:
        return [(x, g, None) for x, g in zip(operands, _copied(builder, block, args), strict=True)]
    run = builder.nested()
    run.ret(*_copied(run, block, args))
    results = or_zeros(builder, mask, run.block, operands)
    return [(x, r, mask) for x, r in zip(operands, results, strict=True)]


def _copied(builder: Builder, block: Block, args: Sequence[Value]) -> list[Value]:
    """The results of the user's block for these arguments, its ops copied into the derivative."""
    mapping = dict(zip(block.args, args, strict=True))
    found = Cloner(builder, mapping, lambda loc: loc and loc.tagged("adjoint")).clone_ops(block)
    return [g for g, out in zip(found, block.outs, strict=True) if not out.made_by("no_cotangent")]


def receivers(op: Op) -> list[Value]:
    """The operands of an op that its derivative rule gives cotangents: that of a user may return None for some."""
    if op.defn.name != "custom_vjp":
        return list(op.operands)
    return [x for x, d in zip(op.operands, op.blocks[-1].outs, strict=True) if not d.made_by("no_cotangent")]


def refuse_missing(op: Op, wanted: Container[Value]) -> None:
    """Raises if the cotangent of an operand is wanted that the user's rule does not give."""
    for x, d in zip(op.operands, op.blocks[-1].outs, strict=True):
        if x in wanted and d.made_by("missing_cotangent"):
            assert d.op is not None
            _, code, text, hint = d.op.attrs
            kind = {e.code: e for e in (NotDifferentiableError, HookError)}.get(code, BpropError)
            raise kind(text, code=code, hint=hint, loc=d.op.loc or (op.loc and op.loc.of_user()))


@_rule("grad_map")
def _grad_map(sweep: Sweep, builder: Builder, op: Op, gs: list[Value | None], masks: Masks) -> Shares:
    """The block, applied to the cotangent."""
    (g,) = [zeros_like(builder, r) if g is None else g for g, r in zip(gs, op.results, strict=True)]
    refuse_missing(op, sweep.active)
    mask = None if meets(op, builder.module) else either(gs, masks)
    return _under_mask(builder, op, op.blocks[0], [g], mask)
