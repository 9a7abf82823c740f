"""The parts of a loop, by names that `while` and `scan` share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .core import Block, Op, Value
from .sizes import Size


class Carry(NamedTuple):
    """A loop carry: initial value, arguments of the body (then of the condition), next and final value."""

    init: Value
    args: tuple[Value, ...]
    next: Value
    result: Value

    @property
    def arg(self) -> Value:
        """The carry in the body."""
        return self.args[0]


class Loop:
    """A `while` or `scan`.

    `count`: the trip count, an operand of `scan` and a result of `while`.  `index`: the trip's index in the body of a
    `scan`.  `elements`: sequences that a `scan` reads, with the arguments that are their elements.  `collected`: what
    the body yields beyond the carries, with the sequences of it.  `reverse`: the indices go down.
    """

    def __init__(self, op: Op) -> None:
        self.op, self.body = op, op.blocks[-1]
        args, outs = self.body.args, self.body.outs
        inits: Sequence[Value]
        self.cond: Block | None = None
        self.index: Value | None = None
        self.elements: list[tuple[Value, Value]] = []
        self.reverse = False
        if op.defn.name == "while":
            inits, results = op.operands, op.results[1:]
            self.cond, self.count = op.blocks[0], op.results[0]
            both = list(zip(args, self.cond.args, strict=True))
            self.carries = [Carry(*c) for c in zip(inits, both, outs, results, strict=False)]
        else:
            k, self.reverse = op.attrs
            inits, results = op.operands[1 : 1 + k], op.results
            self.count, self.index = op.operands[0], args[0]
            self.elements = list(zip(op.operands[1 + k :], args[1 + k :], strict=True))
            self.carries = [Carry(x, (arg,), *c) for x, arg, *c in zip(inits, args[1:], outs, results, strict=False)]
        self.collected = list(zip(outs[len(inits) :], results[len(inits) :], strict=True))

    @property
    def trips(self) -> int | None:
        """The number of trips, where it is known before the loop runs."""
        return known_trips(self.op)


def known_trips(op: Op) -> int | None:
    """How many trips a loop has, where that is known before it runs; None of other ops, too."""
    count = op.operands[0].constant if op.defn.name == "scan" else None
    return None if count is None else max(0, int(count))


def trips_of(op: Op) -> Size | None:
    """How many trips a loop has, where the sizes of arguments tell it; None of other ops, too."""
    count = op.operands[0].owner if op.defn.name == "scan" else None
    if isinstance(count, Op) and count.defn.name == "size_value":
        size: Size = count.attr("size")
        return size
    return known_trips(op)
