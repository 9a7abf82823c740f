"""The elements of abstract values, one after the other."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from inspect import isgeneratorfunction
from itertools import islice
from typing import Any

import numpy as np

from ...errors import LoopError, SideEffectError, StaticValueError, UnsupportedSyntaxError
from ...ir.primitive import METHODS
from ...runtime.tensor import NO_ELEMENTS
from ..guards.objects import is_written
from .interpreter import ValueContext
from .lookup import taking_back, tells_of_changes
from .numpy_calls import array_subscript
from .requirements import python_method, refuse_text
from .values import ArrayVar, DictView, LocalDict, LocalList, StateVar, TensorVar, Weak, describe, usable

__all__ = ["iterate_live", "iterate_static", "iterator_of", "live_item", "unordered", "used_up"]


def iterator_of(lw: ValueContext, x: Any) -> Any:
    """What the `__iter__` of a user's object gives; x itself if it has none that can be compiled."""
    method = python_method(lw, x, "__iter__")
    if not is_written(method) or isinstance(x, Iterator) or isgeneratorfunction(method):
        return x
    result = lw.call_python(method, [x], {})
    if isinstance(result, Iterator):
        raise used_up(result)
    if not hasattr(type(result), "advance"):
        raise TypeError(f"iter() returned non-iterator of type '{type(result).__name__}'")
    return result


def iterate_live(lw: ValueContext, x: Any) -> Iterator[Any]:
    """The elements, one after the other, of a container that may change meanwhile, as Python's iterators see it."""
    x = iterator_of(lw, x)
    if isinstance(x, LocalList):
        return _live_list(lw, x)
    if hasattr(type(x), "advance"):
        return iter(x.static_items(lw))
    source = x.source if isinstance(x, DictView) else x
    if isinstance(source, LocalDict):
        return _unchanged_dict(source, x)
    if type(x) in (TensorVar, StateVar) and x.type.shape and isinstance(x.type.shape[0], int):
        return (lw.native(METHODS["__getitem__"], [x, i]) for i in range(x.type.shape[0]))
    return iter(iterate_static(lw, x))


def _live_list(lw: ValueContext, x: LocalList) -> Iterator[Any]:
    i, most = 0, len(x) + lw.options.unroll_max
    while i < len(usable(x)):
        if i == most:
            raise LoopError(f"a list grows while it is iterated over, by more than {lw.options.unroll_max} elements")
        yield x[i]
        i += 1


def live_item(x: Any, i: int) -> Any:
    """Element number i of a list, dict or view of a dict as it is now."""
    if isinstance(x, LocalList):
        return x[i]
    if isinstance(x, LocalDict):
        return next(islice(x, i, None))
    return next(islice(getattr(x.source, x.kind)(), i, None))


def _unchanged_dict(x: LocalDict, of: Any) -> Iterator[Any]:
    keys = list(x)
    for i in range(len(keys)):
        if len(usable(x)) != len(keys):
            raise RuntimeError("dictionary changed size during iteration")
        if list(x) != keys:
            raise RuntimeError("dictionary keys changed during iteration")
        yield live_item(of, i)
    if len(x) != len(keys):
        raise RuntimeError("dictionary changed size during iteration")


def unordered() -> UnsupportedSyntaxError:
    """Why the elements of a set cannot be gone through."""
    return UnsupportedSyntaxError(
        "iterating over a set has no fixed order", code="AC1105", hint="use `sorted(s)` or a tuple"
    )


def used_up(x: Any) -> SideEffectError:
    """Why an iterator from outside cannot be asked for its elements."""
    return SideEffectError(
        f"a {type(x).__name__} object that came from outside would be used up while compiling",
        code="AC1602",
        hint="make a list of it outside",
    )


def _by_numbers(lw: ValueContext, x: Any) -> list[Any]:
    """The elements of an object whose class has `__getitem__` and no `__iter__`: up to an IndexError."""
    items: list[Any] = []
    method = lw.outside.class_attribute(type(x), "__getitem__")
    while len(items) < lw.options.unroll_max:
        count = len(items)
        with contextlib.suppress(IndexError), taking_back(IndexError):
            items.append(lw.call_python(method, [x, count], {}))
        if len(items) == count:
            return items
    raise LoopError(f"a {describe(x)} gives more than {lw.options.unroll_max} elements")


def iterate_static(lw: ValueContext, x: Any) -> Iterable[Any]:
    """The elements of something whose length is known at compile time."""
    x = iterator_of(lw, x)
    if type(usable(x)) in (TensorVar, StateVar, ArrayVar):
        shape = x.type.shape
        if not shape:
            raise TypeError(NO_ELEMENTS)
        if not isinstance(shape[0], int):
            raise StaticValueError("a Tensor whose first dimension is symbolic cannot be iterated over")
        if type(x) is ArrayVar:
            return [array_subscript(lw, x, i) for i in range(shape[0])]
        return [lw.native(METHODS["__getitem__"], [x, i]) for i in range(shape[0])]
    if type(x) is Weak:
        raise TypeError(f"'{x.kind.__name__}' object is not iterable")
    refuse_text(x, "iteration")
    if isinstance(x, set | frozenset):
        raise unordered()
    if isinstance(x, dict | LocalDict):
        return list(x)
    if isinstance(x, list | tuple) and not isinstance(x, LocalList):
        return [lw.outside.item(x, i, v) for i, v in enumerate(x)]
    if hasattr(type(x), "iterate"):
        return x.iterate(lw)
    if isinstance(x, LocalList | range | str | bytes):
        return list(x)
    if isinstance(x, Iterator):
        raise used_up(x)
    if is_written(lw.outside.class_attribute(type(x), "__getitem__")):
        return _by_numbers(lw, x)
    items = list(x)
    if type(x) is np.ndarray and not x.dtype.hasobject:
        return [lw.outside.item(x, i, v) for i, v in enumerate(items)]
    watched = tells_of_changes(lw, x, "__iter__")
    lw.outside.property(x, "length", f"the length of a {type(x).__name__}", lambda: len(list(x)), watched=watched)

    def element(i: int) -> Callable[[], Any]:
        return lw.outside.part(x, items[i], lambda now: list(now)[i])

    return [
        lw.outside.read(v, ("iterate", id(x), i), f"element {i}", element(i), watched=watched)
        for i, v in enumerate(items)
    ]
