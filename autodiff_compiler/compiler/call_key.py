"""Keys of calls: the types of Tensors, the values of everything else; and what the frontend is told of arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from ..dtypes import DType
from ..errors import UnsupportedCallError
from ..frontend.guards.objects import class_attribute, type_of
from ..frontend.lower import NumberArgument, TensorArgument
from ..frontend.variables.structure import rebuild
from ..ir.build import scalar_key
from ..ir.types import Shape, tensor
from ..runtime.mutable import Mutable, kind_of, number_given
from ..runtime.parameter import Parameter
from ..runtime.records import held_besides, is_named_tuple, record_fields, with_fields
from ..runtime.tensor import Tensor

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


#: Types whose objects have been found to count by identity; not too many, for the set keeps them alive.
_by_identity: set[type] = set()
#: Types of constants: equal values are interchangeable.
_PLAIN = frozenset((bool, int, str, type(None), bytes, DType))
#: Containers whose objects hold nothing but their elements.
_BARE = frozenset((tuple, list, dict))


def _add(x: Any, key: list[Any], leaves: list[Tensor]) -> None:
    kind = type(x)
    if kind in _by_identity:
        key.append(Identity(x))
    elif kind in _PLAIN:
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
        key += (np.ndarray, x.dtype, x.shape)  # this first: after them stands what the next argument begins with
    elif isinstance(x, np.generic):
        _add_value(x, key)
    elif isinstance(x, Mutable):
        _add_mutable(x, key, leaves)
    elif isinstance(x, tuple | list):
        key += (kind, len(x))
        for item in x:
            _add(item, key, leaves)
        if kind not in _BARE:
            _add_held(x, (), key)
    elif isinstance(x, dict):
        key += (kind, len(x))
        for name, item in x.items():
            if type(name) is str:
                key.append(name)
            else:
                _add_fixed(name, key)
            _add(item, key, leaves)
        if kind not in _BARE:
            _add_held(x, (), key)
    elif kind is partial:
        _add_static(x, (x.func, x.args, x.keywords), key)
        _add_held(x, (), key)
    elif (names := record_fields(x)) is not None:
        key.append(kind)
        for name in names:
            _add(getattr(x, name), key, leaves)
        _add_held(x, names, key)
    elif is_dataclass(x) and not isinstance(x, type) and _is_value(kind):
        held = x.__dict__ if hasattr(x, "__dict__") else {f.name: getattr(x, f.name) for f in fields(x)}
        _add_static(x, (held,), key)
    elif not _add_value(x, key):
        key.append(Identity(x))
        if len(_by_identity) < 256:
            _by_identity.add(kind)


def _add_value(x: Any, key: list[Any]) -> bool:
    """Adds an object by its parts, if compiled code sees nothing else of it; whether it is of that kind.

    Not containers whose elements compiled code sees one by one: `_add` has those.
    """
    kind = type(x)
    if kind is complex:
        key += (complex, scalar_key(x.real), scalar_key(x.imag))
    elif isinstance(x, np.generic):
        key += (kind, x.dtype, x.tobytes())
        if kind.__module__ != "numpy":
            _add_held(x, (), key)
    elif kind in (slice, range):
        key.append(kind)
        for bound in (x.start, x.stop, x.step):
            if bound is None or type(bound) is int:
                key.append(bound)
            else:
                _add_fixed(bound, key)
    elif isinstance(x, set | frozenset):
        # Nobody tells compiled code of changes of one that is an argument; others of its class may hold more.
        key += (kind, len(x)) if kind in (set, frozenset) else (kind, Identity(x), len(x))
        for item in x:
            _add_fixed(item, key)
    else:
        return False
    return True


def _add_fixed(x: Any, key: list[Any]) -> None:
    """Adds an object that compiled code gets as it is: by its value if it never changes, else by identity.

    So what compiled code reads from the object that it was compiled for is right for every other one of this key.
    """
    kind = type(x)
    if kind in _PLAIN:
        key += (kind, x)
    elif kind is float:
        key += (float, scalar_key(x))
    elif isinstance(x, tuple):
        key += (kind, len(x))
        for item in x:
            _add_fixed(item, key)
        if kind not in _BARE:
            _add_held(x, (), key)
    elif (names := record_fields(x)) is not None:
        key.append(kind)
        for name in names:
            _add_fixed(getattr(x, name), key)
        _add_held(x, names, key)
    elif isinstance(x, set) or not _add_value(x, key):
        key.append(Identity(x))


def _add_held(x: Any, named: tuple[str, ...], key: list[Any]) -> None:
    """Adds what an object of a user's class holds besides its elements, which have these names, if any."""
    held = held_besides(x, named)
    if not held:
        key.append(())
        return
    key.append(tuple([name for name, _ in held]))
    for _, value in held:
        _add_fixed(value, key)


