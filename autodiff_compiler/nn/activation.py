"""Activation functions as Cells."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..common.initializer import initializer
from ..dtypes import float32
from ..runtime.parameter import Parameter
from ..runtime.tensor import Tensor
from .arguments import flag, integer, number, positive
from .cell import Cell

# fmt: off
__all__ = [
    "CELU", "ELU", "GELU", "GLU", "FastGelu", "HShrink", "HSigmoid", "HSwish", "Hardtanh", "LeakyReLU", "LogSigmoid",
    "LogSoftmax", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SeLU", "SiLU", "Sigmoid", "SoftShrink", "Softmax",
    "Softmax2d", "Softmin", "Softplus", "Softsign", "Tanh", "Tanhshrink", "Threshold", "get_activation",
]
# fmt: on


# ------------------------------------------------------------------------------------------------ without arguments
class ReLU(Cell):
    """max(x, 0) for every element.

    >>> from autodiff_compiler import Tensor
    >>> ReLU()(Tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """

    def construct(self, x: Any) -> Any:
        return ops.relu(x)


class ReLU6(Cell):
    """min(max(x, 0), 6) for every element."""

    def construct(self, x: Any) -> Any:
        return ops.relu6(x)


class SeLU(Cell):
    """scale * (x where it is positive, else alpha * (exp(x) - 1)), with the constants of self-normalizing networks."""

    def construct(self, x: Any) -> Any:
        return ops.selu(x)


class SiLU(Cell):
    """x * sigmoid(x) for every element."""

    def construct(self, x: Any) -> Any:
        return ops.silu(x)


class Tanh(Cell):
    """Hyperbolic tangent of every element.

    >>> from autodiff_compiler import Tensor
    >>> Tanh()(Tensor([0.0, 1.0])).tolist()
    [0.0, 0.761594...]
    """

    def construct(self, x: Any) -> Any:
        return ops.tanh(x)


class Tanhshrink(Cell):
    """x - tanh(x) for every element."""

    def construct(self, x: Any) -> Any:
        return ops.tanhshrink(x)


class Sigmoid(Cell):
    """1 / (1 + exp(-x)) for every element.

    >>> from autodiff_compiler import Tensor
    >>> Sigmoid()(Tensor([0.0, 800.0])).tolist()
    [0.5, 1.0]
    """

    def construct(self, x: Any) -> Any:
        return ops.sigmoid(x)


class LogSigmoid(Cell):
    """log(sigmoid(x)) for every element, without overflow."""

    def construct(self, x: Any) -> Any:
        return ops.logsigmoid(x)


class Softsign(Cell):
    """x / (1 + |x|) for every element."""

    def construct(self, x: Any) -> Any:
        return ops.softsign(x)


class HSwish(Cell):
    """x * min(max(x + 3, 0), 6) / 6 for every element."""

    def construct(self, x: Any) -> Any:
        return ops.hardswish(x)


class HSigmoid(Cell):
    """min(max(x + 3, 0), 6) / 6 for every element."""

    def construct(self, x: Any) -> Any:
        return ops.hardsigmoid(x)


class Mish(Cell):
    """x * tanh(log(1 + exp(x))) for every element."""

    def construct(self, x: Any) -> Any:
        return ops.mish(x)


class FastGelu(Cell):
    """x * sigmoid(1.702 x), which is close to GELU, for every element."""

    def construct(self, x: Any) -> Any:
        return ops.fast_gelu(x)


# ------------------------------------------------------------------------------------------------ with arguments
class _WithAlpha(Cell):
    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = number("alpha", alpha)


class ELU(_WithAlpha):
    """x where it is positive, else alpha * (exp(x) - 1)."""

    def construct(self, x: Any) -> Any:
        return ops.elu(x, self.alpha)


class CELU(_WithAlpha):
    """x where it is positive, else alpha * (exp(x / alpha) - 1); ValueError: alpha is 0."""

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__(alpha)
        if alpha == 0:
            raise ValueError("`alpha` must not be 0")

    def construct(self, x: Any) -> Any:
        return ops.celu(x, self.alpha)


class LeakyReLU(_WithAlpha):
    """x where it is positive, else alpha * x.

    >>> from autodiff_compiler import Tensor
    >>> LeakyReLU(0.5)(Tensor([-4.0, 4.0])).tolist()
    [-2.0, 4.0]
    """

    def __init__(self, alpha: float = 0.2) -> None:
        super().__init__(alpha)

    def construct(self, x: Any) -> Any:
        return ops.leaky_relu(x, self.alpha)


class GELU(Cell):
    """x times the standard normal distribution function at x: approximated by tanh, or exact without `approximate`.

    >>> from autodiff_compiler import Tensor
    >>> round(GELU()(Tensor(1.0)).item(), 4), round(GELU(approximate=False)(Tensor(1.0)).item(), 4)
    (0.8412, 0.8413)
    """

    def __init__(self, approximate: bool = True) -> None:
        super().__init__()
        self.approximate = flag("approximate", approximate)

    def construct(self, x: Any) -> Any:
        return ops.gelu(x, "tanh" if self.approximate else "none")


class PReLU(Cell):
    """x where it is positive, else w * x, with a trained `w`: one for all, or one per channel (axis 1).

    `w` starts with a number, or with a list or Tensor [channel].  ValueError: `channel` is not positive, or `w` has
    another shape.

    >>> from autodiff_compiler import Tensor
    >>> PReLU()(Tensor([-4.0, 4.0])).tolist()
    [-1.0, 4.0]
    """

    w: Any

    def __init__(self, channel: int = 1, w: Any = 0.25) -> None:
        super().__init__()
        self.channel = positive("channel", channel)
        if isinstance(w, list):
            w = Tensor(w, float32)
        if not isinstance(w, Tensor):
            number("w", w)
        elif w.shape != (channel,):
            raise ValueError(f"`w` must have the shape [{channel}], not {list(w.shape)}")
        self.w = Parameter(initializer(w, (channel,), w.dtype if isinstance(w, Tensor) else float32), name="a")

    def construct(self, x: Any) -> Any:
        return ops.prelu(x, self.w)


class RReLU(Cell):
    """x where it is positive, else x times a random slope from `lower` to `upper`; ValueError if lower > upper."""

    lower: Any  # MindSpore's attribute, a number: it hides the method `lower`, so use `jit(cell).lower`

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3) -> None:
        super().__init__()
        self.lower, self.upper = number("lower", lower), number("upper", upper)
        if lower > upper:
            raise ValueError(f"`lower` must not be greater than `upper`, but {lower} > {upper}")

    def construct(self, x: Any) -> Any:
        return ops.rrelu(x, self.lower, self.upper)


class Hardtanh(Cell):
    """x between two bounds; ValueError if min_val > max_val."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0) -> None:
        super().__init__()
        self.min_val, self.max_val = number("min_val", min_val), number("max_val", max_val)
        if min_val > max_val:
            raise ValueError(f"`min_val` must not be greater than `max_val`, but {min_val} > {max_val}")

    def construct(self, x: Any) -> Any:
        return ops.hardtanh(x, self.min_val, self.max_val)


class HShrink(Cell):
    """x, but 0 from -lambd to lambd."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = number("lambd", lambd)

    def construct(self, x: Any) -> Any:
        return ops.hardshrink(x, self.lambd)


class SoftShrink(HShrink):
    """x moved by lambd towards 0; 0 from -lambd to lambd."""

    def construct(self, x: Any) -> Any:
        return ops.softshrink(x, self.lambd)


class Softplus(Cell):
    """log(1 + exp(beta * x)) / beta; x where beta * x is greater than `threshold`."""

    def __init__(self, beta: float = 1, threshold: float = 20) -> None:
        super().__init__()
        self.beta, self.threshold = number("beta", beta), number("threshold", threshold)

    def construct(self, x: Any) -> Any:
        return ops.softplus(x, self.beta, self.threshold)


class Threshold(Cell):
    """x where it is greater than `threshold`, else `value`."""

    def __init__(self, threshold: float, value: float) -> None:
        super().__init__()
        self.threshold, self.value = number("threshold", threshold), number("value", value)

    def construct(self, x: Any) -> Any:
        return ops.threshold(x, self.threshold, self.value)


# ------------------------------------------------------------------------------------------------ along an axis
class _AlongAxis(Cell):
    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = integer("axis", axis)


class Softmax(_AlongAxis):
    """exp(x) divided by its sum along an axis, an int or a tuple of one.

    >>> from autodiff_compiler import Tensor
    >>> Softmax()(Tensor([[0.0, 0.0], [1.0, 1.0]])).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """

    def __init__(self, axis: Any = -1) -> None:
        super().__init__(axis[0] if isinstance(axis, tuple) and len(axis) == 1 else axis)

    def construct(self, x: Any) -> Any:
        return ops.softmax(x, self.axis)


class Softmin(_AlongAxis):
    """softmax(-x) along an axis."""

    def construct(self, x: Any) -> Any:
        return ops.softmin(x, self.axis)


class LogSoftmax(_AlongAxis):
    """Logarithm of softmax along an axis."""

    def construct(self, x: Any) -> Any:
        return ops.log_softmax(x, self.axis)


class Softmax2d(Cell):
    """Softmax over the channels of [batch, channels, height, width] or [channels, height, width]."""

    def construct(self, x: Any) -> Any:
        return ops.softmax(x, -3)


class GLU(_AlongAxis):
    """The first half of an axis times the sigmoid of the second."""

    def construct(self, x: Any) -> Any:
        return ops.glu(x, self.axis)


# ------------------------------------------------------------------------------------------------ by name
_ACTIVATIONS: dict[str, type[Cell]] = {
    "celu": CELU,
    "elu": ELU,
    "fast_gelu": FastGelu,
    "gelu": GELU,
    "glu": GLU,
    "hardtanh": Hardtanh,
    "hshrink": HShrink,
    "hsigmoid": HSigmoid,
    "hswish": HSwish,
    "leakyrelu": LeakyReLU,
    "logsigmoid": LogSigmoid,
    "logsoftmax": LogSoftmax,
    "mish": Mish,
    "prelu": PReLU,
    "relu": ReLU,
    "relu6": ReLU6,
    "rrelu": RReLU,
    "selu": SeLU,
    "sigmoid": Sigmoid,
    "silu": SiLU,
    "softmax": Softmax,
    "softmax2d": Softmax2d,
    "softmin": Softmin,
    "softplus": Softplus,
    "softshrink": SoftShrink,
    "softsign": Softsign,
    "tanh": Tanh,
    "tanhshrink": Tanhshrink,
}


def get_activation(name: str, prim_name: str | None = None) -> Cell | None:
    """A new activation Cell by its name; None for an empty name, KeyError for an unknown one.

    >>> get_activation("relu")
    ReLU()
    """
    if not name:
        return None
    if name not in _ACTIVATIONS:
        raise KeyError(f"there is no activation called {name!r}; known are {', '.join(_ACTIVATIONS)}")
    return _ACTIVATIONS[name]()
