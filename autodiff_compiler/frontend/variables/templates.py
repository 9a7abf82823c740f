"""Templates: values with slots for their leaves, filled by results of an op or parameters of its blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ...ir.build import Builder
from ...ir.core import Block, Value
from ...ir.primitive import F
from ..guards.objects import UNBOUND
from .base import Variable, kind, variable_of
from .leaves import Leaf
from .structure import elements, rebuild
from .values import is_unbound


def leaf_of(x: Any) -> Leaf | None:
    """What is known of a value that a slot can hold; None for all others."""
    return variable_of(x).leaf()


def value_in(leaf: Leaf, x: Any, builder: Builder) -> Value:
    """The Value in a slot for `leaf`, of a value that fits it or of an unbound name, at the end of the block."""
    if is_unbound(x):
        with builder:
            return F.undef(type=leaf.type)
    return leaf.value_of(variable_of(x), builder)


@dataclass(slots=True, eq=False)
class Slot:
    """A place in a template, for result `index`."""

    index: int
    leaf: Leaf


@kind(Leaf)
class _Assumed(Variable):
    """A leaf in the place of the value that it describes."""

    def leaf(self) -> Leaf:
        return self.value


def example(x: Any) -> Any:
    """A value; for a leaf one of which nothing but the leaf is known."""
    return x.example(Value(x.type, Block(), -1)) if isinstance(x, Leaf) else x


def matched(template: Any, x: Any) -> Iterator[tuple[Slot, Any]]:
    """The slots of a template, each with the part of a value that fills it; UNBOUND if there is none."""
    if type(template) is Slot:
        yield template, x
        return
    items = elements(template) or ()
    given = [UNBOUND] * len(items) if is_unbound(x) or not len(items) else elements(x)
    for part, inner in zip(items, given, strict=True):
        yield from matched(part, inner)


def fill(template: Any, results: Any, on_made: Callable[[Any, Any], None] | None = None) -> Any:
    """The template with the results of the op in their slots; equal objects stay shared.

    ``on_made(part, made)`` is told what was made of each part of the template.
    """
    made: dict[int, Any] = {}

    def go(t: Any) -> Any:
        if id(t) in made:
            return made[id(t)]
        if type(t) is Slot:
            out = t.leaf.made(results[t.index])
        else:
            items = elements(t)
            new = None if items is None else [go(i) for i in items]
            # What has no slots is an object itself, which must stay one with its aliases.
            out = t if new is None or all(n is i for n, i in zip(new, items, strict=True)) else rebuild(t, new)
        made[id(t)] = out
        if on_made is not None:
            on_made(t, out)
        return out

    return go(template)
