"""Adjoints of the ops that own blocks, and of calls.

The adjoint of a structured op is a structured op.  It is built as if it saw the values inside the forward op; those
it really needs then become further results of the forward op (`remat`).  Only here are ops extended in place: the
function being differentiated is always a private copy.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass

from ..errors import BpropError, HookError, NotDifferentiableError
from ..ir.build import Builder
from ..ir.core import Block, Op, Value
from ..ir.primitive import Effect, F
from ..ir.types import Seq, Type, seq
from ..ir.walk import Cloner, effect_of, free_values
from ..primitives.container import Undef
from ..primitives.control import COUNT, Call, If, Scan
from .accumulate import added_into, readers
from .remat import choose, kept, prune, take_over
from .reverse import STRUCTURED, Cotangents, Shares, Sweep, adjoint, hint, or_zeros, summed, zeros_like
from .cotangent_masks import WAY, Ways, any_of, either, finest, spread

__all__ = ["refuse_missing"]

_Rule = Callable[[Sweep, Builder, Op, "list[Value | None]", Ways], Shares]


def _rule(name: str) -> Callable[[_Rule], _Rule]:
    def register(fn: _Rule) -> _Rule:
        STRUCTURED[name] = fn
        return fn

    return register


# -------------------------------------------------------------------------------------------------------------- if
@_rule("if")
def _if(sweep: Sweep, builder: Builder, op: Op, gs: list[Value | None], ways: Ways) -> Shares:
    """An `if` whose arms yield a cotangent for every value around them that one of them used."""
    arms: list[tuple[Builder, Cotangents]] = []
    for block in op.blocks:
        arm, cotangents = builder.nested(), Cotangents(sweep.active)
        for out, g, way in zip(block.outs, gs, ways, strict=True):
            cotangents.add(arm, out, g, way=way)
        adjoint(sweep, arm, block.ops, cotangents)
        arms.append((arm, cotangents))
    captured = list(dict.fromkeys(v for _, cotangents in arms for v in cotangents.pending))
    if not captured:
        return ()
    given = [[_given(cotangents, v) for v in captured] for _, cotangents in arms]
    always = [all(way is True for way in both) for both in zip(*given, strict=True)]
    partly = [i for i, both in enumerate(always) if not both] if sweep.conditional else []
    for (arm, cotangents), found in zip(arms, given, strict=True):
        flags = [spread(arm, found[i], finest(both[i] for both in given), captured[i]) for i in partly]
        arm.ret(*[cotangents.pop_share(arm, v, sweep) for v in captured], *flags)
        prune(arm.block, builder.module, arm.block.outs)
    blocks = [arm.block for arm, _ in arms]
    _save_from_arms(op, blocks)
    results = builder.emit_op(If, op.operands, (), blocks).results
    flag = {i: results[len(captured) + n] for n, i in enumerate(partly)}
    return [(v, results[i], flag.get(i)) for i, v in enumerate(captured)]


def _given(cotangents: Cotangents, v: Value) -> bool | Value:
    """Whether an arm gives a value a cotangent; a Value if only a run can tell."""
    return cotangents.when.get(v, v in cotangents.pending)


def _flag(builder: Builder, given: bool | Value) -> Value:
    return any_of(builder, given) if isinstance(given, Value) else builder.const(given, WAY)


def _save_from_arms(op: Op, adjoints: Sequence[Block]) -> None:
    """Makes what the adjoint arms mention of the forward arms further results of the forward `if`.

    Only one arm runs, so values of one type from both arms share a result; where there is no partner the other arm
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
        for v in choice.taken:
            if v in at_hand:
                mapping[v] = at_hand[v]
                continue
            open_slots = vacant.get(v.type) if forward is op.blocks[1] else None
            if open_slots:
                slot = open_slots.pop(0)
            else:
                slot = len(op.results)
                op.add_result(v.type, kept("saved", v))
                for arm in op.blocks:
                    arm.outs.append(v)  # the other arm's is replaced below
                if forward is op.blocks[0]:
                    vacant.setdefault(v.type, []).append(slot)
            forward.outs[slot] = v
            mapping[v] = op.results[slot]
        take_over(block, forward, mapping, choice.recomputed)
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
class _Loop:
    """`while` and `scan` alike: the body, its carries and the sequences it reads."""

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
    def of(cls, op: Op) -> _Loop:
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
        """What the body yields beyond its carries, and the sequences that hold it."""
        k = len(self.inits)
        pairs = zip(self.body.outs[k:], self.op.results[self.first + k :], strict=True)
        return {v: xs for v, xs in pairs if v.block is self.body}

    def collect(self, v: Value) -> Value:
        """One more sequence: the values that `v` has in each trip."""
        self.body.outs.append(v)
        return self.op.add_result(seq(v.type), kept("saved", v))


