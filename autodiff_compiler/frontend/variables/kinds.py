"""Questions about objects: of which class they are, whether they can be called, which attributes they have."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from typing import Any

from ..guards.objects import definer, is_written
from . import operators, requirements, truth_values
from .assignment import set_attribute, set_generic
from .base import variable_of
from .interpreter import ValueContext
from .lookup import found_or, of_object, runs_code
from .rules import intrinsic
from .truth_values import as_bool, truth
from .values import is_dynamic


# ---------------------------------------------------------------------------------------------------- classes
def _is_outside(x: Any) -> bool:
    """Whether an abstract value is an object that compiled code did not make."""
    return not variable_of(x).made_here


@intrinsic(type)
def _type(ctx: ValueContext, x: Any) -> Any:
    return class_in_program(ctx, x)


def class_in_program(ctx: ValueContext, x: Any) -> type:
    """``type(x)``; of an object from outside, another class is noticed."""
    if _is_outside(x):
        ctx.outside.kind(x)
    return variable_of(x).python_class()


@intrinsic(super)
def _super(ctx: ValueContext, *given: Any) -> Any:
    return super(*given)


@intrinsic(isinstance)
def is_instance(ctx: ValueContext, x: Any, classes: Any) -> Any:
    """``isinstance(x, classes)``."""
    return _one_of(ctx, (_is_instance(ctx, x, kind) for kind in _flat(classes)))


@intrinsic(issubclass)
def _issubclass(ctx: ValueContext, cls: Any, classes: Any) -> Any:
    return _one_of(ctx, (_is_subclass(ctx, cls, kind) for kind in _flat(classes)))


def _flat(classes: Any) -> Iterator[Any]:
    if isinstance(classes, types.UnionType) or typing.get_origin(classes) is typing.Union:
        classes = typing.get_args(classes)
    if not isinstance(classes, tuple):
        yield classes
        return
    for c in classes:
        yield from _flat(c)


def _one_of(ctx: ValueContext, answers: Iterator[Any]) -> Any:
    found: Any = False
    for answer in answers:
        value = truth(ctx, answer)
        if value is True:
            return True
        found = truth_values.either(found, value)
    return as_bool(found)


def _is_instance(ctx: ValueContext, x: Any, kind: Any) -> Any:
    cls, outside = variable_of(x).python_class(), _is_outside(x)
    if outside:
        ctx.outside.kind(x)
    if cls is kind:
        return True
    checked = _user_check(ctx, "__instancecheck__", kind, x)
    if checked is not NotImplemented:
        return checked

    def ask() -> bool:
        return issubclass(cls, kind) or (not is_dynamic(x) and isinstance(x, kind))

    return _answer(ctx, cls, kind, id(x) if outside else 0, ask)


def _is_subclass(ctx: ValueContext, cls: Any, kind: Any) -> Any:
    checked = _user_check(ctx, "__subclasscheck__", kind, cls)
    if checked is not NotImplemented:
        return checked
    return _answer(ctx, cls, kind, 0, lambda: issubclass(cls, kind))


def _user_check(ctx: ValueContext, name: str, kind: Any, x: Any) -> Any:
    """What the user's metaclass of `kind` says; NotImplemented if it says nothing."""
    meta = type(kind)
    if meta is type or not isinstance(kind, type):
        return NotImplemented
    hook = ctx.outside.class_attribute(meta, name)
    if not is_written(hook):
        return NotImplemented
    return as_bool(truth(ctx, ctx.call_python(hook, [kind, x], {}, (definer(meta, name), kind))))


def _answer(ctx: ValueContext, cls: Any, kind: Any, about: int, ask: Any) -> bool:
    found = bool(ask())
    if isinstance(cls, type):
        ctx.outside.lookups.bases(cls)
    if type(kind) is not type:
        what = f"whether a {cls.__name__} is a {getattr(kind, '__name__', kind)}"
        ctx.outside.guard(("is", id(cls), id(kind), about, cls, kind), what, ask, found)
    return found


# ---------------------------------------------------------------------------------------------------- attributes
@intrinsic(hasattr)
def has_attribute(ctx: ValueContext, x: Any, name: str) -> bool:
    """``hasattr(x, name)``."""
    return variable_of(x).hasattr(ctx, requirements.require_static(name, "the name of an attribute"))


_NOTHING = object()


@intrinsic(getattr)
def _getattr(ctx: ValueContext, x: Any, name: str, default: Any = _NOTHING) -> Any:
    requirements.require_static(name, "the name of an attribute")
    if default is not _NOTHING:
        if ctx.effects.attributes.held_by(x, name) is None and runs_code(ctx, x, name):
            return found_or(ctx, x, name, default)
        if not has_attribute(ctx, x, name):
            return default
    return operators.attribute(ctx, x, name)


@intrinsic(setattr)
def _setattr(ctx: ValueContext, x: Any, name: str, value: Any) -> None:
    set_attribute(ctx, x, requirements.require_static(name, "the name of an attribute"), value)


@intrinsic(object.__setattr__)
def _set_generic(ctx: ValueContext, x: Any, name: str, value: Any) -> None:
    requirements.require_static(name, "the name of an attribute")
    (set_generic if _is_outside(x) else set_attribute)(ctx, x, name, value)


@intrinsic(object.__getattribute__)
def _getattribute(ctx: ValueContext, x: Any, name: str) -> Any:
    requirements.require_static(name, "the name of an attribute")
    return operators.attribute(ctx, x, name) if not _is_outside(x) else of_object(ctx, x, name, hooked=False)


@intrinsic(callable)
def _callable(ctx: ValueContext, x: Any) -> bool:
    return variable_of(x).callable(ctx)
