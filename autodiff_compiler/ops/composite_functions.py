"""Functions over nested values, and functions chosen by the types of their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import DType
from ..runtime.tensor import Tensor
from .state import compiled_from_source
from .user_functions import Partial

__all__ = ["HyperMap", "Map", "MultitypeFuncGraph", "partial"]

partial = Partial()


# ------------------------------------------------------------------------------------------------ nested values
@compiled_from_source
def _alike(args: tuple[Any, ...]) -> None:
    for other in args[1:]:
        if not isinstance(other, (tuple, list)) or len(other) != len(args[0]):
            raise ValueError("the arguments must be tuples or lists of one structure")


@compiled_from_source
def _map(fn: Any, reverse: bool, args: tuple[Any, ...]) -> Any:
    _alike(args)
    order = range(len(args[0]))
    found = [fn(*[a[i] for a in args]) for i in (reversed(order) if reverse else order)]
    return tuple(reversed(found)) if reverse else tuple(found)


@compiled_from_source
def _hyper_map(fn: Any, reverse: bool, args: tuple[Any, ...]) -> Any:
    if not isinstance(args[0], (tuple, list)):
        return fn(*args)
    _alike(args)
    order = range(len(args[0]))
    found = [_hyper_map(fn, reverse, tuple([a[i] for a in args])) for i in (reversed(order) if reverse else order)]
    return tuple(reversed(found)) if reverse else tuple(found)


class HyperMap:
    """Applies a function to the leaves of nested tuples and lists of one structure; the result is made of tuples.

    ``HyperMap(fn)(*trees)`` or ``HyperMap()(fn, *trees)``; with `reverse` the last leaf comes first.  ValueError: the
    structures differ.

    >>> HyperMap(lambda a, b: a + b)((1, (2, 3)), (10, [20, 30]))
    (11, (22, 33))
    """

    _walk: Callable[..., Any] = staticmethod(_hyper_map)

    def __init__(self, ops: Callable[..., Any] | None = None, reverse: bool = False) -> None:
        if ops is not None and not callable(ops):
            raise TypeError(f"{type(self).__name__}() takes a function, not a {type(ops).__name__}")
        self.ops, self.reverse = ops, reverse

    def __call__(self, *args: Any) -> Any:
        fn, trees = self._function(args)
        return type(self)._walk(fn, self.reverse, trees)

    def _function(self, args: Any) -> tuple[Any, tuple[Any, ...]]:
        fn, trees = (args[0], args[1:]) if self.ops is None else (self.ops, args)
        if not trees:
            raise TypeError(f"{type(self).__name__} has nothing to apply the function to")
        return fn, tuple(trees)

    def __graph_call__(self, ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        fn, trees = self._function(args)
        return ctx.call(type(self)._walk, [fn, self.reverse, trees], kwargs)


class Map(HyperMap):
    """Applies a function to the elements of tuples or lists of one length; the result is a tuple.

    >>> Map(lambda a, b: a + b)((1, 2), [10, 20])
    (11, 22)
    """

    _walk = staticmethod(_map)


# ------------------------------------------------------------------------------------------------ choice by types
_OF_NUMBERS: dict[str, tuple[type, ...]] = {
    "Number": (int, float, bool),
    "Bool": (bool,),
    "Int": (int,),
    "Int64": (int,),
    "Float": (float,),
    "Float32": (float,),
}
_OF_OTHERS: dict[str, tuple[type, ...]] = {
    "String": (str,),
    "Tuple": (tuple,),
    "List": (list,),
    "Dictionary": (dict,),
    "Slice": (slice,),
    "None": (type(None),),
    "TypeNone": (type(None),),
    "NoneType": (type(None),),
    "Ellipsis": (type(...),),
    "Type": (DType,),
}
#: Types of MindSpore's that this package does not have, so that no value is of them.
_NOTHING = {
    "RowTensor", "COOTensor", "CSRTensor", "MapTensor", "EnvType", "UndeterminedType", "Problem", "Keyword", "Func",
    "UInt", "Int8", "Int16", "Int32", "UInt8", "UInt16", "UInt32", "UInt64", "Float16", "Float64", "BFloat16",
}  # fmt: skip


class MultitypeFuncGraph:
    """A function with an implementation for each combination of argument types, which `register` adds.

    Types are named "Tensor", "Number", "Bool", "Int", "Float", "String", "Tuple", "List", "Dictionary", "Function",
    "Slice", "None", or given: a Python class, a dtype (a number of its kind).  The first that fits is called; a single
    implementation is called without a check.  `read_value` is accepted and changes nothing.

    TypeError: none fits.  ValueError: an unknown type.

    >>> add = MultitypeFuncGraph("add")
    >>> @add.register("Number", "Number")
    ... def add_numbers(x, y):
    ...     return x + y
    >>> @add.register("Tuple", "Number")
    ... def add_to_tuple(x, y):
    ...     return tuple([v + y for v in x])
    >>> add(1, 2), add((1, 2), 3)
    (3, (4, 5))
    """

    def __init__(self, name: str, read_value: bool = False) -> None:
        self.name = name
        self.entries: list[tuple[tuple[Any, ...], Callable[..., Any]]] = []

    def register(self, *type_names: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorates the implementation for arguments of these types."""
        kinds = tuple(map(_comparable_type, type_names))

        def add(fn: Callable[..., Any]) -> Callable[..., Any]:
            self.entries.append((kinds, fn))
            return fn

        return add

    def __call__(self, *args: Any) -> Any:
        return self._chosen(args, isinstance)(*args)

    def __graph_call__(self, ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        entries = self.entries
        ctx.outside.property(self, "len", f"the implementations of {self.name}", lambda: len(entries))
        chosen = self._chosen(args, lambda x, kinds: ctx.call(isinstance, [x, kinds], {}))
        return ctx.call(chosen, args, kwargs)

    def _chosen(self, args: Any, is_a: Callable[[Any, Any], bool]) -> Callable[..., Any]:
        if len(self.entries) == 1:
            return self.entries[0][1]
        for kinds, fn in self.entries:
            if len(kinds) == len(args) and all(_fits(x, kind, is_a) for x, kind in zip(args, kinds, strict=True)):
                return fn
        known = "; ".join(f"({', '.join(map(_shown, kinds))})" for kinds, _ in self.entries) or "none"
        raise TypeError(f"no implementation of {self.name} takes these {len(args)} arguments; there is {known}")

    def __repr__(self) -> str:
        return f"MultitypeFuncGraph({self.name!r})"


def _comparable_type(given: Any) -> Any:
    """A type in comparable form: a tuple of classes, "Tensor" or "Function"; () for one that no value has."""
    if given is None:
        return (type(None),)
    if isinstance(given, DType):
        return (bool,) if given.is_bool else (int,) if given.is_int else (float,)
    if isinstance(given, type):
        return "Tensor" if issubclass(given, Tensor) else (given,)
    name = "None" if given is None else str(given)
    if name in ("Tensor", "Ref", "Parameter") or name.startswith("Tensor["):
        return "Tensor"
    if name in ("Function", "function"):
        return "Function"
    if name in _NOTHING:
        return ()
    found = _OF_NUMBERS.get(name) or _OF_OTHERS.get(name)
    if found is None:
        known = ["Tensor", "Function", *_OF_NUMBERS, *_OF_OTHERS]
        raise ValueError(f"there is no type {name!r} to register for; there are {', '.join(known)}")
    return found


def _fits(x: Any, kind: Any, is_a: Callable[[Any, Any], bool]) -> bool:
    if kind == "Tensor":
        return is_a(x, Tensor)
    if kind == "Function":
        return callable(x) and not is_a(x, Tensor)
    if not kind:
        return False
    if bool in kind or not is_a(x, bool):
        return is_a(x, kind) and not is_a(x, np.generic)
    return False


def _shown(kind: Any) -> str:
    return kind if isinstance(kind, str) else " or ".join(k.__name__ for k in kind) or "nothing"
