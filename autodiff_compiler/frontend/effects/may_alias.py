"""Conditional aliases: objects that are one where a condition known only at run time holds.

Where paths meet, a name may stand for the Tensor it stood for before, or for another one.  The box made for it there is
tied to the older box: a write to either reaches the other where the condition holds.  Lists, dicts and sets cannot
change by a run-time condition; so when one of two tied ones changes, the content of the other is not known any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

from ...dtypes import bool_
from ...errors import SideEffectError
from ...ir.build import Builder, current
from ...ir.core import Block, Op, Value
from ...ir.primitive import REGISTRY, F
from ...ir.types import tensor
from ..variables.structure import form_of
from ..variables.values import TensorVar, describe
from .inputs import Foreknown, follow


def as_condition(holds: bool | Value, builder: Builder) -> Value:
    """Where something holds, as a bool[] Value."""
    return builder.const(holds, tensor(bool_, ())) if isinstance(holds, bool) else holds


@dataclass(frozen=True, eq=False)
class Tie:
    """A conditional alias: `a` and `b` are one object where the condition holds (or, unless `positive`, where not).

    Without a condition it is not known where.  The younger one lives only in the block `scope`, or that of an op.
    """

    a: Any
    b: Any
    condition: Value | None
    positive: bool = True
    scope: Op | Block | None = None

    def other(self, x: Any) -> Any:
        return self.b if self.a is x else self.a

    def holds(self) -> Value:
        """The condition as a bool[] Value in the current block."""
        assert self.condition is not None
        return self.condition if self.positive else F.logical_not(self.condition)


class Ties:
    """The ties of one compilation."""

    def __init__(self) -> None:
        self._of: dict[int, list[Tie]] = {}

    def add(
        self, a: Any, b: Any, condition: Value | None, *, positive: bool = True, scope: Op | Block | None = None
    ) -> None:
        if scope is None and condition is not None:
            scope = condition.owner
        tie = Tie(a, b, condition, positive, scope)
        for x in (a, b):
            self._of.setdefault(id(x), []).append(tie)

    def nearest(self, x: Any, start: int, builder: Builder | None = None) -> list[Any]:
        """The objects that x, made after `start`, may be, seen from the builder's block or from the current one.

        Of the objects made before `start` only those to which others are tied in turn.
        """
        return [other for other, _ in self._chains(x, start, builder or current())]

    def one(self, x: Any, y: Any, builder: Builder, seen: dict[int, Any]) -> bool | Value | None:
        """Where x and y are one object, as far as that is known; `seen` is for the questions of one place."""
        if x is y:
            return True
        direct = [[t] for t in self._of.get(id(x), ()) if t.other(x) is y and _visible(t.scope, builder)]
        if direct:  # what `_chains` would find, too
            return _holds(direct, builder)
        if id(x) not in seen:
            seen[id(x)] = {id(other): chains for other, chains in self._chains(x, -2, builder)}
        chains = seen[id(x)].get(id(y))
        return False if chains is None else _holds(chains, builder)

    def spread(self, x: Any) -> list[tuple[Any, list[list[Tie]]]]:
        """The objects that x, which has changed, may be; x is such a one where all ties of one of its chains hold."""
        return self._chains(x, -2, current())

    def unclear(self, x: Any, start: int) -> list[Any]:
        """Those of `nearest` of which it is not known where x is one of them."""
        return [other for other, chains in self._chains(x, start, current()) if not _clear(chains)]

    def _chains(self, x: Any, start: int, builder: Builder) -> list[tuple[Any, list[list[Tie]]]]:
        found: dict[int, tuple[Any, list[list[Tie]]]] = {}
        anywhere: set[int] = set()  # what x may be by an unknown condition: one chain to it says all
        # A tie between two objects says all about when they are one: no chain needs to go round it.
        todo: list[tuple[Any, list[Tie], frozenset[int]]] = [(x, [], frozenset([id(x)]))]
        for at, before, passed in todo:
            here = [(tie.other(at), tie) for tie in self._of.get(id(at), ()) if _visible(tie.scope, builder)]
            beyond = passed.union([id(other) for other, _ in here])
            for other, tie in here:
                chain = [*before, tie]
                if id(other) in passed or id(other) in anywhere or _never(chain):
                    continue
                chains = found.setdefault(id(other), (other, []))[1]
                if len(todo) > _MOST_CHAINS or any(t.condition is None for t in chain):
                    chain = [Tie(x, other, None)]
                    anywhere.add(id(other))
                    chains.clear()
                chains.append(chain)
                if other.serial >= start:
                    todo.append((other, chain, beyond))
        return list(found.values())


#: How many chains between tied objects are told apart.
_MOST_CHAINS = 256


def where(chains: list[list[Tie]], known: Foreknown) -> Value | None:
    """The condition under which two objects are one, as a bool[] Value of the current block; None if unknown."""
    holds = _holds(chains, current())
    if holds is None:
        follow(known)
    return holds


def _holds(chains: list[list[Tie]], builder: Builder) -> Value | None:
    """Where all ties of one of the chains hold; None if that is not known."""
    if not _clear(chains):
        return None
    with builder:
        parts = [reduce(F.logical_and, [tie.holds() for tie in chain]) for chain in chains]
        result: Value = reduce(F.logical_or, parts)
    return result


def _clear(chains: list[list[Tie]]) -> bool:
    return all(tie.condition is not None for chain in chains for tie in chain)


def _never(ties: list[Tie]) -> bool:
    """Whether two of the conditions contradict each other."""
    signs = {(id(tie.condition), tie.positive) for tie in ties if tie.condition is not None}
    return any((condition, not positive) in signs for condition, positive in signs)


def _visible(scope: Op | Block | None, builder: Builder | None) -> bool:
    """Whether a builder's block lies in the scope; else what is tied there is reached no more."""
    block = scope.parent if isinstance(scope, Op) else scope
    while builder is not None and block is not None:
        if block is builder.block:
            return True
        builder = builder.parent
    return block is None


def chosen(p: TensorVar, q: TensorVar, chains: list[list[Tie]], known: Foreknown) -> Value:
    """What q, which may be p, holds after a write to p."""
    holds = where(chains, known)
    if holds is None:
        raise SideEffectError(
            "an element of a Tensor is assigned that may be known by another name, depending on the trips of a loop",
            code="AC1602",
            hint="copy it before the loop: `x = x.copy()`",
        )
    builder = current()
    changed, kept = (builder.nested(()).ret(x.value) for x in (p, q))
    # No `select`, which reads both: q has no value where it is what a helper returns from a loop that goes on.
    (new,) = builder.emit_op(REGISTRY["if"], (holds,), (), (changed, kept)).results
    return new


def reaches(value: Any, x: Any, seen: set[int]) -> bool:
    """Whether an abstract value holds an object: in its elements, or as what a function or an iterator needs."""
    if value is x:
        return True
    if id(value) in seen:
        return False
    seen.add(id(value))
    return any(reaches(held, x, seen) for held in form_of(value).holds(value))


def unknown(p: Any) -> SideEffectError:
    """Why the content of an object is not known after p, which it may be, has changed."""
    return SideEffectError(
        f"a {describe(p)} is used that was changed under another name on some paths only",
        code="AC1602",
        hint="copy it where the paths part, or change it by the name it is used by",
    )
