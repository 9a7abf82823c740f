"""What each statement does (control flow lies in `control`)."""

from __future__ import annotations

import importlib
from typing import Any

import gast

from ..dtypes import promote, promote_scalar
from ..errors import ArgumentError, DTypeError, ShapeError, SideEffectError, UnsupportedSyntaxError
from ..ir.build import current
from ..ir.core import Value
from ..ir.primitive import METHODS, F
from . import fence, operators
from .control import Diverged, iterate_static
from .joins import kind_of_number
from .lowering import Lowering, statement
from .scope import Closure, prepare_nested
from .values import LocalList, StateVar, TensorVar, Weak, describe, is_dynamic, is_static


@statement("Pass")
def _pass(lw: Lowering, node: Any) -> None:
    pass


@statement("Expr")
def _expression(lw: Lowering, node: Any) -> None:
    lw.expr(node.value)


@statement("Return")
def _return(lw: Lowering, node: Any) -> None:
    lw.frame.env["return"] = lw.expr(node.value) if node.value is not None else None


@statement("Import", "ImportFrom")
def _import(lw: Lowering, node: Any) -> None:
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
def _outer_name(lw: Lowering, node: Any) -> None:
    error = fence.reject(node, lw.frame.tree)  # None where the name is only read
    if error is not None:
        raise error


@statement("FunctionDef")
def _function(lw: Lowering, node: Any) -> None:
    if node.decorator_list:
        raise lw.refused(node)
    lw.frame.env[node.name] = make_closure(lw, node)


def make_closure(lw: Lowering, node: Any) -> Closure:
    """The function object for a `def` or `lambda`; its defaults are evaluated now."""
    defaults = tuple(lw.exprs(node.args.defaults))
    pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    kw_defaults = {p.id: lw.expr(d) for p, d in pairs if d is not None}
    return Closure(prepare_nested(lw.frame.prepared, node), lw.frame, defaults, kw_defaults)


# ---------------------------------------------------------------------------------------------------- assignment
@statement("Assign")
def _assign(lw: Lowering, node: Any) -> None:
    value = lw.expr(node.value)
    for target in node.targets:
        store(lw, target, value)


@statement("AnnAssign")
def _annotated(lw: Lowering, node: Any) -> None:
    if node.value is not None:
        store(lw, node.target, lw.expr(node.value))


@statement("AugAssign")
def _augmented(lw: Lowering, node: Any) -> None:
    target, op = node.target, type(node.op).__name__
    if isinstance(target, gast.Name):
        old = lw.expr(gast.copy_location(gast.Name(target.id, gast.Load(), None, None), target))
        value = lw.expr(node.value)
        if isinstance(old, list) and op == "Add":
            _extend(lw, old, value)
            return
        lw.place(node)
        if type(old) is StateVar or getattr(old, "snapshot", None) is not None:
            raise SideEffectError(
                f"'{target.id} {_SIGN.get(op, op)}= ...' would rebind a Parameter",
                hint="use ops.assign(parameter, value)",
            )
        store(lw, target, operators.binary(lw, op, old, value))
    elif isinstance(target, gast.Attribute):
        owner = lw.expr(target.value)
        old, value = operators.attribute(lw, owner, target.attr), lw.expr(node.value)
        lw.place(node)
        set_attribute(lw, owner, target.attr, operators.binary(lw, op, old, value))
    else:
        owner, index = lw.expr(target.value), lw.expr(target.slice)
        old, value = operators.subscript(lw, owner, index), lw.expr(node.value)
        lw.place(node)
        set_item(lw, owner, index, operators.binary(lw, op, old, value))


