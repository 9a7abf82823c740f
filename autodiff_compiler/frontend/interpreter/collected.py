"""Loops without a statement: comprehensions, `list` and `sum` over as many elements as only run time knows.

Such a loop is a `scan`, whose trips may give an element of a list each (`grown_lists`).  Its first size is that of what
the loop goes over, so that `ops.stack([f(row) for row in x])` has as many rows as `x`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import JoinError
from ...ir.core import Value
from ...ir.primitive import REGISTRY, F, trace
from ...ir.sizes import depends_on_data
from ...ir.types import Type
from ..variables.iteration import Iteration, as_count
from ..variables.leaves import Leaf
from ..variables.rows import elem_leaf, held, known_length, list_of_rows, packed
from ..variables.values import describe
from .carries import Loop
from .context import StatementContext
from .loops import COUNT, Attempt, leave, refuse_changes


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
        found = _scan(ctx, iteration.begin(ctx), trip, (_collected_flat if flat else _collected) if collects else None)
        attempt.keep()
    if attempt.kept:
        return found
    assert iteration.size is not None
    known_length(iteration.size)
    assert attempt.exception is not None
    raise attempt.exception


def _scan(ctx: StatementContext, iteration: Iteration, trip: Callable[[Any], Any], collected: Any) -> Any:
    iteration.enter(ctx)
    loop = Loop(ctx, None, [], ctx.here, at_least_once=False, grows=True)
    sequences = iteration.sequences()
    given: list[tuple[Value, Leaf]] = []

    def run(first: list[Value], rest: list[Value]) -> None:
        found = trip(iteration.element(ctx, first[0], rest))
        given[:] = [] if collected is None else [collected(found)]

    elems: list[Type] = [s.type.elem for s in sequences]  # type: ignore[attr-defined]
    body = loop.trace([COUNT], elems, run)
    refuse_changes(loop, iteration)
    inits = loop.inits(body.templates)
    block = body.builder.ret(*body.ends, *(value for value, _ in given))
    operands = (as_count(iteration.length), *inits, *sequences)
    op = trace.builder.emit_op(REGISTRY["scan"], operands, (len(inits), False), (block,))
    leave(loop, body, op.results)
    iteration.end(ctx, certain=True)
    if not given:
        return None
    ((_, elem),) = given
    rows = F.from_seq(op.results[-1], length=iteration.size)
    if rows.ndim > elem.type.ndim + 1:
        rows = F.reshape(rows, shape=(rows.shape[0] * rows.shape[1], *elem.type.shape))
    return list_of_rows(rows, elem.kind)


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
