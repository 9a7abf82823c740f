"""A function cut into a forward part that keeps residuals and a backward part, for calls on an eager tape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..ir.core import Module
from .activity import differentiable, holds_floats
from .expand import drop_unreachable
from .vjp_functions import Pairs, Residual

__all__ = ["Split", "split"]


@dataclass(frozen=True, slots=True)
class Split:
    """The two parts of a module's entry.

    `forward` returns the original results, then the residuals of kind "residual".  `backward` takes the values
    described by `residuals`, then the cotangents of the results numbered `seeds`, and returns the cotangents of the
    arguments numbered `cotangents`; of any other argument the cotangent is zero.
    """

    forward: Module
    backward: Module
    residuals: tuple[Residual, ...]
    seeds: tuple[int, ...]
    cotangents: tuple[int, ...]


def split(module: Module, wrt: Sequence[int], hooks: bool = True, seeds: Sequence[int] | None = None) -> Split:
    """Cuts the entry of a module, which stays as it is; `wrt` numbers the arguments whose cotangents are wanted.

    `seeds` numbers the results that cotangents are given of; if not told, these are all that can have one.

    With `hooks` the gradient hooks on the way see theirs, even where only constants enter a Cell.
    The module has no `grad` ops any more, but still the user's overrides (`custom_vjp`, `grad_map`).
    Raises NotDifferentiableError where an op without a derivative is on the way.
    """
    work = module.like(dict(module.functions))
    entry = work.entry
    if seeds is None:
        by_integers = not all(holds_floats(entry.args[i].type) for i in wrt)
        seeded = differentiable if by_integers else holds_floats
        seeds = [j for j, v in enumerate(entry.outs) if seeded(v.type)]
    pair = Pairs(work, hooks).of(entry.name, wrt, seeds)
    forward, backward = (_part(work, name) for name in (pair.forward, pair.backward))
    return Split(forward, backward, pair.residuals, pair.seeds, pair.cotangents)


def _part(module: Module, name: str) -> Module:
    """The module with another entry."""
    part = drop_unreachable(module.like({name: module.functions[name], **module.functions}))
    part.inputs = part.outputs = ()  # its arguments and results are told by `Split`
    return part
