"""Guards as comparisons of memory: the words that hold what a guard read.

Each layout is verified on live objects before it is used, each place when it is taken; where that fails, the guard's
Python predicate is called instead.
"""

from __future__ import annotations

import ctypes
import operator
import types
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ....locks import Lock
from ....runtime.epoch import epoch
from . import abi
from .abi import slot_offset, word
from .dicts import dict_of, place_in, places_in, same_keys
from .instances import absence, own_place, slot
from .protocol import Place, Word

__all__ = [
    "BYTES", "BY_VALUE", "absence", "array", "element_places", "epoch_word", "fields_are_known", "hold",
    "lists_are_known", "locks_are_known", "method", "names_absent", "place_of_field", "place_read", "unlocked_words",
]  # fmt: skip

#: Added to the address of a word that may point to another object of the same class that is equal: floats bit by bit,
#: the others (ints, strings, bytes) by ``==``.
BY_VALUE = 1
#: Added to the address of a word that points to bytes, which must be those of a `bytes` object.
BYTES = 2

_SIZE = 8


def place_read(get: Callable[[Any], Any], key: Any) -> Place | None:
    """The place where ``get(key)`` reads its answer, with the words to compare first; None if that is not known.

    The caller keeps `get` and `key` alive.

    >>> def f(): pass
    >>> words, place = place_read(operator.attrgetter("__code__"), f)
    >>> words, word(place) == id(f.__code__)
    ([], True)
    """
    if get is type:
        return [], id(key) + abi.layout().type
    if isinstance(get, operator.attrgetter):
        name = _name_of(get)
        return None if name is None else _attribute(key, name)
    owner = getattr(get, "__self__", None)
    if getattr(get, "__name__", "") not in ("get", "__getitem__") or type(key) is not str:
        return None
    space = dict_of(owner)
    return None if space is None else place_in(space, key)


def names_absent(get: Callable[[Any], Any]) -> list[Word] | None:
    """The words for ``get(names)``, of `dict.keys().isdisjoint`: the dict has none of the names; None if unknown."""
    if getattr(get, "__name__", "") != "isdisjoint":
        return None
    keys = get.__self__  # type: ignore[attr-defined]
    space = dict_of(keys.mapping) if type(keys) is type({}.keys()) else None
    return None if space is None else same_keys(space)


def method(owner: Any, name: str) -> list[Word] | None:
    """The words for "a method is the same function": the class has it, and the object no attribute of that name."""
    function = _first(type(owner), name)
    without = absence(owner, name) if type(function) is types.FunctionType else None
    found = _in_class(type(owner), name) if without is not None else None
    return None if without is None or found is None else [*without, *found[0], (found[1], id(function))]


def hold(words: Sequence[Word]) -> bool:
    """Whether all words hold, compared in order as machine code does, but without the equality of `BY_VALUE`."""
    return all(
        _points_to(where & ~BYTES, what) if where & BYTES else word(where & ~BY_VALUE) == what for where, what in words
    )


def _points_to(where: int, what: int) -> bool:
    size = word(what + object.__basicsize__)
    return ctypes.string_at(word(where), size) == ctypes.string_at(what + bytes.__basicsize__ - 1, size)


def epoch_word() -> Word:
    """The word for "the epoch is the same"; the caller keeps ``epoch.now`` alive."""
    return id(epoch) + slot_offset(type(epoch), "now"), id(epoch.now)


def unlocked_words(locks: Sequence[Lock]) -> list[Word] | None:
    """The words for "no thread holds the locks"."""
    if not locks:
        return []
    place = _count_of_lock()
    return None if place is None else [(id(lock) + place, 0) for lock in locks]


# ------------------------------------------------------------------------------------------------ attributes
#: Attributes that are fields of C structs, and the classes of the objects that have them.
_FIELDS = {
    "__code__": types.FunctionType,
    "__defaults__": types.FunctionType,
    "__mro__": type,
    "cell_contents": types.CellType,
}
_of_module: Any = types.ModuleType.__getattribute__


def _attribute(owner: Any, name: str) -> Place | None:
    cls = type(owner)
    if name in _FIELDS and isinstance(owner, _FIELDS[name]):
        place = place_of_field(name)
        return None if place is None else ([], id(owner) + place)
    if cls is types.ModuleType:
        return place_in(vars(owner), name) if cls.__getattribute__ is _of_module and name in vars(owner) else None
    if cls is type:
        return _class_place(owner, name) if _first(type, name) is None else None
    if isinstance(owner, type) or not _finds_usually(cls):
        return None
    static = _first(cls, name)
    if type(static) is types.MemberDescriptorType:
        return slot(owner, static)
    if hasattr(type(static), "__set__") or hasattr(type(static), "__delete__"):
        return None
    own = own_place(owner, name)
    if own is not None and word(own[1]):
        return own
    without = absence(owner, name)
    found = _class_place(cls, name) if without is not None else None
    return None if without is None or found is None else ([*without, *found[0]], found[1])


def _finds_usually(cls: type) -> bool:
    """Whether a class uses `object.__getattribute__`, perhaps through a C slot of its own."""
    usual, own = object.__dict__["__getattribute__"], _first(cls, "__getattribute__")
    return own is usual or (type(own) is type(usual) and _wrapped(own) == _wrapped(usual) == _generic())


def _wrapped(method: Any) -> int:
    """The C function behind a slot wrapper."""
    return word(id(method) + types.WrapperDescriptorType.__basicsize__ - _SIZE)


