"""Residuals: the values of the forward pass that the derivative reads, and those that it computes again."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir.core import Function, Op, Value
from ..ir.naming import definitions
from ..ir.walk import ops_of
from ..passes.memory import shown_by


@dataclass(frozen=True)
class Residuals:
    """Of a function: `readers` has each residual with the ops of the derivative that read it, `recomputed` the values
    that the derivative computes a second time."""

    readers: dict[Value, list[Op]]
    recomputed: list[Value]


def residuals_of(function: Function) -> Residuals:
    """The residuals of a function.

    A view counts as the value that it shows, which has the bytes; arguments and constants are no residuals.
    """
    readers: dict[Value, list[Op]] = {}
    recomputed: list[Value] = []
    for op in ops_of(function.body):
        if not _of_derivative(op) or op.defn.name == "const":
            continue
        if op.loc is not None and op.loc.tag == "recomputed":
            recomputed += op.results
        for x in dict.fromkeys(shown_by(x) for x in op.operands):
            made = x.op
            if made is not None and made.defn.name != "const" and not _of_derivative(made):
                readers.setdefault(x, []).append(op)
    return Residuals({x: readers[x] for x in definitions(function) if x in readers}, recomputed)


def _of_derivative(op: Op) -> bool:
    return op.loc is not None and bool(op.loc.tag)
