"""Tensor methods whose parameters have other names in MindSpore than those of the functions behind them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtypes import dtype_of
from ..ir.primitive import METHODS
from .family import cast

__all__: list[str] = []

#: The methods with the arguments of their functions.
_PLAIN = dict(METHODS)


def _with_other(name: str) -> Callable[..., Any]:
    return lambda x, other: _PLAIN[name](x, other)


def _flip(x: Any, *axes: Any, dims: Any = None) -> Any:
    return _PLAIN["flip"](x, *axes) if dims is None else _PLAIN["flip"](x, dims)


def _softmax(x: Any, axis: int = -1, dtype: Any = None) -> Any:
    return _PLAIN["softmax"](x if dtype is None else cast(x, dtype_of(dtype)), axis)


def _triangular_solve(x: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False) -> Any:
    return _PLAIN["triangular_solve"](x, A, upper, transpose, unitriangular)


_METHODS: dict[str, Callable[..., Any]] = {
    name: _with_other(name)
    for name in (
        *("bitwise_left_shift", "bitwise_right_shift", "copysign", "equal", "float_power", "fmax", "fmin", "hypot"),
        *("igamma", "igammac", "inner", "lcm", "ldexp", "nextafter"),
        *("arctan2", "atan2", "bitwise_and", "bitwise_or", "bitwise_xor", "dot", "eq", "floor_divide", "fmod", "gcd"),
        *("ge", "greater", "greater_equal", "gt", "le", "less", "less_equal", "logaddexp", "logaddexp2"),
        *("logical_and", "logical_or", "logical_xor", "lt", "maximum", "minimum", "ne", "not_equal", "true_divide"),
        "xlogy",
    )
} | {
    "addr": lambda x, vec1, vec2, beta=1, alpha=1: _PLAIN["addr"](x, vec1, vec2, beta=beta, alpha=alpha),
    "approximate_equal": lambda x, other, tolerance=1e-05: _PLAIN["approximate_equal"](x, other, tolerance),
    "astype": lambda x, dtype, copy=True: _PLAIN["astype"](x, dtype),
    "bmm": lambda x, mat2: _PLAIN["bmm"](x, mat2),
    "cholesky_solve": lambda x, input2, upper=False: _PLAIN["cholesky_solve"](x, input2, upper),
    "cross": lambda x, other, dim=None: _PLAIN["cross"](x, other, dim),
    "cumprod": lambda x, dim, dtype=None: _PLAIN["cumprod"](x, dim, dtype),
    "flip": _flip,
    "ger": lambda x, vec2: _PLAIN["ger"](x, vec2),
    "lstsq": lambda x, A: _PLAIN["lstsq"](x, A),
    "lu_solve": lambda x, LU_data, LU_pivots: _PLAIN["lu_solve"](x, LU_data, LU_pivots),
    "multiply": lambda x, value: _PLAIN["multiply"](x, value),
    "orgqr": lambda x, input2: _PLAIN["orgqr"](x, input2),
    "ormqr": lambda x, input2, input3, left=True, transpose=False: (
        _PLAIN["ormqr"](x, input2, input3, left, transpose)
    ),
    "reverse_sequence": lambda x, seq_lengths, seq_dim=0, batch_dim=0: (
        _PLAIN["reverse_sequence"](x, seq_lengths, seq_dim, batch_dim)
    ),
    "searchsorted": lambda x, v, side="left", sorter=None: _PLAIN["searchsorted"](x, v, side, sorter),
    "softmax": _softmax,
    "swapdims": lambda x, dim0, dim1: _PLAIN["swapdims"](x, dim0, dim1),
    "top_k": lambda x, k, sorted=True: _PLAIN["top_k"](x, k, sorted=sorted),
    "triangular_solve": _triangular_solve,
}  # fmt: skip
for _name, _method in _METHODS.items():
    _method.__name__ = _method.__qualname__ = _name
    _method.__doc__ = _PLAIN[_name].__doc__
    METHODS[_name] = _method
