"""In-place Tensor methods, each by the pure function that computes the new value: ``x.add_(y)`` by ``x + y``.

`IN_PLACE` has all of them: eager and compiled code make their methods of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import DTypeError, ShapeError
from ..ir.primitive import METHODS, REGISTRY, call, in_place, under_name
from .family import broadcast_to, cast, in_dtype, normal_axis


def fitting(name: str, old: Any, new: Any) -> Any:
    """The new value of a Tensor, which must have the old one's dtype and shape."""
    if new.dtype is not old.dtype:
        raise DTypeError(
            f"{name}() of a tensor of {old.dtype.name} would make it {new.dtype.name}", hint="cast the operand first"
        )
    if new.shape != old.shape:
        raise ShapeError(f"{name}() of a tensor of shape {list(old.shape)} would make it {list(new.shape)}")
    return new


# ------------------------------------------------------------------------------------------------ with arguments
def copy_(x: Any, src: Any, non_blocking: bool = False) -> Any:
    """The elements of `src`, cast and broadcast."""
    return broadcast_to(cast(in_dtype(src, x.dtype) if isinstance(src, int | float) else src, x.dtype), x.shape)


def fill_(x: Any, value: Any) -> Any:
    """One number everywhere."""
    value = in_dtype(value, x.dtype)
    if value.ndim:
        raise ShapeError(f"fill_() takes one number, not a tensor of shape {list(value.shape)}")
    return broadcast_to(value, x.shape)


def zero_(x: Any) -> Any:
    """0 everywhere."""
    return fill_(x, 0)


# ------------------------------------------------------------------------------------------------ by index
def index_copy_(x: Any, dim: int, index: Any, tensor: Any) -> Any:
    """x with the slices along a dimension at the positions in a vector replaced."""
    return call.scatter_update(x, index, tensor, dim)


def scatter_(x: Any, dim: int, index: Any, src: Any = None, *, reduce: str | None = None, value: Any = None) -> Any:
    """x with the elements at positions along a dimension replaced, or raised, by those of `src` or by `value`."""
    if (src is None) is (value is None):
        raise TypeError("scatter_() takes `src` or `value`")
    src = value if src is None else src
    if reduce not in (None, "none", "add"):
        raise ValueError(f"reduce must be None or 'add', not {reduce!r}")
    if isinstance(src, bool | int | float):
        src = broadcast_to(in_dtype(src, x.dtype), index.shape)
    return METHODS["scatter_add" if reduce == "add" else "scatter"](x, dim, index, src)


def put_(x: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    """x with the elements at positions of the flattened tensor replaced, or raised."""
    flat, at, given = (call.reshape(t, (-1,)) for t in (x, index, source))
    write = call.scatter_add if accumulate else call.scatter_update
    return call.reshape(write(flat, at, given, normal_axis(0, 1)), x.shape)


#: The methods by name, and what computes the new value: those that classes name, and others.
IN_PLACE: dict[str, Callable[..., Any]] = {
    name: under_name(METHODS[name.removesuffix("_")], name)
    for name in (
        *sorted(name for defn in REGISTRY.values() for name in defn.methods if in_place(name)),
        *("addmm_", "clamp_", "fill_diagonal_", "index_add_", "index_fill_", "index_put_", "masked_fill_"),
        *("masked_scatter_", "scatter_add_"),
    )
} | {
    "copy_": copy_,
    "fill_": fill_,
    "index_copy_": index_copy_,
    "put_": put_,
    "scatter_": scatter_,
    "zero_": zero_,
}
