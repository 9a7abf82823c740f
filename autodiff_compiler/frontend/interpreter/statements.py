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
from ..variables.values import LocalList, LocalObject, NewException, describe, is_dynamic
from .conditions import condition_of
from .context import StatementContext, statement
from .control import branch


@statement("Pass")
def _pass(lw: StatementContext, node: Any) -> None:
    pass


@statement("Expr")
def _expression(lw: StatementContext, node: Any) -> None:
    lw.expr(node.value)


@statement("Return")
def _return(lw: StatementContext, node: Any) -> None:
    lw.note_return(node.value or node)
    lw.frame.env["return"] = lw.expr(node.value) if node.value is not None else None


@statement("Import", "ImportFrom")
def _import(lw: StatementContext, node: Any) -> None:
    if isinstance(node, gast.Import):
        for alias in node.names:
            module = importlib.import_module(alias.name)
            top = importlib.import_module(alias.name.partition(".")[0])
            lw.frame.env[alias.asname or alias.name.partition(".")[0]] = module if alias.asname else top
        return
    package = lw.frame.bindings.lookup("__name__")[1].rpartition(".")[0] if node.level else None
    module = importlib.import_module("." * (node.level or 0) + (node.module or ""), package)
    for alias in node.names:
        lw.frame.env[alias.asname or alias.name] = getattr(module, alias.name)


@statement("Global", "Nonlocal")
def _outer_name(lw: StatementContext, node: Any) -> None:
    error = unsupported_syntax.reject(node, lw.frame.tree)  # None where the name is only read
    if error is not None:
        raise error


@statement("FunctionDef")
def _function(lw: StatementContext, node: Any) -> None:
    error = unsupported_syntax.reject(node, lw.frame.tree)
    if error is not None:
        raise error
    decorators = lw.exprs(node.decorator_list)
    made: Any = make_closure(lw, node)
    for decorator, place in reversed(list(zip(decorators, node.decorator_list, strict=True))):
        if not (objects.is_ours(decorator) or decorator is partial or isinstance(decorator, partial)):
            raise unsupported_syntax.decorated(node, place, lw.frame.tree)
        lw.place(place)
        made = lw.call(decorator, [made], {})
    lw.frame.env[node.name] = made


def make_closure(lw: StatementContext, node: Any) -> Closure:
    """The function object for a `def` or `lambda`; its defaults are evaluated now."""
    defaults = tuple(lw.exprs(node.args.defaults))
    pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    kw_defaults = {p.id: lw.expr(d) for p, d in pairs if d is not None}
    return Closure(prepare_nested(lw.frame.prepared, node), lw.frame, defaults, kw_defaults)


# ---------------------------------------------------------------------------------------------------- assignment
@statement("Assign")
def _assign(lw: StatementContext, node: Any) -> None:
    value = lw.expr(node.value)
    for target in node.targets:
        store(lw, target, value)


@statement("AnnAssign")
def _annotated(lw: StatementContext, node: Any) -> None:
    if node.value is not None:
        store(lw, node.target, lw.expr(node.value))


@statement("AugAssign")
def _augmented(lw: StatementContext, node: Any) -> None:
    target, op = node.target, type(node.op).__name__
    if isinstance(target, gast.Name):
        old = lw.expr(gast.copy_location(gast.Name(target.id, gast.Load(), None, None), target))
        value = lw.expr(node.value)
        lw.place(node)
        if getattr(old, "snapshot", None) is not None:
            raise SideEffectError(
                f"'{target.id} {_SIGN.get(op, op)}= ...' would rebind a Parameter",
                hint="use ops.assign(parameter, value)",
            )
        store(lw, target, in_place(lw, op, old, value))
    elif isinstance(target, gast.Attribute):
        owner = lw.expr(target.value)
        own = type(owner) is LocalObject
        if not own and type(getattr(owner, target.attr, None)) in (int, float):
            # read as one that changes, and not as a constant
            lw.effects.attributes.slot_of(owner, target.attr)
        old, value = operators.attribute(lw, owner, target.attr), lw.expr(node.value)
        lw.place(node)
        set_attribute(lw, owner, target.attr, in_place(lw, op, old, value))
    else:
        owner, index = lw.expr(target.value), lw.expr(target.slice)
        masked = masks.elements(lw, owner, index)
        if masked is not None:
            value = lw.expr(node.value)
            lw.place(node)
            set_item(lw, owner, Ellipsis, masks.changed(lw, op, masked, value))
            return
        old, value = operators.subscript(lw, owner, index), lw.expr(node.value)
        lw.place(node)
        set_item(lw, owner, index, in_place(lw, op, old, value))


