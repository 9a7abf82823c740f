"""Derivatives along a direction as Cells: `Jvp` and `Vjp`."""

from __future__ import annotations

from typing import Any

from ..transforms.jvp import jvp
from ..transforms.vjp import vjp
from .cell import Cell


class Jvp(Cell):
    """``Jvp(fn)(*inputs, v)``: ``fn(*inputs)`` and its derivative along `v`, a Tensor or a tuple with one per input.

    >>> from autodiff_compiler import Tensor
    >>> y, t = Jvp(lambda x: x * x)(Tensor([1.0, 2.0]), Tensor([1.0, 10.0]))
    >>> y.tolist(), t.tolist()
    ([1.0, 4.0], [2.0, 40.0])
    """

    def __init__(self, fn: Any) -> None:
        super().__init__()
        self.fn = fn

    def construct(self, *args: Any) -> Any:
        """The arguments of the function, and the direction last."""
        return jvp(self.fn, args[:-1], args[-1])


class Vjp(Cell):
    """``Vjp(fn)(*inputs, v)``: ``fn(*inputs)`` and the cotangents of the inputs, given those of the output.

    `v` is a Tensor, or a tuple for several outputs.  The cotangent of a single input comes bare, several in a tuple.

    >>> from autodiff_compiler import Tensor
    >>> y, g = Vjp(lambda x: x * x)(Tensor([1.0, 2.0]), Tensor([1.0, 10.0]))
    >>> y.tolist(), g.tolist()
    ([1.0, 4.0], [2.0, 40.0])
    """

    def __init__(self, fn: Any) -> None:
        super().__init__()
        self.fn = fn

    def construct(self, *args: Any) -> Any:
        """The arguments of the function, and the cotangent of its output last."""
        output, pullback = vjp(self.fn, *args[:-1])
        found = pullback(args[-1])
        return output, (found[0] if len(found) == 1 else found)
