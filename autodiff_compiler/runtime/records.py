"""Containers of users' classes: NamedTuples, frozen dataclasses, whose fields are elements too, lists and dicts.

No code of these classes runs: questions are asked of a class, whose objects may have an answer for every name.
"""

from __future__ import annotations

import copy
import types
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

__all__ = ["filled_like", "is_named_tuple", "is_named_tuple_class", "record_fields", "with_fields"]

_PACKAGE = __name__.partition(".")[0]


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
    if params is None or not params.frozen or cls.__module__.partition(".")[0] == _PACKAGE:
        return None
    return tuple(f.name for f in fields(x))


def with_fields(x: Any, items: Sequence[Any]) -> Any:
    """A copy of such an instance with other values of its fields; its `__init__` does not run."""
    made = copy.copy(x)
    for name, item in zip(record_fields(x) or (), items, strict=True):
        object.__setattr__(made, name, item)
    return made


def filled_like(x: Any, items: Sequence[Any]) -> Any:
    """A list or dict of the class of x, with its attributes and keys, and with other elements."""
    cls, kind = type(x), dict if isinstance(x, dict) else list
    if next(c for c in cls.__mro__ if not c.__flags__ & _HEAP) is not kind:  # those of `collections` hold more
        made = copy.copy(x)
    else:
        made = kind.__new__(cls)
        for c in cls.__mro__:
            for place in vars(c).values():
                if type(place) is types.MemberDescriptorType and (held := _held(place, x)):
                    place.__set__(made, held[0])
        attributes = _held(object.__getattribute__, x, "__dict__")
        if attributes:
            object.__getattribute__(made, "__dict__").update(attributes[0])
    if isinstance(x, dict):
        for key, item in zip(dict.keys(x), items, strict=True):
            dict.__setitem__(made, key, item)
    else:
        list.__setitem__(made, slice(None), items)
    return made


#: A flag of classes: made at run time, as those written in Python are.
_HEAP = 1 << 9


def _held(read: Any, *where: Any) -> tuple[Any, ...]:
    """What an object holds somewhere, if anything."""
    try:
        return (read.__get__(*where) if type(read) is types.MemberDescriptorType else read(*where),)
    except AttributeError:
        return ()
