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


def _fields_of(lw: EffectContext, x: Any) -> tuple[Any, ...]:
    """The fields of a dataclass or of an object of one; TypeError if it is none."""
    cls = x if isinstance(x, type) else class_in_program(lw, x)
    lw.outside.class_attribute(cls, "__dataclass_fields__")
    return dataclasses.fields(cls)


def _is_record(lw: EffectContext, x: Any) -> bool:
    return not isinstance(x, type) and dataclasses.is_dataclass(class_in_program(lw, x))


@intrinsic(dataclasses.fields)
def _fields(lw: EffectContext, class_or_instance: Any) -> Any:
    return _fields_of(lw, class_or_instance)


@intrinsic(dataclasses.is_dataclass)
def _is_dataclass(lw: EffectContext, obj: Any) -> bool:
    cls = obj if isinstance(obj, type) else class_in_program(lw, obj)
    lw.outside.class_attribute(cls, "__dataclass_fields__")
    return dataclasses.is_dataclass(cls)


def _required(lw: EffectContext, obj: Any, function: str) -> None:
    if not _is_record(lw, obj):
        raise TypeError(f"{function}() should be called on dataclass instances")


@intrinsic(dataclasses.asdict)
def _asdict(lw: EffectContext, obj: Any, *, dict_factory: Any = dict) -> Any:
    _required(lw, obj, "asdict")

    def record(pairs: list[tuple[str, Any]]) -> Any:
        return LocalDict(pairs) if dict_factory is dict else call(lw, dict_factory, [LocalList(pairs)], {})

    return _inside(lw, obj, record)


@intrinsic(dataclasses.astuple)
def _astuple(lw: EffectContext, obj: Any, *, tuple_factory: Any = tuple) -> Any:
    _required(lw, obj, "astuple")

    def record(pairs: list[tuple[str, Any]]) -> Any:
        items = [value for _, value in pairs]
        return tuple(items) if tuple_factory is tuple else call(lw, tuple_factory, [LocalList(items)], {})

    return _inside(lw, obj, record)


def _inside(lw: EffectContext, x: Any, record: Any) -> Any:
    """A copy of x, in which `record` makes something of the fields of each dataclass."""
    if not is_dynamic(x) and _is_record(lw, x):
        names = [f.name for f in _fields_of(lw, x)]
        return record([(n, _inside(lw, operators.attribute(lw, x, n), record)) for n in names])
    made = variable_of(x).with_items(lw, lambda item: _inside(lw, item, record))
    return call(lw, copy.deepcopy, [x], {}) if made is NotImplemented else made


@intrinsic(dataclasses.replace)
def _replace(lw: EffectContext, obj: Any, /, **changes: Any) -> Any:
    _required(lw, obj, "replace")
    for f in _fields_of(lw, obj):
        if not f.init:
            if f.name in changes:
                raise ValueError(f"field {f.name} is declared with init=False, it cannot be specified with replace()")
        elif f.name not in changes:
            changes[f.name] = operators.attribute(lw, obj, f.name)
    return call(lw, class_in_program(lw, obj), [], changes)
