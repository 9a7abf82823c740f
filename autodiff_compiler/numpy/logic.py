"""Predicates of elements, comparisons, and membership in a set."""

from __future__ import annotations

from typing import Any, Never

from ..dtypes import bool_
from ..errors import ShapeError
from ..ir.primitive import call
from ..ir.types import tensor
from ..keywords import answering, refuse_unknown
from ..primitives.family import broadcast_shapes, constant
from ..primitives.requirements import SymScalar, require_dtype
from .operands import dtype_named, given_tensor, operand, operands, together


# ------------------------------------------------------------------------------------------------ of numbers
def isposinf(x: Any) -> Any:
    """Which elements are inf."""
    x = given_tensor(x)
    return call.logical_and(call.isinf(x), call.greater(x, 0))


def isneginf(x: Any) -> Any:
    """Which elements are -inf."""
    x = given_tensor(x)
    return call.logical_and(call.isinf(x), call.less(x, 0))


def signbit(x: Any, dtype: Any = None) -> Any:
    """Which elements are less than 0 (-0.0 is not); `dtype` can be bool only."""
    if dtype is not None:
        require_dtype(dtype_named(dtype) is bool_, "signbit gives bools", hint="cast the result")
    return call.less(operand(x), 0)


def isscalar(element: Any) -> bool:
    """Whether something is a Python number or a text.

    >>> from autodiff_compiler import numpy as np
    >>> np.isscalar(3.1), np.isscalar(np.array(3.1))
    (True, False)
    """
    return element.__class__ is SymScalar or isinstance(element, bool | int | float | str)


def isclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """Where ``|a - b| <= atol + rtol * |b|``; nan equals nan only with `equal_nan`.

    >>> from autodiff_compiler import numpy as np
    >>> np.isclose(np.array([1.0, 2.0]), np.array([1.0, 2.1])).tolist()
    [True, False]
    """
    x, y = together(a, b)
    return call.isclose(x, y, rtol, atol, equal_nan)


@answering
def sometrue(a: Any, axis: Any = None, keepdims: bool = False, **unknown: Never) -> Any:
    """Whether any element over axes (all by default) differs from 0."""
    if unknown:
        refuse_unknown(sometrue, unknown)
    if not isinstance(keepdims, int):
        raise TypeError(f"`keepdims` must be a bool, not a {type(keepdims).__name__}")
    return call.any(call.not_equal(operand(a, "a"), 0), axis, bool(keepdims))


# ------------------------------------------------------------------------------------------------ of arrays
def _answer(value: bool) -> Any:
    return constant(value, tensor(bool_, ()))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Whether two arrays have one shape and equal elements, as a Tensor of a bool; nan equals nan with `equal_nan`.

    >>> from autodiff_compiler import numpy as np
    >>> bool(np.array_equal(np.array([1, 2]), [1, 2]))
    True
    """
    if not isinstance(equal_nan, bool):
        raise TypeError(f"`equal_nan` must be a bool, not a {type(equal_nan).__name__}")
    x, y = operands(a1, a2)
    if tuple(x.shape) != tuple(y.shape):
        return _answer(False)
    same = call.equal(x, y)
    if equal_nan:
        same = call.logical_or(same, call.logical_and(call.isnan(x), call.isnan(y)))
    return call.all(same)


def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether two arrays broadcast to equal ones, as a Tensor of a bool."""
    x, y = operands(a1, a2)
    try:
        broadcast_shapes([x.shape, y.shape])
    except ShapeError:
        return _answer(False)
    return call.all(call.equal(x, y))


def in1d(ar1: Any, ar2: Any, invert: bool = False) -> Any:
    """Which elements of `ar1`, in one dimension, are among those of `ar2`; with `invert` which are not.

    >>> from autodiff_compiler import numpy as np
    >>> np.in1d(np.array([0, 1, 2]), [0, 2]).tolist()
    [True, False, True]
    """
    x, values = operands(ar1, ar2)
    found = call.any(call.equal(call.reshape(x, (-1, 1)), call.reshape(values, (1, -1))), 1)
    return call.logical_not(found) if invert else found


def isin(element: Any, test_elements: Any, invert: bool = False) -> Any:
    """`in1d` in the shape of `element`."""
    element = operand(element, "element")
    return call.reshape(in1d(element, test_elements, invert), element.shape)
