"""From the arguments of a call to the key of its compiled code: types of Tensors, values of everything else."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from ..dtypes import DType
from ..errors import UnsupportedCallError
from ..frontend.lower import TensorArgument
from ..frontend.outside import class_attribute, type_of
from ..frontend.values import rebuild
from ..ir.build import scalar_key
from ..runtime.parameter import Parameter
from ..runtime.tensor import Tensor

__all__ = ["Identity", "Key", "described", "signature", "specification"]

Key = tuple[Any, ...]


class Identity:
    """A static object as a part of a key: equal to itself only.  It keeps the object alive, so ids stay unique.

    A bound method is a new object each time it is read: the function and the object it is bound to count.
    """

    __slots__ = ("ids", "obj")

    def __init__(self, obj: Any) -> None:
        self.obj = obj
        bound = type(obj) is MethodType or getattr(type(obj), "is_bound_method", False)
        self.ids = (id(obj.__func__), id(obj.__self__)) if bound else (id(obj),)

    def __eq__(self, other: object) -> bool:
        return type(other) is Identity and other.ids == self.ids

    def __hash__(self) -> int:
        return hash(self.ids)


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
    elif isinstance(x, dict):
        key += (kind, len(x))
        for name, item in x.items():
            key += (type(name), name)
            _add(item, key, leaves)
    elif isinstance(x, slice | range | complex):
        key += (kind, repr(x))
    elif kind in (set, frozenset):
        key.append(len(x))
        _add_static(x, tuple(x), key)
    elif kind is partial:
        _add_static(x, (x.func, x.args, x.keywords), key)
    elif is_dataclass(x) and not isinstance(x, type) and _is_value(kind):
        held = x.__dict__ if hasattr(x, "__dict__") else {f.name: getattr(x, f.name) for f in fields(x)}
        _add_static(x, (held,), key)
    else:
        key.append(Identity(x))


def _is_value(kind: type) -> bool:
    """Whether equal objects of a dataclass may stand for each other."""
    params = kind.__dataclass_params__  # type: ignore[attr-defined]
    return bool(params.frozen and params.eq)


def _add_static(x: Any, parts: tuple[Any, ...], key: list[Any]) -> None:
    """Adds an object by its parts; by identity if there are Tensors among them, which belong to this very object."""
    leaves: list[Tensor] = []
    inner: list[Any] = [type(x)]
    for part in parts:
        _add(part, inner, leaves)
    key += [Identity(x)] if leaves else inner


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
    if isinstance(x, tuple | list | dict):
        _check_container(type(x))
    if isinstance(x, tuple):
        return tuple(map(specification, x))
    if isinstance(x, list | dict):
        return rebuild(x, [specification(v) for v in (x.values() if isinstance(x, dict) else x)])
    return x


_READING = (
    *("__getitem__", "__iter__", "__len__", "__contains__", "__eq__", "__bool__", "__getattribute__"),
    *("get", "keys", "values", "items", "index", "count"),
)


def _check_container(kind: type) -> None:
    """Compiled code sees the elements of a container; UnsupportedCallError if its class shows others."""
    name = next((n for n in _READING if isinstance(class_attribute(kind, n), FunctionType)), None)
    if name is not None and not kind.__module__.startswith("collections"):
        raise UnsupportedCallError(
            f"an argument is a {kind.__name__}, which has a `{name}` of its own",
            hint="pass a plain list, tuple or dict with the elements",
        )


def described(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The arguments of a call as a dump's header shows them."""

    def one(x: Any) -> str:
        if isinstance(x, Tensor):
            return repr(type_of(x))
        return repr(x) if isinstance(x, bool | int | float | str | None) else type(x).__name__

    return ", ".join([*map(one, args), *(f"{k}={one(v)}" for k, v in kwargs.items())])
