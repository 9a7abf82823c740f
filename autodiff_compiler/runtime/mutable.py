"""`mutable`: values that compiled code specialises on by type only, so that other values do not recompile."""

from __future__ import annotations

import functools
from collections import OrderedDict
from typing import Any

import numpy as np

from ..dtypes import DType, bool_, float64, int64
from ..errors import UnsupportedSyntaxError
from .records import record_fields
from .tensor import Tensor, wrap

__all__ = ["NUMBER_DTYPE", "Mutable", "kind_of", "mutable", "number_given", "plain", "too_great"]


class Mutable:
    """The mark: a mixin of subclasses of the values' own classes, so that eager code does not notice it."""

    __slots__ = ()

    def __reduce__(self) -> Any:
        return mutable, (plain(self),)


@functools.lru_cache(256)
def _marked(cls: type) -> type:
    """The marked subclass of a class; it goes by the same name."""
    space = {"__slots__": (), "__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
    return type(cls.__name__, (Mutable, cls), space)


def kind_of(x: Any) -> type:
    """The class of a value without the mark."""
    cls = type(x)
    return cls.__mro__[2] if isinstance(x, Mutable) else cls


def plain(x: Any) -> Any:
    """A value without the mark."""
    if not isinstance(x, Mutable):
        return x
    cls: Any = kind_of(x)
    if record_fields(x) is not None:
        return _record(cls, x)
    return cls._make(x) if hasattr(cls, "_make") else cls(x)


def _record(cls: Any, x: Any) -> Any:
    """The same fields in an object of another class; its `__init__` does not run."""
    made = object.__new__(cls)
    held = {name: getattr(x, name) for name in record_fields(x) or ()} | getattr(x, "__dict__", {})
    for name, value in held.items():
        object.__setattr__(made, name, value)
    return made


def mutable(input_data: Any, dynamic_len: bool = False) -> Any:
    """A number whose value, or a list, tuple, dict or frozen dataclass whose numbers, compiled code does not depend on.

    As an argument of compiled code (also inside of other arguments) its numbers are known at run time only: other
    values of the same types run the same program.  In compiled code itself, ``mutable(n)`` makes a number of compile
    time one of run time.  An int of run time has 64 bits and wraps around where Python's would grow; one given to a
    call that does not fit is an OverflowError.  Eager code sees the value itself; what it computes from it is a plain
    value.  `grad` gives the gradient by a mutable container in the container's structure.

    A bool, of which there are but two, and a Tensor, which compiled code knows by its type anyway, are returned as they
    are.  TypeError: anything else.  UnsupportedSyntaxError (AC1103): `dynamic_len`.

    >>> from autodiff_compiler import Tensor, jit
    >>> scaled = jit(lambda x, k: x * k)
    >>> [scaled(Tensor([1.0, 2.0]), mutable(k)).tolist() for k in (2, 3)], scaled.cache_info()["compiles"]
    ([[2.0, 4.0], [3.0, 6.0]], 1)
    """
    if dynamic_len:
        raise UnsupportedSyntaxError(
            "`mutable` with dynamic_len=True: a list or tuple of a length known only at run time is not supported",
            hint="pass a Tensor, or a list of fixed length and how many of its elements count",
        )
    if isinstance(input_data, bool | Tensor | Mutable):
        return input_data
    cls: Any = type(input_data)
    if cls in (int, float, list, tuple, dict, OrderedDict):
        return _marked(cls)(input_data)
    if isinstance(input_data, tuple) and hasattr(cls, "_make"):
        return _marked(cls)._make(input_data)  # type: ignore[attr-defined]
    if record_fields(input_data) is not None:
        return _record(_marked(cls), input_data)
    raise TypeError(
        "`input_data` of mutable must be a number, a Tensor, a tuple, a list, a dict or a frozen dataclass, "
        f"not a{'n' * (cls.__name__[0] in 'aeiouAEIOU')} {cls.__name__}"
    )


mutable.__graph_name__ = "mutable"  # type: ignore[attr-defined]


NUMBER_DTYPE: dict[type, DType] = {bool: bool_, int: int64, float: float64}


def number_given(x: Any, kind: type, what: str = "") -> Tensor:
    """A Python number as a program's argument; `what`: where it comes from, if it is no argument of the user's."""
    try:
        return wrap(np.asarray(x, NUMBER_DTYPE[kind].numpy))
    except OverflowError:
        raise too_great(x, what) from None


def too_great(x: Any, what: str = "") -> OverflowError:
    """The error for an int that a number known only at run time cannot be."""
    from_where = f": it is {what}, which compiled code changes" if what else ""
    return OverflowError(f"{x} does not fit into 64 bits, the size of an int known only at run time{from_where}")
