"""Memo per function: `grad(f)` inside a training loop finds its compiled form again.

The memo is an attribute of the function, so both die together, with everything in the closure.  Other callables have no
attributes of their own; of those the last few are remembered in one memo.
"""

from __future__ import annotations

import types
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ..compiler.call_key import Identity
from ..locks import Lock

_PLACE = "__derivatives__"
_MOST = 16


class _Memo:
    """The memo of one function.  `functools.wraps` copies it to other functions, for which it is empty."""

    def __init__(self, fn: Any) -> None:
        self.owner, self.made = weakref.ref(fn), OrderedDict[Any, Any]()
        #: some of `made` by short keys, for the most frequent calls
        self.short: dict[Any, Any] = {}

    def __reduce__(self) -> Any:
        return _nothing, ()


def fast_memo(fn: Any) -> dict[Any, Any] | None:
    """The part of a function's memo under short keys of the caller's; None where there is no memo."""
    place = fn.__dict__.get(_PLACE) if type(fn) is types.FunctionType else None
    return place.short if type(place) is _Memo and place.owner() is fn else None


def _nothing() -> None:
    """The memo in a copy of the function."""


_others: OrderedDict[Any, Any] = OrderedDict()
_lock = Lock()


def memoised(fn: Any, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    """What `make` gave for this function and key before, or gives now; the least recently used keys are forgotten."""
    place: Any = None
    if isinstance(fn, types.FunctionType):
        place = fn.__dict__.get(_PLACE)
        if not isinstance(place, _Memo) or place.owner() is not fn:
            place = fn.__dict__[_PLACE] = _Memo(fn)
        made = place.made
    else:
        made = _others
        same = (fn.__self__, fn.__func__) if isinstance(fn, types.MethodType) else (fn,)
        key = (*map(Identity, same), *key)
    with _lock:
        found = made.get(key)
        if found is None:
            found = made[key] = make()
            while len(made) > _MOST:
                made.popitem(last=False)
                if place is not None:
                    place.short.clear()
        else:
            made.move_to_end(key)
        return found
