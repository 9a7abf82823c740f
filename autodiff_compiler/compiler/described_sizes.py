"""Sizes of arguments as users describe them: `Cell.set_inputs`, `enable_dynamic`, the `input_signature` of `jit`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from ..frontend.lower import name_of_argument
from ..ir.types import Shape
from ..runtime.open_sizes import OpenSizes, Symbol
from ..runtime.tensor import Tensor
from .call_key import signature

#: For each dynamic leaf the sizes as they are described, or None.
Described: TypeAlias = list[Sequence[Any] | None]
#: The attribute of a function or Cell that has the descriptions of its arguments by their names.
DESCRIBED = "_open_arguments"


def descriptions(function: Any, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Described | None:
    """What is said of the sizes of each dynamic leaf of a call: ints, None and Symbols; None if nothing is.

    ValueError: a Tensor of another rank or size than described.
    """
    owners = (function, fn, *args[:1])
    by_name = next((one for x in owners if (one := _described(x))), None)
    if by_name is None:
        return None
    found: Described = []
    unique: dict[Any, Any] = {}
    named = [(name_of_argument(fn, i), x) for i, x in enumerate(args)] + [*kwargs.items()]
    for name, x in named:
        found += _of(name, by_name.get(name), x, unique)
    return found


def _described(x: Any) -> Mapping[str, Any] | None:
    held = getattr(x, "__dict__", None)
    found = held.get(DESCRIBED) if type(held) is dict else None
    return found if isinstance(found, dict) else None


def by_names(fn: Any, described: Sequence[Any]) -> dict[str, Any]:
    """Descriptions by the names of the parameters that they are for; TypeError if there are more or fewer."""
    return dict(inspect.signature(fn).bind(*described).arguments)


def _of(name: str, said: Any, x: Any, unique: dict[Any, Any]) -> Iterator[Sequence[Any] | None]:
    if isinstance(x, list | tuple) and isinstance(said, list | tuple) and len(x) == len(said):
        for i, (part, of_part) in enumerate(zip(x, said, strict=True)):
            yield from _of(f"{name}[{i}]", of_part, part, unique)
    elif isinstance(x, Tensor) and isinstance(said, Tensor) and isinstance(said._data, OpenSizes):
        if len(signature((x,), {})[1]) == 1:
            yield fitting(f"`{name}`", said._data.sizes, x.shape, unique)
    else:
        yield from [None] * len(signature((x,), {})[1])


def fitting(name: str, sizes: Sequence[Any] | None, shape: Shape, unique: dict[Any, Any]) -> Sequence[Any]:
    """The sizes, if the shape of an argument is as they say; `unique`: what Symbols that are unique have been."""
    if sizes is None:
        return [None] * len(shape)
    if len(sizes) != len(shape) or any(not _is_as(size, n) for size, n in zip(sizes, shape, strict=True)):
        raise ValueError(f"{name} has the shape {list(shape)}, but is described as {list(sizes)}")
    for size, n in zip(sizes, shape, strict=True):
        if isinstance(size, Symbol) and size.unique and unique.setdefault(size, n) != n:
            raise ValueError(f"{name} has the shape {list(shape)}, but {size} was {unique[size]} before")
    return sizes


def _is_as(size: Any, n: Any) -> bool:
    if size is None:
        return True
    if isinstance(size, int):
        return bool(size == n)
    within = size.min <= n and (not size.max or n <= size.max)
    return within and (n - size.remainder) % size.divisor == 0
