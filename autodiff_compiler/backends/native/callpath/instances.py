"""The layout of attributes: in slots, in a dict, or in inline values.

Objects of Python classes have no dict until somebody asks for it: their values lie in a row, in the order of a table of
keys that all objects of the class share and that only grows.  Where an object has that row differs between CPython
3.11, 3.12 and 3.13; a self-test on live objects decides whether this is used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from types import MemberDescriptorType
from typing import Any

from .abi import byte, layout, word
from .dicts import COUNT, dicts_are_known, keys_at, place_in, position, same_keys, values_at
from .protocol import Place, Word

#: Flags of classes (Py_TPFLAGS_MANAGED_DICT, Py_TPFLAGS_INLINE_VALUES): a dict made on demand; a row behind the object.
_MANAGED, _INLINE = 1 << 4, 1 << 2
#: Offsets before an object: its dict or, in 3.11 and 3.12, its row of values.
_DICT, _ROW = -24, -32


def slot(owner: Any, descriptor: Any) -> Place | None:
    """The place of an attribute in `__slots__`; None where that is not known."""
    if type(descriptor) is not MemberDescriptorType or not slots_are_known():
        return None
    return [_kind(owner)], id(owner) + _offset(descriptor)


def own_place(owner: Any, name: str) -> Place | None:
    """The place where an object has, or would have, an attribute of its own; None where that is not known.

    The word there is 0 while it has none.
    """
    return _place_of(owner, name) if attributes_are_known() else None


def absence(owner: Any, name: str) -> list[Word] | None:
    """The words for "the object has no own attribute of that name"; None where that is not known."""
    return _absence(owner, name) if attributes_are_known() else None


def _place_of(owner: Any, name: str) -> Place | None:
    row = _row(owner)
    if row is not None:
        words, first = row
        i = position(_shared_keys(type(owner)), name)
        return None if i is None else ([_kind(owner), *words], first + 8 * i)
    before, space = _dict(owner) or ([], None)
    if space is None:
        return None
    found = _place_in(space, name)
    return None if found is None else ([_kind(owner), *before, *found[0]], found[1])


def _absence(owner: Any, name: str) -> list[Word] | None:
    row = _row(owner)
    if row is not None:
        return [_kind(owner), *row[0], *_without(_shared_keys(type(owner)), row[1], name)]
    held = _dict(owner)
    if held is None:
        return [_kind(owner)] if not _has_dict(type(owner)) else None
    before, space = held
    if space is None:
        return [_kind(owner), *before]
    keys, values = word(keys_at(space)), word(values_at(space))
    if values:
        same = [(keys_at(space), keys), (values_at(space), values)]
        return [_kind(owner), *before, *same, *_without(keys, values + _FIRST, name)]
    version = same_keys(space)
    return None if version is None or name in space else [_kind(owner), *before, *version]


def _without(keys: int, first: int, name: str) -> list[Word]:
    """The words for "a row has nothing under a name": its place is empty, or the shared keys have no such name."""
    i = position(keys, name)
    return [(keys + COUNT, word(keys + COUNT))] if i is None else [(first + 8 * i, 0)]


def _kind(owner: Any) -> Word:
    return id(owner) + layout().type, id(type(owner))


# ------------------------------------------------------------------------------------------------ rows and dicts
#: Offset of the first value behind `ma_values`.
_FIRST = 8 if sys.version_info >= (3, 13) else 0


def _has_dict(cls: type) -> bool:
    return cls.__dictoffset__ != 0 or cls.__flags__ & _MANAGED != 0


def _row(owner: Any) -> Place | None:
    """The row of values of an object that has one, and the words that say so."""
    cls, at = type(owner), id(owner)
    if not cls.__flags__ & _MANAGED:
        return None
    if sys.version_info >= (3, 13):
        row = at + cls.__basicsize__
        # its head has four bytes: capacity, size, embedded, valid
        return ([(row, word(row))], row + _FIRST) if cls.__flags__ & _INLINE and byte(row + 3) == 1 else None
    if sys.version_info >= (3, 12):
        tagged = word(at + _DICT)
        return ([(at + _DICT, tagged)], tagged + 1) if tagged & 1 else None
    row = word(at + _ROW)
    return ([(at + _ROW, row)], row) if row else None


def _dict(owner: Any) -> tuple[list[Word], dict[Any, Any] | None] | None:
    """The dict of an object without a row, or None while it has not made one, and the words that say so."""
    cls = type(owner)
    if cls.__flags__ & _MANAGED:
        at = id(owner) + _DICT
    elif cls.__dictoffset__ > 0:
        at = id(owner) + cls.__dictoffset__
    else:
        return None
    if not word(at):
        return [(at, 0)], None
    space = object.__getattribute__(owner, "__dict__")
    return ([(at, id(space))], space) if type(space) is dict and word(at) == id(space) else None


def _place_in(space: dict[Any, Any], name: str) -> Place | None:
    """The place of a dict's value under a name, as `dicts.place_in`; also of a dict whose values lie in a row."""
    keys, values = word(keys_at(space)), word(values_at(space))
    if not values:
        return place_in(space, name)
    i = position(keys, name)
    if i is None:
        return None
    return [(keys_at(space), keys), (values_at(space), values)], values + _FIRST + 8 * i


