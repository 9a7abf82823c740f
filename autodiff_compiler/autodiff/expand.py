"""`grad` ops become the ops they stand for; what users did to derivatives is resolved after the last of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..ir.build import Builder, Rules
from ..ir.core import Block, Function, Module, Op, Value
from ..ir.walk import Cloner, ops_of
from .activity import active_values, differentiable
from .pairs import Pairs
from .remat import prune
from .reverse import Cotangents, Sweep, adjoint, filled, hint, zeros_like

__all__ = ["drop_overrides", "drop_unreachable", "expand_grads"]

_OVERRIDES = ("custom_vjp", "grad_map")


def expand_grads(module: Module, rules: Rules | None = None, *, keep_overrides: bool = False) -> Module:
    """The module with every `grad` op expanded, innermost first; the module given stays as it is.

    Afterwards no derivative can be taken any more: `custom_vjp` is its forward block, `grad_map` the identity, unless
    `keep_overrides` says that another derivative follows.  State must have been lifted (`wrt_states` is empty).
    Raises NotDifferentiableError where an op without a derivative is on the way.
    """
    work = module.like(dict(module.functions))
    pairs = Pairs(work)
    for name in _callees_first(module):
        function = module.functions[name]
        if _mentions(function, ("grad",)):
            work.functions[name] = _rebuilt(function, _Expander(_builder(function, work, rules), pairs))
    if not keep_overrides:
        work = drop_overrides(work, rules)
    return drop_unreachable(work)


def drop_overrides(module: Module, rules: Rules | None = None) -> Module:
    """The module after the last derivative: `custom_vjp` is its forward block and `grad_map` the identity."""
    work = module.like(dict(module.functions))
    for name, function in module.functions.items():
        if _mentions(function, _OVERRIDES):
            work.functions[name] = _rebuilt(function, _Resolver(_builder(function, work, rules)))
    return work


def drop_unreachable(module: Module) -> Module:
    """The module without the functions that its entry does not reach."""
    reachable = set(_callees_first(module))
    return module.like({name: f for name, f in module.functions.items() if name in reachable})


def _mentions(function: Function, names: tuple[str, ...]) -> bool:
    return any(op.defn.name in names for op in ops_of(function.body))


def _callees_first(module: Module) -> Iterator[str]:
    """The names of the functions that the entry reaches; a callee comes before its callers."""
    if not module.functions:
        return
    seen = {module.entry.name}
    stack = [(module.entry.name, _callees(module.entry))]
    while stack:
        name, callees = stack[-1]
        for callee in callees:
            if callee not in seen:
                seen.add(callee)
                stack.append((callee, _callees(module.functions[callee])))
                break
        else:
            stack.pop()
            yield name


def _callees(function: Function) -> Iterator[str]:
    for op in ops_of(function.body):
        if op.defn.name == "call":
            name: str = op.attrs[0]
            yield name.removeprefix("@")


def _builder(function: Function, module: Module, rules: Rules | None) -> Builder:
    body = Block([x.type for x in function.args], [x.name for x in function.args])
    return Builder(body, module=module, rules=rules)


def _rebuilt(function: Function, cloner: Cloner) -> Function:
    block = cloner.builder.block
    cloner.mapping.update(zip(function.args, block.args, strict=True))
    cloner.builder.ret(*cloner.clone_ops(function.body))
    return Function(function.name, block, function.loc)


# ------------------------------------------------------------------------------------------------------------ grad
class _Expander(Cloner):
    """Copies a function and puts the forward and adjoint ops of every `grad` in its place."""

    def __init__(self, builder: Builder, pairs: Pairs, mapping: dict[Value, Value] | None = None) -> None:
        super().__init__(builder, mapping)
        self.pairs = pairs

    def nested(self, builder: Builder) -> _Expander:
        return _Expander(builder, self.pairs, self.mapping)

    def clone_structured(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        if op.defn.name != "grad":
            return super().clone_structured(op, operands)
        wrt, seeds, states = op.attrs
        assert not states, "state is lifted before derivatives are expanded"
        # The block gets arguments of its own: `grad(f)(x, x)` distinguishes its arguments, and so does a captured `x`.
        (body,) = op.blocks
        n = len(body.args)
        builder = self.builder.nested([x.type for x in body.args], [x.name for x in body.args])
        block = builder.block
        self.mapping.update(zip(body.args, block.args, strict=True))
        builder.ret(*self.nested(builder).clone_ops(body))
        given = _ones(builder, block.outs) if seeds is None else dict(zip(seeds, operands[n:], strict=True))
        cotangents = self._differentiated(builder, wrt, given)
        block.outs = [*block.outs, *cotangents]
        prune(block, builder.module, block.outs)
        return _splice(block, operands[:n], self.builder.block)

    def _differentiated(self, builder: Builder, wrt: Sequence[int], given: dict[int, Value]) -> list[Value]:
        """Emits the adjoint of a block behind its ops; returns the cotangents of the arguments `wrt`."""
        block = builder.block
        args = [block.args[i] for i in wrt]
        active = active_values(block, args, [block.outs[j] for j in given])
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


# ------------------------------------------------------------------------------------------------------- overrides
class _Resolver(Cloner):
    """Copies a function without what its author did to derivatives."""

    def clone_structured(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        if op.defn.name == "grad_map":
            return operands
        if op.defn.name == "custom_vjp":
            block = op.blocks[0]
            self.mapping.update(zip(block.args, operands, strict=True))
            return self.clone_ops(block)
        return super().clone_structured(op, operands)
