"""A function cut into a forward part that keeps residuals and a backward part, for calls on an eager tape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..ir.build import Rules
from ..ir.core import Module
from .activity import differentiable
from .expand import drop_overrides, drop_unreachable, expand_grads
from .pairs import Pairs, Residual

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


def split(module: Module, wrt: Sequence[int], rules: Rules | None = None) -> Split:
    """Cuts the entry of a module; `wrt` numbers the arguments whose cotangents are wanted.

    `grad` ops inside are expanded first; the module given stays as it is.
    Raises NotDifferentiableError where an op without a derivative is on the way.
    """
    work = expand_grads(module, rules, keep_overrides=True)
    entry = work.entry
    pair = Pairs(work).of(entry.name, wrt, [j for j, v in enumerate(entry.outs) if differentiable(v.type)])
    parts = []
    for name in (pair.forward, pair.backward):
        part = work.like({name: work.functions[name], **work.functions})
        parts.append(drop_unreachable(drop_overrides(drop_unreachable(part), rules)))
    return Split(parts[0], parts[1], pair.residuals, pair.seeds, pair.cotangents)
