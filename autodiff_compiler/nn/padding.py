"""Padding as Cells."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..ir.primitive import call
from .arguments import choice, integer, number
from .cell import Cell


class _Pad(Cell):
    """The last dimensions padded by one width, or by two for each of them, the last dimension first."""

    _dimensions = 1
    _least: int | None = None

    def __init__(self, padding: Any) -> None:
        super().__init__()
        if not isinstance(padding, int | tuple):
            raise TypeError(f"`padding` must be an int or a tuple, not a {type(padding).__name__}")
        widths = padding if isinstance(padding, tuple) else (padding,) * 2 * self._dimensions
        if len(widths) % 2 or not 0 < len(widths) <= 2 * self._dimensions:
            raise ValueError(f"`padding` must hold two widths for each of {self._dimensions} dimensions, not {padding}")
        for width in widths:
            integer("padding", width, self._least)
        self.padding = widths


class _ConstantPad(_Pad):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = number("value", value)

    def construct(self, x: Any) -> Any:
        return ops.pad(x, self.padding, "constant", self.value)


class ConstantPad1d(_ConstantPad):
    """The last dimension padded with a number; negative widths crop.

    `padding` is one width, or (before, after).  TypeError, ValueError: what is neither.

    >>> from autodiff_compiler import Tensor
    >>> ConstantPad1d((1, 0), 9.0)(Tensor([1.0, 2.0])).tolist()
    [9.0, 1.0, 2.0]
    """


class ConstantPad2d(_ConstantPad):
    """The last 2 dimensions padded with a number; `padding` is one width, or (left, right, top, bottom)."""

    _dimensions = 2


class ConstantPad3d(_ConstantPad):
    """The last 3 dimensions padded with a number; `padding` is one width, or six, the last dimension first."""

    _dimensions = 3


class ZeroPad2d(_Pad):
    """The last 2 dimensions padded with zeros; `padding` is one width, or (left, right, top, bottom).

    >>> from autodiff_compiler import Tensor
    >>> ZeroPad2d((1, 0, 0, 1))(Tensor([[[1.0]]])).tolist()
    [[[0.0, 1.0], [0.0, 0.0]]]
    """

    _dimensions = 2

    def construct(self, x: Any) -> Any:
        return ops.pad(x, self.padding)


class _ReflectionPad(_Pad):
    _least = 0

    def construct(self, x: Any) -> Any:
        return ops.pad(x, self.padding, "reflect")


class ReflectionPad1d(_ReflectionPad):
    """The last dimension mirrored at its ends, whose elements are not repeated.

    `padding` is one width, or (before, after); ValueError: as many as there are elements, or negative ones.

    >>> from autodiff_compiler import Tensor
    >>> ReflectionPad1d((2, 1))(Tensor([[1.0, 2.0, 3.0]])).tolist()
    [[3.0, 2.0, 1.0, 2.0, 3.0, 2.0]]
    """


class ReflectionPad2d(_ReflectionPad):
    """The last 2 dimensions mirrored; `padding` is one width, or (left, right, top, bottom)."""

    _dimensions = 2


class ReflectionPad3d(_ReflectionPad):
    """The last 3 dimensions mirrored; `padding` is one width, or six, the last dimension first."""

    _dimensions = 3


class _ReplicationPad(_Pad):
    def construct(self, x: Any) -> Any:
        return ops.pad(x, self.padding, "replicate")


class ReplicationPad1d(_ReplicationPad):
    """The last dimension with its end elements repeated; `padding` is one width, or (before, after).

    >>> from autodiff_compiler import Tensor
    >>> ReplicationPad1d(1)(Tensor([[1.0, 2.0]])).tolist()
    [[1.0, 1.0, 2.0, 2.0]]
    """


class ReplicationPad2d(_ReplicationPad):
    """The last 2 dimensions with their borders repeated; `padding` is one width, or (left, right, top, bottom)."""

    _dimensions = 2


class ReplicationPad3d(_ReplicationPad):
    """The last 3 dimensions with their borders repeated; `padding` is one width, or six, the last dimension first."""

    _dimensions = 3


class Pad(Cell):
    """All dimensions padded; `paddings` holds a pair of widths for each of them, the first dimension first.

    `mode`: "CONSTANT" (zeros), "REFLECT" (mirrored, the border not repeated) or "SYMMETRIC" (the border repeated).

    >>> from autodiff_compiler import Tensor
    >>> Pad(((0, 0), (1, 2)), "SYMMETRIC")(Tensor([[1.0, 2.0]])).tolist()
    [[1.0, 1.0, 2.0, 2.0, 1.0]]
    """

    def __init__(self, paddings: Any, mode: str = "CONSTANT") -> None:
        super().__init__()
        self.mode = choice("mode", mode, ("CONSTANT", "REFLECT", "SYMMETRIC"))
        if not isinstance(paddings, tuple):
            raise TypeError(f"`paddings` must be a tuple of pairs, not a {type(paddings).__name__}")
        for pair in paddings:
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise ValueError(f"`paddings` must hold pairs of widths, not {pair!r}")
            for width in pair:
                integer("paddings", width, 0)
        self.paddings = paddings

    def construct(self, x: Any) -> Any:
        if len(self.paddings) != x.ndim:
            raise ValueError(f"{len(self.paddings)} pairs of widths do not fit an input of {x.ndim} dimensions")
        widths = tuple([width for pair in reversed(self.paddings) for width in pair])
        return ops.pad(x, widths) if self.mode == "CONSTANT" else call.mirror_pad(x, self.paddings, self.mode)