_SIGN = {"Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "MatMult": "@", "Pow": "**", "Mod": "%", "FloorDiv": "//"}


def store(lw: StatementContext, target: Any, value: Any) -> None:
    """Binds a value to an assignment target."""
    if isinstance(target, gast.Name):
        if "#" not in target.id:
            variable_of(value).name_value(target.id)
        lw.frame.env[target.id] = value
        lw.frame.places[target.id] = lw.frame.tree.loc(target, lw.frame.caller)
    elif isinstance(target, gast.Tuple | gast.List):
        _unpack(lw, target.elts, value, target)
    elif isinstance(target, gast.Attribute):
        set_attribute(lw, lw.expr(target.value), target.attr, value)
    elif isinstance(target, gast.Subscript):
        set_item(lw, lw.expr(target.value), lw.expr(target.slice), value)
    else:
        raise lw.refused(target)


def _unpack(lw: StatementContext, targets: list[Any], value: Any, node: Any) -> None:
    if value is None or kind_of_number(value):
        raise TypeError(f"cannot unpack non-iterable {(kind_of_number(value) or type(value)).__name__} object")
    star = next((i for i, t in enumerate(targets) if isinstance(t, gast.Starred)), None)
    n = len(targets)
    value = iterator_of(lw, value)
    if star is None and hasattr(type(value), "advance"):
        items = list(islice(iterate_live(lw, value), n + 1))  # Python asks for one more than it needs
    else:
        items = list(iterate_static(lw, value))
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
        store(lw, target, item)


@statement("Delete")
def _delete(lw: StatementContext, node: Any) -> None:
    for target in node.targets:
        if isinstance(target, gast.Name):
            lw.frame.local(target.id, lw.place(target))
            del lw.frame.env[target.id]
        elif isinstance(target, gast.Subscript):
            owner, index = lw.expr(target.value), lw.expr(target.slice)
            variable_of(owner).delitem(lw, index)
        else:
            _delete_attribute(lw, lw.expr(target.value), target)


def _delete_attribute(lw: StatementContext, owner: Any, target: Any) -> None:
    if is_dynamic(owner) or type(owner) is LocalObject:
        raise SideEffectError(
            f"an attribute of a {describe(owner)} cannot be deleted in compiled code",
            code="AC1606",
            loc=lw.place(target),
            hint="set it to None",
        )
    lw.effects.attributes.delete(owner, target.attr)


# ---------------------------------------------------------------------------------------------------- raise, assert
@statement("Raise")
def _raise(lw: StatementContext, node: Any) -> None:
    if node.exc is None:
        raise lw.refused(node)
    exception = lw.expr(node.exc)
    cause = () if node.cause is None else (lw.expr(node.cause),)
    lw.place(node)  # as in Python's traceback, which marks the whole statement
    emit_raise(lw, exception, *cause)


@statement("Assert")
def _assert(lw: StatementContext, node: Any) -> None:
    if not __debug__:  # python -O leaves it out
        return
    condition = condition_of(lw, node.test)
    if condition is True:
        return
    if condition is False:
        emit_raise(lw, _failure(lw, node))
    if node.msg is None or isinstance(node.msg, gast.Constant):
        emit_check(lw, condition, _failure(lw, node))
        return
    branch(lw, condition, lambda: None, lambda: emit_raise(lw, _failure(lw, node)), node=node)


def _failure(lw: StatementContext, node: Any) -> Any:
    """The exception of an assert; its message is evaluated only where it fails."""
    args = [] if node.msg is None else [lw.expr(node.msg)]
    lw.place(node.test)  # what a traceback is to mark
    return NewException(AssertionError, tuple(args), {})


__all__ = ["make_closure", "store"]
