"""Conditionals and iteration: static ones run while compiling, dynamic ones become `if`; loops are in `loops`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...errors import BranchRaisesWarning, CompileError
from ...ir.build import Builder
from ...ir.core import Value
from ...ir.primitive import REGISTRY, trace
from ...source import Loc
from ..derivatives.hooks import instead_of_none, place_in_return
from ..effects.exceptions import emit_raise
from ..guards.objects import UNBOUND
from ..syntax import jumps
from ..variables.base import variable_of
from ..variables.frames import Closure
from ..variables.interpreter import Diverged
from ..variables.naming import name_of
from ..variables.structure import elements, parts
from ..variables.templates import fill
from ..variables.values import MaybeUnbound, NewException, describe
from .context import StatementContext
from .joins import Join


@dataclass
class Arm:
    """One compiled branch: its builder, the names and objects it left behind, and its value."""

    builder: Builder
    env: dict[str, Any]
    places: dict[str, Loc]
    objects: dict[int, tuple[Any, Any]]
    result: Any
    diverged: bool
    #: the function has returned when this branch has run
    returned: bool
    #: smaller than the serial of what this branch or the other made
    start: int


def run_arm(ctx: StatementContext, run: Callable[[], Any], returned: bool = False) -> Arm:
    """Compiles one branch in a block of its own; names and objects are put back afterwards.

    `returned`: the function has returned if this branch is taken at all.
    """
    before, places_before = ctx.frame.env, ctx.frame.places
    ctx.frame.env, ctx.frame.places = dict(before), dict(places_before)
    builder = trace.builder.nested()
    result, diverged = None, False
    ctx.arms += 1
    with ctx.effects.region() as region, builder:
        try:
            result = run()
        except Diverged:
            diverged = True
        except (CompileError, RecursionError):
            raise
        except Exception as error:  # what Python itself raises on this path, it raises at run time
            _raises_at_run_time(ctx, error)
            diverged = True
        finally:
            env, ctx.frame.env = ctx.frame.env, before
            places, ctx.frame.places = ctx.frame.places, places_before
            objects = ctx.effects.restore(region)
            ctx.arms -= 1
    # A closure that is returned may read the names later, so they are joined as if the function went on.
    returned = returned or env.get(jumps.RETURNED) is True
    returned = returned and not any(type(x) is Closure for x in parts(env.get(jumps.RETURN_VALUE)))
    return Arm(builder, env, places, objects, result, diverged, returned, region.start)


def _raises_at_run_time(ctx: StatementContext, error: Exception) -> None:
    ctx.report.warn(
        BranchRaisesWarning(f"a branch always raises {type(error).__name__}: {error}", loc=ctx.here), ctx.here
    )
    with contextlib.suppress(Diverged):
        emit_raise(ctx, NewException(type(error), error.args, {}))


def branch(
    ctx: StatementContext,
    condition: Value,
    then: Callable[[], Any],
    other: Callable[[], Any],
    *,
    node: Any = None,
    name: str = "the value",
    other_returned: bool = False,
) -> Any:
    """Compiles both branches from the same state and joins what they leave behind; gives the joined value.

    `node`: what they belong to, if not to the present place.  `other_returned`: the function has returned when the
    second branch is taken.
    """
    loc = ctx.frame.tree.loc(node, ctx.frame.caller) if node is not None else ctx.here
    a, b = run_arm(ctx, then), run_arm(ctx, other, other_returned)
    join = Join(a.builder, b.builder, (loc, None), a.start, (a.objects, b.objects), ctx.effects.ties, condition)
    if a.diverged or b.diverged:
        survivor = b if a.diverged else a
        template = _survivor_template(join, survivor)
        if a.diverged and b.diverged:
            template = (None, {}, {})
    else:
        if ctx.derivatives.kept is not None and ctx.derivatives.kept.depth == ctx.depth:
            _keep(ctx, a, b, node)
        template = _joined_template(ctx, join, a, b, name)
    result_template, names, objects = template
    trace.builder.loc = loc
    op = trace.builder.emit_op(
        REGISTRY["if"], (condition,), (), (a.builder.ret(*join.a_outs), b.builder.ret(*join.b_outs))
    )
    if a.diverged and b.diverged:
        raise Diverged
    whole = result_template, names, tuple(t for _, t in objects.values())
    filled = fill(whole, op.results, join.tied(op))
    _name_results(filled[1])
    ctx.frame.env.update(filled[1])
    for name_ in [n for n in ctx.frame.env if n in names and ctx.frame.env[n] is UNBOUND]:
        del ctx.frame.env[name_]
    for (obj, _), held in zip(objects.values(), filled[2], strict=True):
        ctx.effects.touch(obj)
        obj.set_content(obj.of_value(held))
    return filled[0]


def _keep(ctx: StatementContext, a: Arm, b: Arm, node: Any) -> None:
    """In the code of a hook of the backward pass: to return None is to return the gradients that it was given."""
    assert ctx.derivatives.kept is not None
    gradients = ctx.derivatives.kept.gradients
    one, other = (arm.env.get(jumps.RETURN_VALUE, UNBOUND) for arm in (a, b))
    if one is not UNBOUND and other is not UNBOUND:
        a.env[jumps.RETURN_VALUE], b.env[jumps.RETURN_VALUE] = instead_of_none(one, other, gradients)
    place = None if node is None else place_in_return(ctx.frame, node)
    if place is not None and place < len(gradients):
        a.result, b.result = instead_of_none(a.result, b.result, gradients if place < 0 else [gradients[place]])


def _name_results(env: dict[str, Any]) -> None:
    for name, value in env.items():
        if "#" not in name:
            variable_of(value).name_value(name)


def _joined_template(
    ctx: StatementContext, join: Join, a: Arm, b: Arm, name: str
) -> tuple[Any, dict[str, Any], dict[int, Any]]:
    result = join.join(a.result, b.result, name)
    elsewhere = join.places[0]
    names = {}
    for n in [*a.env, *(n for n in b.env if n not in a.env)]:
        x, y = a.env.get(n, UNBOUND), b.env.get(n, UNBOUND)
        if x is not y:
            join.places = a.places.get(n, elsewhere), b.places.get(n, elsewhere)
            names[n] = _joined_name(join, a, b, n)
        elif ctx.frame.env.get(n, UNBOUND) is not x:
            names[n] = x
    objects: dict[int, Any] = {}
    for key in {**a.objects, **b.objects}:
        obj = (a.objects.get(key) or b.objects[key])[0]
        x, y = (arm.objects[key][1] if key in arm.objects else obj.content() for arm in (a, b))
        x, y = obj.as_value(x), obj.as_value(y)
        objects[key] = (obj, _joined_content(ctx, join, a, b, obj, x, y))
    return result, names, objects


def _joined_content(ctx: StatementContext, join: Join, a: Arm, b: Arm, obj: Any, x: Any, y: Any) -> Any:
    """What an object changed in a branch holds afterwards; a CompileError if the branches disagree."""
    for content in (x, y):
        if isinstance(content, CompileError):
            return content
    # What this call made, and the path that returned does not hand on, is not read there.
    own = elements(obj) is not None and obj.serial > ctx.frame.serial
    if own and a.returned is not b.returned:
        left, staying, others = (a, y, join.a) if a.returned else (b, x, join.b)
        if not any(part is obj for part in parts(left.env.get(jumps.RETURN_VALUE))):
            return join.with_undef(staying, others)
    known = name_of(ctx, obj, local=True)
    name = f"'{known}'" if known else f"an object changed in a branch ({describe(obj)})"
    opened = ctx.effects.containers.of_outside(obj)
    name = obj.label or (name if opened is None else opened.what)
    try:
        return join.join(x, y, name)
    except CompileError as error:  # of interest only to who reads it
        return obj.uneven(error)


def _joined_name(join: Join, a: Arm, b: Arm, name: str) -> Any:
    x, y = a.env.get(name, UNBOUND), b.env.get(name, UNBOUND)
    if "#" in name:
        return join.join(x, y, name)
    if a.returned is not b.returned:  # nobody reads the user's names where the function has returned
        return join.with_undef(y, join.a) if a.returned else join.with_undef(x, join.b)
    try:
        return join.join(x, y, f"'{name}'")
    except CompileError as error:  # of interest only to who reads it
        return MaybeUnbound(None, "", error)


def _survivor_template(join: Join, arm: Arm) -> tuple[Any, dict[str, Any], dict[int, Any]]:
    """What is left when the other branch raises: this branch's values (the other yields `undef`)."""
    other = join.b if arm.builder is join.a else join.a

    def through(x: Any) -> Any:
        return join.with_undef(x, other)

    names = {n: through(v) for n, v in arm.env.items()}
    objects = {}
    for key, (obj, held) in arm.objects.items():
        objects[key] = (obj, through(obj.as_value(held)))
    return through(arm.result), names, objects
