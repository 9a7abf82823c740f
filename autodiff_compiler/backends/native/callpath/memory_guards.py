"""Guards as comparisons of memory: where a guard's answer lies, and what lies there as long as the answer is the same.

Each kind of place is verified on live objects before it is used, each place when it is taken; what is not found where
it should be is left to the Python predicate of the guard.
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
    "BYTES", "BY_VALUE", "absence", "array", "epoch_word", "fields_are_known", "free_words", "hold", "inside",
    "lists_are_known", "locks_are_known", "method",
    "place_of_field", "place_read", "unread",
]  # fmt: skip

#: Added to the address of a word: what it points to may be another object of its class, if it is equal: floats bit by
#: bit, the others (ints, strings, bytes) as Python compares them.
BY_VALUE = 1
#: Added to the address of a word: it points to bytes, which must be those of a `bytes` object.
BYTES = 2

_SIZE = 8


def place_read(get: Callable[[Any], Any], key: Any) -> Place | None:
    """Where ``get(key)`` finds its answer, and the words that must be compared before; None if that is not known.

    The caller keeps both alive.

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


def unread(get: Callable[[Any], Any]) -> list[Word] | None:
    """The words that say that ``get(names)``, whether a dict has none of some names, is true; None where it is not."""
    if getattr(get, "__name__", "") != "isdisjoint":
        return None
    keys = get.__self__  # type: ignore[attr-defined]
    space = dict_of(keys.mapping) if type(keys) is type({}.keys()) else None
    return None if space is None else same_keys(space)


def method(owner: Any, name: str) -> list[Word] | None:
    """The words that say that an object's class has the function under a name that it has now, and itself nothing."""
    function = _first(type(owner), name)
    without = absence(owner, name) if type(function) is types.FunctionType else None
    found = _in_class(type(owner), name) if without is not None else None
    return None if without is None or found is None else [*without, *found[0], (found[1], id(function))]


def hold(words: Sequence[Word]) -> bool:
    """Whether all words are what they must be, read in order as machine code does; equal objects do not count here."""
    return all(
        _points_to(where & ~BYTES, what) if where & BYTES else word(where & ~BY_VALUE) == what for where, what in words
    )


def _points_to(where: int, what: int) -> bool:
    size = word(what + object.__basicsize__)
    return ctypes.string_at(word(where), size) == ctypes.string_at(what + bytes.__basicsize__ - 1, size)


def epoch_word() -> Word:
    """The word that changes with every change of the epoch; the caller keeps ``epoch.now`` alive."""
    return id(epoch) + slot_offset(type(epoch), "now"), id(epoch.now)


def free_words(locks: Sequence[Lock]) -> list[Word] | None:
    """The words that say that no thread holds the locks."""
    if not locks:
        return []
    place = _count_of_lock()
    return None if place is None else [(id(lock) + place, 0) for lock in locks]


# ------------------------------------------------------------------------------------------------ attributes
#: Fields of objects, by the names under which Python shows them, and whose fields they are.
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
    """Whether attributes of its objects are found as those of `object`; a class of C code may say so itself."""
    usual, own = object.__dict__["__getattribute__"], _first(cls, "__getattribute__")
    return own is usual or (type(own) is type(usual) and _wrapped(own) == _wrapped(usual) == _generic())


def _wrapped(method: Any) -> int:
    """The function of C behind a method of a class that is one of its slots."""
    return word(id(method) + types.WrapperDescriptorType.__basicsize__ - _SIZE)


@cache
def _generic() -> int | None:
    return ctypes.cast(ctypes.pythonapi.PyObject_GenericGetAttr, ctypes.c_void_p).value


def _first(cls: type, name: str) -> Any:
    """What the first class of the MRO that has a name has under it."""
    return next((vars(c)[name] for c in cls.__mro__ if name in vars(c)), None)


def _class_place(cls: type, name: str) -> Place | None:
    """Where the first class of the MRO that has a name has what objects find under it; None for a descriptor."""
    return None if hasattr(type(_first(cls, name)), "__get__") else _in_class(cls, name)


def _in_class(cls: type, name: str) -> Place | None:
    # Guards watch what a class inherits from, and that no class before has the name.
    space = next((vars(c) for c in cls.__mro__ if name in vars(c)), None)
    found = None if space is None else dict_of(space)
    return None if found is None else place_in(found, name)


def _name_of(get: Any) -> str | None:
    """The one attribute that a getter reads."""
    names = get.__reduce__()[1]
    return names[0] if len(names) == 1 and "." not in names[0] else None


def place_of_field(name: str) -> int | None:
    """Where objects hold an attribute that is a field of theirs."""
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
    # what is found must follow a change
    for name in ("__code__", "__defaults__"):
        if name in found:
            setattr(one, name, getattr(other, name) if name == "__defaults__" else one.__code__.replace(co_name="new"))
            if word(id(one) + found[name]) != id(getattr(one, name)):
                del found[name]
    return found


def _where(x: Any, content: Any) -> set[int]:
    """Where in an object its content's address lies."""
    words = range(object.__basicsize__, type(x).__basicsize__ // _SIZE * _SIZE, _SIZE)
    return {at for at in words if word(id(x) + at) == id(content)}


def fields_are_known() -> bool:
    """Whether all of these fields are found."""
    return set(_places()) == set(_FIELDS)


# ------------------------------------------------------------------------------------------------ containers
def inside(owner: Any) -> tuple[list[Word], list[int]] | None:
    """Where a list, tuple or dict has its elements (a dict: its values), with the words that say so."""
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
    """The words that say that an array has the shape and dtype that it has now, and these bytes; None for odd ones.

    To compare them takes time in proportion to their number.
    """
    if type(owner) is not np.ndarray or owner.dtype.hasobject or owner.dtype.names or not owner.flags.c_contiguous:
        return None
    at, start = abi.layout(), id(owner)
    fields = [start + place for place in (at.type, at.nd, at.dims, at.strides, at.descr)]
    sizes = [word(start + first) + _SIZE * i for first in (at.dims, at.strides) for i in range(owner.ndim)]
    return [*((place, word(place)) for place in (*fields, *sizes)), (start + at.data | BYTES, id(content))]


@cache
def lists_are_known() -> bool:
    """Whether a list has its length and the address of its elements where it should."""
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
    """Where a lock counts how often its holder entered it."""
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
    """Whether it is found."""
    return _count_of_lock() is not None
