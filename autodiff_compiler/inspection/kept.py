"""What derivatives need of the program again: values that are kept for them, or computed again."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir.core import Function, Op, Value
from ..ir.naming import definitions
from ..ir.walk import ops_of
from ..passes.memory import shown_by

__all__ = ["Kept", "kept_for_adjoint"]


@dataclass(frozen=True)
class Kept:
    """Of a function: `readers` has the values that its derivatives read later, each with the ops that do; `again` has
    what they compute a second time.
    """

    readers: dict[Value, list[Op]]
    again: list[Value]


def kept_for_adjoint(function: Function) -> Kept:
    """What is kept and computed again in a function.

    Views count as what they show, which has the bytes; arguments and constants are at hand anyway, and do not count.
    """
    readers: dict[Value, list[Op]] = {}
    again: list[Value] = []
    for op in ops_of(function.body):
        if not _of_derivative(op) or op.defn.name == "const":
            continue
        if op.loc is not None and op.loc.tag == "recomputed":
            again += op.results
        for x in dict.fromkeys(shown_by(x) for x in op.operands):
            made = x.op
            if made is not None and made.defn.name != "const" and not _of_derivative(made):
                readers.setdefault(x, []).append(op)
    return Kept({x: readers[x] for x in definitions(function) if x in readers}, again)


def _of_derivative(op: Op) -> bool:
    return op.loc is not None and bool(op.loc.tag)
