"""`with`: managers whose `__enter__` and `__exit__` are compiled like any other method.

Jumps out of the body are flags by now, so `__exit__` simply follows it.  An exception that leaves the body at run time
does not pass it: that is allowed where nobody would notice, and refused otherwise.
"""

from __future__ import annotations

import contextlib
import types
from typing import Any

from ...errors import UnsupportedSyntaxError
from ...ir.core import Op
from ...ir.primitive import Effect, trace
from ...ir.walk import ops_of
from ...source import Loc
from ..guards.objects import is_ours
from ..variables.interpreter import Diverged
from ..variables.values import class_of, describe, is_dynamic
from .context import StatementContext, statement
from .statements import store


@statement("With")
def _with(ctx: StatementContext, node: Any) -> None:
    _nested(ctx, node, list(node.items))


def _nested(ctx: StatementContext, node: Any, items: list[Any]) -> None:
    """The first manager around the others, which are around the body."""
    if not items:
        ctx.block(node.body)
        return
    item, *others = items
    manager = ctx.expr(item.context_expr)
    place = ctx.place(item.context_expr)
    if isinstance(manager, contextlib.nullcontext):
        if item.optional_vars is not None:
            store(ctx, item.optional_vars, manager.enter_result)
        _nested(ctx, node, others)
        return
    enter, leave = (_method(ctx, manager, name, place) for name in ("__enter__", "__exit__"))
    entered = ctx.call_python(enter[0], [manager], {}, (enter[1], manager))
    if item.optional_vars is not None:
        store(ctx, item.optional_vars, entered)
    block = trace.builder.block
    before = len(block.ops)
    try:
        _nested(ctx, node, others)
    except Diverged:
        _refuse_effects(ctx, manager, leave, place)
        raise
    may_raise = any(map(_may_raise, _all_of(block.ops[before:])))
    ctx.place(item.context_expr)
    if may_raise:
        _refuse_effects(ctx, manager, leave, place)
    ctx.call_python(leave[0], [manager, None, None, None], {}, (leave[1], manager))


def _method(ctx: StatementContext, manager: Any, name: str, place: Loc) -> tuple[types.FunctionType, type]:
    """A method of the manager's class with the class that defines it."""
    cls = class_of(manager)
    found = None if is_dynamic(manager) else ctx.outside.class_attribute(cls, name)
    if not isinstance(found, types.FunctionType) or is_ours(cls) or cls.__module__ == "contextlib":
        what = "of a contextmanager function" if cls.__module__ == "contextlib" else f"of a {describe(manager)}"
        raise refused(what, getattr(cls, "__graph_advice__", None)).at(place)
    return found, next(c for c in cls.__mro__ if name in c.__dict__)


def refused(what: str, advice: str | None = None) -> UnsupportedSyntaxError:
    """The error for a `with` of something that compiled code cannot enter."""
    hint = advice or "use contextlib.nullcontext, or a class whose `__enter__` and `__exit__` are plain methods"
    return UnsupportedSyntaxError(f"'with' {what} cannot be used in compiled code", code="AC1108", hint=hint)


def _all_of(ops: list[Op]) -> list[Op]:
    return [inner for op in ops for inner in (op, *(x for block in op.blocks for x in ops_of(block)))]


#: Ops that may end the program: those that say so, and kernels that refuse some indices or matrices.
_RAISING = {
    *("raise", "assert", "host_call", "check_exponent", "check_index", "check_solved"),
    *("gather", "take_along_axis", "slice_update"),
    *("cholesky", "solve", "triangular_solve", "inverse", "pinv", "lstsq", "eigh", "eigvalsh", "svd", "svdvals"),
}


def _may_raise(op: Op) -> bool:
    return op.defn.name in _RAISING


def _refuse_effects(ctx: StatementContext, manager: Any, leave: Any, place: Loc) -> None:
    """Compiles `__exit__` on trial; refuses it if it does, or answers, something that matters after an exception."""
    builder = trace.builder.nested()
    written = dict(ctx.effects.attributes.slots)
    with ctx.effects.region() as region, builder:
        try:
            answer = ctx.call_python(leave[0], [manager, None, None, None], {}, (leave[1], manager))
        except Diverged:
            answer = True
        changed = bool(ctx.effects.restore(region)) or ctx.effects.attributes.slots.keys() != written.keys()
    effects = any(op.defn.effect >= Effect.WRITE for op in _all_of(builder.block.ops))
    if effects or changed or answer not in (None, False):
        raise UnsupportedSyntaxError(
            f"the body of this 'with' may raise an exception, and the `__exit__` of a {describe(manager)} has effects",
            code="AC1108",
            loc=place,
            hint="raise before or after the `with`, or write what `__exit__` does after the body",
        )
