"""The functions of `dataclasses` on objects of compiled code and from outside."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

from ..effects.effects import EffectContext
from ..variables import operators
from ..variables.base import variable_of
from ..variables.calls import call
from ..variables.kinds import class_in_program
from ..variables.rules import intrinsic
from ..variables.values import LocalDict, LocalList, is_dynamic

__all__: list[str] = []


def _fields_of(ctx: EffectContext, x: Any) -> tuple[Any, ...]:
    """The fields of a dataclass or of an object of one; TypeError if it is none."""
    cls = x if isinstance(x, type) else class_in_program(ctx, x)
    ctx.outside.class_attribute(cls, "__dataclass_fields__")
    return dataclasses.fields(cls)


def _is_record(ctx: EffectContext, x: Any) -> bool:
    return not isinstance(x, type) and dataclasses.is_dataclass(class_in_program(ctx, x))


@intrinsic(dataclasses.fields)
def _fields(ctx: EffectContext, class_or_instance: Any) -> Any:
    return _fields_of(ctx, class_or_instance)


@intrinsic(dataclasses.is_dataclass)
def _is_dataclass(ctx: EffectContext, obj: Any) -> bool:
    cls = obj if isinstance(obj, type) else class_in_program(ctx, obj)
    ctx.outside.class_attribute(cls, "__dataclass_fields__")
    return dataclasses.is_dataclass(cls)


def _required(ctx: EffectContext, obj: Any, function: str) -> None:
    if not _is_record(ctx, obj):
        raise TypeError(f"{function}() should be called on dataclass instances")


@intrinsic(dataclasses.asdict)
def _asdict(ctx: EffectContext, obj: Any, *, dict_factory: Any = dict) -> Any:
    _required(ctx, obj, "asdict")

    def record(pairs: list[tuple[str, Any]]) -> Any:
        return LocalDict(pairs) if dict_factory is dict else call(ctx, dict_factory, [LocalList(pairs)], {})

    return _inside(ctx, obj, record)


@intrinsic(dataclasses.astuple)
def _astuple(ctx: EffectContext, obj: Any, *, tuple_factory: Any = tuple) -> Any:
    _required(ctx, obj, "astuple")

    def record(pairs: list[tuple[str, Any]]) -> Any:
        items = [value for _, value in pairs]
        return tuple(items) if tuple_factory is tuple else call(ctx, tuple_factory, [LocalList(items)], {})

    return _inside(ctx, obj, record)


def _inside(ctx: EffectContext, x: Any, record: Any) -> Any:
    """A copy of x, in which `record` makes something of the fields of each dataclass."""
    if not is_dynamic(x) and _is_record(ctx, x):
        names = [f.name for f in _fields_of(ctx, x)]
        return record([(n, _inside(ctx, operators.attribute(ctx, x, n), record)) for n in names])
    made = variable_of(x).with_items(ctx, lambda item: _inside(ctx, item, record))
    return call(ctx, copy.deepcopy, [x], {}) if made is NotImplemented else made


@intrinsic(dataclasses.replace)
def _replace(ctx: EffectContext, obj: Any, /, **changes: Any) -> Any:
    _required(ctx, obj, "replace")
    for f in _fields_of(ctx, obj):
        if not f.init:
            if f.name in changes:
                raise ValueError(f"field {f.name} is declared with init=False, it cannot be specified with replace()")
        elif f.name not in changes:
            changes[f.name] = operators.attribute(ctx, obj, f.name)
    return call(ctx, class_in_program(ctx, obj), [], changes)
