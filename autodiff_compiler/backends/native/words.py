"""Guards as words of memory: where a guard's answer lies, and what lies there as long as the answer is the same.

What CPython's own caches rely on is what is used here: a dict whose table of keys has a version keeps the places of its
values until that version is gone.  Each kind of place is verified on live objects before it is used, each place when it
is taken; what is not found where it should be is left to the guards themselves.
"""

from __future__ import annotations

import ctypes
import gc
import operator
import types
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from ...locks import Lock
from ...runtime.epoch import epoch
from . import abi
from .abi import slot_offset

__all__ = ["Word", "epoch_word", "free_words", "words_of"]

#: An address, and what the word there must be.
Word = tuple[int, int]

_code, _defaults = operator.attrgetter("__code__"), operator.attrgetter("__defaults__")
_mro, _contents = operator.attrgetter("__mro__"), operator.attrgetter("cell_contents")
_SIZE = 8


def words_of(get: Callable[[Any], Any], key: Any, value: Any) -> list[Word] | None:
    """The words to compare instead of asking whether ``get(key) is value``, in the order in which they must be read.

    None where there are none.  It is the same now.  The caller keeps all three alive.

    >>> def f(): pass
    >>> (where, what), = words_of(operator.attrgetter("__code__"), f, f.__code__)
    >>> what == id(f.__code__)
    True
    """
    if get is type:
        return [(id(key) + abi.layout().type, id(value))]
    if isinstance(get, operator.attrgetter):
        return _attribute(get, key, value)
    owner = getattr(get, "__self__", None)
    name = getattr(get, "__name__", "")
    if name in ("get", "__getitem__") and type(key) is str and type(owner) in (dict, types.MappingProxyType):
        space = _dict_of(owner)
        return None if space is None else _entry(space, key, value)
    if name == "isdisjoint" and type(owner) is type({}.keys()) and value is True:
        space = _dict_of(owner.mapping)
        return None if space is None else _version(space)
    return None


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
_PLAIN = {"__code__": "a function's code", "__defaults__": "its defaults", "__mro__": "", "cell_contents": ""}


def _attribute(get: Any, owner: Any, value: Any) -> list[Word] | None:
    name = _name_of(get)
    expected = types.CellType if name == "cell_contents" else types.FunctionType if name != "__mro__" else type
    if type(owner) is types.ModuleType and name is not None and type(owner).__getattribute__ is _of_module:
        return _entry(vars(owner), name, value) if name in vars(owner) else None
    if name not in _PLAIN or not isinstance(owner, expected) or value is None:
        return None
    place = _places().get(name)
    if place is None or _word(id(owner) + place) != id(value):
        return None
    return [(id(owner) + place, id(value))]


_of_module = types.ModuleType.__getattribute__


def _name_of(get: Any) -> str | None:
    """The one attribute that a getter reads."""
    names = get.__reduce__()[1]
    return names[0] if len(names) == 1 and "." not in names[0] else None


@cache
def _places() -> dict[str, int]:
    """Where objects hold attributes that are fields of theirs."""
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
            if _word(id(one) + found[name]) != id(getattr(one, name)):
                del found[name]
    return found


