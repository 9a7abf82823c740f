"""What was made of a function before, so that `grad(f)` inside a training loop finds its compiled form again.

A function keeps it itself: what only the two of them hold dies with the function, and so does what its closure holds.
Other callables have no place of their own; of those the last few are remembered.
"""

from __future__ import annotations

import types
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ..compiler.call_key import Identity
from ..locks import Lock

__all__ = ["kept", "kept_shortly"]

_PLACE = "__derivatives__"
_KEPT = 16


class _Kept:
    """What was made of one function.  `functools.wraps` hands it on to functions that it is not about."""

    def __init__(self, fn: Any) -> None:
        self.owner, self.made = weakref.ref(fn), OrderedDict[Any, Any]()
        #: some of what was made, by how it is asked for most often
        self.short: dict[Any, Any] = {}

    def __reduce__(self) -> Any:
        return _nothing, ()


def kept_shortly(fn: Any) -> dict[Any, Any] | None:
    """What was made of a function, by short keys of the caller's; None for one of which nothing was made."""
    place = fn.__dict__.get(_PLACE) if type(fn) is types.FunctionType else None
    return place.short if type(place) is _Kept and place.owner() is fn else None


def _nothing() -> None:
    """What is left of it in a copy of the function."""


_others: OrderedDict[Any, Any] = OrderedDict()
_lock = Lock()


def kept(fn: Any, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    """What `make` gave for this function and key before, or gives now; the keys used least recently are forgotten."""
    place: Any = None
    if isinstance(fn, types.FunctionType):
        place = fn.__dict__.get(_PLACE)
        if not isinstance(place, _Kept) or place.owner() is not fn:
            place = fn.__dict__[_PLACE] = _Kept(fn)
        made = place.made
    else:
        made = _others
        same = (fn.__self__, fn.__func__) if isinstance(fn, types.MethodType) else (fn,)
        key = (*map(Identity, same), *key)
    with _lock:
        found = made.get(key)
        if found is None:
            found = made[key] = make()
            while len(made) > _KEPT:
                made.popitem(last=False)
                if place is not None:
                    place.short.clear()
        else:
            made.move_to_end(key)
        return found
