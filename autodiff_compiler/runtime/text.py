"""The `repr` of Tensors, as MindSpore writes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["tensor_repr"]

#: A dimension longer than twice this is abbreviated to so many elements at each end; a vector from `_VECTOR` on.
_EDGE = 3
_VECTOR = 1000
#: How many elements of a vector stand on one line.
_LINE, _LINE_OF_INTS = 12, 24


def tensor_repr(data: np.ndarray[Any, Any], dtype: str) -> str:
    """``Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+00,  2.00000000e+00])``."""
    shape = str(list(data.shape))
    before, value = "\n" if data.ndim > 1 else " ", ""  # there is no text for no elements
    if data.ndim == 0:
        value = _scalar(data)
    elif data.size:
        value = (_vector if data.ndim == 1 else _nested)(data, _element(data))
    return f"Tensor(shape={shape}, dtype={dtype}, value={before}{value})"


def _scalar(data: np.ndarray[Any, Any]) -> str:
    return str(data.item()) if data.dtype.kind in "biu" else format(float(data), "g")


def _element(data: np.ndarray[Any, Any]) -> Callable[[Any], str]:
    """The formatter of elements, padded to one width."""
    if data.dtype.kind == "f":
        spec = ">11.4e" if data.dtype.itemsize == 2 else ">15.8e"
        return lambda v: format(float(v), spec)
    if data.dtype.kind == "b":
        return lambda v: str(bool(v)).rjust(5)
    width = max(len(_shortest(v)) for v in _shown(data).ravel())
    return lambda v: _shortest(v).rjust(width)


def _shortest(value: Any) -> str:
    """An integer, or one of bfloat16."""
    return str(int(value)) if value.dtype.kind in "iu" else format(float(value), "g")


def _shown(data: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The elements that are not abbreviated."""
    longest = _VECTOR if data.ndim == 1 else 2 * _EDGE
    for axis, n in enumerate(data.shape):
        if n > longest:
            data = data.take([*range(_EDGE), *range(n - _EDGE, n)], axis)
    return data


def _vector(data: np.ndarray[Any, Any], element: Callable[[Any], str]) -> str:
    n = len(data)
    if n > _VECTOR:
        return _row(data, element)
    line = _LINE_OF_INTS if data.dtype.kind not in "bf" else _LINE
    parts = []
    for i, v in enumerate(data, 1):
        parts.append(element(v) + (", " if i < n else "") + ("\n " if i % line == 0 else ""))
    return "[" + "".join(parts) + "]"


def _row(data: np.ndarray[Any, Any], element: Callable[[Any], str]) -> str:
    """The last dimension, its first and last elements if it is long."""
    if len(data) <= 2 * _EDGE:
        return "[" + ", ".join(map(element, data)) + "]"
    return "[" + " ... ".join(", ".join(map(element, part)) for part in (data[:_EDGE], data[-_EDGE:])) + "]"


def _nested(data: np.ndarray[Any, Any], element: Callable[[Any], str], indent: int = 1) -> str:
    if data.ndim == 1:
        return _row(data, element)
    rows = [_nested(row, element, indent + 1) for row in _shown_rows(data)]
    new_line = "\n" + " " * indent
    if len(data) <= 2 * _EDGE:
        return "[" + f",{new_line}".join(rows) + "]"
    first, last = (f",{new_line}".join(part) for part in (rows[:_EDGE], rows[_EDGE:]))
    return f"[{first},{new_line}...{new_line}{last}]"


def _shown_rows(data: np.ndarray[Any, Any]) -> list[Any]:
    return list(data) if len(data) <= 2 * _EDGE else [*data[:_EDGE], *data[-_EDGE:]]
