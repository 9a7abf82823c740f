"""Writing Parameters, in eager and in compiled code."""

from __future__ import annotations

from typing import Any

from ..eager import assign as write
from ..runtime.parameter import Parameter

__all__ = ["assign", "assign_add", "assign_sub"]


def assign(variable: Parameter, value: Any) -> Parameter:
    """Gives a Parameter a new value of its shape, and returns it; what follows reads and differentiates that value.

    Numbers fill; lower dtypes are cast.  TypeError: no Parameter, or a value of a higher dtype.  ValueError: another
    shape.

    >>> assign(Parameter([1.0, 2.0]), 3).tolist()
    [3.0, 3.0]
    """
    if not isinstance(variable, Parameter):
        raise TypeError(f"assign() changes a Parameter, not a {type(variable).__name__}")
    write(variable, value)
    return variable


def assign_add(variable: Parameter, value: Any) -> Parameter:
    """Adds to a Parameter in place, and returns it.

    >>> assign_add(Parameter([1.0, 2.0]), 1).tolist()
    [2.0, 3.0]
    """
    return assign(variable, variable + value)


def assign_sub(variable: Parameter, value: Any) -> Parameter:
    """Subtracts from a Parameter in place, and returns it.

    >>> assign_sub(Parameter([1.0, 2.0]), 1).tolist()
    [0.0, 1.0]
    """
    return assign(variable, variable - value)


# In compiled code these are state writes: the frontend knows them by these names.
for _function in (assign, assign_add, assign_sub):
    _function.__graph_name__ = _function.__name__  # type: ignore[attr-defined]
