"""Values inside of values: containers, their elements, and their leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...primitives.family import Weak
from ...runtime.records import filled_like, is_named_tuple, record_fields, with_fields
from ...runtime.tensor import Tensor
from .values import (
    ARRAY,
    ArrayVar,
    LocalDict,
    LocalList,
    LocalObject,
    LocalSet,
    NewException,
    StateVar,
    TensorVar,
    Text,
    usable,
)

__all__ = [
    "arrays_as_tensors",
    "elements",
    "flatten",
    "is_static",
    "map_leaves",
    "parts",
    "plain_copy",
    "rebuild",
    "structure",
    "with_parameters",
]


_NOT_STATIC = {TensorVar, Weak, StateVar, ArrayVar, Text, NewException, LocalObject}


def is_static(x: Any) -> bool:
    """Whether x holds nothing that is known only at run time."""
    if type(x) in _NOT_STATIC or isinstance(x, Tensor):
        return False
    if isinstance(x, tuple | list):
        return all(map(is_static, x))
    if isinstance(x, dict):
        return all(map(is_static, x.values()))
    return all(map(is_static, elements(x) or ()))


def rebuild(like: Any, items: list[Any]) -> Any:
    """A container of the class of `like` with other elements."""
    if isinstance(like, LocalList | LocalDict):
        new = LocalList(items) if isinstance(like, LocalList) else LocalDict(zip(like, items, strict=True))
        new.locked, new.marked = like.locked, like.marked
        return new
    if type(like) is LocalObject:
        named = dict(zip(sorted(like.slots), items, strict=True))
        other = LocalObject(like.cls, {name: named[name] for name in like.slots})
        other.locked = like.locked
        return other
    if type(like) is dict:
        return dict(zip(like, items, strict=True))
    if type(like) is Text:
        return Text(like.form, tuple(items), like.ways)
    if type(like) is NewException:
        n = len(like.args)
        return NewException(like.cls, tuple(items[:n]), dict(zip(like.kwargs, items[n:], strict=True)))
    if type(like) is list:
        return items
    if type(like) is tuple:
        return tuple(items)
    return filled_like(like, items) if record_fields(like) is None else with_fields(like, items)


def elements(x: Any) -> Any:
    """The elements of a container in order; None if x is a leaf."""
    if isinstance(x, tuple | list):
        return x
    if isinstance(x, dict):
        return list(type(x).values(x))  # no method of an object of the user's is looked up
    if type(x) is LocalObject:
        return [x.slots[name] for name in sorted(x.slots)]
    if type(x) is NewException:
        return [*x.args, *x.kwargs.values()]
    if type(x) is Text:
        return x.arguments
    names = record_fields(x)
    return None if names is None else [getattr(x, name) for name in names]


def plain_copy(x: Any) -> Any:
    """A static value as Python's own containers, which code of the user's may keep."""
    if isinstance(x, LocalDict):
        return {k: plain_copy(v) for k, v in x.items()}
    if isinstance(x, LocalSet):
        return set(x)
    return [plain_copy(v) for v in x] if isinstance(x, LocalList) else x


def map_leaves(fn: Callable[[Any], Any], x: Any) -> Any:
    """Applies fn to every leaf, keeping containers (rebuilt) as they are."""
    items = elements(usable(x))
    if items is None:
        return fn(x)
    return rebuild(x, [map_leaves(fn, i) for i in items])


def parts(x: Any) -> Iterator[Any]:
    """x itself and everything in it; what holds itself is not entered again."""
    yield x
    path, ways = [x], [iter(elements(x) or ())]
    while ways:
        for item in ways[-1]:
            yield item
            items = elements(item)
            if items and not any(item is holder for holder in path):
                path.append(item)
                ways.append(iter(items))
                break
        else:
            path.pop()
            ways.pop()


def flatten(x: Any) -> Iterator[Any]:
    """The leaves of a value from left to right."""
    items = elements(x)
    if items is None:
        yield x
    else:
        for i in items:
            yield from flatten(i)


def structure(x: Any) -> Any:
    """A comparable description of the containers of x (not of its leaves)."""
    if isinstance(x, dict):
        return ("dict", tuple(x), tuple(structure(v) for v in x.values()))
    if isinstance(x, tuple | list):
        kind = type(x).__qualname__ if is_named_tuple(x) else ("list" if isinstance(x, list) else "tuple")
        return (kind, tuple(structure(v) for v in x))
    if record_fields(x) is not None:
        return (type(x).__qualname__, tuple(structure(v) for v in elements(x)))
    return None


def with_parameters(x: Any) -> Any:
    """An abstract value with Parameters as the objects they are, for code that wants the object and not its value."""
    return map_leaves(lambda v: v.source if type(v) is StateVar else v, x)


def arrays_as_tensors(args: Sequence[Any]) -> list[Any]:
    """The arguments with a Tensor of its own for each ndarray of the caller: transforms of eager code make one."""
    return [TensorVar(x.value) if getattr(x, "locked", "") == ARRAY else x for x in args]
