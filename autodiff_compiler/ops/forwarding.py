"""Functions of `ops` that only apply a primitive, under MindSpore's names of the operands."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ..ir.primitive import METHODS, OPERATORS, call, trace
from ..runtime.tensor import Tensor

__all__ = ["binary", "unary"]

_Function = Callable[..., Any]


def unary(name: str, operand: str = "input") -> _Function:
    """The function of one operand, "input", "x" or "input_x", that applies the primitive `name`."""
    public = getattr(call, name)

    def of_input(input: Any) -> Any:
        return public(input)

    def of_x(x: Any) -> Any:
        return public(x)

    def of_input_x(input_x: Any) -> Any:
        return public(input_x)

    return _named({"input": of_input, "x": of_x, "input_x": of_input_x}[operand], name)


def binary(name: str, operand: str = "input") -> _Function:
    """The function of two operands that applies the primitive `name` to their common dtype and shape.

    They are called `input` and `other`, or `x` and `y`.
    """
    public, sign = getattr(call, name), _operator(name)

    def of_input(input: Any, other: Any) -> Any:
        return public(input, other)

    def of_x(x: Any, y: Any) -> Any:
        return public(x, y)

    def of_tensors(input: Any, other: Any) -> Any:
        if trace.builder is None and isinstance(input, Tensor) and isinstance(other, Tensor):
            return sign(input, other)  # type: ignore[misc]  # the same, by a fast path
        return public(input, other)

    return _named({"input": of_input if sign is None else of_tensors, "x": of_x}[operand], name)


def _operator(name: str) -> _Function | None:
    """Python's operator that applies the primitive `name`; None if there is none."""
    public = getattr(call, name)
    slot = next((s for s in OPERATORS if METHODS.get(f"__{s}__") is public), None)
    return None if slot is None else getattr(operator, f"__{slot}__")


def _named(function: _Function, name: str) -> _Function:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = getattr(call, name).__doc__
    function.__module__ = __package__  # where pickle finds it
    return function
