"""Objects that are one where a condition known only at run time holds.

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

__all__ = ["Tie", "Ties", "as_condition", "chosen", "reaches", "unknown", "where"]


def as_condition(holds: bool | Value, builder: Builder) -> Value:
    """Where something holds, as a bool[] Value."""
    return builder.const(holds, tensor(bool_, ())) if isinstance(holds, bool) else holds


@dataclass(frozen=True, eq=False)
class Tie:
    """`a` and `b` are one object where the condition holds (or, unless `positive`, where it does not).

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

    def of(self, x: Any) -> list[Tie]:
        return self._of.get(id(x), [])

    def nearest(self, x: Any, start: int, builder: Builder) -> list[Any]:
        """The objects that x, made after `start`, may be, seen from the builder's block.

        Of the objects made before `start` only those to which others are tied in turn.
        """
        return [other for other, _ in self._ways(x, start, builder)]

    def one(self, x: Any, y: Any, builder: Builder, seen: dict[int, Any]) -> bool | Value | None:
        """Where x and y are one object, as far as that is known; `seen` is for the questions of one place."""
        if x is y:
            return True
        direct = [[t] for t in self.of(x) if t.other(x) is y and _visible(t.scope, builder)]
        if direct:  # what `_ways` would find, too
            return _holds(direct, builder)
        if id(x) not in seen:
            seen[id(x)] = {id(other): ways for other, ways in self._ways(x, -2, builder)}
        ways = seen[id(x)].get(id(y))
        return False if ways is None else _holds(ways, builder)

    def may_be(self, x: Any, start: int) -> list[Any]:
        """The objects made before `start` that x, made later, may be, seen from the current place."""
        return [other for other in self.around(x, start) if other.serial < start]

    def around(self, x: Any, start: int) -> list[Any]:
        """The objects that x, made after `start`, may be; of those made before only the nearest."""
        return self.nearest(x, start, current())

    def spread(self, x: Any) -> list[tuple[Any, list[list[Tie]]]]:
        """The objects that may be x, which has changed, with the ways there: x is one where all ties of a way hold."""
        return self._ways(x, -2, current())

    def unclear(self, x: Any, start: int) -> list[Any]:
        """Those of `around` of which it is not known where x is one of them."""
        return [other for other, ways in self._ways(x, start, current()) if not _clear(ways)]

    def _ways(self, x: Any, start: int, builder: Builder) -> list[tuple[Any, list[list[Tie]]]]:
        found: dict[int, tuple[Any, list[list[Tie]]]] = {}
        anywhere: set[int] = set()  # what x may be without it being known where: one way there says all
        # A tie between two objects says all about when they are one: no way needs to go round it.
        todo: list[tuple[Any, list[Tie], frozenset[int]]] = [(x, [], frozenset([id(x)]))]
        for at, before, passed in todo:
            here = [(tie.other(at), tie) for tie in self.of(at) if _visible(tie.scope, builder)]
            beyond = passed.union([id(other) for other, _ in here])
            for other, tie in here:
                way = [*before, tie]
                if id(other) in passed or id(other) in anywhere or _never(way):
                    continue
                ways = found.setdefault(id(other), (other, []))[1]
                if len(todo) > _WAYS or any(t.condition is None for t in way):
                    way = [Tie(x, other, None)]
                    anywhere.add(id(other))
                    ways.clear()
                ways.append(way)
                if other.serial >= start:
                    todo.append((other, way, beyond))
        return list(found.values())


#: How many ways between tied objects are told apart.
_WAYS = 256


def where(ways: list[list[Tie]], known: Foreknown) -> Value | None:
    """Where two objects are one, as a bool[] Value of the current block; None if nobody can know."""
    holds = _holds(ways, current())
    if holds is None:
        follow(known)
    return holds


def _holds(ways: list[list[Tie]], builder: Builder) -> Value | None:
    """Where all ties of one of the ways hold; None if that is not known."""
    if not _clear(ways):
        return None
    with builder:
        parts = [reduce(F.logical_and, [tie.holds() for tie in way]) for way in ways]
        result: Value = reduce(F.logical_or, parts)
    return result


def _clear(ways: list[list[Tie]]) -> bool:
    return all(tie.condition is not None for way in ways for tie in way)


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


def chosen(p: TensorVar, q: TensorVar, ways: list[list[Tie]], known: Foreknown) -> Value:
    """What q, which may be p, holds after a write to p."""
    holds = where(ways, known)
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
