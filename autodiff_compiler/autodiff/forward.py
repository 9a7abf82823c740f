"""Forward mode: ops emitted again together with their tangents.

There is no second table of rules.  The derivative rule of an op is linear in the cotangent, so its transpose is the
tangent map: the rule is emitted for a placeholder cotangent, and reverse mode turns it round.  The result does not
mention the placeholder.  Ops that own blocks carry tangents beside values, so nothing is saved per trip.

A value that only some paths from a variable lead to has a mask (`masks`): where it is false there is no tangent, and
nothing is computed from the zeros in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..errors import BpropError, InternalCompilerError, NotDifferentiableError
from ..ir.build import Builder
from ..ir.core import Block, Function, Module, Op, Value
from ..ir.primitive import Context, Effect
from ..ir.types import Seq, TensorType, Type
from ..ir.walk import Cloner, free_values, inline, is_met, meets, ops_of, splice
from ..primitives.autodiff import OF_USERS
from ..runtime.commits import Commit
from ..runtime.rules import only_in_reverse
from .accumulate import summed, zeros_like
from .activity import active_values, holds_floats
from .control import Loop, receivers, refuse_missing
from .homogeneous import is_homogeneous
from .masks import MASK, MaskedRuns, any_of, either, finest, joined, masks_of_arms, one_mask, spread
from .provenance import Provenance
from .recursion import backward_of, drop_checks
from .remat import prune
from .reverse import Cotangents, Sweep, adjoint, in_sizes_of
from .vjp_functions import Pushed, VjpFunctions

#: Emits a derivative rule: a builder and the cotangents of the results to one cotangent (or None) per operand.
_Rule = Callable[[Builder, Sequence[Value | None]], Sequence[Value | None]]


#: A tangent and its mask; None: it is there on every path.
_Tangent: TypeAlias = tuple[Value, Value | None]


@dataclass(slots=True)
class _Moved:
    """What has tangents in a loop, by number: carries, those with masks; sequences, those with a mask per trip."""

    carries: list[int]
    masked: list[int]
    read: list[int]
    told: list[int]


class Forward(Cloner):
    """Copies ops with their tangents.  Active are the values of `block` that carry tangents and that a result reads.

    `tangents` leads from old values to the tangents of their copies; absent is zero.  `masks` has the masks of those
    that only run time decides about; a tangent without one is there on every path.
    """

    def __init__(self, builder: Builder, functions: VjpFunctions, wrt: Sequence[Value], block: Block) -> None:
        super().__init__(builder)
        self.functions = functions
        self.tangents: dict[Value, Value] = {}
        self.masks: dict[Value, Value] = {}
        #: the copies of values with tangents
        self.varied: set[Value] = set()
        self.active = active_values(block, wrt, block.outs, hooks=False)
        #: users' rules with effects that were copied: these run after the forward pass
        self.late: list[Op] = []
        self.runs = MaskedRuns(builder, self.varied)

    def nested(self, builder: Builder) -> Forward:
        inner: Forward = object.__new__(Forward)
        Cloner.__init__(inner, builder, self.mapping, self.relocate)
        inner.functions, inner.active, inner.late = self.functions, self.active, self.late
        inner.tangents, inner.masks, inner.varied = self.tangents, self.masks, self.varied
        inner.runs = MaskedRuns(builder, self.varied)
        return inner

    def tangent(self, x: Value, under: Builder | None = None) -> Value:
        """The tangent of an old value, as ops of a builder see it."""
        return self.runs.seen(under or self.builder, self.mapping.get(x, x), self.tangents[x])

    def tangent_or_zero(self, x: Value) -> Value:
        return self.tangent(x) if x in self.tangents else zeros_like(self.builder, self.mapping.get(x, x))

    def reached(self, x: Value) -> bool | Value:
        """Whether a tangent reaches an old value: True, False or its mask.  What is never read counts as reached."""
        return self.masks.get(x, x in self.tangents or x.made_by("undef"))

    def mask_of(self, x: Value) -> Value | None:
        """The mask of the tangent of an old value as one bool; None if it is there on every path."""
        mask = self.masks.get(x)
        return None if mask is None else any_of(self.builder, mask)

    def set(self, x: Value, tangent: Value, mask: Value | None = None) -> None:
        """Says which is the tangent of an old value whose copy is known."""
        if tangent.name is None and x.name is not None:
            tangent.name = f"t_{x.name}"
        self.tangents[x] = tangent
        self.varied.add(self.mapping[x])
        if mask is None:
            self.masks.pop(x, None)
        else:
            self.masks[x] = mask

    # --------------------------------------------------------------------------------------------- plain ops
    def clone_op(self, op: Op) -> None:
        if self.late and _has_effect(op, self.builder.module):
            raise _out_of_order(self.late[0])
        super().clone_op(op)
        if is_met(op):
            self._together(op)
            return
        if op.defn.infer_blocks is not None or not any(x in self.tangents for x in op.operands):
            return
        if any(r in self.active for r in op.results):
            rule = _rule_of(op, self)
            self._transposed(op, rule, op.operands, op.results)

    def _together(self, op: Op) -> None:
        """Emits the tangents of a collective: on no condition, with zeros where no tangent has come here.

        The collectives of its rule that the placeholders of the cotangents go into do not run.
        """
        tangents = {x: self.tangent_or_zero(x) for x in op.operands}
        scratch = self.builder.nested([self._copy(r).type for r in op.results])
        block = scratch.block
        rule = _rule_of(op, self, tuple([True for _ in op.operands]))
        with scratch:
            shares = rule(scratch, list(block.args))
        pairs = [(s, tangents[x]) for s, x in zip(shares, op.operands, strict=True) if s is not None]
        active = active_values(block, block.args, [s for s, _ in pairs])
        cotangents = Cotangents(Sweep(active, self.functions.call, Provenance(active)), scratch)
        for share, tangent in pairs:
            cotangents.add(share, tangent)
        linear = _linear_ops(block)
        adjoint(cotangents.sweep, scratch, linear, cotangents)
        scratch.ret(*[cotangents.pop_or_zero(g) for g in block.args])
        prune(block, self.builder.module, block.outs, dead=set(linear))
        splice(block, self.builder.block, {})
        for r, tangent in zip(op.results, block.outs, strict=True):
            self.set(r, tangent)

    def _transposed(self, op: Op, rule: _Rule, operands: Sequence[Value], results: Sequence[Value]) -> None:
        """Emits the tangents of an op's results, the sums of what its operands contribute.

        Operands under different masks contribute apart, lest the zeros of one that no tangent reaches are multiplied.
        A user's rule with effects runs once.
        """
        moved = {x: self.mask_of(x) for x in operands if x in self.tangents}
        if self.late and self.late[-1] is op:
            moved = dict.fromkeys(moved, either(moved, list(moved.values())))
        found: dict[Value, _Tangent] = {}
        for mask in dict.fromkeys(moved.values()):
            own = [x for x in moved if moved[x] is mask]
            for r, part in self._contributed(op, rule, operands, results, own, mask).items():
                found[r] = self._sum(r, found[r], part) if r in found else part
        for r, (tangent, mask) in found.items():
            self.set(r, tangent, mask)

    def _sum(self, x: Value, a: _Tangent, b: _Tangent) -> _Tangent:
        """The sum of two contributions to the tangent of an old value."""
        mask = None if a[1] is None or b[1] is None else joined(self.builder, a[1], b[1])
        builder = self.runs.for_sum(mask, a[0], b[0])
        return summed(builder, *(self.runs.seen(builder, self.mapping[x], g) for g, _ in (a, b))), mask

    def _contributed(
        self,
        op: Op,
        rule: _Rule,
        operands: Sequence[Value],
        results: Sequence[Value],
        moved: Collection[Value],
        mask: Value | None,
    ) -> dict[Value, _Tangent]:
        """What the operands under one mask contribute: the transpose of the op's rule, applied to their tangents."""
        builder = self.runs.under(mask)
        carrying = [r for r in results if r in self.active]
        scratch = builder.nested([self._copy(r).type for r in carrying])
        block = scratch.block
        placeholders = dict(zip(carrying, block.args, strict=True))
        with scratch:
            shares = rule(scratch, [placeholders.get(r) for r in results])
        pairs = [
            (share, self.tangent(x, builder))
            for x, share in zip(operands, shares, strict=True)
            if share is not None and x in moved
        ]
        given = [share for share, _ in pairs]
        active = active_values(block, block.args, given)
        of_users = op.defn.name in OF_USERS
        if of_users and (not is_homogeneous(block, given) or _steps(block, active, given)):
            raise _not_linear(op, block)
        sweep = Sweep(active, self.functions.call, Provenance(active), masked=block.args if of_users else ())
        dead = {each for each in _linear_ops(block) if meets(each, builder.module)}
        cotangents = Cotangents(sweep, scratch)
        for share, tangent in pairs:
            cotangents.add(share, tangent)
        adjoint(sweep, scratch, list(block.ops), cotangents)
        found = {r: cotangents.pending.get(g) for r, g in placeholders.items()}
        present = {r: in_sizes_of(scratch, self._copy(r), g) for r, g in found.items() if g is not None}
        inner = {r: cotangents.masks[g] for r, g in placeholders.items() if g in cotangents.masks}
        scratch.ret(*present.values(), *inner.values())
        if op.defn.name == "custom_vjp" and op.attr("label"):
            drop_checks(block)
        prune(block, builder.module, block.outs, dead=dead)
        if any(g in block.args for g in [*block.outs, *free_values_of(block)]):
            raise _not_linear(op, block)
        splice(block, builder.block, {})
        if mask is not None:
            self.runs.keep_order(mask)
        masks = {r: self.runs.seen(self.builder, m, m) for r, m in inner.items()}
        return {r: (g, masks.get(r, mask)) for r, g in present.items()}

    # --------------------------------------------------------------------------------------------- structured ops
    def clone_structured(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        name = op.defn.name
        if name in OF_USERS:
            return self._overridden(op, operands)
        if not any(v in self.active for v in op.results) and not meets(op, self.builder.module):
            return super().clone_structured(op, operands)
        rule = {"if": self._if, "while": self._loop, "scan": self._loop, "call": self._call}.get(name)
        if rule is None:
            raise InternalCompilerError(f"`{name}` is differentiated too late", loc=op.loc)
        return rule(op, operands)

    def _captured(self, op: Op) -> None:
        """Makes the tangents that the blocks of an op read values around it."""
        for x in {x for block in op.blocks for x in free_values(block)}:
            if x in self.tangents:
                self.tangents[x] = self.tangent(x)

    def _if(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        self._captured(op)
        arms = [self.nested(self.builder.nested()) for _ in op.blocks]
        outs = [arm.clone_ops(block) for arm, block in zip(arms, op.blocks, strict=True)]
        ends = {r: [block.outs[r.index] for block in op.blocks] for r in op.results if r in self.active}
        reached = {r: [arm.reached(x) for arm, x in zip(arms, xs, strict=True)] for r, xs in ends.items()}
        carrying = {r: known for r, known in reached.items() if any(each is not False for each in known)}
        known, told = masks_of_arms(operands[0], carrying)
        for i, arm in enumerate(arms):
            masks = [spread(arm.builder, reached[r][i], finest(reached[r]), self._copy(ends[r][i])) for r in told]
            arm.builder.ret(*outs[i], *(arm.tangent_or_zero(ends[r][i]) for r in carrying), *masks)
        blocks = [arm.builder.block for arm in arms]
        results = self.builder.emit_op(op.defn, operands, op.attrs, blocks).results
        n, m = len(op.results), len(carrying)
        known.update(zip(told, results[n + m :], strict=True))
        self.map_results(op, results[:n])
        for r, tangent in zip(carrying, results[n : n + m], strict=True):
            self.set(r, tangent, known.get(r))
        return results[:n]

    def _copy(self, x: Value) -> Value:
        found: Value = self.mapping.get(x, x)
        return found

    def _loop(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        """A loop that also carries, reads and collects tangents, and the masks of those that not every trip has."""
        self._captured(op)
        loop = Loop.of(op)
        body, k, first = loop.body, len(loop.inits), loop.first
        moved = self._moved(loop)
        late = len(self.late)
        while True:
            trip = self._trip(loop, body, moved)
            outs = trip.clone_ops(body)
            reached = [trip.reached(x) for x in body.outs]
            more = [i for i in moved.carries if i not in moved.masked and reached[i] is not True]
            if not more:
                break
            moved.masked += more  # the next trip begins with the mask that this one ends with
            del self.late[late:]
        collected = [j for j in range(k, len(outs)) if op.results[first + j] in self.active and reached[j] is not False]
        masks = {j: mask for j in collected if isinstance(mask := reached[j], Value)}
        by_trip = [j for j, m in masks.items() if m.block is trip.builder.block or isinstance(m.type, Seq)]
        carried = [trip.tangent_or_zero(body.outs[i]) for i in moved.carries]
        carried += [one_mask(trip.builder, reached[i]) for i in moved.masked]
        kept = [*(trip.tangent_or_zero(body.outs[j]) for j in collected), *(masks[j] for j in by_trip)]
        trip.builder.ret(*outs[:k], *carried, *outs[k:], *kept)
        found = self._emitted_loop(op, operands, loop, moved, trip.builder.block)
        n, m, p = len(outs), len(moved.carries), len(carried)
        results = [*found[: first + k], *found[first + k + p : first + p + n]]
        self.map_results(op, results)
        last = dict(zip(moved.masked, found[first + k + m :], strict=False))
        for i, tangent in zip(moved.carries, found[first + k :], strict=False):
            self.set(op.results[first + i], tangent, last.get(i))
        rest = found[first + p + n :]
        masks.update(zip(by_trip, rest[len(collected) :], strict=True))
        for j, tangent in zip(collected, rest, strict=False):
            self.set(op.results[first + j], tangent, masks.get(j))
        return results

    def _moved(self, loop: Loop) -> _Moved:
        ends = enumerate(zip(loop.carries, loop.finals, strict=True))
        carries = [i for i, (arg, final) in ends if arg in self.active or final in self.active]
        masked = [i for i in carries if self.reached(loop.inits[i]) is not True]
        pairs = enumerate(zip(loop.sequences, loop.elems, strict=True))
        read = [j for j, (xs, x) in pairs if xs in self.tangents and x in self.active]
        masks = [(j, self.masks.get(loop.sequences[j])) for j in read]
        return _Moved(carries, masked, read, [j for j, m in masks if m is not None and isinstance(m.type, Seq)])

    def _trip(self, loop: Loop, block: Block, moved: _Moved) -> Forward:
        """The cloner of a block of a loop; it takes tangents and masks behind the carries and behind the elements."""
        inner = self.nested(self.builder.nested())
        made, masks = inner.builder.block, self.masks
        e = len(block.args) - len(loop.elems)
        args, elems = block.args[:e], block.args[e:]
        carries = args[e - len(loop.inits) :]
        self.mapping.update({x: _argument(made, self.renamed(x.type), x.name) for x in args})
        tangents = {carries[i]: _argument(made, self.renamed(carries[i].type)) for i in moved.carries}
        known: dict[Value, Value | None] = {carries[i]: _argument(made, MASK) for i in moved.masked}
        self.mapping.update({x: _argument(made, self.renamed(x.type), x.name) for x in elems})
        tangents.update({elems[j]: _argument(made, self.renamed(elems[j].type)) for j in moved.read})
        known.update({elems[j]: masks.get(loop.sequences[j]) for j in moved.read})
        known.update({elems[j]: _argument(made, masks[loop.sequences[j]].type.elem) for j in moved.told})  # type: ignore[attr-defined]
        for x, tangent in tangents.items():
            self.set(x, tangent, known.get(x))
        return inner

    def _emitted_loop(
        self, op: Op, operands: tuple[Value, ...], loop: Loop, moved: _Moved, body: Block
    ) -> Sequence[Value]:
        """Emits the copy of a loop with this body; returns its results."""
        start = [self.tangent_or_zero(loop.inits[i]) for i in moved.carries]
        start += [one_mask(self.builder, self.reached(loop.inits[i])) for i in moved.masked]
        if op.defn.name == "while":
            test = self._trip(loop, op.blocks[0], moved)
            test.builder.ret(*test.clone_ops(op.blocks[0]))
            blocks: tuple[Block, ...] = (test.builder.block, body)
            return self.builder.emit_op(op.defn, (*operands, *start), op.attrs, blocks).results
        k, reverse = op.attrs
        read = [self.tangent(loop.sequences[j]) for j in moved.read]
        read += [self.masks[loop.sequences[j]] for j in moved.told]
        given = (*operands[: 1 + k], *start, *operands[1 + k :], *read)
        return self.builder.emit_op(op.defn, given, (k + len(start), reverse), (body,)).results

    def _call(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        moved = {i: self.masks.get(x) for i, x in enumerate(op.operands) if x in self.tangents}
        pushed = self._pushed(op, moved)
        masks = [mask for mask in moved.values() if mask is not None]
        given = [*operands, *(self.tangent(op.operands[i]) for i in moved), *masks]
        types = [v.type for v in self.builder.module.functions[pushed.name].outs]
        found = self.builder.emit_op(op.defn, given, ("@" + pushed.name, op.attr("states")), (), types).results
        n, m = len(op.results), len(pushed.tangents)
        self.map_results(op, found[:n])
        known = dict(zip(pushed.masks, found[n + m :], strict=True))
        for j, tangent in zip(pushed.tangents, found[n : n + m], strict=True):
            self.set(op.results[j], tangent, known.get(j))
        return found[:n]

    def _pushed(self, op: Op, moved: Mapping[int, Value | None]) -> Pushed:
        """The function that a `call` calls, with tangents: once for the arguments that have some, and their masks."""
        made, module = self.functions.pushed, self.builder.module
        callee = module.functions[op.attr("fn").removeprefix("@")]
        types = [None if mask is None else mask.type for mask in moved.values()]
        key = (callee.name, tuple(moved), tuple(types))
        if key in made:
            return made[key]
        block, args = Block.like(callee.args), [callee.args[i] for i in moved]
        inner = Forward(Builder(block, module=module), self.functions, args, callee.body)
        inner.mapping.update(zip(callee.args, block.args, strict=True))
        tangents = [_argument(block, x.type) for x in args]
        for x, tangent, type in zip(args, tangents, types, strict=True):
            inner.set(x, tangent, None if type is None else _argument(block, type))
        outs = inner.clone_ops(callee.body)
        reached = {j: inner.reached(x) for j, x in enumerate(callee.outs) if x in inner.active}
        carrying = [j for j, given in reached.items() if given is not False]
        masks = {j: given for j, given in reached.items() if isinstance(given, Value)}
        inner.builder.ret(*outs, *(inner.tangent_or_zero(callee.outs[j]) for j in carrying), *masks.values())
        name = module.fresh_name(f"{callee.name}.jvp")
        module.add(Function(name, block, callee.loc))
        made[key] = Pushed(name, tuple(carrying), tuple(masks))
        return made[key]

    def _overridden(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        """A user's backward rule stays the derivative: its transpose gives the tangents."""
        results = super().clone_structured(op, operands)
        self.map_results(op, results)
        if not any(x in self.tangents for x in op.operands) or not any(r in self.active for r in op.results):
            return results
        refuse_missing(op, self.tangents)
        bwd = op.blocks[-1]
        searched = op.defn.name == "custom_vjp" and op.attr("label")  # its checks go with its search
        if not searched and any(_has_effect(o, self.builder.module) for o in ops_of(bwd)):
            if self.late:
                raise _out_of_order(self.late[0])
            self.late.append(op)

        def rule(scratch: Builder, gs: Sequence[Value | None]) -> Sequence[Value | None]:
            full = [zeros_like(scratch, r) if g is None else g for g, r in zip(gs, results, strict=True)]
            given = full if op.defn.name == "grad_map" else [*operands, *results, *full]
            found = inline(scratch, backward_of(op, scratch), given, dict(self.mapping))
            return [None if g.made_by("no_cotangent") else g for g in found]

        self._transposed(op, rule, op.operands, op.results)
        return results


def _argument(block: Block, type: Type, name: str | None = None) -> Value:
    """One more argument of a block."""
    block.args.append(Value(type, block, len(block.args), name))
    return block.args[-1]


def _linear_ops(block: Block) -> list[Op]:
    """The ops of a rule of a collective that depend on its cotangents, of this process or of others."""
    on_them, found = set(block.args), []
    for op in block.ops:
        if not on_them.isdisjoint(op.operands) or (op.defn.collective and not op.operands):
            on_them.update(op.results)
            found.append(op)
    return found


def _rule_of(op: Op, sweep: Forward, flags: tuple[bool, ...] | None = None) -> _Rule:
    """The derivative rule of a plain op, on the copies of its operands and results."""
    defn, mapping = op.defn, sweep.mapping
    if defn.vjp is None:
        raise NotDifferentiableError(f"`{defn.name}` has no derivative, and the tangent asked for needs it", loc=op.loc)
    operands = [mapping.get(x, x) for x in op.operands]
    flags = flags or tuple([x in sweep.tangents for x in op.operands])
    context = Context(defn, sweep.renamed(op.attrs), [mapping[r] for r in op.results], flags)

    def rule(scratch: Builder, gs: Sequence[Value | None]) -> Sequence[Value | None]:
        assert defn.vjp is not None
        several = defn.multiple or len(gs) > 1
        found: Any = defn.vjp(context, list(gs) if several else gs[0], *operands)
        return found if isinstance(found, tuple | list) else (found,)

    return rule


def free_values_of(block: Block) -> list[Value]:
    """The arguments of a block that its ops mention."""
    used = {x for op in block.ops for x in op.operands}
    used |= {x for op in block.ops for inner in op.blocks for x in free_values(inner)}
    return [a for a in block.args if a in used]


def _steps(block: Block, active: set[Value], shares: Sequence[Value]) -> bool:
    """Whether a user's rule applies a step (`sign`, a comparison) to its cotangents, whose transpose would be zero."""
    needed, stack = set(shares), list(shares)
    while stack:
        op = stack.pop().op
        if op is not None and op.parent is block:
            given = receivers(op) if op.defn.name in OF_USERS else op.operands
            new = [x for x in given if x not in needed]
            needed.update(new)
            stack += new
    on_them = set(block.args)
    for op in block.ops:
        if op.blocks or needed.isdisjoint(op.results) or on_them.isdisjoint(op.operands):
            continue
        (result, *others) = op.results
        of_floats = holds_floats(result.type)
        if op.defn.name == "cast" and holds_floats(op.operands[0].type) and not (of_floats or op.attr("linear")):
            return True
        if of_floats and not others and (result not in active or _is_step(op)):
            return True
        if not isinstance(result.type, TensorType) or not result.type.dtype.is_int:  # sizes and places
            on_them.update(op.results)
    return False


def _is_step(op: Op) -> bool:
    """Whether the derivative of an op of one operand is zero everywhere."""
    defn = op.defn
    if defn.scalar is None or defn.vjp is None or len(op.operands) != 1:
        return False
    (x,), scratch = op.operands, Builder(Block([op.results[0].type]))
    with scratch:
        return defn.vjp(Context(defn, op.attrs, op.results, (True,)), scratch.block.args[0], x) is None


def _has_effect(op: Op, module: Module) -> bool:
    """Whether an op does something that is seen outside: prints, stops, calls a function of the user's."""
    if op.defn.name == "host_call":
        return not isinstance(module.callables.get(op.attr("fn").removeprefix("@")), Commit)
    return op.defn.effect is Effect.IO and not op.defn.collective


def _out_of_order(op: Op) -> BpropError:
    return BpropError(
        "a `bprop` or hook prints or changes something, which forward mode would do before the forward pass has ended",
        code="AC1705",
        loc=op.loc,
        hint="ask for the derivative in reverse mode",
    )


def _not_linear(op: Op, block: Block) -> BpropError:
    """The error for a derivative that forward mode cannot transpose; it shows the op that breaks the linearity."""
    if op.defn.name == "custom_vjp" and op.attr("reverse_only"):
        return only_in_reverse(op.attr("reverse_only"), op.loc)
    what = "a `bprop`" if op.defn.name == "custom_vjp" else f"the derivative of `{op.defn.name}`"
    breaking = next((o for o in ops_of(block) if any(x in block.args for x in o.operands)), None)
    by = f": `{breaking.defn.name}` breaks it" if breaking is not None else ""
    spans = [(op.loc, "")] if op.loc is not None else []
    if breaking is not None and breaking.loc is not None and breaking.loc != op.loc:
        spans.append((breaking.loc, "not linear"))
    return BpropError(
        f"{what} is not linear in the cotangent, so forward mode cannot use it{by}",
        code="AC1705",
        spans=spans,
        hint="use `dout` linearly, or ask for the derivative in reverse mode",
    )
