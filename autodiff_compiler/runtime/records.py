"""Containers of users' classes: frozen dataclasses, whose fields are elements too, tuples, NamedTuples, lists, dicts.

No code of these classes runs: classes are inspected, not objects, whose `__getattr__` may answer for every name.
"""

from __future__ import annotations

import copy
import functools
import types
from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

__all__ = [
    "HEAP_TYPE", "filled_like", "held_besides", "is_named_tuple", "is_named_tuple_class", "is_ours", "record_fields",
    "with_fields",
]  # fmt: skip

_PACKAGE = __name__.partition(".")[0]


def is_ours(cls: type) -> bool:
    """Whether a class is of this package."""
    return cls.__module__.partition(".")[0] == _PACKAGE


def is_named_tuple(x: Any) -> bool:
    """Whether an object is a tuple whose elements have names."""
    return is_named_tuple_class(type(x))


def is_named_tuple_class(x: Any) -> bool:
    """Whether an object is a class of such tuples."""
    return isinstance(x, type) and issubclass(x, tuple) and hasattr(x, "_fields")


def record_fields(x: Any) -> tuple[str, ...] | None:
    """The names of the fields of an instance of a user's frozen dataclass; None for everything else."""
    cls = type(x)
    params = getattr(cls, "__dataclass_params__", None)
    if params is None or not params.frozen or is_ours(cls):
        return None
    return tuple(f.name for f in fields(x))


def with_fields(x: Any, items: Sequence[Any]) -> Any:
    """A copy of such an instance with other values of its fields; its `__init__` does not run."""
    made = copy.copy(x)
    for name, item in zip(record_fields(x) or (), items, strict=True):
        object.__setattr__(made, name, item)
    return made


def filled_like(x: Any, items: Sequence[Any]) -> Any:
    """A tuple, list or dict of the class of x, with its attributes and keys, and with other elements."""
    cls: Any = type(x)  # mypy takes no class for hashable
    base, slots, has_dict = _layout(cls)
    if isinstance(x, tuple):
        if base is not tuple or (is_ours(cls) and not is_named_tuple_class(cls)):
            return tuple(items)  # the class's invariants about its elements may not hold
        made = tuple.__new__(cls, items)
    else:
        made = base.__new__(cls) if base in _BASES else copy.copy(x)
    for _, place in slots:
        if held := _held(place, x):
            place.__set__(made, held[0])
    if has_dict:
        attributes = object.__getattribute__(x, "__dict__")
        if attributes is x:  # its elements are its attributes
            object.__setattr__(made, "__dict__", made)
        elif attributes:
            object.__getattribute__(made, "__dict__").update(attributes)
    if isinstance(x, dict):
        for key, item in zip(base.keys(x), items, strict=True):
            base.__setitem__(made, key, item)
    elif isinstance(x, list):
        list.__setitem__(made, slice(None), items)
    return made


def held_besides(x: Any, named: Sequence[str] = ()) -> list[tuple[str, Any]]:
    """The attributes of an object of a user's class but the `named` ones, from slots and `__dict__`."""
    cls: Any = type(x)
    _, slots, has_dict = _layout(cls)
    found: list[tuple[str, Any]] = []
    if slots:
        found = [(name, held[0]) for name, place in slots if name not in named and (held := _held(place, x))]
    if has_dict:
        attributes = object.__getattribute__(x, "__dict__")
        if attributes and attributes is not x:
            found += [(name, value) for name, value in attributes.items() if name not in named]
    return found


#: Containers that can be made empty, and filled.
_BASES: tuple[Any, ...] = (list, dict, OrderedDict, defaultdict)
#: Py_TPFLAGS_HEAPTYPE: classes written in Python have it.
HEAP_TYPE = 1 << 9


@functools.lru_cache(256)
def _layout(cls: type) -> tuple[Any, tuple[tuple[str, Any], ...], bool]:
    """The C class that a class derives from; its slots; and whether its objects have a `__dict__`."""
    base = next(c for c in cls.__mro__ if not c.__flags__ & HEAP_TYPE)
    classes = [c for c in cls.__mro__ if c is not functools.partial]  # whose slots are its elements
    slots = [item for c in classes for item in vars(c).items() if type(item[1]) is types.MemberDescriptorType]
    return base, tuple(slots), cls.__dictoffset__ != 0


def _held(place: Any, x: Any) -> tuple[Any, ...]:
    """The value of an object's slot in a tuple; empty if it is not set."""
    try:
        return (place.__get__(x),)
    except AttributeError:
        return ()
