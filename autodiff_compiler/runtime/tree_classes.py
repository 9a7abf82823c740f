"""Classes of users' whose objects are containers of Tensors: dataclasses, registered ones, and those of `optree`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any, NamedTuple

from .records import HEAP_TYPE, is_ours

__all__ = [
    "Registered", "can_be_made", "fields_first", "holds_elements", "is_data_class", "is_registered", "register",
    "registered",
]  # fmt: skip


class Registered(NamedTuple):
    """How objects of a registered class are taken apart and made again."""

    flatten: Callable[[Any], Any]
    unflatten: Callable[[Any, Any], Any]


_registered: dict[type, Registered] = {}
#: Classes that have rules of their own here, though `optree` knows them, too.
_BUILT_IN = (tuple, list, dict, type(None))


def register(cls: type, flatten: Callable[[Any], Any], unflatten: Callable[[Any, Any], Any]) -> None:
    """Makes objects of a class containers."""
    _registered[cls] = Registered(flatten, unflatten)


def is_registered(cls: type) -> bool:
    """Whether a class is registered here."""
    return cls in _registered


def registered(cls: type) -> Registered | None:
    """How objects of a class are taken apart, where it is registered here or with `optree`, if that is in use."""
    found = _registered.get(cls)
    optree = sys.modules.get("optree")
    if found is not None or optree is None or issubclass(cls, _BUILT_IN):
        return found
    entry = optree.register_pytree_node.get(cls)
    if entry is None or isinstance(entry.flatten_func, type):
        return None
    return Registered(_Flatten(entry.flatten_func), entry.unflatten_func)


class _Flatten:
    """The pair that is asked of a `flatten` here, of what `optree` has: it may give the names of the elements, too."""

    def __init__(self, fn: Callable[[Any], Any]) -> None:
        self.fn = fn

    def __call__(self, x: Any) -> Any:
        return self.fn(x)[:2]

    def __graph_call__(self, ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return ctx.call(self.fn, args, kwargs)[:2]


def is_data_class(cls: type) -> bool:
    """Whether a class is a user's dataclass whose fields may be assigned: frozen ones are records."""
    params = getattr(cls, "__dataclass_params__", None)
    return params is not None and not params.frozen and not any(map(is_ours, cls.__mro__))


def fields_first(cls: Any, names: Iterable[str]) -> tuple[str, ...]:
    """Names of attributes of an instance of a dataclass: those of fields come first, in their order."""
    held = dict.fromkeys(names)
    declared = [f.name for f in fields(cls) if f.name in held]
    return tuple(dict.fromkeys([*declared, *held]))


def holds_elements(cls: type) -> bool:
    """Whether objects of a class are containers by what this module knows."""
    return is_data_class(cls) or registered(cls) is not None


def can_be_made(cls: type) -> bool:
    """Whether compiled code may make objects of such a class, whose methods are then written in Python."""
    return cls.__flags__ & HEAP_TYPE != 0 and holds_elements(cls)
