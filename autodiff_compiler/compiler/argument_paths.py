"""Where the Tensors and run-time numbers among the arguments of a call stand: in which argument, under which keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from ..frontend.lower import NumberArgument, TensorArgument
from ..runtime.records import is_named_tuple, record_fields

#: The number of an argument, then the keys of containers; of records and NamedTuples each a `Field`.
Path: TypeAlias = tuple[Any, ...]


class Field(str):
    """The name of an attribute, as a key."""

    __slots__ = ()


def paths_of(spec: Any, here: Path = ()) -> Iterator[Path]:
    """The paths of the leaves that only run time knows, in order."""
    if isinstance(spec, TensorArgument | NumberArgument):
        yield here
        return
    names = spec._fields if is_named_tuple(spec) else record_fields(spec)
    if names is not None:
        for i, name in enumerate(names):
            key = i if name == f"_{i}" and is_named_tuple(spec) else Field(name)  # it has no name, but a number
            yield from paths_of(getattr(spec, name), (*here, key))
    elif isinstance(spec, list | tuple | dict):
        for key, part in spec.items() if isinstance(spec, dict) else enumerate(spec):
            yield from paths_of(part, (*here, key))


def spelled(name: str, keys: Sequence[Any]) -> str:
    """A part of an argument as the user writes it: ``p.w[0]``."""
    return name + "".join(f".{key}" if isinstance(key, Field) else f"[{key!r}]" for key in keys)
