"""Tuples that a loop of known length adds to (``ys = ys + (y,)``): it fills lists in their place, which it may collect.

The body may mention such a name only where it adds to it, and to read one of its last elements.  So nobody sees in the
loop that it is a list, and after the loop the name stands for a tuple again.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable
from typing import Any

import gast

from ...errors import JoinError
from ..syntax.scope import Prepared
from ..variables.values import LocalList, is_rows
from .context import StatementContext
from .kept_loops import Attempt

_FUNCTIONS = ("FunctionDef", "AsyncFunctionDef", "Lambda")


def _kind(node: Any) -> str:
    return type(node).__name__


def fill_as_lists(ctx: StatementContext, node: Any, compile_loop: Callable[[Any], None]) -> bool:
    """Compiles a loop with lists in the place of the tuples that it fills, if that is possible."""
    prepared = ctx.frame.prepared
    if id(node) not in prepared.filled:
        prepared.filled[id(node)] = _names(prepared, node)
    known = [(name, ctx.frame.env.get(name), depth) for name, depth in prepared.filled[id(node)].items()]
    # where a trip reads what is not there, a list would have another message
    held = {name: x for name, x, depth in known if type(x) is tuple and len(x) >= depth}
    if not held:
        return False
    with Attempt(ctx) as attempt:
        ctx.frame.env.update({name: LocalList(x) for name, x in held.items()})
        compile_loop(_with_lists(prepared, node, frozenset(held)))
        for name in held:
            items = list.copy(ctx.frame.env[name])
            if any(map(is_rows, items)):
                raise JoinError(f"the tuple '{name}' gets very many elements, or as many as data say")
            ctx.frame.env[name] = tuple(items)
        attempt.keep()
    return attempt.kept


def _names(prepared: Prepared, node: Any) -> dict[str, int]:
    """The names to which a loop adds tuples and that it does not use otherwise, with how far from the end it reads."""
    parts = [part for stmt in (node.target, *node.body) for part in gast.walk(stmt)]
    unknown = Counter(part.id for part in parts if _kind(part) == "Name")
    depths: dict[str, int] = {}
    for part in parts:
        if name := _added_to(part):
            depths.setdefault(name, 0)
            unknown[name] -= 2 if _kind(part) == "Assign" else 1
    for part in parts:
        if (depth := _depth(part)) and part.value.id in depths:
            depths[part.value.id] = max(depth, depths[part.value.id])
            unknown[part.value.id] -= 1
    elsewhere = prepared.global_names | prepared.nonlocal_names | _in_functions(prepared.node)
    return {name: depth for name, depth in depths.items() if not unknown[name] and name not in elsewhere}


def _in_functions(node: Any) -> set[str]:
    """The names in functions that are defined inside one."""
    functions = [part for part in gast.walk(node) if _kind(part) in _FUNCTIONS and part is not node]
    return {part.id for function in functions for part in gast.walk(function) if _kind(part) == "Name"}


def _added_to(stmt: Any) -> str:
    """The name to which a statement adds a tuple; empty for all others."""
    if _kind(stmt) == "AugAssign":
        target, op, added = stmt.target, stmt.op, stmt.value
    elif _kind(stmt) == "Assign" and len(stmt.targets) == 1 and _kind(stmt.value) == "BinOp":
        target, op, added = stmt.targets[0], stmt.value.op, stmt.value.right
        if getattr(stmt.value.left, "id", None) != getattr(target, "id", ""):
            return ""
    else:
        return ""
    return str(target.id) if (_kind(target), _kind(op), _kind(added)) == ("Name", "Add", "Tuple") else ""


def _depth(node: Any) -> int:
    """k of ``name[-k]``, if this is one that is read; 0 of all else."""
    index: Any = getattr(node, "slice", None)
    if _kind(getattr(index, "op", None)) != "USub" or (_kind(node.value), _kind(node.ctx)) != ("Name", "Load"):
        return 0
    number: Any = getattr(index.operand, "value", None)
    return number if _kind(number) == "int" else 0


def _with_lists(prepared: Prepared, node: Any, names: frozenset[str]) -> Any:
    """The loop with `+=` for what it adds to these names, made once."""
    key = (id(node), names)
    if key not in prepared.with_lists:
        prepared.with_lists[key] = _rewritten(node, names)
    return prepared.with_lists[key]


def _rewritten(stmt: Any, names: frozenset[str]) -> Any:
    if _kind(stmt) == "Assign" and _added_to(stmt) in names:
        return gast.copy_location(gast.AugAssign(stmt.targets[0], gast.Add(), stmt.value.right), stmt)
    made = stmt
    for block in ("body", "orelse", "finalbody", "handlers"):
        held: Any = getattr(stmt, block, None)
        new = [_rewritten(inner, names) for inner in held] if _kind(held) == "list" else []
        if any(a is not b for a, b in zip(new, held or (), strict=False)):
            made = copy.copy(made)
            setattr(made, block, new)
    return made
