"""The elements of abstract values, one after the other."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from inspect import isgeneratorfunction
from typing import Any

from ...errors import LoopError, SideEffectError, UnsupportedSyntaxError
from ..guards.objects import is_written
from .base import variable_of
from .interpreter import ValueContext
from .lookup import taking_back
from .requirements import python_method
from .values import DictView, LocalDict, describe, is_iterator, usable


def iterator_of(ctx: ValueContext, x: Any) -> Any:
    """What the `__iter__` of a user's object gives; x itself if it has none that can be compiled."""
    method = python_method(ctx, x, "__iter__")
    if not is_written(method) or isinstance(x, Iterator) or isgeneratorfunction(method):
        return x
    result = ctx.call_python(method, [x], {})
    if isinstance(result, Iterator):
        raise used_up(result)
    if not is_iterator(result):
        raise TypeError(f"iter() returned non-iterator of type '{type(result).__name__}'")
    return result


def iterate_live(ctx: ValueContext, x: Any) -> Iterator[Any]:
    """The elements, one after the other, of a container that may change meanwhile, as Python's iterators see it."""
    return variable_of(iterator_of(ctx, x)).live(ctx)


def iterate_static(ctx: ValueContext, x: Any) -> Iterable[Any]:
    """The elements of something whose length is known at compile time."""
    return variable_of(usable(iterator_of(ctx, x))).iterate(ctx)


def unchanged_dict(x: LocalDict, of: LocalDict | DictView) -> Iterator[Any]:
    keys = list(x)
    for i in range(len(keys)):
        if len(usable(x)) != len(keys):
            raise RuntimeError("dictionary changed size during iteration")
        if list(x) != keys:
            raise RuntimeError("dictionary keys changed during iteration")
        yield of.at(i)
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


def by_numbers(ctx: ValueContext, x: Any) -> list[Any]:
    """The elements of an object whose class has `__getitem__` and no `__iter__`: up to an IndexError."""
    items: list[Any] = []
    method = ctx.outside.class_attribute(type(x), "__getitem__")
    while len(items) < ctx.options.unroll_max:
        count = len(items)
        with contextlib.suppress(IndexError), taking_back(IndexError):
            items.append(ctx.call_python(method, [x, count], {}))
        if len(items) == count:
            return items
    raise LoopError(f"a {describe(x)} gives more than {ctx.options.unroll_max} elements")
