"""Forward mode: ops emitted again together with their tangents.

There is no second table of rules.  The derivative rule of an op is linear in the cotangent, so its transpose is the
tangent map: the rule is emitted for a placeholder cotangent, and reverse mode turns it round.  The result does not
mention the placeholder.  Ops that own blocks carry tangents beside values, so nothing is saved per trip.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..errors import BpropError, InternalCompilerError, NotDifferentiableError
from ..ir.build import Builder
from ..ir.core import Block, Function, Module, Op, Value
from ..ir.primitive import Context, Effect
from ..ir.types import TensorType
from ..ir.walk import Cloner, free_values, inline, ops_of, splice
from ..primitives.autodiff import OF_USERS
from ..runtime.commits import Commit
from .accumulate import zeros_like
from .activity import active_values, holds_floats
from .control import refuse_missing
from .homogeneous import is_homogeneous
from .provenance import Provenance
from .remat import prune
from .reverse import Cotangents, Sweep, adjoint
from .vjp_functions import VjpFunctions

__all__ = ["Forward"]

#: Emits a derivative rule: a builder and the cotangents of the results to one cotangent (or None) per operand.
_Rule = Callable[[Builder, Sequence[Value | None]], Sequence[Value | None]]


class Forward(Cloner):
    """Copies ops with their tangents.  `tangents` leads from old values to those of their copies; absent is zero.

    Active are the values of `block` that carry tangents of `wrt` and that one of its results depends on.
    """

    def __init__(self, builder: Builder, functions: VjpFunctions, wrt: Sequence[Value], block: Block) -> None:
        super().__init__(builder)
        self.functions = functions
        self.tangents: dict[Value, Value] = {}
        self.active = active_values(block, wrt, block.outs, hooks=False)
        #: users' rules with effects that were copied: these run after the forward pass
        self.late: list[Op] = []

    def nested(self, builder: Builder) -> Forward:
        inner: Forward = object.__new__(Forward)
        Cloner.__init__(inner, builder, self.mapping, self.relocate)
        inner.functions, inner.tangents, inner.active, inner.late = (
            self.functions,
            self.tangents,
            self.active,
            self.late,
        )
        return inner

    def tangent_or_zero(self, x: Value) -> Value:
        """The tangent of an old value."""
        found = self.tangents.get(x)
        return zeros_like(self.builder, self.mapping.get(x, x)) if found is None else found

    # --------------------------------------------------------------------------------------------- plain ops
    def clone_op(self, op: Op) -> None:
        if self.late and _has_effect(op, self.builder.module):
            raise _out_of_order(self.late[0])
        super().clone_op(op)
        if op.defn.infer_blocks is not None or not any(x in self.tangents for x in op.operands):
            return
        if any(r in self.active for r in op.results):
            rule = _rule_of(op, self)
            self._transposed(op, rule, op.operands, op.results)

    def _transposed(self, op: Op, rule: _Rule, operands: Sequence[Value], results: Sequence[Value]) -> None:
        """Emits the tangents of an op's results: the transpose of its derivative rule, applied to its operands'."""
        builder = self.builder
        carrying = [r for r in results if r in self.active]
        scratch = builder.nested([r.type for r in carrying])
        block = scratch.block
        placeholders = dict(zip(carrying, block.args, strict=True))
        with scratch:
            shares = rule(scratch, [placeholders.get(r) for r in results])
        pairs = [
            (share, self.tangents[x])
            for x, share in zip(operands, shares, strict=True)
            if share is not None and x in self.tangents
        ]
        given = [share for share, _ in pairs]
        active = active_values(block, block.args, given)
        of_users = op.defn.name in OF_USERS
        if of_users and (not is_homogeneous(block, given) or _steps(block, active, given)):
            raise _not_linear(op, block)
        sweep = Sweep(active, self.functions.call, Provenance(active))
        cotangents = Cotangents(sweep, scratch)
        for share, tangent in pairs:
            cotangents.add(share, tangent)
        adjoint(sweep, scratch, list(block.ops), cotangents)
        found = {r: cotangents.pending.get(g) for r, g in placeholders.items()}
        present = {r: g for r, g in found.items() if g is not None}
        scratch.ret(*present.values())
        prune(block, builder.module, block.outs)
        if any(g in block.args for g in [*block.outs, *free_values_of(block)]):
            raise _not_linear(op, block)
        splice(block, builder.block, {})
        for r, tangent in present.items():
            self._set(r, tangent)

    def _set(self, x: Value, tangent: Value) -> None:
        if tangent.name is None and x.name is not None:
            tangent.name = f"t_{x.name}"
        self.tangents[x] = tangent

    # --------------------------------------------------------------------------------------------- structured ops
    def clone_structured(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        name = op.defn.name
        if name in OF_USERS:
            return self._overridden(op, operands)
        if not any(v in self.active for v in op.results):
            return super().clone_structured(op, operands)
        rule = {"if": self._if, "while": self._while, "scan": self._scan, "call": self._call}.get(name)
        if rule is None:
            raise InternalCompilerError(f"`{name}` is differentiated too late", loc=op.loc)
        return rule(op, operands)

    def _if(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        carrying = [i for i, r in enumerate(op.results) if r in self.active]
        blocks = []
        for block in op.blocks:
            arm = self.nested(self.builder.nested())
            outs = arm.clone_ops(block)
            arm.builder.ret(*outs, *(arm.tangent_or_zero(block.outs[i]) for i in carrying))
            blocks.append(arm.builder.block)
        results = self.builder.emit_op(op.defn, operands, op.attrs, blocks).results
        return self._split(op, results, carrying)

    def _split(self, op: Op, results: Sequence[Value], carrying: Iterable[int]) -> Sequence[Value]:
        """The results of a copy; behind them it gives the tangents of those that are `carrying`."""
        n = len(op.results)
        for i, tangent in zip(carrying, results[n:], strict=True):
            self._set(op.results[i], tangent)
        return results[:n]

    def _while(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        cond, body = op.blocks
        k = len(op.operands)
        carrying = [i for i in range(k) if self._carries(body.args[i], op.results[1 + i])]
        start = [self.tangent_or_zero(op.operands[i]) for i in carrying]
        test, _ = self._loop_block(cond.args, carrying, (), ())
        test.builder.ret(*test.clone_ops(cond))
        trip, _ = self._loop_block(body.args, carrying, (), ())
        outs = trip.clone_ops(body)
        saved = [j for j in range(k, len(body.outs)) if op.results[1 + j] in self.active]
        following = [trip.tangent_or_zero(body.outs[i]) for i in carrying]
        trip.builder.ret(*outs[:k], *following, *outs[k:], *(trip.tangent_or_zero(body.outs[j]) for j in saved))
        blocks = (test.builder.block, trip.builder.block)
        found = self.builder.emit_op(op.defn, (*operands, *start), op.attrs, blocks).results
        m = len(carrying)
        plain = [*found[: 1 + k], *found[1 + k + m : 1 + m + len(body.outs)]]
        ordered = [*plain, *found[1 + k : 1 + k + m], *found[1 + m + len(body.outs) :]]
        return self._split(op, ordered, [*(1 + i for i in carrying), *(1 + j for j in saved)])

    def _carries(self, arg: Value, result: Value) -> bool:
        return arg in self.active or result in self.active

    def _loop_block(
        self,
        args: Sequence[Value],
        carrying: Sequence[int],
        elements: Sequence[Value],
        element_tangents: Sequence[Value],
    ) -> tuple[Forward, list[Value]]:
        """The cloner of a loop's block that takes carries, their tangents, elements and the tangents of some."""
        tangents = [args[i] for i in carrying]
        order = [*args, *tangents, *elements, *element_tangents]
        hints = [*(a.name for a in args), *(_hint(a) for a in tangents)]
        hints += [*(a.name for a in elements), *(_hint(a) for a in element_tangents)]
        inner = self.nested(self.builder.nested([a.type for a in order], hints))
        made = inner.builder.block.args
        n, m, e = len(args), len(tangents), len(elements)
        self.mapping.update(zip(args, made[:n], strict=True))
        self.mapping.update(zip(elements, made[n + m : n + m + e], strict=True))
        self.tangents.update(zip(tangents, made[n : n + m], strict=True))
        self.tangents.update(zip(element_tangents, made[n + m + e :], strict=True))
        return inner, made

    def _scan(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        (body,), (k, reverse) = op.blocks, op.attrs
        carrying = [i for i in range(k) if self._carries(body.args[1 + i], op.results[i])]
        elements = body.args[1 + k :]
        sequences = op.operands[1 + k :]
        moved = [j for j, s in enumerate(sequences) if s in self.tangents and elements[j] in self.active]
        start = [self.tangent_or_zero(op.operands[1 + i]) for i in carrying]
        trip, _ = self._loop_block(
            body.args[: 1 + k], [1 + i for i in carrying], elements, [elements[j] for j in moved]
        )
        outs = trip.clone_ops(body)
        collected = [j for j in range(k, len(body.outs)) if op.results[j] in self.active]
        following = [trip.tangent_or_zero(body.outs[i]) for i in carrying]
        trip.builder.ret(*outs[:k], *following, *outs[k:], *(trip.tangent_or_zero(body.outs[j]) for j in collected))
        m = len(carrying)
        given = [*operands[: 1 + k], *start, *operands[1 + k :], *(self.tangents[sequences[j]] for j in moved)]
        found = self.builder.emit_op(op.defn, given, (k + m, reverse), (trip.builder.block,)).results
        n = len(body.outs)
        ordered = [*found[:k], *found[k + m : m + n], *found[k : k + m], *found[m + n :]]
        return self._split(op, ordered, [*carrying, *collected])

    def _call(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        module = self.builder.module
        callee = module.functions[op.attr("fn").removeprefix("@")]
        wrt = tuple(i for i, x in enumerate(op.operands) if x in self.tangents)
        name, carrying = _with_tangents(self, callee, wrt)
        given = [*operands, *(self.tangents[op.operands[i]] for i in wrt)]
        types = [v.type for v in module.functions[name].outs]
        found = self.builder.emit_op(op.defn, given, ("@" + name, op.attr("states")), (), types).results
        return self._split(op, found, carrying)

    def _overridden(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        """A user's backward rule stays the derivative: its transpose gives the tangents."""
        results = super().clone_structured(op, operands)
        self.map_results(op, results)
        if not any(x in self.tangents for x in op.operands) or not any(r in self.active for r in op.results):
            return results
        refuse_missing(op, self.tangents)
        bwd = op.blocks[-1]
        if any(_has_effect(o, self.builder.module) for o in ops_of(bwd)):
            if self.late:
                raise _out_of_order(self.late[0])
            self.late.append(op)

        def rule(scratch: Builder, gs: Sequence[Value | None]) -> Sequence[Value | None]:
            full = [zeros_like(scratch, r) if g is None else g for g, r in zip(gs, results, strict=True)]
            given = full if op.defn.name == "grad_map" else [*operands, *results, *full]
            found = inline(scratch, bwd, given, dict(self.mapping))
            return [None if g.made_by("no_cotangent") else g for g in found]

        self._transposed(op, rule, op.operands, op.results)
        return results


def _hint(x: Value) -> str | None:
    return None if x.name is None else f"t_{x.name}"


def _rule_of(op: Op, sweep: Forward) -> _Rule:
    """The derivative rule of a plain op, on the copies of its operands and results."""
    defn, mapping = op.defn, sweep.mapping
    if defn.vjp is None:
        raise NotDifferentiableError(f"`{defn.name}` has no derivative, and the tangent asked for needs it", loc=op.loc)
    operands = [mapping.get(x, x) for x in op.operands]
    flags = tuple([x in sweep.tangents for x in op.operands])
    context = Context(defn, op.attrs, [mapping[r] for r in op.results], flags)

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


def _with_tangents(sweep: Forward, callee: Function, wrt: tuple[int, ...]) -> tuple[str, list[int]]:
    """The function that also takes the tangents of the arguments `wrt` and returns those of its active results."""
    module = sweep.builder.module
    args = [callee.args[i] for i in wrt]
    types = [*(a.type for a in callee.args), *(a.type for a in args)]
    hints = [*(a.name for a in callee.args), *(_hint(a) for a in args)]
    inner = Forward(Builder(Block(types, hints), module=module), sweep.functions, args, callee.body)
    made = inner.builder.block.args
    carrying = [i for i, out in enumerate(callee.outs) if out in inner.active]
    name = f"{callee.name}.jvp_{'_'.join(map(str, wrt))}"
    if name not in module.functions:
        n = len(callee.args)
        inner.mapping.update(zip(callee.args, made[:n], strict=True))
        inner.tangents.update(zip(args, made[n:], strict=True))
        outs = inner.clone_ops(callee.body)
        inner.builder.ret(*outs, *(inner.tangent_or_zero(callee.outs[i]) for i in carrying))
        module.add(Function(name, inner.builder.block, callee.loc))
    return name, carrying


def _steps(block: Block, active: set[Value], shares: Sequence[Value]) -> bool:
    """Whether a user's rule applies a step (`sign`, a comparison) to its cotangents, whose transpose would be zero."""
    needed, stack = set(shares), list(shares)
    while stack:
        op = stack.pop().op
        if op is not None and op.parent is block:
            new = [x for x in op.operands if x not in needed]
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
    return op.defn.effect is Effect.IO


def _out_of_order(op: Op) -> BpropError:
    return BpropError(
        "a `bprop` or hook prints or changes something, which forward mode would do before the forward pass has ended",
        code="AC1705",
        loc=op.loc,
        hint="ask for the derivative in reverse mode",
    )


def _not_linear(op: Op, block: Block) -> BpropError:
    """The error for a derivative that forward mode cannot transpose; it shows the op that breaks the linearity."""
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
