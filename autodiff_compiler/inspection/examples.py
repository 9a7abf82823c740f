"""Example objects: instances like those that library calls return, to look up what such a name supports."""

from __future__ import annotations

import collections
import functools
import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..runtime.parameter import Parameter
from ..runtime.tensor import Tensor

__all__ = ["CONTAINERS", "example"]

#: The containers that displays, comprehensions and calls of these classes make.
CONTAINERS: dict[str, Any] = {"list": [], "dict": {}, "set": set()}
_ARRAYS = ("array", "zeros", "ones", "full", "eye", "arange", "linspace", "zeros_like", "ones_like", "full_like")


def example(maker: Any) -> Any:
    """An object of the class that calls of a function or class give; None where that is not known.

    Nothing that a user wrote is called.

    >>> type(example(np.random.default_rng)).__name__
    'Generator'
    """
    if isinstance(maker, type) and issubclass(maker, Tensor):
        return _tensor(maker)
    try:
        make = _makers().get(maker)
    except TypeError:  # unhashable
        return None
    return None if make is None else make()


def _tensor(cls: type) -> Any:
    return Parameter(Tensor(0.0), name="example") if issubclass(cls, Parameter) else Tensor(0.0)


@functools.cache
def _makers() -> dict[Any, Callable[[], Any]]:
    """What makes an example, by what users call."""
    drawing = (np.random.default_rng, np.random.RandomState, random.Random)
    holding = (collections.deque, collections.Counter, collections.OrderedDict, collections.defaultdict)
    found: dict[Any, Callable[[], Any]] = dict.fromkeys([getattr(np, n) for n in _ARRAYS], lambda: np.zeros(1))
    return found | {fn: fn for fn in (*drawing, *holding, threading.Lock, threading.RLock)}
