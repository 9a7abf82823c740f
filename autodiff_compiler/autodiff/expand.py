"""`grad`, `linearize`, `pull` and `vmap` ops become the ops they stand for, innermost first."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from ..errors import ZERO_GRADIENT, GradientWarning, warn_once
from ..ir.build import Builder, Rules
from ..ir.core import Block, Function, Module, Op, Value
from ..ir.walk import Cloner, callee_of, free_values, inline, ops_of, reachable, splice
from ..primitives.autodiff import EXPANDED
from ..source import Loc, place_looked_at
from .accumulate import filled
from .activity import active_values, differentiable
from .batch import batched
from .forward import Forward
from .masks import one_mask
from .provenance import Provenance, hint, order_of
from .remat import prune
from .reverse import Cotangents, Sweep, adjoint
from .vjp_functions import VjpFunctions, drop_unreachable


def expand_grads(module: Module, rules: Rules | None = None) -> Module:
    """The module with its `grad` ops expanded, innermost first; the module given stays as it is.

    State must have been lifted (`wrt_states` is empty).  A user's backward block that comes to life inside another
    `grad` may bring states along: that outer `grad` waits, for the next run, until those are lifted.
    Raises NotDifferentiableError where an op without a derivative is on the way.
    """
    work = module.like(dict(module.functions))
    functions = VjpFunctions(work)
    nesting: set[str] = set()  # functions that hold a `grad`, or call one that does
    for name in reachable(module):
        function = module.functions[name]
        if _holds_grad(function.body, nesting):
            nesting.add(name)
            work.functions[name] = _rebuilt(function, work, functions, nesting, rules)
    return drop_unreachable(work)


def _holds_grad(block: Block, nesting: set[str]) -> bool:
    return any(op.defn.name in EXPANDED or callee_of(op) in nesting for op in ops_of(block))


def _rebuilt(
    function: Function, module: Module, functions: VjpFunctions, nesting: set[str], rules: Rules | None
) -> Function:
    body = Block.like(function.args)
    builder = Builder(body, module=module, rules=rules)
    links = dict.fromkeys(op.operands[0] for op in ops_of(function.body) if op.defn.name == "pull")
    expander = _Expander(builder, functions, nesting, links, dict(zip(function.args, body.args, strict=True)))
    builder.ret(*expander.clone_ops(function.body))
    return Function(function.name, body, function.loc)


# ------------------------------------------------------------------------------------------------------------ grad
class _Backward(NamedTuple):
    """What a `pull` puts in its place: a block of the cotangents, which sees what its `linearize` computed."""

    block: Block
    #: what the arguments of the block of `linearize` stand for
    inputs: dict[Value, Value]


class _Expander(Cloner):
    """Copies a function and replaces every derivative op by forward and adjoint ops.

    `links` has the links that are pulled, by their old values, and what they lead to once it is known.
    """

    def __init__(
        self,
        builder: Builder,
        functions: VjpFunctions,
        nesting: set[str],
        links: dict[Value, _Backward | None],
        mapping: dict[Value, Value],
    ) -> None:
        super().__init__(builder, mapping)
        self.functions, self.nesting, self.links = functions, nesting, links

    def nested(self, builder: Builder) -> _Expander:
        return _Expander(builder, self.functions, self.nesting, self.links, self.mapping)

    def clone_structured(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        name = op.defn.name
        if name == "pull":
            back = self.links.get(operands[0])
            if back is None:  # its `linearize` waits
                return super().clone_structured(op, operands)
            return inline(self.builder, back.block, operands[1:], dict(back.inputs))
        if name not in EXPANDED:
            return super().clone_structured(op, operands)
        # The block gets arguments of its own: `grad(f)(x, x)` distinguishes its arguments, and so does a captured `x`.
        (body,) = op.blocks
        builder = self.inner_builder(body)
        block = builder.block
        for arg, operand in zip(block.args, operands, strict=False):  # which will stand in its place
            arg.name, arg.number = (operand.name, operand.number) if operand.name else (arg.name, operand.number)
        builder.ret(*self.nested(builder).clone_ops(body))
        nested = _holds_grad(body, self.nesting)
        if nested and _must_wait(block, builder.module):
            self.builder.loc = op.loc and op.loc.tagged("adjoint")  # it held one, which the next run does not see
            return self.builder.emit_op(op.defn, operands, op.attrs, (block,)).results
        if name == "vmap":
            return batched(self.builder, block, operands, op.attr("size"))
        # A derivative of a derivative is zero where the function is linear, whatever else it does.
        # Where a command asks for the derivative there is no line of the user's.
        place = None if nested else op.loc or place_looked_at()
        return (self._linearized if name == "linearize" else self._grad)(op, builder, operands, place)

    def _grad(self, op: Op, builder: Builder, operands: tuple[Value, ...], place: Loc | None) -> Sequence[Value]:
        block, n = builder.block, len(builder.block.args)
        wrt, seeds, states, forward, masked = op.attrs
        assert not states, "state is lifted before derivatives are expanded"
        if forward:
            return self._tangents(block, operands, wrt, seeds, place)
        builder.loc = None if op.loc is None else op.loc.tagged("adjoint")
        given = _ones(builder, block.outs) if seeds is None else dict(zip(seeds, operands[n:], strict=True))
        cotangents = self._differentiated(block, builder, wrt, given, place, masked)
        block.outs = [*block.outs, *cotangents]
        prune(block, builder.module, block.outs)
        return splice(block, self.builder.block, dict(zip(block.args, operands[:n], strict=True)))

    def _linearized(self, op: Op, builder: Builder, operands: tuple[Value, ...], place: Loc | None) -> Sequence[Value]:
        """Runs the block here and keeps its adjoint aside, for every `pull` to copy.

        The adjoint mentions what the forward ops computed, residuals of control flow included: all of it is in sight
        wherever the link is.
        """
        block, link = builder.block, op.results[-1]
        wrt, seeds, states = op.attrs
        assert not states, "state is lifted before derivatives are expanded"
        needed = list(block.outs)
        if link in self.links:  # else nobody asks for a derivative, and there need not be one
            order = order_of(block)
            back = builder.nested([block.outs[j].type for j in seeds], [hint(block.outs[j], order) for j in seeds])
            given = dict(zip(seeds, back.block.args, strict=True))
            back.ret(*self._differentiated(block, back, wrt, given, place))
            prune(back.block, builder.module, back.block.outs)
            needed += [x for x in free_values(back.block) if x.block is block]
            self.links[link] = _Backward(back.block, dict(zip(block.args, operands, strict=True)))
        prune(block, builder.module, needed)
        return [*splice(block, self.builder.block, dict(zip(block.args, operands, strict=True))), link]

    def _tangents(
        self, block: Block, operands: tuple[Value, ...], wrt: Sequence[int], seeds: Sequence[int], place: Loc | None
    ) -> Sequence[Value]:
        """Emits the ops of a block again with their tangents; returns its results and the tangents asked for."""
        n, args = len(block.args), [block.args[i] for i in wrt]
        sweep = Forward(self.builder, self.functions, args, block)
        _warn_of_zero(self.builder.module, sweep.active.intersection(block.outs[j] for j in seeds), args, place)
        sweep.mapping.update(zip(block.args, operands[:n], strict=True))
        for i, tangent in zip(wrt, operands[n:], strict=True):
            sweep.set(block.args[i], tangent)
        outs = sweep.clone_ops(block)
        return [*outs, *(sweep.tangent_or_zero(block.outs[j]) for j in seeds)]

    def _differentiated(
        self,
        block: Block,
        builder: Builder,
        wrt: Sequence[int],
        given: dict[int, Value],
        place: Loc | None,
        masked: Sequence[int] = (),
    ) -> list[Value]:
        """Emits the adjoint of a block, behind its ops or aside.

        Returns the cotangents of the arguments `wrt`, and the masks of those of the arguments `masked`.
        """
        args = [block.args[i] for i in wrt]
        active = active_values(block, args, [block.outs[j] for j in given])
        _warn_of_zero(builder.module, active, args, place)
        ends = [block.args[i] for i in masked]
        sweep = Sweep(active, self.functions.call, Provenance(active, order_of(block)), masked=ends)
        cotangents = Cotangents(sweep, builder)
        for j, seed in given.items():
            cotangents.add(block.outs[j], seed)
        loc = builder.loc
        adjoint(sweep, builder, list(block.ops), cotangents)
        builder.loc = loc
        masks = [one_mask(builder, cotangents.given(x)) for x in ends]
        results = []
        for x in args:
            results.append(cotangents.pop_or_zero(x))
            if results[-1].name is None:
                results[-1].name = sweep.provenance.hint(x)
        sweep.provenance.finish()
        return results + masks


def _warn_of_zero(module: Module, active: Collection[Value], args: Sequence[Value], place: Loc | None) -> None:
    """Warns (AC2003) where no active value leads from the arguments that a derivative is taken by to its results."""
    if args and not active and place is not None and not place.tag:
        module.warned = True
        warn_once(GradientWarning(ZERO_GRADIENT), place.of_user())


def _ones(builder: Builder, outs: Sequence[Value]) -> dict[int, Value]:
    return {j: filled(builder, v.type, 1) for j, v in enumerate(outs) if differentiable(v.type)}


def _must_wait(block: Block, module: Module) -> bool:
    """Whether a block, or what it calls, holds derivatives to expand, or states outside of blocks that run backward."""
    seen: set[str] = set()
    blocks = [block]
    while blocks:
        for op in blocks.pop().ops:
            if op.defn.name in EXPANDED or op.defn.name in ("state_read", "state_write"):
                return True
            callee = callee_of(op)
            if callee is not None and callee not in seen:
                seen.add(callee)
                blocks.append(module.functions[callee].body)
            blocks += [inner for region, inner in zip(op.defn.regions, op.blocks, strict=True) if region != "bwd"]
    return False
