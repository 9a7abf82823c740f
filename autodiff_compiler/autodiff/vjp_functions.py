"""Forward and backward functions: what calls inside a differentiated function and `split` are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ..errors import NotDifferentiableError
from ..ir.build import Builder
from ..ir.core import Block, Function, Module, Value
from ..ir.types import Type
from ..ir.walk import clone_function, free_values
from ..source import Loc
from .activity import active_values
from .remat import choose, prune, take_over
from .reverse import Cotangents, Sweep, adjoint, hint, order_of

__all__ = ["Pair", "Pairs", "Residual"]


class Residual(NamedTuple):
    """A value that the backward function takes from the forward one.

    `kind` says where it is: argument `number` of the function, its original result or its additional result `number`.
    """

    kind: Literal["arg", "out", "residual"]
    number: int
    type: Type
    name: str | None


@dataclass(frozen=True, slots=True)
class Pair:
    """A function that also returns residuals, and the function from residuals and cotangents to cotangents.

    `forward` returns the original results, then the residuals of kind "residual".  `backward` takes `residuals`, then
    the cotangents of the results `seeds`; it returns the cotangents of the arguments `cotangents` (of the others asked
    for, the cotangent is zero whatever the inputs).
    """

    forward: str
    backward: str
    residuals: tuple[Residual, ...]
    seeds: tuple[int, ...]
    cotangents: tuple[int, ...]


class Pairs:
    """The pairs of a module, each made once per function, active arguments and live cotangents.

    Without `hooks` nothing is differentiated just because a gradient hook wants to see it.
    """

    def __init__(self, module: Module, hooks: bool = True) -> None:
        self.module, self.hooks = module, hooks
        self._made: dict[tuple[str, tuple[int, ...], tuple[int, ...]], Pair | None] = {}

    def of(self, name: str, wrt: Sequence[int], seeds: Sequence[int], loc: Loc | None = None) -> Pair:
        """The pair for the cotangents of the arguments `wrt`, given those of the results `seeds`.

        The function itself stays as it is.  Raises NotDifferentiableError if it calls itself.
        """
        key = (name, tuple(wrt), tuple(seeds))
        if key in self._made:
            pair = self._made[key]
            if pair is None:
                raise NotDifferentiableError(f"the derivative of @{name} needs itself: it calls itself", loc=loc)
            return pair
        self._made[key] = None
        try:
            self._made[key] = pair = self._make(self.module.functions[name], key[1], key[2])
        finally:
            if self._made[key] is None:
                del self._made[key]
        return pair

    def _make(self, function: Function, wrt: tuple[int, ...], seeds: tuple[int, ...]) -> Pair:
        module = self.module
        forward = clone_function(function, module)
        body = forward.body
        original = list(body.outs)
        active = active_values(body, [body.args[i] for i in wrt], [body.outs[j] for j in seeds], self.hooks)
        builder = Builder(Block(), module=module)
        cotangents, sweep = Cotangents(active), Sweep(active, self, order=order_of(body))
        arriving = []
        for j in seeds:
            arriving.append(Value(original[j].type, builder.block, 0, hint(original[j], sweep.order)))
            cotangents.add(builder, original[j], arriving[-1])
        adjoint(sweep, builder, list(body.ops), cotangents)
        found = {i: cotangents.pop(body.args[i], sweep) for i in wrt}
        sweep.name_shares()
        present = {i: g for i, g in found.items() if g is not None}
        backward = builder.ret(*present.values())
        prune(backward, module, backward.outs)
        residuals = _save(forward, original, backward, arriving)
        forward.name = module.fresh_name(f"{function.name}.fwd")
        module.add(forward)
        name = module.fresh_name(f"{function.name}.bwd")
        loc = None if function.loc is None else function.loc.tagged("adjoint")
        module.add(Function(name, backward, loc))
        return Pair(forward.name, name, residuals, seeds, tuple(present))


def _save(forward: Function, original: list[Value], backward: Block, arriving: list[Value]) -> tuple[Residual, ...]:
    """Makes what the backward function mentions of the forward body its arguments."""
    body = forward.body
    outs = {v: j for j, v in enumerate(original) if v.block is body}
    mentioned = [v for v in free_values(backward) if v.block is body]
    choice = choose(mentioned, body, at_hand={*outs, *body.args}, visible=lambda v: True, once=True)
    mapping: dict[Value, Value] = {}
    args: list[Value] = []
    residuals = []
    for v in choice.taken:
        mapping[v] = Value(v.type, backward, 0, v.name)
        args.append(mapping[v])
        if v.owner is body:
            residuals.append(Residual("arg", v.index, v.type, v.name))
        elif v in outs:
            residuals.append(Residual("out", outs[v], v.type, v.name))
        else:
            residuals.append(Residual("residual", len(body.outs) - len(original), v.type, v.name))
            body.outs.append(v)
    take_over(backward, body, mapping, choice.recomputed)
    backward.args = args + arriving
    for i, arg in enumerate(backward.args):
        arg.index = i
    return tuple(residuals)
