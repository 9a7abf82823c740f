"""Snapshots of what a call captures besides its arguments: attributes, closures and named globals."""

from __future__ import annotations

import functools
import sys
import types
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..dtypes import DType
from ..runtime.device_array import DeviceArray
from ..runtime.tensor import Array, Tensor

_PACKAGE = __name__.partition(".")[0]
_LIBRARIES = frozenset({_PACKAGE, "numpy", "scipy", "ml_dtypes", "builtins"}) | sys.stdlib_module_names
#: Attributes in which a Cell caches.
_NOTES = frozenset({"_recorded", "_view", "_compiled", "_fast"})
_ATOMS = (type(None), bool, int, float, complex, str, bytes, range, DType, np.dtype, np.generic, type(Ellipsis), slice)
_CALLED = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, np.ufunc, property)


def checksum(array: Array) -> int:
    """A fingerprint of the elements (CRC-32)."""
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def content(array: Any) -> object:
    """The fingerprint of an array's elements; of one on a device the identity of its memory."""
    return array.memory if isinstance(array, DeviceArray) else checksum(array)


def snapshot(roots: Iterable[Any]) -> tuple[list[Any], list[Any]] | None:
    """A snapshot of the objects reachable from `roots`, to be compared; and the objects, so that their ids stay taken.

    None: an object is reachable whose parts cannot be read.
    """
    shown, kept = [], []
    for x, parts in reached(roots):
        if parts is None:
            return None
        array = x._data if isinstance(x, Tensor) else x if isinstance(x, np.ndarray) else None
        held = [*map(id, parts)] if array is None else [array.dtype, array.shape, content(array)]
        shown.append((id(x), held))
        kept.append((x, parts, array))
    return shown, kept


def reached(roots: Iterable[Any]) -> Iterator[tuple[Any, tuple[Any, ...] | None]]:
    """Every reachable object, once, and its parts; None for those of an object whose parts cannot be read."""
    seen: set[int] = set()
    stack = list(roots)
    while stack:
        x = stack.pop()
        if id(x) in seen:
            continue
        seen.add(id(x))
        parts = None if isinstance(x, np.ndarray) and x.dtype.hasobject else _parts(x)
        yield x, parts
        stack.extend(reversed(parts or ()))


def _parts(x: Any) -> tuple[Any, ...] | None:
    if isinstance(x, (*_ATOMS, *_CALLED, Tensor, np.ndarray)):
        return ()
    if isinstance(x, dict):
        return (*x.keys(), *x.values(), *_attributes(x))
    if isinstance(x, list | tuple | set | frozenset):
        return (*x, *_attributes(x))
    if isinstance(x, types.FunctionType):
        return _of_function(x)
    if isinstance(x, types.MethodType):
        return x.__func__, x.__self__
    if isinstance(x, functools.partial):
        return x.func, x.args, x.keywords
    if isinstance(x, staticmethod | classmethod):
        return (x.__func__,)
    if isinstance(x, types.ModuleType):
        return ()
    compiled_from = type(x).__dict__.get("__compiled_from__")
    if compiled_from is not None:  # not what it was compiled to
        return tuple([getattr(x, name) for name in compiled_from])
    if isinstance(x, type):
        return () if _of_library(x.__module__) else _of_class(x)
    if not isinstance(getattr(x, "__dict__", None), dict) or type(x).__module__ == "builtins":
        return None
    return (type(x), *_attributes(x))


def _attributes(x: Any) -> tuple[Any, ...]:
    own = {k: v for k, v in getattr(x, "__dict__", {}).items() if k not in _NOTES}
    slots = [n for c in type(x).__mro__ for n in _names(c.__dict__.get("__slots__", ()))]
    return (*own.keys(), *own.values(), *[getattr(x, n) for n in slots if n != "__weakref__" and hasattr(x, n)])


def _names(slots: Any) -> tuple[str, ...]:
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _of_class(cls: type) -> tuple[Any, ...]:
    own = [v for k, v in vars(cls).items() if not k.startswith(("__", "_abc_")) and not _is_descriptor(v)]
    getters = [v.fget for v in vars(cls).values() if isinstance(v, property)]
    return (*own, *getters, *cls.__bases__)


def _is_descriptor(x: Any) -> bool:
    return isinstance(x, types.MemberDescriptorType | types.GetSetDescriptorType)


def _of_function(fn: types.FunctionType) -> tuple[Any, ...]:
    if _of_library(fn.__module__):
        return tuple(_contents(fn))
    names = _code_names(fn.__code__)
    named = [fn.__globals__[n] for n in sorted(names) if n in fn.__globals__]
    of_modules = [
        vars(m)[n]
        for m in named
        if isinstance(m, types.ModuleType) and not _of_library(m.__name__)
        for n in sorted(names)
        if n in vars(m)
    ]
    return (*_contents(fn), *(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values(), *named, *of_modules)


def _contents(fn: types.FunctionType) -> Iterator[Any]:
    for cell in fn.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not assigned yet
            continue


def _code_names(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            names |= _code_names(inner)
    return names


def _of_library(module: str | None) -> bool:
    return (module or "").partition(".")[0] in _LIBRARIES
