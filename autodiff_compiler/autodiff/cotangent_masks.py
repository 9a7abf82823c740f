"""The ways in which cotangents are given: users' rules are not asked where there is none.

A way is a bool that only a run can tell, or of a sequence also the sequence of the ways of its elements: what a loop
leaves for another one is given in some trips.  None stands for: in any case.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from ..dtypes import bool_
from ..ir.build import Builder
from ..ir.core import Value
from ..ir.primitive import F, trace
from ..ir.types import Seq, Type, tensor
from ..primitives.control import COUNT, Scan

__all__ = ["WAY", "Ways", "any_of", "either", "finest", "joined", "spread"]

WAY = tensor(bool_, ())
#: The ways of several cotangents.
Ways: TypeAlias = Sequence[Value | None]


def either(gs: Iterable[Value | None], ways: Ways) -> Value | None:
    """The way in which one of these cotangents is given, as one bool; None if one is in any case."""
    found: dict[Value, None] = {}
    for g, way in zip(gs, ways, strict=True):
        if g is not None:
            if way is None:
                return None
            found[way] = None
    return functools.reduce(lambda p, q: F.logical_or(p, q), [any_of(trace.builder, way) for way in found])


def joined(builder: Builder, p: Value, q: Value) -> Value:
    """The way of what is given in one of these ways: for a sequence element by element."""
    if p is q:
        return p
    sequences = [v for v in (p, q) if isinstance(v.type, Seq)]
    if not sequences:
        with builder:
            return F.logical_or(p, q)  # type: ignore[no-any-return]

    def of_trip(trip: Builder, elems: Sequence[Value]) -> Value:
        following = iter(elems)
        a, b = (next(following) if isinstance(v.type, Seq) else v for v in (p, q))
        return joined(trip, a, b)

    return _by_element(builder, sequences, of_trip)


def any_of(builder: Builder, way: Value) -> Value:
    """Whether anything is given, as one bool."""
    if not isinstance(way.type, Seq):
        return way
    trip = builder.nested([COUNT, WAY, way.type.elem])
    _, so_far, elem = trip.block.args
    trip.ret(joined(trip, so_far, any_of(trip, elem)))
    with builder:
        operands = (F.seq_len(way), builder.const(False, WAY), way)
        return builder.emit_op(Scan, operands, (1, False), (trip.block,)).results[0]


def finest(ways: Iterable[bool | Value]) -> Type:
    """The type that tells most of these ways apart; a bool is known now."""
    return max((way.type if isinstance(way, Value) else WAY for way in ways), key=_depth)


def spread(builder: Builder, way: bool | Value, type: Type, x: Value) -> Value:
    """The way as one of this type, of the value `x`: what holds for a sequence holds for its elements."""
    way = way if isinstance(way, Value) else builder.const(way, WAY)
    if way.type is type:
        return way
    assert isinstance(type, Seq)
    assert isinstance(x.type, Seq)
    inner, sequences = type.elem, [x] if not isinstance(way.type, Seq) else [x, way]
    return _by_element(builder, sequences, lambda trip, elems: spread(trip, [*elems, way][1], inner, elems[0]))


def _depth(type: Type) -> int:
    return 1 + _depth(type.elem) if isinstance(type, Seq) else 0


def _by_element(
    builder: Builder, sequences: Sequence[Value], of_trip: Callable[[Builder, Sequence[Value]], Value]
) -> Value:
    """The sequence of what these elements of sequences give."""
    trip = builder.nested([COUNT, *(s.type.elem for s in sequences)])  # type: ignore[attr-defined]
    trip.ret(of_trip(trip, trip.block.args[1:]))
    with builder:
        operands = (F.seq_len(sequences[0]), *sequences)
        return builder.emit_op(Scan, operands, (0, False), (trip.block,)).results[0]
