"""Activation functions as Cells; those that only call a function are rows of `surface.cells`."""

from __future__ import annotations

from typing import Any

from .. import nn, ops
from ..common.initializer import initializer
from ..dtypes import float32
from ..runtime.parameter import Parameter
from ..runtime.tensor import Tensor
from .arguments import integer, number
from .cell import Cell
from .layer import Layer


class CELU(Layer, parameters="alpha: number = 1.0"):
    """x where it is positive, else alpha * (exp(x / alpha) - 1); ValueError: alpha is 0."""

    def _make(self) -> None:
        if self.alpha == 0:
            raise ValueError("`alpha` must not be 0")

    def construct(self, x: Any) -> Any:
        return ops.celu(x, self.alpha)


class PReLU(Layer, parameters="channel: positive = 1, w=0.25"):
    """x where it is positive, else w * x, with a trained `w`: one for all, or one per channel (axis 1).

    `w` starts with a number, or with a list or Tensor [channel].  ValueError: `channel` is not positive, or `w` has
    another shape.

    >>> from autodiff_compiler import Tensor
    >>> PReLU()(Tensor([-4.0, 4.0])).tolist()
    [-1.0, 4.0]
    """

    w: Any

    def _make(self, w: Any) -> None:
        if isinstance(w, list):
            w = Tensor(w, float32)
        if not isinstance(w, Tensor):
            number("w", w)
        elif w.shape != (self.channel,):
            raise ValueError(f"`w` must have the shape [{self.channel}], not {list(w.shape)}")
        # MindSpore 2.10: the weight `w` is called "a" in checkpoints.
        self.w = Parameter(initializer(w, (self.channel,), w.dtype if isinstance(w, Tensor) else float32), name="a")

    def construct(self, x: Any) -> Any:
        return ops.prelu(x, self.w)


class RReLU(Layer, parameters="lower: number = 0.125, upper: number = 1 / 3"):
    """x where it is positive, else x times a random slope from `lower` to `upper`; ValueError if lower > upper."""

    lower: Any  # MindSpore's attribute, a number: it hides the method `lower`, so use `jit(cell).lower`

    def _make(self) -> None:
        if self.lower > self.upper:
            raise ValueError(f"`lower` must not be greater than `upper`, but {self.lower} > {self.upper}")

    def construct(self, x: Any) -> Any:
        return ops.rrelu(x, self.lower, self.upper)


class Hardtanh(Layer, parameters="min_val: number = -1.0, max_val: number = 1.0"):
    """x between two bounds; ValueError if min_val > max_val."""

    def _make(self) -> None:
        if self.min_val > self.max_val:
            raise ValueError(f"`min_val` must not be greater than `max_val`, but {self.min_val} > {self.max_val}")

    def construct(self, x: Any) -> Any:
        return ops.hardtanh(x, self.min_val, self.max_val)


class Softmax(Layer, parameters="axis=-1"):
    """exp(x) divided by its sum along an axis, an int or a tuple of one.

    >>> from autodiff_compiler import Tensor
    >>> Softmax()(Tensor([[0.0, 0.0], [1.0, 1.0]])).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """

    def _make(self, axis: Any) -> None:
        self.axis = integer("axis", axis[0] if isinstance(axis, tuple) and len(axis) == 1 else axis)

    def construct(self, x: Any) -> Any:
        return ops.softmax(x, self.axis)


# ------------------------------------------------------------------------------------------------ by name
#: The classes by the names that `get_activation` takes.
# fmt: off
_BY_NAME = {"fast_gelu": "FastGelu"} | {name.lower(): name for name in (
    "CELU", "ELU", "GELU", "GLU", "HShrink", "HSigmoid", "HSwish", "Hardtanh", "LeakyReLU", "LogSigmoid", "LogSoftmax",
    "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SeLU", "SiLU", "Sigmoid", "SoftShrink", "Softmax", "Softmax2d",
    "Softmin", "Softplus", "Softsign", "Tanh", "Tanhshrink",
)}
# fmt: on


def get_activation(name: str, prim_name: str | None = None) -> Cell | None:
    """A new activation Cell by its name; None for an empty name, KeyError for an unknown one.

    >>> get_activation("relu")
    ReLU()
    """
    if not name:
        return None
    if name not in _BY_NAME:
        raise KeyError(f"there is no activation called {name!r}; known are {', '.join(sorted(_BY_NAME))}")
    return getattr(nn, _BY_NAME[name])()
