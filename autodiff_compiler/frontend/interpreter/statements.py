"""What each statement does (control flow lies in `control`)."""

from __future__ import annotations

import importlib
import sys
from functools import partial
from itertools import islice
from typing import Any

import gast

from ...errors import SideEffectError
from ..effects.exceptions import emit_check, emit_raise
from ..guards import objects
from ..syntax import unsupported_syntax
from ..syntax.scope import prepare_nested
from ..variables import masks, operators
from ..variables.arithmetic import kind_of_number
from ..variables.assignment import set_attribute, set_item
from ..variables.base import variable_of
from ..variables.containers import in_place
from ..variables.elements import iterate_live, iterate_static, iterator_of
from ..variables.frames import Closure
from ..variables.requirements import check_bounds
from ..variables.values import LocalList, NewException
from .conditions import condition_of
from .context import StatementContext, operands, statement
from .control import branch
from .names import bind, unbind


@statement("Pass")
def _pass(ctx: StatementContext, node: Any) -> None:
    pass


@statement("Expr")
def _expression(ctx: StatementContext, node: Any) -> None:
    ctx.expr(node.value)


@statement("Return")
def _return(ctx: StatementContext, node: Any) -> None:
    ctx.note_return(node.value or node)
    ctx.frame.env["return"] = ctx.expr(node.value) if node.value is not None else None


@statement("Import", "ImportFrom")
def _import(ctx: StatementContext, node: Any) -> None:
    if isinstance(node, gast.Import):
        for alias in node.names:
            module = importlib.import_module(alias.name)
            top = importlib.import_module(alias.name.partition(".")[0])
            bind(ctx, alias.asname or alias.name.partition(".")[0], module if alias.asname else top)
        return
    package = ctx.frame.bindings.lookup("__name__")[1].rpartition(".")[0] if node.level else None
    module = importlib.import_module("." * (node.level or 0) + (node.module or ""), package)
    for alias in node.names:
        bind(ctx, alias.asname or alias.name, getattr(module, alias.name))


@statement("Global", "Nonlocal")
def _outer_name(ctx: StatementContext, node: Any) -> None:
    pass  # see `Prepared`


@statement("FunctionDef")
def _function(ctx: StatementContext, node: Any) -> None:
    error = unsupported_syntax.reject(node, ctx.frame.tree)
    if error is not None:
        raise error
    decorators = ctx.exprs(node.decorator_list)
    made: Any = make_closure(ctx, node)
    for decorator, place in reversed(list(zip(decorators, node.decorator_list, strict=True))):
        if not (objects.is_ours(decorator) or decorator is partial or isinstance(decorator, partial)):
            raise unsupported_syntax.decorated(node, place, ctx.frame.tree)
        ctx.place(place)
        made = ctx.call(decorator, [made], {})
    bind(ctx, node.name, made)


def make_closure(ctx: StatementContext, node: Any) -> Closure:
    """The function object for a `def` or `lambda`; its defaults are evaluated now."""
    defaults = tuple(ctx.exprs(node.args.defaults))
    pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    kw_defaults = {p.id: ctx.expr(d) for p, d in pairs if d is not None}
    return Closure(prepare_nested(ctx.frame.prepared, node), ctx.frame, defaults, kw_defaults)


# ---------------------------------------------------------------------------------------------------- assignment
@statement("Assign")
def _assign(ctx: StatementContext, node: Any) -> None:
    value = ctx.expr(node.value)
    with operands(ctx, [node.value], [value]):
        for target in node.targets:
            store(ctx, target, value)


@statement("AnnAssign")
def _annotated(ctx: StatementContext, node: Any) -> None:
    if node.value is not None:
        store(ctx, node.target, ctx.expr(node.value))


@statement("AugAssign")
def _augmented(ctx: StatementContext, node: Any) -> None:
    target, op = node.target, type(node.op).__name__
    if isinstance(target, gast.Name):
        old = ctx.expr(gast.copy_location(gast.Name(target.id, gast.Load(), None, None), target))
        value = ctx.expr(node.value)
        ctx.place(node)
        if getattr(old, "snapshot", None) is not None:
            raise SideEffectError(
                f"'{target.id} {_SIGN.get(op, op)}= ...' would rebind a Parameter",
                hint="use ops.assign(parameter, value)",
            )
        store(ctx, target, in_place(ctx, op, old, value))
    elif isinstance(target, gast.Attribute):
        owner = ctx.expr(target.value)
        if not variable_of(owner).made_here and type(getattr(owner, target.attr, None)) in (int, float):
            # read as one that changes, and not as a constant
            ctx.effects.attributes.slot_of(owner, target.attr)
        old, value = operators.attribute(ctx, owner, target.attr), ctx.expr(node.value)
        ctx.place(node)
        set_attribute(ctx, owner, target.attr, in_place(ctx, op, old, value))
    else:
        owner, index = ctx.expr(target.value), ctx.expr(target.slice)
        masked = masks.elements(ctx, owner, index)
        if masked is not None:
            value = ctx.expr(node.value)
            ctx.place(node)
            set_item(ctx, owner, Ellipsis, masks.changed(ctx, op, masked, value))
            return
        old, value = operators.subscript(ctx, owner, index), ctx.expr(node.value)
        ctx.place(node)
        set_item(ctx, owner, index, in_place(ctx, op, old, value))