@cache
def _generic() -> int | None:
    return ctypes.cast(ctypes.pythonapi.PyObject_GenericGetAttr, ctypes.c_void_p).value


def _first(cls: type, name: str) -> Any:
    """The attribute of that name in the first class of the MRO that has it; None if none has."""
    return next((vars(c)[name] for c in cls.__mro__ if name in vars(c)), None)


def _class_place(cls: type, name: str) -> Place | None:
    """The place of an attribute in the first class of the MRO that has it; None for a descriptor."""
    return None if hasattr(type(_first(cls, name)), "__get__") else _in_class(cls, name)


def _in_class(cls: type, name: str) -> Place | None:
    # Other guards watch the MRO, and that no earlier class has the name.
    space = next((vars(c) for c in cls.__mro__ if name in vars(c)), None)
    found = None if space is None else dict_of(space)
    return None if found is None else place_in(found, name)


def _name_of(get: Any) -> str | None:
    """The one attribute that an `attrgetter` reads."""
    names = get.__reduce__()[1]
    return names[0] if len(names) == 1 and "." not in names[0] else None


def place_of_field(name: str) -> int | None:
    """The offset of a field in its objects."""
    return _places().get(name)


@cache
def _places() -> dict[str, int]:
    found: dict[str, int] = {}

    def one(x: int = 1) -> int:
        return x

    def other(x: int = 2) -> int:
        return x + len(cells)

    cells = [one]

    class First:
        pass

    class Second(First):
        pass

    for name, objects in {
        "__code__": (one, other),
        "__defaults__": (one, other),
        "__mro__": (First, Second),
        "cell_contents": (types.CellType(one), types.CellType(other)),
    }.items():
        places = [_where(x, getattr(x, name)) for x in objects]
        if len(places[0]) == 1 and places[0] == places[1]:
            found[name] = places[0].pop()
    # the field must follow a change
    for name in ("__code__", "__defaults__"):
        if name in found:
            setattr(one, name, getattr(other, name) if name == "__defaults__" else one.__code__.replace(co_name="new"))
            if word(id(one) + found[name]) != id(getattr(one, name)):
                del found[name]
    return found


def _where(x: Any, content: Any) -> set[int]:
    """The offsets in an object at which the address of `content` lies."""
    words = range(object.__basicsize__, type(x).__basicsize__ // _SIZE * _SIZE, _SIZE)
    return {at for at in words if word(id(x) + at) == id(content)}


def fields_are_known() -> bool:
    """Self-test: whether the offsets of all these fields were found."""
    return set(_places()) == set(_FIELDS)


# ------------------------------------------------------------------------------------------------ containers
def element_places(owner: Any) -> tuple[list[Word], list[int]] | None:
    """The words and addresses of the elements of a list or tuple, or of the values of a dict."""
    head = id(owner) + object.__basicsize__
    kind = (id(owner) + abi.layout().type, id(type(owner)))
    if type(owner) is dict:
        found = places_in(owner)
        return None if found is None else ([kind, *found[0]], found[1])
    if type(owner) is tuple:
        first = id(owner) + abi.layout().items
        return [kind, (head, len(owner))], [first + _SIZE * i for i in range(len(owner))]
    if type(owner) is not list or not lists_are_known():
        return None
    first = word(head + _SIZE)
    return [kind, (head, len(owner)), (head + _SIZE, first)], [first + _SIZE * i for i in range(len(owner))]


def array(owner: Any, content: bytes) -> list[Word] | None:
    """The words for "the array has the same shape, dtype and bytes"; None for arrays not contiguous or not of numbers.

    A comparison reads all bytes.
    """
    if type(owner) is not np.ndarray or owner.dtype.hasobject or owner.dtype.names or not owner.flags.c_contiguous:
        return None
    at, start = abi.layout(), id(owner)
    fields = [start + place for place in (at.type, at.nd, at.dims, at.strides, at.descr)]
    sizes = [word(start + first) + _SIZE * i for first in (at.dims, at.strides) for i in range(owner.ndim)]
    return [*((place, word(place)) for place in (*fields, *sizes)), (start + at.data | BYTES, id(content))]


@cache
def lists_are_known() -> bool:
    """Self-test: whether lists have their length and the address of their elements where expected."""
    for n in (1, 5):
        one = [object() for _ in range(n)]
        head = id(one) + object.__basicsize__
        if word(head) != n or list.__basicsize__ < object.__basicsize__ + 16:
            return False
        one.append(object())
        first = word(head + _SIZE)
        if word(head) != n + 1 or [word(first + _SIZE * i) for i in range(n + 1)] != list(map(id, one)):
            return False
    pair = (object(), object())
    return word(id(pair) + object.__basicsize__) == len(pair)


# ------------------------------------------------------------------------------------------------ locks
@cache
def _count_of_lock() -> int | None:
    """The offset in a lock of the count of how often its holder entered it."""
    lock = Lock()
    base = object.__basicsize__
    places = set(range(base, Lock.__base__.__basicsize__, _SIZE))
    for depth in range(4):
        places = {at for at in places if word(id(lock) + at) == depth}
        if depth < 3:
            lock.acquire()
    for _ in range(3):
        lock.release()
    places = {at for at in places if word(id(lock) + at) == 0}
    return places.pop() if len(places) == 1 else None


def locks_are_known() -> bool:
    """Self-test: whether that offset was found."""
    return _count_of_lock() is not None