@dataclass(slots=True)
class _Carry:
    """A carry of an adjoint loop: argument, first value, what a trip yields for it, and whose cotangent its last is.

    `flag` is the carry that says whether that is given, if only a run can tell.
    """

    arg: Value
    init: Value
    out: Value
    of: Value
    flag: _Carry | None = None


@_rule("while")
@_rule("scan")
def _loop(sweep: Sweep, builder: Builder, op: Op, gs: list[Value | None], ways: Ways) -> Shares:
    """A `scan` in the opposite direction.

    Its carries are the cotangents of the carries and a sum for every value captured from around the loop; it reads the
    cotangents of the sequences collected and leaves those of the sequences read.
    """
    loop = _Loop.of(op)
    k = len(loop.inits)
    trip = builder.nested([COUNT], ["i"])
    block, cotangents = trip.block, Cotangents(sweep.active)
    arriving = {carry: Value(carry.type, block, 0) for carry in loop.carries if carry in sweep.active}
    flags = _flags(sweep, block, loop, gs, ways)
    for carry, out in zip(loop.carries, loop.body.outs[:k], strict=True):
        cotangents.add(trip, out, arriving.get(carry), way=flags.get(carry))
    read = _read(loop, trip, cotangents, gs, ways)
    adjoint(sweep, trip, loop.body.ops, cotangents)

    carries: list[_Carry] = []
    ends = zip(loop.inits, loop.carries, loop.finals, gs[loop.first :], ways[loop.first :], strict=False)
    for init, carry, final, g, way in ends:
        if carry in arriving:
            flag = None
            if carry in flags:
                first = _flag(builder, g is not None if way is None else way)
                flag = _Carry(flags[carry], first, _flag(trip, _given(cotangents, carry)), init)
            start = zeros_like(builder, final) if g is None else g
            carries.append(_Carry(arriving[carry], start, cotangents.pop_or_zero(trip, carry, sweep), init, flag))
    elems = [(xs, cotangents.pop(x, sweep), x) for xs, x in zip(loop.sequences, loop.elems, strict=True)]
    leaving = [(xs, g) for xs, g, _ in elems if g is not None]
    told = [cotangents.when.get(x) for _, g, x in elems if g is not None]
    sums = _sums(sweep, builder, trip, cotangents, [*(c.out for c in carries), *(g for _, g in leaving)])
    captured = {c.arg for c in sums}
    carries = [each for c in carries + sums for each in ([c] if c.flag is None else [c.flag, c])]
    by_trip = [way for way in told if way is not None and way.block is block]
    carries = _needed(block, builder, sweep, carries, [*(g for _, g in leaving), *by_trip])
    # What every trip passes on unchanged (the cotangent of a sum over the trips) is its first value throughout.
    constant = {c.arg: c.init for c in carries if c.out is c.arg or (c.arg.type is WAY and c.out is c.init)}
    last = dict(constant)
    changing = [c for c in carries if c.arg not in constant]
    left: Sequence[Value] = ()
    if changing or leaving or _acts(block, builder):
        block.outs = [*(c.out for c in changing), *(g for _, g in leaving), *by_trip]
        shifts, more_read = _save_from_trips(loop, block, constant)
        results = _close(builder, loop, block, changing, shifts, read + more_read).results
        last.update(zip((c.arg for c in changing), results, strict=False))
        sweep.sums.update(last[c.arg] for c in changing if c.arg in captured)
        left = results[len(changing) + len(shifts) :]
    outer, flags_left = either(gs, ways), iter(left[len(leaving) :])
    ways_left = [outer if way is None else next(flags_left) if way.block is block else way for way in told]
    return [
        *_shares(sweep, loop, sorted(carries, key=lambda c: c.arg not in constant), captured, last, outer),
        *((xs, r, way) for (xs, _), r, way in zip(leaving, left, ways_left, strict=False)),
    ]


def _read(
    loop: _Loop, trip: Builder, cotangents: Cotangents, gs: Sequence[Value | None], ways: Ways
) -> list[tuple[Value, Value]]:
    """Gives what the body collects its cotangents; sequences of these, which the adjoint loop reads, and elements."""
    read: list[tuple[Value, Value]] = []
    first = len(loop.inits)
    following = zip(gs[loop.first + first :], ways[loop.first + first :], strict=True)
    for out, (g, way) in zip(loop.body.outs[first:], following, strict=True):
        if g is None:
            continue
        elem = Value(out.type, trip.block, 0)
        read.append((g, elem))
        if way is not None and isinstance(way.type, Seq):  # told trip by trip
            read.append((way, Value(way.type.elem, trip.block, 0)))
            way = read[-1][1]
        cotangents.add(trip, out, elem, way=way)
    return read


