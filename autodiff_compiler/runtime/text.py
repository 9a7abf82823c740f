"""How a Tensor looks as text: MindSpore's `repr`, measured on its release 2.10."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["tensor_repr"]

#: A dimension longer than twice this shows its first and last elements only.
_EDGE = 3


def tensor_repr(data: np.ndarray[Any, Any], dtype: str) -> str:
    """``Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+00,  2.00000000e+00])``."""
    shape = str(list(data.shape))
    value = f" {_scalar(data)}" if data.ndim == 0 else _block(data, _element(data))
    if data.ndim > 1:
        value = "\n" + value
    elif data.ndim == 1:
        value = " " + value
    return f"Tensor(shape={shape}, dtype={dtype}, value={value})"


def _scalar(data: np.ndarray[Any, Any]) -> str:
    return str(data.item()) if data.dtype.kind in "biu" else format(float(data), "g")


def _element(data: np.ndarray[Any, Any]) -> Callable[[Any], str]:
    """One element at the width its column has."""
    if data.dtype.kind not in "biu":  # bfloat16 is of NumPy's kind V
        spec = ">11.4e" if data.dtype.itemsize == 2 else ">15.8e"
        return lambda v: format(float(v), spec)
    if data.dtype.kind == "b":
        return lambda v: str(bool(v)).rjust(5)
    width = max((len(str(v)) for v in (int(data.min()), int(data.max()))), default=1) if data.size else 1
    return lambda v: str(int(v)).rjust(width)


def _block(data: np.ndarray[Any, Any], element: Callable[[Any], str], indent: int = 1) -> str:
    n = len(data)
    if data.ndim == 1:
        show, between, cut = element, ", ", " ... "
    else:
        show = lambda row: _block(row, element, indent + 1)  # noqa: E731
        between = "," + "\n" * (data.ndim - 1) + " " * indent
        cut = "\n" + " " * indent + "...\n" + " " * indent
    if n > 2 * _EDGE:
        first, last = data[:_EDGE], data[-_EDGE:]
        return "[" + between.join(map(show, first)) + cut + between.join(map(show, last)) + "]"
    return "[" + between.join(map(show, data)) + "]"
