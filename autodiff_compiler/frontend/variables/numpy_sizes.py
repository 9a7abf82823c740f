"""NumPy's functions of sizes that only a call knows: products of a shape, arrays of such a shape, functions of one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dtypes import dtype_of
from ...ir.primitive import F, call
from ...ir.sizes import Dim
from ...primitives.family import bound_size, run_time_int
from .arithmetic import kind_of_number
from .base import variable_of
from .interpreter import ValueContext
from .structure import elements, map_leaves
from .values import ArrayVar, is_dynamic, is_parameter, is_size, is_tensor, is_union

_DEFAULT = np.dtype(np.float64)


def _zeros(shape: Any, dtype: Any = _DEFAULT) -> Any:
    return call.zeros(shape, _of_numpy(dtype))


def _ones(shape: Any, dtype: Any = _DEFAULT) -> Any:
    return call.ones(shape, _of_numpy(dtype))


def _full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    given = np.asarray(fill_value).dtype if dtype is None else dtype
    return call.full(shape, fill_value, dtype=_of_numpy(given))


def _arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = np.int64) -> Any:
    return call.arange(*((0, start) if stop is None else (start, stop)), step, dtype=_of_numpy(dtype))


def _eye(N: Any, M: Any = None, *, dtype: Any = _DEFAULT) -> Any:
    return call.eye(N, N if M is None else M, _of_numpy(dtype))


def _of_numpy(dtype: Any) -> Any:
    return dtype_of(np.dtype(dtype))


#: Functions that make arrays, as ops: of arguments other than these the sizes have to be known.
_MAKING: dict[Any, Callable[..., Any]] = {
    np.zeros: _zeros,
    np.ones: _ones,
    np.full: _full,
    np.arange: _arange,
    np.eye: _eye,
    np.identity: lambda n, dtype=_DEFAULT: _eye(n, dtype=dtype),
}


def of_sizes(fn: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A NumPy function of sizes and what is known while compiling; NotImplemented if it is none of those here."""
    if fn in _MAKING:
        filled = 1 if fn is np.full else None  # what is no size
        args = [a if i == filled else map_leaves(_bound, a) for i, a in enumerate(args)]
        kwargs = {k: a if k == "fill_value" else map_leaves(_bound, a) for k, a in kwargs.items()}
    leaves = [x for a in (*args, *kwargs.values()) for x in (elements(a) or (a,))]
    if not any(map(is_size, leaves)) or any(is_dynamic(x) or is_tensor(x) for x in leaves):
        return NotImplemented
    if fn is np.prod and len(args) == 1 and not kwargs and all(kind_of_number(x) is int for x in leaves):
        size = math.prod(leaves)
        return ArrayVar(F.size_value(size=size), np.generic) if is_size(size) else np.int64(size)
    make = _MAKING.get(fn)
    if make is not None:
        try:
            return ArrayVar(make(*args, **kwargs))
        except TypeError:  # arguments that it is not written for
            return NotImplemented
    return NotImplemented


def _bound(x: Any) -> Any:
    """The size that an int known only at run time is, also one in a Tensor; everything else as it is."""
    held = is_tensor(x) and not is_parameter(x) and not is_union(x)
    n = run_time_int(x.value) if held or (is_dynamic(x) and kind_of_number(x) is int) else None
    return x if n is None else bound_size(n)


def size_of_scalar(x: ArrayVar) -> Dim | None:
    """The size that a NumPy scalar was made of, which it is again where an int is asked for; None if it is another."""
    size: Dim | None = x.value.op.attr("size") if x.value.made_by("size_value") else None  # type: ignore[union-attr]
    return size


def as_numbers(ctx: ValueContext, args: Sequence[Any]) -> list[Any]:
    """The arguments of a function of elements, with numbers known at run time in the place of sizes."""
    return [map_leaves(lambda x: variable_of(x).beside_tensor(ctx) if is_size(x) else x, a) for a in args]
