"""Writing Parameters, in eager and in compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Never

from ..eager import alias, assignable
from ..eager import assign as write
from ..ir.primitive import call
from ..keywords import answering, refuse_unknown
from ..runtime.parameter import Parameter
from ..runtime.precision import whole
from ..runtime.tensor import Tensor

# fmt: off
__all__ = [
    "assign", "assign_add", "assign_sub", "inplace_index_add", "scatter_add", "scatter_div", "scatter_max",
    "scatter_min", "scatter_mul", "scatter_nd_add", "scatter_nd_div", "scatter_nd_max", "scatter_nd_min",
    "scatter_nd_mul", "scatter_nd_sub", "scatter_nd_update", "scatter_update",
]
# fmt: on

_Function = Callable[..., Any]


def assign(variable: Parameter, value: Any) -> Tensor:
    """Gives a Parameter a new value of its shape; what follows reads and differentiates that value.

    Returns the value, which later changes of the Parameter leave alone.  Numbers fill; lower dtypes are cast.
    TypeError: no Parameter, or a value of a higher dtype.  ValueError: another shape.

    >>> p = Parameter([1.0, 2.0]); assign(p, 3)
    Tensor(shape=[2], dtype=Float32, value= [ 3.00000000e+00,  3.00000000e+00])
    >>> p.tolist()
    [3.0, 3.0]
    """
    variable = whole(variable)
    if not isinstance(variable, Parameter):
        raise TypeError(f"assign() changes a Parameter, not a {type(variable).__name__}")
    value = assignable(variable, value)
    write(variable, value)
    return alias(value)


def assign_add(variable: Parameter, value: Any) -> Tensor:
    """Adds to a Parameter in place, and returns its new value.

    >>> assign_add(Parameter([1.0, 2.0]), 1).tolist()
    [2.0, 3.0]
    """
    variable = whole(variable)
    return assign(variable, variable + value)


def assign_sub(variable: Parameter, value: Any) -> Tensor:
    """Subtracts from a Parameter in place, and returns its new value.

    >>> assign_sub(Parameter([1.0, 2.0]), 1).tolist()
    [0.0, 1.0]
    """
    variable = whole(variable)
    return assign(variable, variable - value)


# ------------------------------------------------------------------------------------------------ at places
def compiled_from_source(function: _Function) -> _Function:
    """Marks a function that writes Parameters or draws: compiled code interprets its source like the user's."""
    function.__graph_call__ = lambda ctx, args, kwargs: ctx.call_python(function, args, kwargs)  # type: ignore[attr-defined]
    return function


@compiled_from_source
def scatter_update(input_x: Parameter, indices: Any, updates: Any) -> Tensor:
    """Replaces the rows of a Parameter at the given positions; of a repeated one the last counts."""
    return assign(input_x, call.scatter_update(input_x, indices, updates))


@compiled_from_source
def scatter_add(input_x: Parameter, indices: Any, updates: Any) -> Tensor:
    """Adds `updates` to the rows of a Parameter at the given positions, repeatedly if repeated.

    >>> from autodiff_compiler import Tensor
    >>> scatter_add(Parameter([1.0, 2.0]), Tensor([1, 1]), Tensor([5.0, 6.0])).tolist()
    [1.0, 13.0]
    """
    return assign(input_x, call.scatter_add(input_x, indices, updates))


@compiled_from_source
def scatter_mul(input_x: Parameter, indices: Any, updates: Any) -> Tensor:
    """Multiplies the rows of a Parameter at the given positions by `updates`."""
    return assign(input_x, call.scatter_mul(input_x, indices, updates))


@compiled_from_source
def scatter_div(input_x: Parameter, indices: Any, updates: Any) -> Tensor:
    """Divides the rows of a Parameter (of floats) at the given positions by `updates`."""
    return assign(input_x, call.tensor_scatter_div(input_x, call.expand_dims(indices, -1), updates))


@compiled_from_source
def scatter_max(input_x: Parameter, indices: Any, updates: Any) -> Tensor:
    """Raises the rows of a Parameter at the given positions to `updates` at least."""
    return assign(input_x, call.scatter_max(input_x, indices, updates))


@compiled_from_source
def scatter_min(input_x: Parameter, indices: Any, updates: Any) -> Tensor:
    """Lowers the rows of a Parameter at the given positions to `updates` at most."""
    return assign(input_x, call.scatter_min(input_x, indices, updates))


@compiled_from_source
def scatter_nd_update(input_x: Parameter, indices: Any, updates: Any) -> Tensor:
    """Replaces the elements (or slices) of a Parameter at the indices in the last dimension of `indices`."""
    return assign(input_x, call.tensor_scatter_update(input_x, indices, updates))


@compiled_from_source
def scatter_nd_add(input_x: Parameter, indices: Any, updates: Any, use_locking: bool = False) -> Tensor:
    """Adds `updates` to a Parameter at the indices in the last dimension of `indices`."""
    return assign(input_x, call.tensor_scatter_add(input_x, indices, updates))


@compiled_from_source
def scatter_nd_sub(input_x: Parameter, indices: Any, updates: Any, use_locking: bool = False) -> Tensor:
    """Subtracts `updates` from a Parameter at the indices in the last dimension of `indices`."""
    return assign(input_x, call.tensor_scatter_sub(input_x, indices, updates))


@compiled_from_source
def scatter_nd_mul(input_x: Parameter, indices: Any, updates: Any, use_locking: bool = False) -> Tensor:
    """Multiplies a Parameter by `updates` at the indices in the last dimension of `indices`."""
    return assign(input_x, call.tensor_scatter_mul(input_x, indices, updates))


@compiled_from_source
def scatter_nd_div(input_x: Parameter, indices: Any, updates: Any, use_locking: bool = False) -> Tensor:
    """Divides a Parameter (of floats) by `updates` at the indices in the last dimension of `indices`."""
    return assign(input_x, call.tensor_scatter_div(input_x, indices, updates))


@compiled_from_source
def scatter_nd_max(input_x: Parameter, indices: Any, updates: Any, use_locking: bool = False) -> Tensor:
    """Raises a Parameter to `updates` at least at the indices in the last dimension of `indices`."""
    return assign(input_x, call.tensor_scatter_max(input_x, indices, updates))


@compiled_from_source
def scatter_nd_min(input_x: Parameter, indices: Any, updates: Any, use_locking: bool = False) -> Tensor:
    """Lowers a Parameter to `updates` at most at the indices in the last dimension of `indices`."""
    return assign(input_x, call.tensor_scatter_min(input_x, indices, updates))


@answering
@compiled_from_source
def inplace_index_add(var: Parameter, indices: Any, updates: Any, axis: int, **unknown: Never) -> Tensor:
    """Adds the slices of `updates` to a Parameter at the given positions along an axis."""
    if unknown:
        refuse_unknown(inplace_index_add, unknown)
    return assign(var, call.index_add(var, indices, updates, axis))


# The frontend turns calls of these, by name, into state writes.
for _function in (assign, assign_add, assign_sub):
    _function.__graph_name__ = _function.__name__  # type: ignore[attr-defined]
