"""Loops: unrolled while compiling, or kept as `scan` and `while` (python_subset section 5)."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any

import gast

from ...errors import CompileError, JoinError, LoopError, UnrollWarning
from ...ir.build import Builder
from ...ir.core import Value
from ...ir.primitive import REGISTRY, F, trace
from ...ir.sizes import left_to_run_time, may_be_at_most
from ...ir.walk import ops_of
from ...source import PACKAGE, Loc
from ..effects.exceptions import emit_raise
from ..effects.may_alias import as_condition
from ..report.reasons import KEPT, Decision
from ..syntax.jumps import RETURNED
from ..syntax.scope import assigned_names
from ..variables.changing import KNOWN_TRIPS
from ..variables.frames import turn
from ..variables.interpreter import ValueContext
from ..variables.iteration import Iteration, Rest, Through, as_count, iteration_of
from ..variables.truth_values import negate, truth
from ..variables.unions import for_each_rank
from ..variables.values import NewException, is_union
from .additions import Additions
from .carries import Loop
from .collected import keep_with_lists
from .conditions import as_number, condition_of
from .context import StatementContext, statement
from .control import branch
from .filled_tuples import fill_as_lists
from .kept_loops import COUNT, Attempt, Restart, leave, refuse_changes
from .statements import store

_WARN_TRIPS = 128
#: How many trips are unrolled of a loop that data may end: each is a branch inside of the one before.
_MOST_GUARDED = 64


class _Changes(Exception):
    """The condition of a loop changes an object."""


# ---------------------------------------------------------------------------------------------------- for
@statement("For")
def _for(ctx: StatementContext, node: Any) -> None:
    items = ctx.expr(node.iter)
    if is_union(items):
        for_each_rank(ctx, lambda x: _over(ctx, node, x), items)
    else:
        _over(ctx, node, items)


def _over(ctx: StatementContext, node: Any, items: Any) -> None:
    """The loop over a value."""
    try:
        iteration = iteration_of(ctx, items).begin(ctx)
    except CompileError as error:
        error.at(ctx.place(node.iter).of_user())
        raise
    ctx.place(node)
    n = iteration.length
    if not isinstance(n, int):
        _decided(ctx, node, KEPT, "how many trips it has is known only at run time", n)
        _keep_open(ctx, node, iteration)
    elif n == 0 or (not iteration.force_keep and (n <= ctx.options.unroll_limit or iteration.force_unroll)):
        few = f"up to {ctx.options.unroll_limit} (`unroll_limit`) are unrolled"
        _decided(ctx, node, f"unrolled, {_trips(n)}", "`unroll(...)` asks for it" if iteration.force_unroll else few)
        _unroll_all(ctx, node, iteration)
    elif getattr(node, "stop_flags", None) or not fill_as_lists(
        ctx, node, lambda filling: _keep_or_unroll(ctx, filling, iteration, n)
    ):
        _keep_or_unroll(ctx, node, iteration, n)


def _keep_or_unroll(ctx: StatementContext, node: Any, iteration: Iteration, n: int) -> None:
    key = ctx.loops.key(node, n, ctx.frame.env)
    problem = ctx.loops.decisions.get(key)
    if not isinstance(problem, CompileError):
        problem = ctx.loops.decisions[key] = _try_keep(ctx, node, iteration, n, problem)
        if not isinstance(problem, CompileError):
            few = f"up to {ctx.options.unroll_limit} (`unroll_limit`) are unrolled"
            many = "`keep(...)` asks for it" if iteration.force_keep else few
            peeled = " behind its first trip, which settles the types" if problem == "peeled" else ""
            _decided(ctx, node, f"{KEPT}{peeled}, {_trips(n)}", many)
            return
    if problem.code == "AC1504" and getattr(node, "stop_flags", None) and _ended_early(ctx, node, iteration, n):
        return
    if iteration.force_keep:
        raise _not_kept(problem)
    if n > ctx.options.unroll_max:
        raise _too_long(ctx, f"a loop of {n} trips", problem)
    _warn_of_trips(ctx, node, n, problem)
    ctx.place(node)
    _decided(ctx, node, f"unrolled, {_trips(n)}", f"it cannot be kept as a loop: {_with_way_out(problem)}")
    _unroll_all(ctx, node, iteration)


def _not_kept(problem: CompileError) -> LoopError:
    """The error of a loop that `keep` asks for."""
    return LoopError(
        f"this loop cannot be kept: {problem.message}",
        code="AC1502",
        spans=problem.spans,
        notes=problem.notes,
        hint=problem.hint,
    )


# ------------------------------------------------------------------- a `for` that fills lists and may end early
def _ended_early(ctx: StatementContext, node: Any, iteration: Iteration, n: int) -> bool:
    """Compiles a loop that changes the size of lists and may end early; False if unrolling it raises an error.

    It is unrolled up to a `break` or `return` that compile time decides.  Where data decide, lists are as long as only
    run time knows, and the loop is kept: each trip that is unrolled would be a branch inside of the one before.
    """
    if not iteration.force_keep:
        with Attempt(ctx) as unrolled:
            _until_data_end(ctx, node, iteration, n)
            unrolled.keep()
        ctx.place(node)
        if unrolled.kept:
            _decided(ctx, node, "unrolled", "it changes the size of a list, and its end is known while compiling")
            return True
        if not isinstance(unrolled.exception, Restart):
            return False
    with Attempt(ctx) as kept:
        _keep(ctx, node, iteration, n, grows=True)
        kept.keep()
    ctx.place(node)
    if kept.kept:
        _decided(ctx, node, f"{KEPT}, up to {_trips(n)}", "data end it, and it changes the size of a list")
        return True
    assert kept.error is not None
    if iteration.force_keep:
        raise _not_kept(kept.error)
    _unroll_guarded(ctx, node, iteration, n, kept.error)
    return True


def _until_data_end(ctx: StatementContext, node: Any, iteration: Iteration, n: int) -> None:
    """Unrolls a loop that compile time ends, after so many trips as it may unroll."""
    most = ctx.options.unroll_max
    stopped = _unroll(ctx, node, islice(iteration.static_items(ctx), most), data_ends=False)
    if n > most and not stopped:
        raise Restart(dynamic=False)


def _unroll_guarded(ctx: StatementContext, node: Any, iteration: Iteration, n: int, problem: CompileError) -> None:
    """Unrolls a loop that data may end, if it is short."""
    if n <= _MOST_GUARDED:
        with Attempt(ctx) as guarded:
            _unroll_all(ctx, node, iteration)
            guarded.keep()
        ctx.place(node)
        if guarded.kept:
            why = f"it cannot be kept as a loop: {_with_way_out(problem)}"
            _decided(ctx, node, f"unrolled, up to {_trips(n)}", why)
            return
        if not isinstance(guarded.exception, JoinError):
            assert guarded.exception is not None
            raise guarded.exception
    raise LoopError(
        f"data end this loop of up to {_trips(n)}, and it cannot be kept: {problem.message}",
        code="AC1504",
        spans=problem.spans,
        notes=problem.notes,
        hint=problem.hint and problem.hint.removesuffix(KNOWN_TRIPS),
    )


def _decided(ctx: StatementContext, node: Any, outcome: str, why: str, because_of: Any = None) -> None:
    """Notes what becomes of a loop."""
    loc = ctx.frame.tree.loc(node, ctx.frame.caller)
    ctx.report.reasons.decisions.append(Decision(loc, type(node).__name__.lower(), outcome, why, because_of))


def _trips(n: int) -> str:
    return "1 trip" if n == 1 else f"{n} trips"


def _with_way_out(problem: CompileError) -> str:
    """Why a loop of known length is unrolled, and what to do about it."""
    hint = (problem.hint or "").removesuffix(KNOWN_TRIPS)
    return f"{problem.message} (instead: {hint})" if hint else problem.message


def _too_long(ctx: StatementContext, loop: str, problem: CompileError) -> LoopError:
    message = f"{loop} is too long to unroll and cannot be kept: {problem.message}"
    limit = f"`unroll_max` is {ctx.options.unroll_max}: jit(fn, unroll_max=...) unrolls loops of more trips"
    hint = problem.hint and problem.hint.removesuffix(KNOWN_TRIPS)
    return LoopError(message, spans=problem.spans, notes=(*problem.notes, limit), hint=hint)


def _warn_of_trips(ctx: StatementContext, node: Any, n: int, problem: CompileError) -> None:
    if n > _WARN_TRIPS and not ctx.place(node).file.startswith(PACKAGE):  # users cannot change our loops
        ctx.report.warn(
            UnrollWarning(f"a loop of {n} trips is unrolled: {_with_way_out(problem)}", loc=ctx.place(node)), ctx.here
        )


def _try_keep(ctx: StatementContext, node: Any, iteration: Iteration, n: int, known: Any) -> Any:
    """Keeps the loop, peeling the first trip off if that settles the types: "kept", "peeled", or why that cannot be.

    `known` is what became of the same loop before.
    """
    problem = None
    if known != "peeled":
        with Attempt(ctx) as attempt:
            _keep(ctx, node, iteration, n)
            attempt.keep()
        if attempt.kept:
            return "kept"
        problem = attempt.error
        if not isinstance(problem, JoinError) or problem.code != "AC1406":
            return problem
    with Attempt(ctx) as peeled:
        _unroll(ctx, node, islice(iteration.static_items(ctx), 1))
        _keep(ctx, node, _Later(iteration), n - 1)
        peeled.keep()
    return "peeled" if peeled.kept else problem or peeled.error


def _keep_open(ctx: StatementContext, node: Any, iteration: Iteration) -> None:
    """Keeps a loop of as many trips as only run time knows, peeling the first one off if that settles the types.

    That there is a first one is a guard, where the number of trips is a size of arguments.
    """
    if keep_with_lists(ctx, node, iteration):
        return
    key, problem = ctx.loops.key(node, None, ctx.frame.env), None
    if ctx.loops.decisions.get(key) != "peeled":
        with Attempt(ctx) as attempt:
            _keep(ctx, node, iteration, iteration.length)
            attempt.keep()
        if attempt.kept:
            return
        problem = attempt.exception
    of_types = problem is None or (isinstance(problem, JoinError) and problem.code == "AC1406")
    if of_types and iteration.size is not None and may_be_at_most(1, iteration.size):
        with Attempt(ctx) as peeled:
            iteration.enter(ctx)
            _unroll(ctx, node, [iteration.item_at(ctx, as_count(0))])
            rest = Rest(iteration)
            if not keep_with_lists(ctx, node, rest):
                _keep(ctx, node, rest, rest.length)
            peeled.keep()
        if peeled.kept:
            ctx.loops.decisions[key] = "peeled"
            return
        problem = problem or peeled.exception
    assert problem is not None
    raise problem


class _Later(Through):
    """An iteration without its first element."""

    unrolled = 1

    def __init__(self, source: Iteration) -> None:
        self.source = source
        self.length = source.length - 1

    def sequences(self) -> list[Value]:
        return []

    def element(self, ctx: ValueContext, index: Value, parts: list[Value]) -> Any:
        return self.item_at(ctx, index)

    def item_at(self, ctx: ValueContext, index: Value) -> Any:
        return self.source.item_at(ctx, F.add(index, 1))


def _unroll_all(ctx: StatementContext, node: Any, iteration: Iteration) -> None:
    if not isinstance(_unroll(ctx, node, iteration.static_items(ctx), nested=iteration.runs_code()), bool):
        iteration.end(ctx, certain=False)


def _unroll(
    ctx: StatementContext, node: Any, items: Iterable[Any], nested: bool = False, done: int = 0, data_ends: bool = True
) -> Any:
    """Runs the trips while compiling; after a dynamic `break` or `return`, the later ones are guarded by its flag.

    `nested`: asking for an item runs code, which must be guarded, too.  `done` trips came before.  Without `data_ends`
    a jump that data decide raises `Restart`.  Returns whether a jump ended the loop, as `_stopped` does.
    """

    def trip(number: int, item: Any) -> None:
        with turn(ctx, node, number):
            store(ctx, node.target, item)
            ctx.block(node.body)

    only_return = getattr(node, "stop_flags", ()) == (RETURNED,)
    stopped: Any = False
    items = iter(items)
    for number, item in enumerate(items, done):
        if stopped is False:
            trip(number, item)
        else:
            ctx.place(node)
            go_on = truth(ctx, negate(stopped))
            branch(ctx, go_on, partial(trip, number, item), lambda: None, node=node, other_returned=only_return)
        stopped = _stopped(ctx, node)
        if stopped is True:
            break
        if stopped is not False and not data_ends:
            raise Restart(dynamic=True)
        if nested and stopped is not False:
            ctx.place(node)
            go_on = truth(ctx, negate(stopped))
            rest = partial(_rest, ctx, node, items, number + 1)
            branch(ctx, go_on, rest, lambda: None, node=node, other_returned=only_return)
            return _stopped(ctx, node)
    return stopped


def _rest(ctx: StatementContext, node: Any, items: Iterable[Any], done: int) -> None:
    """An arm: what it returned would be a value of the branch."""
    _unroll(ctx, node, items, nested=True, done=done)


def _stopped(ctx: StatementContext, node: Any) -> Any:
    """Whether a flag that ends the loop early is set: a truth value."""
    result: Any = False
    for flag in getattr(node, "stop_flags", ()):
        value = truth(ctx, ctx.frame.env.get(flag, False))
        if value is True:
            return True
        if value is not False:
            result = value if result is False else F.logical_or(result, value)
    return result


def _names(node: Any) -> list[str]:
    extra = [node.target] if isinstance(node, gast.For) else []
    return sorted(assigned_names([*extra, *node.body]))


def _keep(ctx: StatementContext, node: Any, iteration: Iteration, n: Any, grows: bool = False) -> None:
    """Emits one `scan`, or a `while` with a counter if the loop may end early; with `grows` its lists may grow."""
    iteration.enter(ctx)
    stoppable = bool(getattr(node, "stop_flags", ()))
    known = isinstance(n, int)
    collects = known and not stoppable and not ctx.effects.known.not_collected
    additions = Additions(ctx, n) if collects else None
    loop = Loop(ctx, node, _names(node), ctx.here, known and n > 0, grows or not known, additions)
    count = as_count(n)
    sequences = [] if stoppable else iteration.sequences()

    def run(first: list[Value], rest: list[Value]) -> None:
        item = iteration.item_at(ctx, first[0]) if stoppable else iteration.element(ctx, first[0], rest)
        store(ctx, node.target, item)
        ctx.block(node.body)

    body = loop.trace([COUNT], [s.type.elem for s in sequences], run)  # type: ignore[attr-defined]
    refuse_changes(loop, iteration)
    conditions, following = _counted(loop, node, body, count) if stoppable else ((), ())
    inits = loop.inits(body.templates)
    _place_of_rest(ctx, node, iteration)
    blocks = (*conditions, body.builder.ret(*following, *body.ends, *loop.added))
    if stoppable:
        op = trace.builder.emit_op(REGISTRY["while"], (trace.builder.const(0, COUNT), *inits), (), blocks)
    else:
        op = trace.builder.emit_op(REGISTRY["scan"], (count, *inits, *sequences), (len(inits), False), blocks)
    leave(loop, body, op.results[2 if stoppable else 0 :])
    iteration.end(ctx, certain=not stoppable)


def _place_of_rest(ctx: StatementContext, node: Any, iteration: Iteration) -> None:
    """The place of a loop, which says how many trips of it were unrolled before."""
    loc = ctx.place(node)
    if iteration.unrolled and ctx.program.module.check_nonfinite:
        trace.builder.loc = loc._replace(turn=(loc, iteration.unrolled))


def _counted(loop: Loop, node: Any, body: Any, count: Value) -> tuple[tuple[Any], tuple[Value]]:
    """The condition of a `while` that counts its trips and may end early, and the number of the next trip."""
    ctx = loop.ctx
    with body.builder:
        following = F.add(body.builder.block.args[0], 1)

    def condition(args: list[Value]) -> Any:
        more = F.less(args[0], count)
        stopped = _stopped(ctx, node)
        return more if stopped is False else F.logical_and(more, truth(ctx, negate(stopped)))

    return (_condition(loop, body, [COUNT], condition),), (following,)


def _condition(loop: Loop, body: Any, first: list[Any], evaluate: Any) -> Any:
    """The block that decides whether another trip follows; `evaluate` gives a truth value."""
    ctx = loop.ctx
    builder: Builder = trace.builder.nested([*first, *body.types], [*([None] * len(first)), *body.names])
    ctx.report.reasons.loop(builder.block, loop.loc, len(first))
    before = ctx.frame.env
    ctx.frame.env = dict(before)
    with ctx.effects.region() as region, builder:
        try:
            loop.enter(body.templates, builder.block.args[len(first) :])
            with ctx.effects.region() as inner:
                result = evaluate(builder.block.args)
            if inner.saved:
                raise _Changes
        finally:
            ctx.frame.env = before
            ctx.effects.restore(region)
        return builder.ret(as_condition(result, builder))


# ---------------------------------------------------------------------------------------------------- while
@statement("While")
def _while(ctx: StatementContext, node: Any) -> None:
    key = ctx.loops.key(node, None, ctx.frame.env)
    problem = ctx.loops.decisions.get(key)
    restart = _ran(ctx, node, ctx.options.unroll_limit) if problem is None else None
    if problem is None and restart is None:
        return
    if not isinstance(problem, CompileError):
        restart = restart or _met_again(ctx, node, problem)
        ctx.place(node)
        with Attempt(ctx) as kept:
            _keep_while(ctx, node, restart is not None and restart.dynamic)
            kept.keep()
        if kept.kept:
            still = "holds" if restart is not problem else "held where it was first met"
            more = f"after {_trips(ctx.options.unroll_limit)} (`unroll_limit`) its condition still {still}"
            why = "its condition is known only at run time" if restart.dynamic else more
            _decided(ctx, node, KEPT, why, restart.condition)
        ctx.loops.decisions[key] = restart if kept.kept else kept.error
        if kept.kept:
            return
        problem = kept.error
    assert isinstance(problem, CompileError)
    _ran(ctx, node, ctx.options.unroll_max, problem)


def _met_again(ctx: StatementContext, node: Any, before: Any) -> Any:
    """Why a loop is kept that was kept `before`, in an earlier trace of the loop around it or by another call."""
    with Attempt(ctx) as attempt:
        _run_trips(ctx, node, 0)
    now = attempt.exception
    return now if isinstance(now, Restart) and now.dynamic else before


def _ran(ctx: StatementContext, node: Any, limit: int, problem: CompileError | None = None) -> Restart | None:
    """Runs a `while` trip by trip; where that is impossible, restores everything and raises `problem`, if given.

    Gives what made it impossible, or None.
    """
    trips = 0
    with Attempt(ctx) as attempt:
        trips = _run_trips(ctx, node, limit)
        attempt.keep()
    if attempt.kept:
        if problem is not None:
            _warn_of_trips(ctx, node, trips, problem)
        known = "its condition is known while compiling"
        cannot = f"{known}, and it cannot be kept as a loop: {_with_way_out(problem)}" if problem is not None else known
        _decided(ctx, node, f"unrolled, {_trips(trips)}", cannot)
        return None
    why = attempt.exception
    if not isinstance(why, Restart):
        assert why is not None
        if not isinstance(why, CompileError):
            _run_trips(ctx, node, limit)  # what Python raises, it raises after the effects that come before
        raise why
    if problem is not None:
        raise (
            problem
            if why.dynamic or problem.code == "AC1503"
            else _too_long(ctx, f"a `while` of {limit} trips", problem)
        )
    return why


def _run_trips(ctx: StatementContext, node: Any, limit: int) -> int:
    """Runs a `while` with a static condition trip by trip; gives their number."""
    for trips in range(limit + 1):
        condition = _test(ctx, node)
        if not isinstance(condition, bool):
            raise Restart(dynamic=True, condition=condition)
        if not condition:
            return trips
        if trips < limit:
            with turn(ctx, node, trips):
                ctx.block(node.body)
    raise Restart(dynamic=False)


def _test(ctx: StatementContext, node: Any) -> Any:
    """The condition of a `while`: comparisons of sizes that only a call knows are left to run time."""
    with left_to_run_time():
        return condition_of(ctx, node.test)


def _keep_while(ctx: StatementContext, node: Any, grows: bool) -> None:
    """Emits one `while`.  A condition that changes names or objects is evaluated before it and after every trip."""

    def test() -> Any:
        return _test(ctx, node)

    assigns = assigned_names([node.test])
    if not assigns:
        loop = Loop(ctx, node, _names(node), ctx.here, False, grows)
        body = loop.trace([], [], lambda first, rest: ctx.block(node.body))
        with suppress(_Changes):
            _emit_while(ctx, node, loop, body, _condition(loop, body, [], lambda args: test()))
            return
    ctx.place(node)
    flag = f"again#{id(node)}"

    def note() -> None:
        ctx.frame.env[flag] = as_number(test())

    note()

    def run(first: list[Value], rest: list[Value]) -> None:
        ctx.block(node.body)
        note()

    names = sorted({*_names(node), *assigns, flag})
    loop = Loop(ctx, node.test, names, ctx.here, False, grows)  # not what is known of `node`
    body = loop.trace([], [], run)
    _emit_while(ctx, node, loop, body, _condition(loop, body, [], lambda args: truth(ctx, ctx.frame.env[flag])))
    del ctx.frame.env[flag]


def _emit_while(ctx: StatementContext, node: Any, loop: Loop, body: Any, cond: Any) -> None:
    endless = cond.outs[0].constant is True
    if endless and not any(op.defn.name in ("raise", "assert") for op in ops_of(body.builder.block)):
        raise _never_ends(ctx, node.test)
    inits = loop.inits(body.templates)
    ctx.place(node)
    op = trace.builder.emit_op(REGISTRY["while"], inits, (), (cond, body.builder.ret(*body.ends)))
    leave(loop, body, op.results[1:])
    if endless:  # an exception ends it: what follows is never reached
        emit_raise(ctx, NewException(RuntimeError, ("a `while` without a condition has ended",), {}))


def _never_ends(ctx: StatementContext, test: Any) -> LoopError:
    """The error for a `while` whose condition is true however often the body runs."""
    loc = ctx.place(test)
    if isinstance(test, gast.Constant):
        return endless(loc)
    what = "its condition does not depend on anything known only at run time, and the body does not make it false"
    hint = "change in the body what the condition reads, make that a Tensor or a `mutable` number, or use a `break`"
    notes = ctx.report.reasons.known(ctx.frame, test)
    return LoopError(f"this `while` never ends: {what}", code="AC1503", loc=loc, notes=notes, hint=hint)


def endless(loc: Loc) -> LoopError:
    """The error for a loop without a condition that nothing ends."""
    what = "this `while` never ends: it has no condition, and no `break` is reached"
    return LoopError(what, code="AC1503", loc=loc, hint="end it with a condition or a `break`")