_SIGN = {"Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "MatMult": "@", "Pow": "**", "Mod": "%", "FloorDiv": "//"}


def _extend(lw: Lowering, target: list[Any], value: Any) -> None:
    operators.check_local(lw, target)
    lw.touch(target)
    target.extend(iterate_static(lw, value))


def store(lw: Lowering, target: Any, value: Any) -> None:
    """Binds a value to an assignment target."""
    if isinstance(target, gast.Name):
        named = value.value if isinstance(value, TensorVar) else None
        if named is not None and named.name is None and "#" not in target.id:
            named.name = target.id
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


def _unpack(lw: Lowering, targets: list[Any], value: Any, node: Any) -> None:
    items = list(iterate_static(lw, value))
    star = next((i for i, t in enumerate(targets) if isinstance(t, gast.Starred)), None)
    n = len(targets)
    if star is None:
        if len(items) != n:
            few = "not enough" if len(items) < n else "too many"
            raise ValueError(f"{few} values to unpack (expected {n}, got {len(items)})")
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


def set_item(lw: Lowering, owner: Any, index: Any, value: Any) -> None:
    """``owner[index] = value``."""
    if type(owner) is TensorVar:
        if owner.locked:
            raise SideEffectError(
                f"an element of a Tensor that {owner.locked} cannot be assigned in compiled code yet",
                code="AC1602",
                hint="copy it first: `x = x.copy()`, and return the copy",
            )
        lw.touch(owner)
        update = METHODS["__setitem__"]
        owner.value = update(owner.value, lw.unwrap(index), lw.unwrap(value))
        return
    if type(owner) is StateVar:
        current = lw.unwrap(owner)
        lw.snapshots.note_write(owner.name)
        F.state_write(
            METHODS["__setitem__"](current, lw.unwrap(index), lw.unwrap(value)), state=owner.name, type=owner.type
        )
        return
    operators.check_local(lw, owner)
    operators.require_static(index, "an index into a Python container")
    lw.touch(owner)
    owner[index] = value


def set_attribute(lw: Lowering, owner: Any, name: str, value: Any) -> None:
    """``owner.name = value``: Parameters can be assigned."""
    old = operators.attribute(lw, owner, name) if not is_dynamic(owner) and hasattr(owner, name) else None
    if type(old) is StateVar:
        assign_state(lw, old, value)
        return
    raise SideEffectError(
        f"attribute '{name}' of a {describe(owner)} cannot be written in compiled code yet",
        hint="return the value, or make the attribute a Parameter",
    )


def assign_state(lw: Lowering, state: StateVar, value: Any) -> None:
    """Writes a Parameter by the rules of eager `assign`: numbers fill, lower dtypes are cast, shapes must agree."""
    new, held = lw.unwrap(value), state.type
    kind = kind_of_number(new)
    given = promote_scalar(held.dtype, kind) if kind else getattr(new, "dtype", None)
    if given is None:
        raise ArgumentError(f"cannot assign a {describe(value)} to {state!r}")
    if promote(held.dtype, given) is not held.dtype:
        raise DTypeError(f"{state!r} cannot be assigned {given.name}", hint="cast the value first")
    if type(new) is Weak:
        new = F.broadcast_to(F.cast(new.value, dtype=held.dtype), shape=held.shape)
    elif kind:
        new = current().const(new, held)
    if new.shape != held.shape:
        raise ShapeError(f"{state!r} cannot be assigned a value of shape {list(new.shape)}")
    lw.snapshots.note_write(state.name)
    F.state_write(new if new.type is held else F.cast(new, dtype=held.dtype), state=state.name, type=held)


@statement("Delete")
def _delete(lw: Lowering, node: Any) -> None:
    for target in node.targets:
        if isinstance(target, gast.Name):
            lw.frame.local(target.id, lw.place(target))
            del lw.frame.env[target.id]
        elif isinstance(target, gast.Subscript):
            owner, index = lw.expr(target.value), lw.expr(target.slice)
            operators.check_local(lw, owner)
            operators.require_static(index, "an index into a Python container")
            lw.touch(owner)
            del owner[index]
        else:
            raise SideEffectError("an attribute cannot be deleted in compiled code", loc=lw.place(target))


# ---------------------------------------------------------------------------------------------------- raise, assert
@statement("Raise")
def _raise(lw: Lowering, node: Any) -> None:
    if node.exc is None:
        raise lw.refused(node)
    exception = lw.expr(node.exc)
    cause = lw.expr(node.cause) if node.cause is not None else None
    emit_raise(lw, _maker(exception, cause))


@statement("Assert")
def _assert(lw: Lowering, node: Any) -> None:
    if not __debug__:  # python -O leaves it out
        return
    condition = operators.truth(lw, lw.expr(node.test))
    if condition is True:
        return
    message = lw.expr(node.msg) if node.msg is not None else None
    args = () if node.msg is None else (message,)
    if not is_static(args):
        raise UnsupportedSyntaxError("the message of an assert must be known at compile time", code="AC1103")
    make = _maker(AssertionError(*args), None)
    if condition is False:
        emit_raise(lw, make)
    getattr(F, "assert")(condition, exception=_callable(lw, make))


def emit_check(lw: Lowering, condition: Value, exception: Exception) -> None:
    """Emits the raising of an exception where a condition does not hold at run time."""
    getattr(F, "assert")(condition, exception=_callable(lw, _maker(exception, None)))


def _maker(exception: Any, cause: Any) -> Any:
    """Builds the exception anew at each raise: an object may carry one traceback only."""
    kind, args = (exception, ()) if isinstance(exception, type) else (type(exception), exception.args)

    def make(*operands: Any) -> BaseException:
        error = kind(*args)
        if cause is not None:
            error.__cause__ = cause
        return error

    plain = cause is None and kind.__module__ == "builtins" and all(type(a) in (str, int, float, bool) for a in args)
    if plain:  # so a saved program can raise it by itself
        make.text = f"{kind.__name__}({', '.join(map(repr, args))})"  # type: ignore[attr-defined]
    return make


def emit_raise(lw: Lowering, make: Any) -> None:
    """Emits the raising of an exception; the path being compiled ends here."""
    getattr(F, "raise")(exception=_callable(lw, make))
    raise Diverged


def _callable(lw: Lowering, make: Any) -> str:
    name = f"exception{len(lw.module.callables)}"
    loc = lw.here

    def located(*operands: Any) -> BaseException:
        error = make(*operands)
        if loc is not None:
            error.add_note(f"  raised at {loc.file}:{loc.line} in {loc.function} (compiled code)")
        return error

    located.text = getattr(make, "text", None)  # type: ignore[attr-defined]
    lw.module.callables[name] = located
    return name


@statement("With")
def _with(lw: Lowering, node: Any) -> None:
    from contextlib import nullcontext

    for item in node.items:
        manager = lw.expr(item.context_expr)
        if not isinstance(manager, nullcontext):
            raise UnsupportedSyntaxError(
                f"'with' of a {describe(manager)} cannot be used in compiled code",
                code="AC1108",
                loc=lw.place(item.context_expr),
                hint="contextlib.nullcontext is supported so far",
            )
        if item.optional_vars is not None:
            store(lw, item.optional_vars, manager.enter_result)
    lw.block(node.body)


__all__ = ["assign_state", "emit_check", "emit_raise", "make_closure", "set_attribute", "set_item", "store"]
