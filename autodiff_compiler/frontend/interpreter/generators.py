"""Generator expressions: code in a scope of its own that runs when an element is asked for.

An element runs the code up to the next one, in the place where it is asked for.  Where the code stands - the iterators
of its `for` clauses and its names - is a compile-time object like a list: branches must agree about it, and a loop that
is kept may not change it.  A loop over one with a single `for` clause and no condition can be kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any

import gast

from ...errors import LoopError
from ...ir.core import Value
from ...ir.primitive import trace
from ..syntax import unsupported_syntax
from ..variables.changing import Progress
from ..variables.frames import Frame, turn
from ..variables.interpreter import ValueContext
from ..variables.iteration import END, ENDLESS, Iteration, iteration_of
from ..variables.iterators import Iterated
from ..variables.values import is_iterator
from .conditions import kept
from .context import StatementContext, expression
from .statements import store


@expression("GeneratorExp")
def _generator(ctx: StatementContext, node: Any) -> Any:
    for clause in node.generators:
        error = unsupported_syntax.reject(clause, ctx.frame.tree)
        if error is not None:
            raise error
    items = ctx.expr(node.generators[0].iter)
    return Iterated(Generator(ctx, node, iteration_of(ctx, items), not is_iterator(items)), "generator")


def _counting(x: Iteration) -> Iterated:
    """An iterator of a generator's own, which knows how many elements it has taken, of whatever it goes over."""
    return Iterated(x, "iterator")


class _Position(Progress):
    """Where a generator stands: its own iterators, one per `for` clause that it is in, and its names."""

    def __init__(self, frame: Frame, first: Iterated) -> None:
        super().__init__()
        self.frame = frame
        self.stack: tuple[Iterated, ...] = (first,)

    @property
    def held(self) -> Any:
        return self.stack, dict(self.frame.env)

    @held.setter
    def held(self, saved: Any) -> None:
        self.stack, self.frame.env = tuple(saved[0]), dict(saved[1])


class Generator(Iteration):
    """The elements of a generator expression, or of a comprehension that is a loop."""

    def __init__(self, ctx: StatementContext, node: Any, over: Iteration, own: bool) -> None:
        self._lw, self._node, self._home = ctx, node, ctx.frame
        self._own, counting = own, _counting(over)
        first: Any = counting if own else over
        self._first = first
        targets = frozenset(n.id for g in node.generators for n in gast.walk(g.target) if isinstance(n, gast.Name))
        self._position = _Position(ctx.frame.comprehension(targets, ctx.arms), counting)
        self._runs = False
        nested = len(node.generators) > 1
        self.length, self.size = (ENDLESS, None) if nested else (first.length, first.size)
        walrus = any(isinstance(n, gast.NamedExpr) for n in gast.walk(node))  # which a loop would have to carry
        self.force_unroll = nested or walrus or bool(node.generators[0].ifs) or first.source.force_unroll

    def most(self, ctx: ValueContext) -> None:
        """The clauses see to the limit."""

    def runs_code(self) -> bool:
        return True

    def following(self, ctx: ValueContext, i: int) -> tuple[Any, int]:
        position = self._position
        if position.broken is not None:
            raise position.broken.again(ctx.here, "used here")
        ctx.effects.touch(position)
        return self._in_scope(self._resume), i + 1

    def _in_scope(self, run: Any, *args: Any) -> Any:
        ctx = self._lw
        if self._runs:
            raise ValueError("generator already executing")
        caller, scope, loc = ctx.frame, self._position.frame, ctx.here
        # A walrus binds in the function around: it must be the one whose branches are being compiled.
        scope.arms = ctx.arms if caller is self._home else 0
        ctx.frame, self._runs = scope, True
        try:
            return run(*args)
        except StopIteration as error:
            raise RuntimeError("generator raised StopIteration") from error
        finally:
            ctx.frame, self._runs = caller, False
            trace.builder.loc = loc

    def _resume(self) -> Any:
        """Runs the clauses up to the next element, or END."""
        ctx = self._lw
        position, clauses = self._position, self._node.generators
        while position.stack:
            depth = len(position.stack)
            iterator, clause = position.stack[-1], clauses[depth - 1]
            most = iterator.most(ctx)
            if most is not None and ENDLESS > iterator.cursor.taken >= most:
                raise LoopError(f"a clause of a generator expression goes over more than {most} elements")
            item = iterator.advance(ctx)
            if item is END:
                position.stack = position.stack[:-1]
                continue
            with ExitStack() as turns:
                for one, at in zip(clauses, position.stack, strict=False):
                    turns.enter_context(turn(ctx, one, at.cursor.taken - 1))
                store(ctx, clause.target, item)
                if not all(kept(ctx, test) for test in clause.ifs):
                    continue
                if depth == len(clauses):
                    return ctx.expr(self._node.elt)
                inner = iteration_of(ctx, ctx.expr(clauses[depth].iter))
            position.stack = (*position.stack, _counting(inner))
        return END

    # In a kept loop.
    def sources(self) -> list[Any]:
        return [self._position, *self._first.sources()]

    def parts_inside(self) -> Iterable[Iteration]:
        return [self._first]

    def enter(self, ctx: ValueContext) -> None:
        # Of an iterator of its own, elements were taken only by the trips that were peeled off.
        (self._first.source if self._own else self._first).enter(ctx)

    def end(self, ctx: ValueContext, certain: bool) -> None:
        self._position.frame.env.clear()  # the values of a trip, which are nothing after the loop
        self._first.end(ctx, certain)

    def sequences(self) -> list[Value]:
        return self._first.sequences()

    def element(self, ctx: ValueContext, index: Value, parts: list[Value]) -> Any:
        return self._in_scope(self._of, self._first.element(ctx, index, parts))

    def item_at(self, ctx: ValueContext, index: Value) -> Any:
        return self._in_scope(self._of, self._first.item_at(ctx, index))

    def _of(self, item: Any) -> Any:
        ctx = self._lw
        store(ctx, self._node.generators[0].target, item)
        return ctx.expr(self._node.elt)
