"""From the arguments of a call to the key of its compiled code: types of Tensors, values of everything else."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import DType
from ..frontend.lower import TensorArgument
from ..frontend.outside import type_of
from ..ir.build import scalar_key
from ..runtime.parameter import Parameter
from ..runtime.tensor import Tensor

__all__ = ["Identity", "Key", "described", "signature", "specification"]

Key = tuple[Any, ...]


class Identity:
    """A static object as a part of a key: equal to itself only.  It keeps the object alive, so ids stay unique."""

    __slots__ = ("obj",)

    def __init__(self, obj: Any) -> None:
        self.obj = obj

    def __eq__(self, other: object) -> bool:
        return type(other) is Identity and other.obj is self.obj

    def __hash__(self) -> int:
        return id(self.obj)


def signature(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Key, list[Tensor]]:
    """The key of a call and its dynamic leaves (the Tensors) in order."""
    leaves: list[Tensor] = []
    key: list[Any] = []
    for x in args:
        if type(x) is Tensor:  # by far the most frequent
            leaves.append(x)
            data = x._data
            key.append(data.dtype)
            key.append(data.shape)
        else:
            _add(x, key, leaves)
    for name, x in kwargs.items():
        key.append(name)
        _add(x, key, leaves)
    return tuple(key), leaves


def _add(x: Any, key: list[Any], leaves: list[Tensor]) -> None:
    kind = type(x)
    if kind in (bool, int, str, type(None), bytes, DType):
        key += (kind, x)
    elif kind is float:
        key += (float, scalar_key(x))
    elif isinstance(x, Parameter):
        key.append(Identity(x))
    elif isinstance(x, Tensor):
        leaves.append(x)
        key += (x._data.dtype, x._data.shape)
    elif isinstance(x, np.ndarray):
        tensor = Tensor.from_numpy(x)
        leaves.append(tensor)
        key += (x.dtype, x.shape, "ndarray")
    elif isinstance(x, np.generic):
        key += (kind, x.tobytes())
    elif isinstance(x, tuple | list):
        key += (kind, len(x))
        for item in x:
            _add(item, key, leaves)
    elif kind is dict:
        key += (dict, len(x))
        for name, item in x.items():
            key.append(name)
            _add(item, key, leaves)
    elif isinstance(x, slice | range):
        key += (kind, str(x))
    else:
        key.append(Identity(x))


def specification(x: Any) -> Any:
    """What the frontend is told of an argument: types for Tensors, the value itself for the rest."""
    if isinstance(x, Parameter):
        return x
    if isinstance(x, Tensor):
        return TensorArgument(type_of(x))
    if isinstance(x, np.ndarray):
        return TensorArgument(type_of(Tensor.from_numpy(x)))
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*map(specification, x))
    if isinstance(x, tuple | list):
        return type(x)(map(specification, x)) if type(x) in (tuple, list) else x
    if type(x) is dict:
        return {k: specification(v) for k, v in x.items()}
    return x


def described(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The arguments of a call as a dump's header shows them."""

    def one(x: Any) -> str:
        if isinstance(x, Tensor):
            return repr(type_of(x))
        return repr(x) if isinstance(x, bool | int | float | str | None) else type(x).__name__

    return ", ".join([*map(one, args), *(f"{k}={one(v)}" for k, v in kwargs.items())])
