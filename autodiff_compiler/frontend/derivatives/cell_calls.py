"""Calls of Cells: their `construct`, with hooks, float types and derivatives of the user's."""

from __future__ import annotations

from typing import Any

from ...errors import UnsupportedCallError
from ...ir.build import current
from ...runtime.precision import viewed
from ...runtime.rules import bound, keywords_of
from ..derivatives.custom import call_with_rule
from ..derivatives.hooks import call_with_hooks
from ..guards.objects import is_ours
from ..variables import precision
from ..variables.calls import call
from ..variables.operators import attribute
from .ahead import note
from .context import DerivativeContext

__all__ = ["call_cell", "overrides_call"]


def call_cell(lw: DerivativeContext, cell: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A Cell's call: its `construct`, remembered for a gradient that may follow."""
    start = len(current().block.ops)
    result = _run(lw, viewed(cell), args, kwargs)
    note(lw, cell, args, kwargs, start)
    return result


def _run(lw: DerivativeContext, cell: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if not is_ours(lw.outside.class_attribute(type(cell), "__call__")):
        raise overrides_call(type(cell).__name__)

    def groups() -> Any:
        return cell._hooks.groups if cell._hooks else None

    what = f"the hooks of {type(cell).__name__}"
    lw.outside.guard(("hooks", id(cell)), what, groups, groups(), watched=True)
    if cell._hooks:
        return call_with_hooks(lw, cell, _Constructed(cell), args, kwargs)
    return _constructed(lw, cell, args, kwargs)


def overrides_call(name: str) -> UnsupportedCallError:
    """The error for a Cell whose call does something else than its `construct`."""
    return UnsupportedCallError(f"{name} overrides __call__", code="AC1802", hint="override `construct`")


class _Constructed:
    """A Cell's call without its hooks."""

    def __init__(self, cell: Any) -> None:
        self._cell = cell

    def __graph_call__(self, lw: DerivativeContext, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return _constructed(lw, self._cell, args, kwargs)


def _constructed(lw: DerivativeContext, cell: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    cell, args, kwargs = precision.enter(lw, cell, args, kwargs)
    construct = attribute(lw, cell, "construct")
    if lw.outside.class_attribute(type(cell), "bprop") is None:
        return call(lw, construct, args, kwargs)
    what = f"the bprop of {type(cell).__name__}"
    values, names, refusal = bound(construct, cell.bprop, what, args, kwargs)
    rule = attribute(lw, cell, "bprop")
    return call_with_rule(lw, construct, values, names, rule, what, refusal, keywords_of(construct, names))
