"""Rows of a Tensor that are joined again, as those of a list are that a loop has filled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir.core import Value
from .registry import emit, rule
from .shape import before_reshaping


@rule("stack")
def stack_of_rows(b, op, *xs):
    """stack(x[a], x[a + s], ..) => x[a::s], transposed if they are stacked along another axis"""
    rows = _rows(b, xs)
    if rows is None: return None
    n, at = rows.ndim, op.attr("axis") + rows.ndim
    if at == 0: return rows
    return emit(b, "transpose", rows, axes=tuple([k - n for k in (*range(1, at + 1), 0, *range(at + 1, n))]))


@rule("concat")
def concat_of_rows(b, op, *xs):
    """concat(x[a], x[a + s], ..) => reshape(x[a::s]), along the first axis of these"""
    if op.attr("axis") != -xs[0].ndim: return None
    rows = _rows(b, xs)
    if rows is not None: return emit(b, "reshape", rows, shape=op.results[0].shape)


def _rows(b: Any, xs: Sequence[Value]) -> Value | None:
    """A slice of one Tensor, of which these are the rows; None if there is none."""
    first = _row(xs[0])
    if first is None or len(xs) < 2: return None
    source, start = first
    second = _row(xs[1])
    step = 0 if second is None else second[1] - start
    if step == 0: return None
    for k, x in enumerate(xs):
        row = _row(x)
        if row is None or row[0] is not source or row[1] != start + k * step: return None
    stop = start + (len(xs) - 1) * step + (1 if step > 0 else -1)
    found: Value = emit(b, "slice", source, axes=(-source.ndim,), starts=(start,), stops=(stop,), steps=(step,))
    return found


def _row(x: Value) -> tuple[Value, int] | None:
    """The Tensor of which x is a row, and the number of the row."""
    row = before_reshaping(x)
    op = row.op
    if op is None or op.defn.name != "slice": return None
    source = op.operands[0]
    (start, *more) = op.attr("starts")
    whole = op.attr("axes") == (-source.ndim,) and row.shape[0] == 1 and x.shape == source.shape[1:]
    return (source, start) if whole and not more and isinstance(start, int) else None
