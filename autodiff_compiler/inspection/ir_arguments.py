"""Arrays given to a program of IR: converted to the types of its arguments, or refused with the argument's name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..ir.sizes import Dim, Size, Symbol, evaluate, symbol_of, symbols_of
from ..ir.types import Seq, TensorType, Type
from ..runtime.tensor import Tensor


def _rank(number: Any) -> int:
    """The least kind of dtype that holds a number: 0 bool, 1 integer, 2 float; 3 if it is no number."""
    kinds = ((bool, np.bool_), (int, np.integer), (float, np.floating))
    return next((rank for rank, kind in enumerate(kinds) if isinstance(number, kind)), 3)


def _fitting(numbers: Any, type: TensorType, what: str) -> Any:
    """Numbers in the dtype of a type, floats as the nearest; OverflowError if one lies outside of its range."""
    wanted = type.dtype.numpy
    if type.dtype.is_int:
        low, high = np.iinfo(wanted).min, np.iinfo(wanted).max
        outside = [n for n in numbers.flat if not low <= n <= high]
    else:
        exact = numbers.astype(np.float64)
        with np.errstate(over="ignore"):
            outside = exact[np.isfinite(exact) & ~np.isfinite(exact.astype(wanted).astype(np.float64))]
    if len(outside):
        raise OverflowError(f"{what} is {type!r}, it cannot hold {outside[0]}")
    return numbers.astype(wanted)


def argument(x: Any, type: Type, what: str) -> Any:
    """An argument as an array of a type, or as a list of arrays for a sequence of Tensors."""
    if not isinstance(type, Seq) or not isinstance(type.elem, TensorType):
        return array(x, type, what)
    if not isinstance(x, list | tuple | np.ndarray):
        raise TypeError(f"{what} is {type!r}: give a list of arrays, not {x.__class__.__name__}")
    return [array(element, type.elem, f"element {i} of {what}") for i, element in enumerate(x)]


def check_open_sizes(given: Sequence[Any], inputs: Sequence[tuple[str, Type]]) -> None:
    """ValueError where a symbolic size has two values, or one outside of what its declaration says."""
    sizes = [
        (name, type, size, n)
        for x, (name, type) in zip(given, inputs, strict=True)
        if isinstance(type, TensorType)
        for size, n in zip(type.shape, x.shape, strict=True)
        if isinstance(size, Dim)
    ]
    first: dict[Dim, tuple[str, int]] = {}
    for name, type, size, n in sizes:
        other, known = first.setdefault(size, (name, n))
        if n != known:
            raise ValueError(f"{name} is {type!r}: its size {size} is {n}, but that of {other} is {known}")
    values = {s.name: n for size, (_, n) in first.items() if (s := symbol_of(size)) is not None}
    for name, type, size, n in sizes:
        wanted = evaluate(size, values) if _known(size, values) else n
        if n != wanted:
            raise ValueError(
                f"{name} is {type!r}: its size {size} is {n}, and not {wanted}, where {_said(size, first)}"
            )
        declared = symbol_of(size)
        if declared is not None and not _is_within(n, declared, values):
            most = "" if declared.high is None else f", at most {declared.high}"
            raise ValueError(f"{name} is {type!r}: its size {size} is {n}, and must be at least {declared.low}{most}")


def _is_within(n: int, symbol: Symbol, values: Mapping[str, int]) -> bool:
    high = symbol.high
    return symbol.low <= n and (high is None or not _known(high, values) or n <= evaluate(high, values))


def _known(size: Size, values: Mapping[str, int]) -> bool:
    return all(s.name in values for s in symbols_of(size))


def _said(size: Dim, first: Mapping[Dim, tuple[str, int]]) -> str:
    """``n is 3 from %x``, for each symbol of a formula."""
    names = dict.fromkeys(s.name for s in symbols_of(size))
    return ", ".join([f"{d!r} is {n} from {name}" for d, (name, n) in first.items() if repr(d) in names])


def array(x: Any, type: Type, what: str) -> Any:
    """An argument as an array of a type; numbers and lists get its dtype if that can hold them."""
    if not isinstance(type, TensorType):
        return x
    found = x._data if isinstance(x, Tensor) else np.asarray(x)
    wanted = type.dtype.numpy
    if not isinstance(x, Tensor | np.ndarray | np.generic):
        numbers = np.asarray(x, object)
        rank = max(map(_rank, numbers.flat), default=0)
        if rank <= (0 if type.dtype.is_bool else 1 if type.dtype.is_int else 2):
            found = _fitting(numbers, type, what)
    if found.dtype != wanted:
        raise TypeError(f"{what} is {type!r}, it cannot be of dtype {found.dtype}")
    sizes = type.shape
    known = [n if isinstance(size, int) else size for size, n in zip(sizes, found.shape, strict=False)]
    if len(sizes) != found.ndim or tuple(known) != sizes:
        raise ValueError(f"{what} is {type!r}, it cannot be of shape {found.shape}")
    return found
