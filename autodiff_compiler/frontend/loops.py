"""Loops: unrolled while compiling, or kept as `scan` and `while` (python_subset section 5)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

import gast

from ..dtypes import int64
from ..errors import CompileError, JoinError, LoopError, UnrollWarning, UnsupportedSyntaxError
from ..ir.build import Builder
from ..ir.core import Value
from ..ir.primitive import REGISTRY, F, trace
from ..ir.types import tensor
from .carries import Loop
from .control import branch
from .iteration import Iteration, iteration_of
from .jumps import RETURNED
from .lowering import Diverged, Lowering, Region, statement
from .operators import negate, truth
from .scope import assigned_names
from .statements import store
from .values import Weak, content, describe, set_content

_COUNT = tensor(int64, ())
_WARN_TRIPS = 128


class _Restart(Exception):
    """A loop run trip by trip must be compiled as a dynamic one from its start."""


# ---------------------------------------------------------------------------------------------------- for
@statement("For")
def _for(lw: Lowering, node: Any) -> None:
    iteration = iteration_of(lw, lw.expr(node.iter))
    lw.place(node)
    n = iteration.length
    if not isinstance(n, int):
        _keep(lw, node, iteration, n)
    elif not iteration.force_keep and (n <= lw.options.unroll_limit or iteration.force_unroll):
        _unroll(lw, node, iteration.static_items(lw))
    else:
        _keep_or_unroll(lw, node, iteration, n)


def _keep_or_unroll(lw: Lowering, node: Any, iteration: Iteration, n: int) -> None:
    key = (id(node), n)
    problem = lw.not_kept.get(key)
    if problem is None:
        problem = _try_keep(lw, node, iteration, n)
        if problem is None:
            return
        lw.not_kept[key] = problem
    if iteration.force_keep:
        raise LoopError(
            f"this loop cannot be kept: {problem.message}", code="AC1502", spans=problem.spans, hint=problem.hint
        )
    if n > lw.options.unroll_max:
        raise LoopError(
            f"a loop of {n} trips is too long to unroll and cannot be kept: {problem.message}",
            spans=problem.spans,
            hint=problem.hint,
        )
    if n > _WARN_TRIPS:
        lw.warn(UnrollWarning(f"a loop of {n} trips is unrolled: {problem.message}", loc=lw.place(node)))
    lw.place(node)
    _unroll(lw, node, iteration.static_items(lw))


def _try_keep(lw: Lowering, node: Any, iteration: Iteration, n: int) -> CompileError | None:
    """Keeps the loop, peeling the first trip off if that settles the types; gives the reason if it cannot be kept."""
    with _Attempt(lw) as attempt:
        _keep(lw, node, iteration, n)
        attempt.keep()
    if attempt.kept:
        return None
    problem = attempt.error
    if isinstance(problem, JoinError) and problem.code == "AC1406":
        with _Attempt(lw) as peeled:
            _unroll(lw, node, islice(iteration.static_items(lw), 1))
            _keep(lw, node, _Later(iteration), n - 1)
            peeled.keep()
        if peeled.kept:
            return None
    return problem


class _Later(Iteration):
    """An iteration without its first element."""

    def __init__(self, inner: Iteration) -> None:
        self.inner = inner
        self.length = inner.length - 1

    def sources(self) -> list[Any]:
        return self.inner.sources()

    def element(self, lw: Lowering, index: Value, parts: list[Value]) -> Any:
        return self.item_at(lw, index)

    def item_at(self, lw: Lowering, index: Value) -> Any:
        return self.inner.item_at(lw, F.add(index, 1))


def _unroll(lw: Lowering, node: Any, items: Iterable[Any]) -> None:
    """Runs the trips while compiling; after a dynamic `break` or `return`, the later ones are guarded by its flag."""

    def trip(item: Any) -> None:
        store(lw, node.target, item)
        lw.block(node.body)

    only_return = getattr(node, "stop_flags", ()) == (RETURNED,)
    stopped: Any = False
    for item in items:
        if stopped is False:
            trip(item)
        else:
            lw.place(node)
            go_on = negate(stopped).value
            branch(lw, go_on, lambda item=item: trip(item), lambda: None, node=node, other_returned=only_return)  # type: ignore[misc]
        stopped = _stopped(lw, node)
        if stopped is True:
            return


def _stopped(lw: Lowering, node: Any) -> Any:
    """Whether a flag that ends the loop early is set: a bool, or a Weak bool."""
    result: Any = False
    for flag in getattr(node, "stop_flags", ()):
        value = lw.frame.env.get(flag, False)
        if value is True:
            return True
        if value is not False:
            result = value if result is False else Weak(F.logical_or(result.value, value.value), bool)
    return result


def _names(node: Any) -> list[str]:
    extra = [node.target] if isinstance(node, gast.For) else []
    return sorted(assigned_names([*extra, *node.body]))


def _keep(lw: Lowering, node: Any, iteration: Iteration, n: Any) -> None:
    """Emits one `scan`, or a `while` with a counter if the loop may end early."""
    if getattr(node, "stop_flags", ()):
        _keep_stoppable(lw, node, iteration, n)
        return
    loop = Loop(lw, _names(node), lw.here, isinstance(n, int) and n > 0)
    count = n if isinstance(n, Value) else trace.builder.const(n, _COUNT)
    sequences = iteration.sequences(lw)

    def run(first: list[Value], rest: list[Value]) -> None:
        store(lw, node.target, iteration.element(lw, first[0], rest))
        lw.block(node.body)

    body = loop.trace([_COUNT], [s.type.elem for s in sequences], run)  # type: ignore[attr-defined]
    _refuse_changes(loop, iteration)
    inits = loop.inits(body.templates, body.types)
    lw.place(node)
    op = trace.builder.emit_op(
        REGISTRY["scan"], (count, *inits, *sequences), (len(inits), False), (body.builder.ret(*body.ends),)
    )
    _leave(loop, body, op.results)


def _refuse_changes(loop: Loop, iteration: Iteration) -> None:
    """A kept loop goes over the elements that were there at its beginning, so they must stay."""
    for source in iteration.sources():
        if any(cell.obj is source for cell in loop.cells):
            raise LoopError(
                f"it changes the {describe(source)} it goes over",
                code="AC1502",
                loc=loop.loc,
                hint="go over a copy of it",
            )


def _keep_stoppable(lw: Lowering, node: Any, iteration: Iteration, n: Any) -> None:
    loop = Loop(lw, _names(node), lw.here, isinstance(n, int) and n > 0)
    count = n if isinstance(n, Value) else trace.builder.const(n, _COUNT)

    def run(first: list[Value], rest: list[Value]) -> None:
        store(lw, node.target, iteration.item_at(lw, first[0]))
        lw.block(node.body)

    body = loop.trace([_COUNT], [], run)
    _refuse_changes(loop, iteration)
    with body.builder:
        following = F.add(body.builder.block.args[0], 1)

    def condition(args: list[Value]) -> Any:
        more: Any = Weak(F.less(args[0], count), bool)
        stopped = _stopped(lw, node)
        return more if stopped is False else Weak(F.logical_and(more.value, negate(stopped).value), bool)

    cond = _condition(loop, body, [_COUNT], condition)
    inits = loop.inits(body.templates, body.types)
    lw.place(node)
    zero = trace.builder.const(0, _COUNT)
    op = trace.builder.emit_op(REGISTRY["while"], (zero, *inits), (), (cond, body.builder.ret(following, *body.ends)))
    _leave(loop, body, op.results[2:])


def _condition(loop: Loop, body: Any, first: list[Any], evaluate: Any) -> Any:
    """The block that decides whether another trip follows."""
    lw = loop.lw
    builder: Builder = trace.builder.nested([*first, *body.types], [*([None] * len(first)), *body.names])
    before = lw.frame.env
    lw.frame.env = dict(before)
    with lw.region() as region, builder:
        try:
            loop.enter(body.templates, builder.block.args[len(first) :])
            result = evaluate(builder.block.args)
        finally:
            lw.frame.env = before
            lw.restore(region)
        value = result.value if isinstance(result, Weak) else result
        if not isinstance(value, Value):
            value = builder.const(value, tensor(REGISTRY["less"].infer_types((_COUNT, _COUNT), ())[0].dtype, ()))  # type: ignore[attr-defined]
    return builder.ret(value)


def _leave(loop: Loop, body: Any, results: Any) -> None:
    for value, name in zip(results, body.names, strict=False):
        if value.name is None:
            value.name = name
    loop.leave(body, results)


# ---------------------------------------------------------------------------------------------------- while
@statement("While")
def _while(lw: Lowering, node: Any) -> None:
    with _Attempt(lw) as attempt:
        _run_trips(lw, node, lw.options.unroll_limit)
        attempt.keep()
    if attempt.kept:
        return
    if attempt.exception is not None and not isinstance(attempt.exception, _Restart):
        raise attempt.exception
    lw.place(node)
    with _Attempt(lw) as kept:
        _keep_while(lw, node)
        kept.keep()
    if kept.kept:
        return
    problem = kept.error
    assert problem is not None
    with _Attempt(lw) as static:
        _run_trips(lw, node, lw.options.unroll_max)
        static.keep()
    if not static.kept:
        raise problem


def _run_trips(lw: Lowering, node: Any, limit: int) -> None:
    """Runs a `while` with a static condition trip by trip."""
    for trips in range(limit + 1):
        condition = truth(lw, lw.expr(node.test))
        if isinstance(condition, Weak | Value) or (condition and trips == limit):
            raise _Restart
        if not condition:
            return
        lw.block(node.body)


def _keep_while(lw: Lowering, node: Any) -> None:
    if any(isinstance(n, gast.NamedExpr) for n in gast.walk(node.test)):
        raise UnsupportedSyntaxError(
            "':=' in the condition of a loop that runs at run time",
            code="AC1103",
            loc=lw.place(node.test),
            hint="assign before the loop and at the end of its body",
        )
    loop = Loop(lw, _names(node), lw.here, False)

    def run(first: list[Value], rest: list[Value]) -> None:
        lw.block(node.body)

    body = loop.trace([], [], run)
    cond = _condition(loop, body, [], lambda args: truth(lw, lw.expr(node.test)))
    if cond.outs[0].constant is True:
        raise LoopError(
            "this `while` never ends: its condition does not depend on anything known only at run time",
            code="AC1503",
            loc=lw.place(node.test),
            hint="let the condition depend on a Tensor, or use a `break`",
        )
    inits = loop.inits(body.templates, body.types)
    lw.place(node)
    op = trace.builder.emit_op(REGISTRY["while"], inits, (), (cond, body.builder.ret(*body.ends)))
    _leave(loop, body, op.results[1:])


# ---------------------------------------------------------------------------------------------------- attempts
class _Attempt:
    """Compiles into a block of its own, which joins the surrounding one only if all went well."""

    def __init__(self, lw: Lowering) -> None:
        self.lw = lw
        self.kept = False
        self.exception: BaseException | None = None

    @property
    def error(self) -> CompileError | None:
        """Why the attempt failed, as an error of the compiler; None if it was only given up."""
        if self.exception is None or isinstance(self.exception, CompileError | _Restart):
            return self.exception if isinstance(self.exception, CompileError) else None
        return LoopError(f"{type(self.exception).__name__}: {self.exception}", loc=self.lw.here)

    def __enter__(self) -> _Attempt:
        self.outer: Builder = trace.builder
        self.env = dict(self.lw.frame.env)
        self.builder = self.outer.nested()
        self.builder.__enter__()
        self._region = self.lw.region()
        self.region: Region = self._region.__enter__()
        return self

    def keep(self) -> None:
        """Everything went well."""
        self.kept = True

    def __exit__(self, kind: Any, error: Any, tb: Any) -> bool:
        self._region.__exit__(None, None, None)
        self.builder.__exit__(None, None, None)
        if self.kept or kind is Diverged:
            self.kept = True
            self._join()
            return False
        self.lw.restore(self.region)
        self.lw.frame.env.clear()
        self.lw.frame.env.update(self.env)
        self.exception = error
        return isinstance(error, Exception)

    def _join(self) -> None:
        for op in self.builder.block.ops:
            op.parent = self.outer.block
        self.outer.block.ops += self.builder.block.ops
        self.outer.numbers.update(self.builder.numbers)
        for obj, before in self.region.saved.values():  # the surrounding regions learn of the changes
            now = content(obj)
            set_content(obj, before)
            self.lw.touch(obj)
            set_content(obj, now)
