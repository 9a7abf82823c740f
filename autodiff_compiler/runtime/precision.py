"""Mixed precision (`Cell.to_float`): computing in another float type than the Parameters have.

While such a Cell computes, its `self` is a *view*: an object with the same `__dict__`, whose class derives from the
Cell's.  Reads from a view are cast, writes go to the Cell.  So there is no global state, and only the Cell's own
methods see the other type, in eager and in compiled code.
"""

from __future__ import annotations

from typing import Any

from ..dtypes import DType
from ..ir.primitive import F
from .parameter import ParameterTuple
from .tensor import Tensor

__all__ = ["Cast", "child_view", "has_other_floats", "in_dtype", "is_view", "plain", "view_of", "viewed", "whole"]


class Cast(Tensor):
    """A Tensor or Parameter cast to another float type; writes to it also go to its source."""

    __slots__ = ("source",)
    source: Tensor

    def __getattr__(self, name: str) -> Any:  # a Parameter's name, requires_grad
        if name == "source":  # not set yet
            raise AttributeError(name)
        return getattr(self.source, name)


def has_other_floats(x: Any, dtype: DType) -> bool:
    """Whether x has a float type that is not `dtype`."""
    return x.dtype.is_float and x.dtype is not dtype


def in_dtype(x: Any, dtype: DType) -> Any:
    """x with all Tensors of floats in it cast; containers without any are returned as they are."""
    if isinstance(x, Tensor):
        if not has_other_floats(x, dtype):
            return x
        lower = F.cast(x, dtype=dtype)
        found = Tensor.__new__(Cast)
        found._data, found._node, found._held, found.source = lower._data, lower._node, lower._held, x
        return found
    if type(x) in (tuple, list, ParameterTuple):
        items = [in_dtype(v, dtype) for v in x]
        changed = any(a is not b for a, b in zip(items, x, strict=True))
        return (items if type(x) is list else tuple(items)) if changed else x
    if type(x) is dict:
        values = {k: in_dtype(v, dtype) for k, v in x.items()}
        return values if any(values[k] is not x[k] for k in x) else x
    return x


def plain(x: Any) -> Any:
    """x with plain Tensors in place of `Cast`s: results of a Cell have no source."""
    if type(x) is Cast:
        lower = Tensor.__new__(Tensor)
        lower._data, lower._node, lower._held = x._data, x._node, x._held
        return lower
    if type(x) in (tuple, list):
        return type(x)([plain(v) for v in x])
    return {k: plain(v) for k, v in x.items()} if type(x) is dict else x


def whole(x: Any) -> Any:
    """The source of a `Cast`; everything else itself."""
    return x.source if type(x) is Cast else x


# ------------------------------------------------------------------------------------------------ views
_classes: dict[type, type] = {}


def is_view(x: Any) -> bool:
    """Whether an object is the view of a Cell."""
    return hasattr(type(x), "_viewed_class")


def viewed(x: Any) -> Any:
    """The Cell of a view; everything else itself."""
    return x._viewed if hasattr(type(x), "_viewed_class") else x


def view_of(owner: Any, dtype: DType) -> Any:
    """The view of an object in a float type; cached in the object, so that its identity stays the same."""
    if is_view(owner):
        return owner
    kept: tuple[DType, Any] | None = owner.__dict__.get("_view")
    if kept is None or kept[0] is not dtype:
        cls = _classes.get(type(owner))
        if cls is None:
            cls = _classes[type(owner)] = _view_class(type(owner))
        view: Any = object.__new__(cls)
        object.__setattr__(view, "_viewed", owner)
        object.__setattr__(view, "_dtype", dtype)
        object.__setattr__(view, "__dict__", owner.__dict__)
        kept = owner.__dict__["_view"] = (dtype, view)
    return kept[1]


def child_view(x: Any) -> Any:
    """A Cell with a float type as the Cell around it sees it; everything else itself."""
    dtype = getattr(x, "_precision", None) if hasattr(type(x), "__graph_state__") else None
    return x if dtype is None else view_of(x, dtype)


def _view_class(cls: Any) -> type:
    own = ("_dtype", "_view", "_viewed")

    def seen(self: Any, found: Any) -> Any:
        if found.__class__ in (dict, list):  # a method may change it: no copy
            return found
        return child_view(in_dtype(found, object.__getattribute__(self, "_dtype")))

    def __getattribute__(self: Any, name: str) -> Any:
        found = cls.__getattribute__(self, name)
        return found if name in own else seen(self, found)

    members: dict[str, Any] = {
        "__slots__": ("_dtype", "_viewed"),
        "__getattribute__": __getattribute__,
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
        "_viewed_class": cls,
    }
    if hasattr(cls, "__getattr__"):
        members["__getattr__"] = lambda self, name: seen(self, cls.__getattr__(self, name))
    made: type = type(cls)(cls.__name__, (cls,), members)
    return made