def _shares(
    sweep: Sweep,
    loop: _Loop,
    carries: Iterable[_Carry],
    captured: set[Value],
    last: dict[Value, Value],
    outer: Value | None,
) -> Shares:
    """What an adjoint loop gives that leaves these values in its carries."""
    tripped = outer
    if sweep.conditional and captured:  # without a trip nothing of what is around the loop is used
        tripped = F.greater(loop.count, 0)
        tripped = tripped if outer is None else F.logical_and(tripped, outer)
    for c in carries:
        if c.arg.type is WAY:
            continue
        way = tripped if c.arg in captured else outer
        if c.flag is not None:
            way = last.get(c.flag.arg)
            if way is not None and way.constant is False:
                continue
        yield c.of, last[c.arg], None if way is None or way.constant is True else way


def _flags(sweep: Sweep, block: Block, loop: _Loop, gs: Sequence[Value | None], ways: Ways) -> dict[Value, Value]:
    """For the carries whose cotangent not all trips give: what tells it in a trip, an argument of the adjoint body."""
    if not sweep.conditional:
        return {}
    given = [g is not None and way is None for g, way in zip(gs, ways, strict=True)]
    steady = _steady(loop, given, sweep.active)
    return {v: Value(WAY, block, 0) for v in loop.carries if v in sweep.active and v not in steady}


def _steady(loop: _Loop, given: Sequence[bool], active: set[Value]) -> set[Value]:
    """The carries whose cotangent all trips give, where those of these results of the loop are given."""
    flags = given[loop.first :]
    steady = {v for v, flag in zip(loop.carries, flags, strict=False) if flag}
    k = len(loop.inits)
    read = {v for v, flag in zip(loop.body.outs[k:], flags[k:], strict=False) if flag}
    while True:
        ends = {out for v, out in zip(loop.carries, loop.body.outs, strict=False) if v in steady}
        found = steady & _always(loop.body.ops, ends | read, active)
        if found == steady:
            return steady
        steady = found


def _always(ops: Sequence[Op], given: set[Value], active: set[Value]) -> set[Value]:
    """The values that get a cotangent on every path if these have one."""
    found = set(given)
    for op in reversed(ops):
        reached = [r in found for r in op.results]
        if not any(reached):
            continue
        if op.defn.name == "if":
            outs = [{out for out, flag in zip(b.outs, reached, strict=False) if flag} for b in op.blocks]
            yes, no = (_always(b.ops, own, active) for b, own in zip(op.blocks, outs, strict=True))
            found |= yes & no
        elif op.defn.name in ("while", "scan"):
            loop = _Loop.of(op)
            steady = _steady(loop, reached, active)
            found.update(x for x, v in zip(loop.inits, loop.carries, strict=True) if v in steady)
        else:
            found.update(x for x in _receivers(op) if x in active)
    return found


def _sums(
    sweep: Sweep, builder: Builder, trip: Builder, cotangents: Cotangents, known: Iterable[Value]
) -> list[_Carry]:
    """The carries that add up what the trips give to the cotangents of values from around the loop."""
    counts = readers(trip.block, [*known, *cotangents.pending.values()])
    carries = []
    for v, g in cotangents.pending.items():
        name = hint(v, sweep.order)
        arg = Value(v.type, trip.block, 0, name and f"{name}_so_far")
        total = added_into(trip, arg, g, sweep.sums, counts.__getitem__)
        total = summed(trip, arg, g) if total is None else total
        if name is not None:
            sweep.shares.append((total, name))
        flag = None
        if v in cotangents.when:
            so_far = Value(WAY, trip.block, 0)
            with trip:
                flag = _Carry(
                    so_far, builder.const(False, WAY), F.logical_or(so_far, any_of(trip, cotangents.when[v])), v
                )
        carries.append(_Carry(arg, zeros_like(builder, v), total, v, flag))
    return carries


def _acts(block: Block, builder: Builder) -> bool:
    """Whether users see that a block runs: a backward rule of theirs prints, writes or raises."""
    return any(effect_of(op, builder.module, {}) > Effect.READ for op in block.ops)


