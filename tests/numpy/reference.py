"""NumPy's answer to a call of the table: the same function, or what stands for it where name or arguments differ."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .calls import Call, D

_TYPES = {"bool": np.bool_, "bool_": np.bool_}


def _plain(x: Any) -> Any:
    if isinstance(x, D):
        return np.dtype(_TYPES.get(x.name, x.name))
    if isinstance(x, tuple | list):
        return type(x)(map(_plain, x))
    return x


def _first_appearance(x: Any, return_inverse: bool = False) -> Any:
    order = list(dict.fromkeys(x.tolist()))
    return (np.array(order), np.array([order.index(v) for v in x.tolist()])) if return_inverse else order


def _bincount(x: Any, weights: Any = None, minlength: int = 0, length: int | None = None) -> Any:
    return np.bincount(x, weights, minlength)[:length]


def _ravel_multi_index(index: Any, dims: Any, mode: str = "clip", order: str = "C") -> Any:
    return np.ravel_multi_index(tuple(index), dims, mode, order)


_OTHERS = {
    "asfarray": lambda a: np.asarray(a, float),
    "array_str": str,
    "bincount": _bincount,
    "choose": lambda a, choices, mode="clip": np.choose(a, choices, mode=mode),
    "fabs": np.abs,
    "in1d": lambda a, b, invert=False: np.isin(a, b, invert=invert).ravel(),
    "matrix_power": np.linalg.matrix_power,
    "multi_dot": np.linalg.multi_dot,
    "norm": np.linalg.norm,
    "ravel_multi_index": _ravel_multi_index,
    "select": lambda c, x, default=0: np.select(list(c), list(x), default),
    "signbit": lambda x: np.less(x, 0),
    "sometrue": np.any,
    "std": lambda x, axis=None, ddof=0, keepdims=False: np.std(x, axis, ddof=ddof, keepdims=keepdims),
    "take": lambda a, i, axis=None, mode="clip": np.take(a, i, axis, mode=mode),
    "trapz": np.trapezoid,
    "unique": _first_appearance,
    "var": lambda x, axis=None, ddof=0, keepdims=False: np.var(x, axis, ddof=ddof, keepdims=keepdims),
}


def answer(call: Call) -> Any:
    """The result of a call as NumPy has it; without `dtype`, for values are compared and dtypes recorded."""
    function = _OTHERS.get(call.name) or getattr(np, call.name)
    options = {k: _plain(v) for k, v in call.kwargs.items() if k != "dtype"}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return function(*map(_plain, call.args), **options)
