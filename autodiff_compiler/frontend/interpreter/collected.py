"""Loops whose trips give an element of a list each: comprehensions, `list` and `sum`, and a `for` that appends.

Such a loop is a `scan` over as many elements as only run time knows.  What its trips give is stacked (`grown_lists`),
with the size of what the loop goes over, so that `ops.stack([f(row) for row in x])` has as many rows as `x`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gast

from ...errors import JoinError
from ...ir.core import Value
from ...ir.primitive import REGISTRY, F, trace
from ...ir.sizes import depends_on_data
from ...ir.types import Type
from ..syntax.scope import assigned_names
from ..variables import operators
from ..variables.iteration import Iteration, as_count
from ..variables.leaves import Leaf
from ..variables.rows import elem_leaf, held, known_length, list_of_rows, packed
from ..variables.values import LocalList, describe
from .carries import Cell, Loop
from .context import StatementContext
from .kept_loops import COUNT, Attempt, leave, refuse_changes
from .statements import store


def each(
    ctx: StatementContext,
    iteration: Iteration,
    trip: Callable[[Any], Any],
    *,
    collects: bool = True,
    flat: bool = False,
) -> Any:
    """A loop over an iteration whose `size` is no number: what the trips give as a list, if it `collects`.

    `flat`: they give lists, whose elements it holds.

    Where that cannot be, and the number of trips is a size of arguments, compilation begins again with a known one.
    """
    with Attempt(ctx) as attempt:
        inner = iteration.begin(ctx)
        collected = _collected_flat if flat else _collected

        def run(item: Any) -> list[tuple[Value, Leaf]]:
            given = trip(item)
            return [collected(given)] if collects else []

        lists = _scan(ctx, Loop(ctx, None, [], ctx.here, at_least_once=False, grows=True), inner, run)
        if collects and not lists:
            raise JoinError("every trip raises an exception")
        attempt.keep()
    if attempt.kept:
        return lists[0] if collects else None
    assert iteration.size is not None
    known_length(iteration.size, "a list of Tensors of one type, or of numbers, may have any length")
    assert attempt.exception is not None
    raise attempt.exception


def _scan(
    ctx: StatementContext, loop: Loop, iteration: Iteration, run: Callable[[Any], list[tuple[Value, Leaf]]]
) -> list[LocalList]:
    """Emits the loop; the lists of what each of its trips gives."""
    iteration.enter(ctx)
    sequences = iteration.sequences()
    given: list[tuple[Value, Leaf]] = []

    def trip(first: list[Value], rest: list[Value]) -> None:
        given.clear()  # of an earlier trace; one that always raises gives nothing
        given[:] = run(iteration.element(ctx, first[0], rest))

    elems: list[Type] = [s.type.elem for s in sequences]  # type: ignore[attr-defined]
    body = loop.trace([COUNT], elems, trip)
    refuse_changes(loop, iteration)
    inits = loop.inits(body.templates)
    block = body.builder.ret(*body.ends, *(value for value, _ in given))
    operands = (as_count(iteration.length), *inits, *sequences)
    op = trace.builder.emit_op(REGISTRY["scan"], operands, (len(inits), False), (block,))
    leave(loop, body, op.results)
    iteration.end(ctx, certain=True)
    lists = []
    for (_, elem), sequence in zip(given, op.results[len(op.results) - len(given) :], strict=True):
        rows = F.from_seq(sequence, length=iteration.size)
        if rows.ndim > elem.type.ndim + 1:
            rows = F.reshape(rows, shape=(rows.shape[0] * rows.shape[1], *elem.type.shape))
        lists.append(list_of_rows(rows, elem.kind))
    return lists


def _collected(found: Any) -> tuple[Value, Leaf]:
    """An element of the list, at the end of a trip."""
    elem = elem_leaf([found])
    if elem is None:
        raise JoinError(
            f"a list whose length is known only at run time holds Tensors or numbers, no {describe(found)}",
            code="AC1504",
        )
    return held(found, elem, trace.builder), elem


def _collected_flat(found: Any) -> tuple[Value, Leaf]:
    """The elements of a list as one Value, at the end of a trip."""
    elem = elem_leaf(found)
    rows = None if elem is None else packed(list.copy(found), elem, trace.builder).value
    if rows is None or elem is None or depends_on_data(rows.shape[0]):
        raise JoinError("the trips of a comprehension give lists of different elements", code="AC1504")
    return rows, elem


# ------------------------------------------------------------------------------------------------ a `for` that appends
def keep_with_lists(ctx: StatementContext, node: Any, iteration: Iteration) -> bool:
    """Emits a `for` each of whose trips appends to lists once, if it is one, with what is appended as rows.

    Otherwise a list that it appends to is carried from trip to trip, and joined anew in each.
    """
    calls = _appending(ctx, node)
    if not calls or iteration.size is None or getattr(node, "stop_flags", None):
        return False
    loop = Loop(ctx, node, sorted(assigned_names([node.target, *node.body])), ctx.here, False, True)
    lists = {name: ctx.frame.env[name] for name in calls}
    if any(loop.shared(x, Cell(name)) for name, x in lists.items()):
        return False
    body = [_assigned(stmt, calls) for stmt in node.body]

    def run(item: Any) -> list[tuple[Value, Leaf]]:
        store(ctx, node.target, item)
        ctx.block(body)
        return [_collected(ctx.frame.env.pop(_given(name))) for name in calls]

    with Attempt(ctx) as attempt:
        for old, new in zip(lists.values(), _scan(ctx, loop, iteration, run), strict=True):
            joined = operators.binary(ctx, "Add", old, new) if len(old) else new
            ctx.effects.change(old)
            old.fill(list.copy(joined))
        attempt.keep()
    return attempt.kept


def _appending(ctx: StatementContext, node: Any) -> dict[str, Any]:
    """The statements ``name.append(x)`` in the body of a loop, by names of lists that it does not mention otherwise."""
    parts = (node.target, node.iter, *node.body)
    mentioned = [n.id for part in parts for n in gast.walk(part) if hasattr(n, "id")]
    found = {_appended_to(stmt): stmt for stmt in node.body}
    return {name: stmt for name, stmt in found.items() if mentioned.count(name) == 1 and _may_be_stacked(ctx, name)}


def _appended_to(stmt: Any) -> str:
    """The name of which a statement is a call of `append`; empty for all other statements."""
    call: Any = stmt.value if stmt._fields == gast.Expr._fields else None
    method: Any = getattr(call, "func", None)
    if getattr(method, "attr", "") != "append" or len(call.args) != 1 or call.keywords:
        return ""
    return str(getattr(method.value, "id", ""))


def _may_be_stacked(ctx: StatementContext, name: str) -> bool:
    """Whether a name of the frame is a list that compiled code has made, and may change."""
    x: Any = ctx.frame.env.get(name)
    return bool(getattr(x, "stacks", False)) and not (x.locked or x.broken or x.marked)


def _given(name: str) -> str:
    return f"appended#{name}"


def _assigned(stmt: Any, calls: dict[str, Any]) -> Any:
    """A statement of the body, which gives a value a name of its own instead of appending it."""
    name = next((name for name, call in calls.items() if call is stmt), None)
    if name is None:
        return stmt
    target = gast.copy_location(gast.Name(_given(name), gast.Store(), None, None), stmt)
    return gast.copy_location(gast.Assign([target], stmt.value.args[0], None), stmt)
