"""The layout of dicts: tables of keys, their versions, and the places of values.

This relies on what CPython's own inline caches rely on: while a table of keys has its version, its values keep their
places.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import types
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from .abi import byte, uint32, word
from .protocol import Place, Word

# Offsets behind an object's head: the count of entries, (a tag,) the table of keys, the values if they are not in it.
_USED, _KEYS, _VALUES = 0, 16, 24
#: Offsets in a table of keys: log2 of the size of its index, the kind of keys, its version, the count of its entries.
_INDEX, _KIND, _VERSION, COUNT = 9, 10, 12, 24
_UNICODE = 1
_TRIES = 200


def keys_at(space: dict[Any, Any]) -> int:
    """The address of a dict's pointer to its table of keys."""
    return id(space) + object.__basicsize__ + _KEYS


def values_at(space: dict[Any, Any]) -> int:
    """The address of a dict's pointer to its values, which is 0 if they lie in the table of keys."""
    return id(space) + object.__basicsize__ + _VALUES


def dict_of(space: Any) -> dict[str, Any] | None:
    """The dict itself, or the one behind a class's mapping proxy; None for anything else."""
    if type(space) is types.MappingProxyType:
        found = [x for x in gc.get_referents(space) if type(x) is dict]
        return found[0] if len(found) == 1 else None
    return space if type(space) is dict else None


def same_keys(space: dict[Any, Any]) -> list[Word] | None:
    """The words for "the dict has the same keys in the same places"; None where there are none."""
    if not dicts_are_known():
        return None
    if not space:
        return [(id(space) + object.__basicsize__ + _USED, 0)]
    for _ in range(2):
        keys = _keys_of(space)
        if keys is None:
            return None
        if uint32(keys + _VERSION):
            return [(keys_at(space), keys), (keys + 8, word(keys + 8))]
        _ask_for_version(space)
    return None


def place_in(space: dict[str, Any], name: str) -> Place | None:
    """The place of a dict's value under a name."""
    version = same_keys(space)
    if not version or name not in space:
        return None
    keys = version[0][1]
    i = position(keys, name)
    at = 0 if i is None else _entry(keys, i) + 8
    return (version, at) if at and word(at) == id(space[name]) else None


def places_in(space: dict[Any, Any]) -> tuple[list[Word], list[int]] | None:
    """The words and addresses of all values of a dict, in order."""
    version = same_keys(space)
    if version is None or not space:
        return None if version is None else (version, [])
    keys = version[0][1]
    places = [_entry(keys, i) for i in range(word(keys + COUNT))]
    found = [at + 8 for at in places if word(at) and word(at + 8)]
    return (version, found) if [word(at) for at in found] == list(map(id, space.values())) else None


def position(keys: int, name: str) -> int | None:
    """The index of a name in a table of keys, all of them strings."""
    found = (ctypes.c_size_t * (2 * word(keys + COUNT))).from_address(_entry(keys, 0))[::2]
    usual = id(sys.intern(name))
    if usual in found:
        return found.index(usual)
    return next((i for i, key in enumerate(found) if key and ctypes.cast(key, ctypes.py_object).value == name), None)


def _entry(keys: int, i: int) -> int:
    """The address of a table's entry: a key, then its value."""
    return keys + 32 + (1 << byte(keys + _INDEX)) + 16 * i


def _keys_of(space: dict[Any, Any]) -> int | None:
    """The table of keys of a dict, if all are strings and the values lie in it."""
    keys = word(keys_at(space))
    return keys if not word(values_at(space)) and byte(keys + _KIND) == _UNICODE else None


def _ask_for_version(space: dict[Any, Any]) -> None:
    """Makes the interpreter give the keys a version: a function whose globals they are is run until its caches fill."""
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


@cache
def dicts_are_known() -> bool:
    """Self-test: whether dicts have this layout, and change the version with every change of keys."""
    space: dict[str, Any] = {f"name{i}": object() for i in range(9)}
    del space["name3"]
    if [word(id(space) + object.__basicsize__ + _USED), word(values_at(space))] != [8, 0]:
        return False

    def tables() -> Iterator[bool]:
        keys = word(keys_at(space))
        if not 0 < byte(keys + 8) < 16 or byte(keys + _KIND) != _UNICODE or word(keys + COUNT) > 64:
            yield False
            return
        by_key = {id(k): id(v) for k, v in space.items()}
        places = [_entry(keys, i) for i in range(word(keys + COUNT))]
        found = {word(at): word(at + 8) for at in places if word(at)}
        yield found == by_key
        _ask_for_version(space)
        yield uint32(keys + _VERSION) != 0

    if not all(tables()):
        return False
    keys = word(keys_at(space))

    def changed(act: Callable[[], object]) -> bool:
        _ask_for_version(space)
        before = word(keys_at(space)), uint32(keys + _VERSION)
        act()
        now = word(keys_at(space))
        return before[1] != 0 and (now != before[0] or uint32(now + _VERSION) != before[1])

    if changed(lambda: space.__setitem__("name5", None)):  # a new value is no change of keys
        return False
    if not changed(lambda: space.pop("name5")) or not changed(lambda: space.popitem()):
        return False
    return changed(lambda: space.__setitem__("new", None)) and all(tables())