def _shared_keys(cls: type) -> int:
    """The table of keys that objects of a class share."""
    place = _place_of_keys()
    assert place is not None
    return word(id(cls) + place)


_SIZE_OF_CLASSES: int = type.__dict__["__basicsize__"].__get__(type)


@cache
def _place_of_keys() -> int | None:
    """The offset in a class of the pointer to its shared keys, found by search in three classes."""
    found: list[set[int]] = []
    for _ in range(3):
        cls = type("Made", (), {})
        one: Any = cls()
        one.a, one.b = 1, 2
        keys = word(keys_at(vars(one)))
        found.append({at for at in range(0, _SIZE_OF_CLASSES, 8) if word(id(cls) + at) == keys})
    places = set.intersection(*found)
    return places.pop() if len(places) == 1 else None


# ------------------------------------------------------------------------------------------------ self-tests
class _WithAttributes:
    pass


class _Slotted:
    __slots__ = ("left", "right")


class _Both(_Slotted):
    __slots__ = ("__dict__", "middle")


def _offset(descriptor: MemberDescriptorType) -> int:
    """The offset of a slot in objects, from the PyMemberDef that its descriptor points to."""
    return word(word(id(descriptor) + object.__basicsize__ + 24) + 16)


@cache
def slots_are_known() -> bool:
    for cls in (_Slotted, _Both):
        for name in ("left", "right", "middle"):
            if hasattr(cls, name):
                one, content = cls(), object()
                setattr(one, name, content)
                at = _offset(getattr(cls, name))
                if not object.__basicsize__ <= at < cls.__basicsize__ or word(id(one) + at) != id(content):
                    return False
                delattr(one, name)
                if word(id(one) + at):
                    return False
    return True


@cache
def attributes_are_known() -> bool:
    """Self-test: whether attributes of seven kinds of objects have this layout, and the words see their changes."""
    if not (3, 11) <= sys.version_info[:2] <= (3, 13) or not dicts_are_known() or _place_of_keys() is None:
        return False
    # `_WithAttributes` again at the end: the first objects of a class decide which keys the others share
    return all(
        _follows(make())
        for make in (_WithAttributes, _Both, _with_dict, _with_another, _grown, _function, _WithAttributes)
    )


def _with_dict() -> Any:
    one: Any = _WithAttributes()
    one.early = vars(one) is None
    return one


def _with_another() -> Any:
    one = _WithAttributes()
    one.__dict__ = {"early": 1}
    return one


def _grown() -> Any:
    one = _WithAttributes()
    for i in range(40):
        setattr(one, f"early{i}", i)
    return one


def _function() -> Any:
    return lambda: None


def _follows(one: Any) -> bool:
    """Whether places and words of attributes are right while these come, change and go."""
    return all(
        _seen(one, name, write) for name in ("first", "early", "other") for write in (setattr, _write_into_the_dict)
    )


def _write_into_the_dict(one: Any, name: str, value: object) -> None:
    vars(one)[name] = value


def _seen(one: Any, name: str, write: Callable[[Any, str, object], None]) -> bool:
    if hasattr(one, name):
        delattr(one, name)
    gone = _absence(one, name)
    if gone is not None and not _hold(gone):
        return False
    write(one, name, object())
    if gone is not None and _hold(gone):
        return False
    for change in (lambda: write(one, name, object()), lambda: vars(one), lambda: setattr(one, "more", 1)):
        place = _place_of(one, name)
        if place is not None and not (_hold(place[0]) and word(place[1]) == id(getattr(one, name))):
            return False
        change()
        if place is not None and _hold(place[0]) and word(place[1]) != id(getattr(one, name)):
            return False
    place = _place_of(one, name)
    delattr(one, name)
    return place is None or not _hold(place[0]) or word(place[1]) == 0


def _hold(words: list[Word]) -> bool:
    return all(word(where) == what for where, what in words)