_SIGN = {"Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "MatMult": "@", "Pow": "**", "Mod": "%", "FloorDiv": "//"}


def store(ctx: StatementContext, target: Any, value: Any) -> None:
    """Binds a value to an assignment target."""
    if isinstance(target, gast.Name):
        if "#" not in target.id:
            variable_of(value).name_value(target.id)
        bind(ctx, target.id, value)
        ctx.frame.places[target.id] = ctx.frame.tree.loc(target, ctx.frame.caller)
    elif isinstance(target, gast.Tuple | gast.List):
        _unpack(ctx, target.elts, value, target)
    elif isinstance(target, gast.Attribute):
        set_attribute(ctx, ctx.expr(target.value), target.attr, value)
    elif isinstance(target, gast.Subscript):
        set_item(ctx, ctx.expr(target.value), ctx.expr(target.slice), value)
    else:
        raise ctx.refused(target)


def _unpack(ctx: StatementContext, targets: list[Any], value: Any, node: Any) -> None:
    if value is None or kind_of_number(value):
        raise TypeError(f"cannot unpack non-iterable {(kind_of_number(value) or type(value)).__name__} object")
    star = next((i for i, t in enumerate(targets) if isinstance(t, gast.Starred)), None)
    n = len(targets)
    value = iterator_of(ctx, value)
    if star is None and hasattr(type(value), "advance"):
        items = list(islice(iterate_live(ctx, value), n + 1))  # Python asks for one more than it needs
    else:
        items = list(iterate_static(ctx, value))
    if star is None:
        if len(items) != n:
            if len(items) < n or sys.version_info >= (3, 14):
                few = "not enough" if len(items) < n else "too many"
                raise ValueError(f"{few} values to unpack (expected {n}, got {len(items)})")
            raise ValueError(f"too many values to unpack (expected {n})")
        pairs = list(zip(targets, items, strict=True))
    else:
        if len(items) < n - 1:
            raise ValueError(f"not enough values to unpack (expected at least {n - 1}, got {len(items)})")
        tail = n - star - 1
        rest = LocalList(items[star : len(items) - tail])
        pairs = [*zip(targets[:star], items, strict=False), (targets[star].value, rest)]
        pairs += zip(targets[star + 1 :], items[len(items) - tail :], strict=True)
    for target, item in pairs:
        store(ctx, target, item)


@statement("Delete")
def _delete(ctx: StatementContext, node: Any) -> None:
    for target in node.targets:
        if isinstance(target, gast.Name):
            unbind(ctx, target.id, target)
        elif isinstance(target, gast.Subscript):
            owner, index = ctx.expr(target.value), ctx.expr(target.slice)
            check_bounds(owner, index)
            variable_of(owner).delitem(ctx, index)
        else:
            owner = ctx.expr(target.value)
            ctx.place(target)
            variable_of(owner).delattr(ctx, target.attr)


# ---------------------------------------------------------------------------------------------------- raise, assert
@statement("Raise")
def _raise(ctx: StatementContext, node: Any) -> None:
    if node.exc is None:
        raise ctx.refused(node)
    exception = ctx.expr(node.exc)
    cause = () if node.cause is None else (ctx.expr(node.cause),)
    ctx.place(node)  # as in Python's traceback, which marks the whole statement
    emit_raise(ctx, exception, *cause)


@statement("Assert")
def _assert(ctx: StatementContext, node: Any) -> None:
    if not __debug__:  # python -O leaves it out
        return
    condition = condition_of(ctx, node.test)
    if condition is True:
        return
    if condition is False:
        emit_raise(ctx, _failure(ctx, node))
    if node.msg is None or isinstance(node.msg, gast.Constant):
        emit_check(ctx, condition, _failure(ctx, node))
        return
    branch(ctx, condition, lambda: None, lambda: emit_raise(ctx, _failure(ctx, node)), node=node)


def _failure(ctx: StatementContext, node: Any) -> Any:
    """The exception of an assert; its message is evaluated only where it fails."""
    args = [] if node.msg is None else [ctx.expr(node.msg)]
    ctx.place(node.test)  # what a traceback is to mark
    return NewException(AssertionError, tuple(args), {})
