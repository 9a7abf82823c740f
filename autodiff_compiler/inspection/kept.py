"""What derivatives need of the program again: values that are kept for them, with their bytes, or computed again."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir.core import Function, Op, Value
from ..ir.naming import definitions
from ..ir.types import Seq, TensorType, Type
from ..ir.walk import ops_of
from ..passes.memory import shown_by
from ..primitives.flops import size_of_type

__all__ = ["Kept", "bytes_of", "kept_for_adjoint"]


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


def bytes_of(x: Value) -> tuple[int, bool]:
    """The bytes of a value; of a sequence those of all trips, or, with True, of one if only a run knows how many."""
    if not isinstance(x.type, Seq):
        return _of_type(x.type), False
    op, each = x.owner, _of_type(x.type.elem)
    trips = op.operands[0].constant if isinstance(op, Op) and op.defn.name == "scan" else None
    return (each, True) if trips is None else (each * int(trips), False)


def _of_type(type: Type) -> int:
    return size_of_type(type) * type.dtype.itemsize if isinstance(type, TensorType) else 0