def _where(x: Any, content: Any) -> set[int]:
    """Where in an object its content's address lies."""
    words = range(object.__basicsize__, type(x).__basicsize__ // _SIZE * _SIZE, _SIZE)
    return {at for at in words if _word(id(x) + at) == id(content)}


# ------------------------------------------------------------------------------------------------ dicts
_KEYS = 16  # behind an object's head: how many there are, a tag, the table of keys, values apart from it
_UNICODE = 1
_TRIES = 200


def _dict_of(space: Any) -> dict[str, Any] | None:
    """The dict itself behind the view of a class's."""
    if type(space) is types.MappingProxyType:
        found = [x for x in gc.get_referents(space) if type(x) is dict]
        return found[0] if len(found) == 1 else None
    return space if type(space) is dict else None


def _version(space: dict[str, Any]) -> list[Word] | None:
    """The words that say that a dict has the same keys in the same places."""
    if not _dicts_are_known():
        return None
    for _ in range(2):
        keys = _keys_of(space)
        if keys is None:
            return None
        if _uint(keys + 12):
            return [(id(space) + object.__basicsize__ + _KEYS, keys), (keys + 8, _word(keys + 8))]
        _ask_for_version(space)
    return None


def _keys_of(space: dict[str, Any]) -> int | None:
    """The table of keys of a dict whose keys are all strings, and which holds its values itself."""
    at = id(space) + object.__basicsize__
    keys = _word(at + _KEYS)
    return keys if not _word(at + _KEYS + 8) and _byte(keys + 10) == _UNICODE else None


def _ask_for_version(space: dict[str, Any]) -> None:
    """Lets the interpreter give the keys a version, as it does for a function whose globals they are."""
    name = next((n for n in space if type(n) is str and n.isidentifier()), None)
    if name is None:
        return
    body = _reader.__code__.replace(co_names=(name,))
    if len(_reader.__code__.co_names) != 1:
        return
    read = types.FunctionType(body, space)
    for _ in range(_TRIES):
        try:
            read()
        except NameError:
            return


def _reader() -> Any:
    return __name__


def _entry(space: dict[str, Any], name: str, value: Any) -> list[Word] | None:
    """The words that say that a dict has this value under a name."""
    version = _version(space)
    if version is None:
        return None
    keys = version[0][1]
    places = _entries(keys)
    at = places.get(id(name)) or places.get(id(next((k for k in space if k == name), None)))
    return [*version, (at, id(value))] if at is not None and _word(at) == id(value) else None


def _entries(keys: int) -> dict[int, int]:
    """The keys of a table, each with where its value lies."""
    first = keys + 32 + (1 << _byte(keys + 9))
    words = (ctypes.c_size_t * (2 * _word(keys + 24))).from_address(first)[:]
    return {key: first + 16 * i + 8 for i, key in enumerate(words[::2]) if key}


@cache
def _dicts_are_known() -> bool:
    """Whether dicts are laid out as they should be, and change their versions when they must."""
    space: dict[str, Any] = {f"name{i}": object() for i in range(9)}
    del space["name3"]
    if [_word(id(space) + object.__basicsize__), _word(id(space) + object.__basicsize__ + _KEYS + 8)] != [8, 0]:
        return False

    def tables() -> Iterator[bool]:
        keys = _word(id(space) + object.__basicsize__ + _KEYS)
        if not 0 < _byte(keys + 8) < 16 or _byte(keys + 10) != _UNICODE or _word(keys + 24) > 64:
            yield False
            return
        by_key = {id(k): id(v) for k, v in space.items()}
        found = {key: _word(at) for key, at in _entries(keys).items()}
        yield found == by_key
        _ask_for_version(space)
        yield _uint(keys + 12) != 0

    if not all(tables()):
        return False
    keys = _word(id(space) + object.__basicsize__ + _KEYS)

    def changed(act: Callable[[], object]) -> bool:
        _ask_for_version(space)
        before = _word(id(space) + object.__basicsize__ + _KEYS), _uint(keys + 12)
        act()
        now = _word(id(space) + object.__basicsize__ + _KEYS)
        return before[1] != 0 and (now != before[0] or _uint(now + 12) != before[1])

    if changed(lambda: space.__setitem__("name5", None)):  # a value is no key
        return False
    if not changed(lambda: space.pop("name5")) or not changed(lambda: space.popitem()):
        return False
    return changed(lambda: space.__setitem__("new", None)) and all(tables())


# ------------------------------------------------------------------------------------------------ locks
@cache
def _count_of_lock() -> int | None:
    """Where a lock counts how often its holder entered it."""
    lock = Lock()
    base = object.__basicsize__
    places = set(range(base, Lock.__base__.__basicsize__, _SIZE))
    for depth in range(4):
        places = {at for at in places if _word(id(lock) + at) == depth}
        if depth < 3:
            lock.acquire()
    for _ in range(3):
        lock.release()
    places = {at for at in places if _word(id(lock) + at) == 0}
    return places.pop() if len(places) == 1 else None


def _word(address: int) -> int:
    return ctypes.c_size_t.from_address(address).value


def _uint(address: int) -> int:
    return ctypes.c_uint32.from_address(address).value


def _byte(address: int) -> int:
    return ctypes.c_ubyte.from_address(address).value
