"""`grad` and `vmap` ops become the ops they stand for, innermost first."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import ZERO_GRADIENT, GradientWarning, warn_once
from ..ir.build import Builder, Rules
from ..ir.core import Block, Function, Module, Op, Value
from ..ir.walk import Cloner, callee_of, ops_of, reachable
from ..source import Loc
from .activity import active_values, depends, differentiable
from .batch import batched
from .forward import Forward
from .pairs import Pairs
from .remat import prune
from .reverse import Cotangents, Sweep, adjoint, filled, hint, zeros_like

__all__ = ["drop_unreachable", "expand_grads"]


def expand_grads(module: Module, rules: Rules | None = None) -> Module:
    """The module with its `grad` ops expanded, innermost first; the module given stays as it is.

    State must have been lifted (`wrt_states` is empty).  A user's backward block that comes to life inside another
    `grad` may bring states along: that outer `grad` waits, for the next run, until those are lifted.
    Raises NotDifferentiableError where an op without a derivative is on the way.
    """
    work = module.like(dict(module.functions))
    pairs = Pairs(work)
    nesting: set[str] = set()  # functions that hold a `grad`, or call one that does
    for name in reachable(module):
        function = module.functions[name]
        if _holds_grad(function.body, nesting):
            nesting.add(name)
            work.functions[name] = _rebuilt(function, work, pairs, nesting, rules)
    return drop_unreachable(work)


def drop_unreachable(module: Module) -> Module:
    """The module without the functions that its entry does not reach."""
    kept = set(reachable(module))
    return module.like({name: f for name, f in module.functions.items() if name in kept})


def _holds_grad(block: Block, nesting: set[str]) -> bool:
    return any(op.defn.name in ("grad", "vmap") or callee_of(op) in nesting for op in ops_of(block))


def _rebuilt(function: Function, module: Module, pairs: Pairs, nesting: set[str], rules: Rules | None) -> Function:
    body = Block([x.type for x in function.args], [x.name for x in function.args])
    builder = Builder(body, module=module, rules=rules)
    expander = _Expander(builder, pairs, nesting, dict(zip(function.args, body.args, strict=True)))
    builder.ret(*expander.clone_ops(function.body))
    return Function(function.name, body, function.loc)


# ------------------------------------------------------------------------------------------------------------ grad
class _Expander(Cloner):
    """Copies a function and puts the forward and adjoint ops of every `grad` in its place."""

    def __init__(self, builder: Builder, pairs: Pairs, nesting: set[str], mapping: dict[Value, Value]) -> None:
        super().__init__(builder, mapping)
        self.pairs, self.nesting = pairs, nesting

    def nested(self, builder: Builder) -> _Expander:
        return _Expander(builder, self.pairs, self.nesting, self.mapping)

    def clone_structured(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        if op.defn.name not in ("grad", "vmap"):
            return super().clone_structured(op, operands)
        # The block gets arguments of its own: `grad(f)(x, x)` distinguishes its arguments, and so does a captured `x`.
        (body,) = op.blocks
        n = len(body.args)
        builder = self.builder.nested([x.type for x in body.args], [x.name for x in body.args])
        block = builder.block
        self.mapping.update(zip(body.args, block.args, strict=True))
        builder.ret(*self.nested(builder).clone_ops(body))
        nested = _holds_grad(body, self.nesting)
        if nested and _waits(block, builder.module):
            return self.builder.emit_op(op.defn, operands, op.attrs, (block,)).results
        if op.defn.name == "vmap":
            return batched(self.builder, block, operands, op.attr("size"))
        wrt, seeds, states, forward = op.attrs
        assert not states, "state is lifted before derivatives are expanded"
        if forward:
            return self._tangents(block, operands, wrt, seeds)
        given = _ones(builder, block.outs) if seeds is None else dict(zip(seeds, operands[n:], strict=True))
        # A derivative of a derivative is zero where the function is linear, whatever else it does.
        cotangents = self._differentiated(builder, wrt, given, None if nested else op.loc)
        block.outs = [*block.outs, *cotangents]
        prune(block, builder.module, block.outs)
        return _splice(block, operands[:n], self.builder.block)

    def _tangents(
        self, block: Block, operands: tuple[Value, ...], wrt: Sequence[int], seeds: Sequence[int]
    ) -> Sequence[Value]:
        """Emits the ops of a block again with their tangents; returns its results and the tangents asked for."""
        n = len(block.args)
        sweep = Forward(self.builder, self.pairs, [block.args[i] for i in wrt], block)
        sweep.mapping.update(zip(block.args, operands[:n], strict=True))
        for i, tangent in zip(wrt, operands[n:], strict=True):
            sweep.tangents[block.args[i]] = tangent
        outs = sweep.clone_ops(block)
        return [*outs, *(sweep.tangent_or_zero(block.outs[j]) for j in seeds)]

    def _differentiated(
        self, builder: Builder, wrt: Sequence[int], given: dict[int, Value], place: Loc | None
    ) -> list[Value]:
        """Emits the adjoint of a block behind its ops; returns the cotangents of the arguments `wrt`."""
        block = builder.block
        args = [block.args[i] for i in wrt]
        active = active_values(block, args, [block.outs[j] for j in given])
        lost = not active and place is not None and not place.tag
        if lost and depends(block, args, [block.outs[j] for j in given] or block.outs):
            warn_once(GradientWarning(ZERO_GRADIENT), place and place.of_user())
        cotangents = Cotangents(active)
        for j, seed in given.items():
            cotangents.add(builder, block.outs[j], seed)
        loc = builder.loc
        adjoint(Sweep(active, self.pairs), builder, list(block.ops), cotangents)
        builder.loc = loc
        results = []
        for x in args:
            g = cotangents.pending.get(x)
            results.append(zeros_like(builder, x) if g is None else g)
            if results[-1].name is None:
                results[-1].name = hint(x)
        return results


def _ones(builder: Builder, outs: Sequence[Value]) -> dict[int, Value]:
    return {j: filled(builder, v.type, 1) for j, v in enumerate(outs) if differentiable(v.type)}


def _splice(block: Block, operands: Sequence[Value], target: Block) -> list[Value]:
    """Moves the ops of a block, which nothing else owns, to the end of another, with `operands` for its arguments."""
    mapping = dict(zip(block.args, operands, strict=True))
    for op in ops_of(block):
        op.operands = tuple([mapping.get(x, x) for x in op.operands])
        for inner in op.blocks:
            inner.outs = [mapping.get(x, x) for x in inner.outs]
    for op in block.ops:
        op.parent = target
    target.ops += block.ops
    return [mapping.get(x, x) for x in block.outs]


def _waits(block: Block, module: Module) -> bool:
    """Whether a block, or what it calls, holds a `grad` or `vmap`, or states outside of blocks that run backward."""
    seen: set[str] = set()
    blocks = [block]
    while blocks:
        for op in blocks.pop().ops:
            if op.defn.name in ("grad", "vmap", "state_read", "state_write"):
                return True
            callee = callee_of(op)
            if callee is not None and callee not in seen:
                seen.add(callee)
                blocks.append(module.functions[callee].body)
            blocks += [inner for region, inner in zip(op.defn.regions, op.blocks, strict=True) if region != "bwd"]
    return False