def _needed(
    block: Block, builder: Builder, sweep: Sweep, carries: list[_Carry], leaving: Iterable[Value]
) -> list[_Carry]:
    """Drops dead ops of the adjoint body, and the carries on which no cotangent wanted outside depends."""
    roots = [c.out for c in carries if c.of in sweep.active]
    wanted = prune(block, builder.module, [*roots, *leaving], {c.arg: c.out for c in carries})
    return [c for c in carries if c.of in sweep.active or c.arg in wanted]


def _save_from_trips(
    loop: _Loop, block: Block, constant: dict[Value, Value]
) -> tuple[list[_Carry], list[tuple[Value, Value]]]:
    """Makes what the adjoint body mentions of the forward body carries and sequences that the adjoint loop reads.

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
    read = []
    for v in choice.taken:
        if v is index:
            mapping[v] = block.args[0]
            continue
        xs = sequences[v] if v in sequences else loop.collect(v)
        mapping[v] = Value(v.type, block, 0, kept("was", v))
        read.append((xs, mapping[v]))
    carries = []
    for v in choice.shifted:
        # Going backwards, the carry's saved value of this trip is what `v` was one trip earlier.
        carry = following[v]
        mapping[v] = Value(v.type, block, 0, kept("was", v))
        carries.append(_Carry(mapping[v], loop.finals[loop.carries.index(carry)], mapping[carry], v))
    take_over(block, body, mapping, choice.recomputed)
    return carries, read


def _close(
    builder: Builder,
    loop: _Loop,
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


# ----------------------------------------------------------------------------------------------------------- calls
@_rule("call")
def _call(sweep: Sweep, builder: Builder, op: Op, gs: list[Value | None], ways: Ways) -> Shares:
    """A call of the callee's backward function; the forward call becomes one that also returns the residuals."""
    fn, states = op.attrs
    wrt = tuple(i for i, x in enumerate(op.operands) if x in sweep.active)
    seeds = tuple(j for j, g in enumerate(gs) if g is not None)
    pair = sweep.pairs.of(fn.removeprefix("@"), wrt, seeds, op.loc)
    if not pair.cotangents:
        return ()
    op.attrs = ("@" + pair.forward, states)
    residuals = []
    for kind, number, type, name in pair.residuals:
        if kind == "residual":
            residuals.append(op.add_result(type, name))
        else:
            residuals.append(op.operands[number] if kind == "arg" else op.results[number])
    seeded = [g for g in gs if g is not None]
    results = builder.emit_op(Call, [*residuals, *seeded], ("@" + pair.backward, states)).results
    way = either(gs, ways)
    return [(op.operands[i], r, way) for i, r in zip(pair.cotangents, results, strict=True)]


# --------------------------------------------------------------------------------------------------- user overrides
@_rule("custom_vjp")
def _custom_vjp(sweep: Sweep, builder: Builder, op: Op, gs: list[Value | None], ways: Ways) -> Shares:
    """The user's backward block, copied in place; the forward block is not looked at."""
    cotangents = [zeros_like(builder, r) if g is None else g for g, r in zip(gs, op.results, strict=True)]
    refuse_missing(op, sweep.active)
    return _where_given(builder, op, op.blocks[1], [*op.operands, *op.results, *cotangents], either(gs, ways))


def _where_given(builder: Builder, op: Op, block: Block, args: Sequence[Value], way: Value | None) -> Shares:
    """The user's block, copied in place; it does not run where no path gives a cotangent."""
    operands = _receivers(op)
    if way is None:
        return [(x, g, None) for x, g in zip(operands, _copied(builder, block, args), strict=True)]
    run = builder.nested()
    run.ret(*_copied(run, block, args))
    results = or_zeros(builder, way, run.block, operands)
    return [(x, r, way) for x, r in zip(operands, results, strict=True)]


def _copied(builder: Builder, block: Block, args: Sequence[Value]) -> list[Value]:
    """What the user's block gives for these arguments; its ops are now a part of the derivative."""
    mapping = dict(zip(block.args, args, strict=True))
    found = Cloner(builder, mapping, lambda loc: loc and loc.tagged("adjoint")).clone_ops(block)
    return [g for g, out in zip(found, block.outs, strict=True) if not out.made_by("no_cotangent")]


def _receivers(op: Op) -> list[Value]:
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
def _grad_map(sweep: Sweep, builder: Builder, op: Op, gs: list[Value | None], ways: Ways) -> Shares:
    """The block, applied to the cotangent."""
    (g,) = gs
    assert g is not None
    refuse_missing(op, sweep.active)
    return _where_given(builder, op, op.blocks[0], [g], either(gs, ways))