def fixed_key(x: Any) -> Key:
    """The key of an object that compiled code gets as it is, such as an attribute of a container."""
    key: list[Any] = []
    _add_fixed(x, key)
    return tuple(key)


def _add_mutable(x: Any, key: list[Any], leaves: list[Tensor]) -> None:
    """Adds a value whose numbers count by their types only; they become leaves, as Tensors without dimensions."""
    kind = kind_of(x)
    if kind in (bool, int, float):
        key += (Mutable, kind)
        leaves.append(number_given(x, kind))
    elif isinstance(x, tuple | list):
        key += (Mutable, kind, len(x))
        for item in x:
            _add_mutable(item, key, leaves)
        if kind not in _BARE:
            _add_held(x, (), key)
    elif isinstance(x, dict):
        key += (Mutable, kind, len(x))
        for name, item in x.items():
            _add_fixed(name, key)
            _add_mutable(item, key, leaves)
        if kind not in _BARE:
            _add_held(x, (), key)
    elif (names := record_fields(x)) is not None:
        key += (Mutable, kind)
        for name in names:
            _add_mutable(getattr(x, name), key, leaves)
        _add_held(x, names, key)
    else:
        _add(x, key, leaves)


def _is_value(kind: type) -> bool:
    """Whether equal objects of a dataclass may stand for each other."""
    params = kind.__dataclass_params__  # type: ignore[attr-defined]
    return bool(params.frozen and params.eq)


def _add_static(x: Any, parts: tuple[Any, ...], key: list[Any]) -> None:
    """Adds an object by its parts; by identity, too, if it has Tensors, which belong to this very object."""
    leaves: list[Tensor] = []
    inner: list[Any] = [type(x)]
    for part in parts:
        _add(part, inner, leaves)
    key += [Identity(x), *inner, *map(Identity, leaves)] if leaves else inner


def specification(x: Any, mutable: bool = False) -> Any:
    """What the frontend is told of an argument: types for Tensors and mutable numbers, the value for the rest."""
    mutable = mutable or isinstance(x, Mutable)
    if mutable and kind_of(x) in (bool, int, float):
        return NumberArgument(kind_of(x))
    if isinstance(x, Parameter):
        return x
    if isinstance(x, Tensor):
        return TensorArgument(type_of(x), x)
    if isinstance(x, np.ndarray):
        tensor = Tensor.from_numpy(x)
        return TensorArgument(type_of(tensor), tensor, array=True)
    if isinstance(x, tuple | list | dict) and not is_named_tuple(x):
        _check_container(type(x))
    if isinstance(x, tuple):
        return rebuild(x, [specification(v, mutable) for v in x])
    if isinstance(x, list | dict):
        return rebuild(x, [specification(v, mutable) for v in (x.values() if isinstance(x, dict) else x)])
    names = record_fields(x)
    return x if names is None else with_fields(x, [specification(getattr(x, n), mutable) for n in names])


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


_NO_SHAPES: Mapping[int, Shape] = {}


def call_text(args: tuple[Any, ...], kwargs: dict[str, Any], shapes: Mapping[int, Shape] = _NO_SHAPES) -> str:
    """The arguments of a call as a dump's header shows them; `shapes`: those compiled for, by the ids of Tensors."""

    def one(x: Any) -> str:
        if isinstance(x, Tensor):
            type_ = type_of(x)
            return repr(tensor(type_.dtype, shapes.get(id(x), type_.shape)))
        if isinstance(x, Mutable):
            return f"mutable {kind_of(x).__name__}"
        return repr(x) if isinstance(x, bool | int | float | str | None) else type(x).__name__

    return ", ".join([*map(one, args), *(f"{k}={one(v)}" for k, v in kwargs.items())])
