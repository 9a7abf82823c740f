"""Initial values of Parameters: `initializer`, and the distributions it knows by class and by name.

All numbers come from NumPy's global generator, so that `set_seed` (or `numpy.random.seed`) makes them repeat.  They are
drawn at once: `init_data` of a Tensor has nothing left to do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..dtypes import DType, dtype_of, float32
from ..runtime.tensor import Array, Tensor

__all__ = [
    "Constant",
    "Dirac",
    "HeNormal",
    "HeUniform",
    "Identity",
    "Initializer",
    "Normal",
    "One",
    "Orthogonal",
    "Sparse",
    "TruncatedNormal",
    "Uniform",
    "VarianceScaling",
    "XavierNormal",
    "XavierUniform",
    "Zero",
    "initializer",
]

Shape = tuple[int, ...]

#: The classes by the names that may be given instead, in lower case.
_BY_NAME: dict[str, type[Initializer]] = {}
_Class = TypeVar("_Class", bound="type[Initializer]")


# Published networks derive distributions of their own with the functions that begin with an underscore: their names
# and arguments are MindSpore's.
def _register(*aliases: str) -> Callable[[_Class], _Class]:
    """Lets a subclass of `Initializer` be given by its own name, or one of these, whatever the case of its letters."""

    def register(cls: _Class) -> _Class:
        _BY_NAME.update({name.lower(): cls for name in (cls.__name__, *aliases)})
        return cls

    return register


def _assignment(arr: Array, num: Any) -> Array:
    """Fills an array in place with a number or an array of its shape."""
    arr[...] = num
    return arr


def _calculate_fan_in_and_fan_out(shape: Shape) -> tuple[int, int]:
    """The fan-in and fan-out of a weight [out, in, ...]; ValueError for less than two dimensions."""
    if len(shape) < 2:
        raise ValueError(f"this initial value is for weights of two or more dimensions, not for the shape {shape}")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def _calculate_correct_fan(shape: Shape, mode: str) -> int:
    """The number that "fan_in" or "fan_out" stands for; ValueError for another mode."""
    fans = _calculate_fan_in_and_fan_out(shape)
    return fans[_one_of("mode", mode.lower() if isinstance(mode, str) else mode, ("fan_in", "fan_out"))]


def _calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The gain of the weights before an activation; `param` is the slope of a leaky ReLU (0.01)."""
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else _number("negative_slope", param)
        return math.sqrt(2 / (1 + slope**2))
    linear = ("linear", "sigmoid", *[f"conv{kind}{n}d" for kind in ("", "_transpose") for n in (1, 2, 3)])
    gains = {"tanh": 5 / 3, "relu": math.sqrt(2), "selu": 0.75, **dict.fromkeys(linear, 1.0)}
    if nonlinearity not in gains:
        raise ValueError(f"`nonlinearity` is one of {', '.join(gains)}, leaky_relu, not {nonlinearity!r}")
    return gains[nonlinearity]


def _one_of(parameter: str, value: Any, choices: tuple[str, ...]) -> int:
    if value not in choices:
        raise ValueError(f"`{parameter}` is one of {', '.join(choices)}, not {value!r}")
    return choices.index(value)


def _number(parameter: str, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"`{parameter}` must be a number, not a {type(value).__name__}")
    return value


class Initializer:
    """Base of initial values: a subclass writes `_initialize(arr)`, which fills a NumPy array in place.

    Keywords given to this `__init__` are kept for the subclass.

    >>> class Alternating(Initializer):
    ...     def _initialize(self, arr):
    ...         arr[...] = 1.0
    ...         arr[1::2] = -1.0
    >>> initializer(Alternating(), (3,)).tolist()
    [1.0, -1.0, 1.0]
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs

    def _initialize(self, arr: Array) -> Any:
        """Fills an array; every subclass defines it."""
        raise NotImplementedError(f"{type(self).__name__} has no method `_initialize`")

    def __call__(self, arr: Array) -> Any:
        return self._initialize(arr)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self._kwargs.items())})"


@_register("zeros")
class Zero(Initializer):
    """Zeros.

    >>> initializer(Zero(), (2,)).tolist()
    [0.0, 0.0]
    """

    def _initialize(self, arr: Array) -> None:
        _assignment(arr, 0)


@_register("ones")
class One(Initializer):
    """Ones.

    >>> initializer(One(), (2,)).tolist()
    [1.0, 1.0]
    """

    def _initialize(self, arr: Array) -> None:
        _assignment(arr, 1)


@_register()
class Constant(Initializer):
    """One number everywhere, or the elements of an array or Tensor that broadcasts to the shape.

    TypeError: anything else.

    >>> initializer(Constant(3), (2,)).tolist()
    [3.0, 3.0]
    """

    def __init__(self, value: Any) -> None:
        super().__init__(value=value)
        if not isinstance(value, np.ndarray | np.generic | Tensor):
            _number("value", value)

    def _initialize(self, arr: Array) -> None:
        value = self._kwargs["value"]
        _assignment(arr, value.asnumpy() if isinstance(value, Tensor) else value)


@_register()
class Uniform(Initializer):
    """Numbers spread evenly from -scale to scale.

    TypeError: `scale` is no number.

    >>> w = initializer(Uniform(0.5), (100,)).asnumpy()
    >>> bool((abs(w) <= 0.5).all())
    True
    """

    def __init__(self, scale: float = 0.07) -> None:
        super().__init__(scale=_number("scale", scale))

    def _initialize(self, arr: Array) -> None:
        _fill_evenly(arr, self._kwargs["scale"])


@_register()
class Normal(Initializer):
    """Normally distributed numbers of standard deviation `sigma` around `mean`.

    TypeError: no numbers.  ValueError: a negative `sigma`.

    >>> initializer(Normal(0.0, 2.0), (2,)).tolist()
    [2.0, 2.0]
    """

    def __init__(self, sigma: float = 0.01, mean: float = 0.0) -> None:
        super().__init__(sigma=_deviation(sigma), mean=_number("mean", mean))

    def _initialize(self, arr: Array) -> None:
        _assignment(arr, np.random.normal(self._kwargs["mean"], self._kwargs["sigma"], arr.shape))


@_register("truncated_normal")
class TruncatedNormal(Initializer):
    """Normal numbers of standard deviation `sigma` around `mean`, of which only those from `a` to `b` are drawn.

    The bounds are numbers as they are, not multiples of `sigma`.  TypeError: no numbers.  ValueError: a negative
    `sigma`, or an empty interval.

    >>> w = initializer(TruncatedNormal(1.0, a=-0.1, b=0.2), (100,)).asnumpy()
    >>> bool((w >= -0.1).all() and (w <= 0.2).all())
    True
    """

    def __init__(self, sigma: float = 0.01, mean: float = 0.0, a: float = -2.0, b: float = 2.0) -> None:
        super().__init__(sigma=_deviation(sigma), mean=_number("mean", mean), a=_number("a", a), b=_number("b", b))
        if a >= b:
            raise ValueError(f"`a` must be less than `b`; they are {a} and {b}")

    def _initialize(self, arr: Array) -> None:
        _assignment(arr, _truncated_normal(**self._kwargs, shape=arr.shape))


@_register("xavier_uniform")
class XavierUniform(Initializer):
    """Glorot's rule: spread evenly over +-gain * sqrt(6 / (inputs + outputs)) of a weight [out, in, ...].

    TypeError: `gain` is no number.  ValueError, when used: a shape of less than two dimensions.

    >>> w = initializer(XavierUniform(), (2, 4)).asnumpy()
    >>> bool((abs(w) <= 1).all())
    True
    """

    def __init__(self, gain: float = 1) -> None:
        super().__init__(gain=_number("gain", gain))

    def _initialize(self, arr: Array) -> None:
        _fill_evenly(arr, self._kwargs["gain"] * math.sqrt(6 / sum(_calculate_fan_in_and_fan_out(arr.shape))))


@_register("xavier_normal")
class XavierNormal(Initializer):
    """Glorot's rule: normal numbers of deviation gain * sqrt(2 / (inputs + outputs)) of a weight [out, in, ...].

    TypeError: `gain` is no number.  ValueError, when used: a shape of less than two dimensions.

    >>> initializer(XavierNormal(), (2, 4)).shape
    (2, 4)
    """

    def __init__(self, gain: float = 1) -> None:
        super().__init__(gain=_number("gain", gain))

    def _initialize(self, arr: Array) -> None:
        deviation = self._kwargs["gain"] * math.sqrt(2 / sum(_calculate_fan_in_and_fan_out(arr.shape)))
        _assignment(arr, np.random.normal(0.0, deviation, arr.shape))


class _He(Initializer):
    """He's rule: standard deviation gain / sqrt(fan), where the gain belongs to the activation that follows."""

    def __init__(self, negative_slope: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> None:
        super().__init__(negative_slope=negative_slope, mode=mode, nonlinearity=nonlinearity)
        self._gain = _calculate_gain(nonlinearity, negative_slope)
        _one_of("mode", mode, ("fan_in", "fan_out"))

    def _deviation(self, shape: Shape) -> float:
        return self._gain / math.sqrt(_calculate_correct_fan(shape, self._kwargs["mode"]))


@_register("he_uniform")
class HeUniform(_He):
    """He's rule: spread evenly over +-gain * sqrt(3 / fan) of a weight [out, in, ...].

    `mode` says which number of connections is the fan: "fan_in" of the inputs, "fan_out" of the outputs.  The gain is
    that of the `nonlinearity` that follows: sqrt(2 / (1 + negative_slope**2)) for "leaky_relu", sqrt(2) for "relu".
    ValueError: another mode or nonlinearity; when used: a shape of less than two dimensions.

    >>> w = initializer(HeUniform(), (3, 6)).asnumpy()
    >>> bool((abs(w) <= 1).all())
    True
    """

    def _initialize(self, arr: Array) -> None:
        _fill_evenly(arr, math.sqrt(3) * self._deviation(arr.shape))


@_register("he_normal")
class HeNormal(_He):
    """He's rule: normal numbers of standard deviation gain / sqrt(fan); arguments and errors as for `HeUniform`.

    >>> initializer(HeNormal(mode="fan_out", nonlinearity="relu"), (3, 6)).shape
    (3, 6)
    """

    def _initialize(self, arr: Array) -> None:
        _assignment(arr, np.random.normal(0.0, self._deviation(arr.shape), arr.shape))


@_register("variance_scaling")
class VarianceScaling(Initializer):
    """Numbers of variance scale / n around 0, where n is the number of inputs or outputs of a weight, or their mean.

    `mode`: "fan_in", "fan_out", "fan_avg".  `distribution`: "uniform", "untruncated_normal", or "truncated_normal",
    which draws nothing beyond two standard deviations of the normal distribution it is cut from.  TypeError: `scale` is
    no number.  ValueError: other names, a `scale` that is not positive; when used: a shape of less than two dimensions.

    >>> w = initializer(VarianceScaling(3.0, "fan_out", "uniform"), (9, 2)).asnumpy()
    >>> bool((abs(w) <= 1).all())
    True
    """

    def __init__(self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal") -> None:
        super().__init__(scale=_number("scale", scale), mode=mode, distribution=distribution)
        if scale <= 0:
            raise ValueError(f"`scale` must be positive, not {scale}")
        _one_of("mode", mode, ("fan_in", "fan_out", "fan_avg"))
        _one_of("distribution", distribution, ("uniform", "truncated_normal", "untruncated_normal"))

    def _initialize(self, arr: Array) -> None:
        fan_in, fan_out = _calculate_fan_in_and_fan_out(arr.shape)
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self._kwargs["mode"]]
        deviation = math.sqrt(self._kwargs["scale"] / fan)
        kind = self._kwargs["distribution"]
        if kind == "uniform":
            _fill_evenly(arr, math.sqrt(3) * deviation)
        elif kind == "untruncated_normal":
            _assignment(arr, np.random.normal(0.0, deviation, arr.shape))
        else:  # what is left of a normal distribution of deviation 1 within +-2 has a smaller one
            wide = deviation / _DEVIATION_WITHIN_TWO
            _assignment(arr, _truncated_normal(wide, 0.0, -2 * wide, 2 * wide, arr.shape))


#: sqrt(1 - 4 p(2) / (2 P(2) - 1)), with density p and distribution function P of the normal distribution.
_DEVIATION_WITHIN_TWO = math.sqrt(1 - 4 * math.exp(-2) / math.sqrt(2 * math.pi) / math.erf(math.sqrt(2)))


@_register()
class Orthogonal(Initializer):
    """A matrix with orthonormal rows (or columns, if there are more rows) times `gain`; dimensions after the first are
    one.

    TypeError: `gain` is no number.  ValueError, when used: a shape of less than two dimensions.

    >>> w = initializer(Orthogonal(), (2, 3)).asnumpy()
    >>> bool(np.allclose(w @ w.T, np.eye(2), atol=1e-6))
    True
    """

    def __init__(self, gain: float = 1.0) -> None:
        super().__init__(gain=_number("gain", gain))

    def _initialize(self, arr: Array) -> None:
        _calculate_fan_in_and_fan_out(arr.shape)
        rows, columns = arr.shape[0], math.prod(arr.shape[1:])
        q, r = np.linalg.qr(np.random.normal(0.0, 1.0, (max(rows, columns), min(rows, columns))))
        q *= np.where(np.diagonal(r) < 0, -1, 1)  # so that the distribution is uniform (Haar's)
        _assignment(arr, self._kwargs["gain"] * (q.T if rows < columns else q).reshape(arr.shape))


@_register()
class Identity(Initializer):
    """A matrix with ones on its diagonal; ValueError, when used, for a shape that is no matrix's.

    >>> initializer(Identity(), (2, 3)).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """

    def _initialize(self, arr: Array) -> None:
        if arr.ndim != 2:
            raise ValueError(f"an identity has two dimensions, not the shape {arr.shape}")
        _assignment(arr, np.eye(*arr.shape))


@_register()
class Dirac(Initializer):
    """The weight [out, in, ...] of a convolution that copies its channels, in each of `groups` groups of outputs.

    TypeError: `groups` is no int.  ValueError: it is not positive; when used: not 3 to 5 dimensions, or outputs that do
    not divide into the groups.

    >>> initializer(Dirac(), (2, 2, 3)).tolist()
    [[[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]], [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]
    """

    def __init__(self, groups: int = 1) -> None:
        super().__init__(groups=groups)
        if isinstance(groups, bool) or not isinstance(groups, int):
            raise TypeError(f"`groups` must be an int, not a {type(groups).__name__}")
        if groups <= 0:
            raise ValueError(f"`groups` must be positive, not {groups}")

    def _initialize(self, arr: Array) -> None:
        groups = self._kwargs["groups"]
        if not 3 <= arr.ndim <= 5:
            raise ValueError(f"the weight of a convolution has 3 to 5 dimensions, not the shape {arr.shape}")
        if arr.shape[0] % groups:
            raise ValueError(f"{arr.shape[0]} outputs do not divide into {groups} groups")
        _assignment(arr, 0)
        outputs, centre = arr.shape[0] // groups, tuple(n // 2 for n in arr.shape[2:])
        for group in range(groups):
            for i in range(min(outputs, arr.shape[1])):
                arr[(group * outputs + i, i, *centre)] = 1


@_register()
class Sparse(Initializer):
    """A matrix of normal numbers of deviation `sigma` in which the fraction `sparsity` of every column is 0.

    TypeError: no numbers.  ValueError: a negative `sigma`, a fraction outside of 0 to 1; when used: no matrix.

    >>> w = initializer(Sparse(0.5), (4, 3)).asnumpy()
    >>> (w == 0).sum(0).tolist()
    [2, 2, 2]
    """

    def __init__(self, sparsity: float, sigma: float = 0.01) -> None:
        super().__init__(sparsity=_number("sparsity", sparsity), sigma=_deviation(sigma))
        if not 0 <= sparsity <= 1:
            raise ValueError(f"`sparsity` is a fraction from 0 to 1, not {sparsity}")

    def _initialize(self, arr: Array) -> None:
        if arr.ndim != 2:
            raise ValueError(f"a sparse initial value has two dimensions, not the shape {arr.shape}")
        _assignment(arr, np.random.normal(0.0, self._kwargs["sigma"], arr.shape))
        zeros = math.ceil(self._kwargs["sparsity"] * len(arr))
        for column in range(arr.shape[1]):
            arr[np.random.permutation(len(arr))[:zeros], column] = 0


# ------------------------------------------------------------------------------------------------ distributions
def _deviation(sigma: Any) -> Any:
    if _number("sigma", sigma) < 0:
        raise ValueError(f"`sigma` must not be negative, it is {sigma}")
    return sigma


def _fill_evenly(arr: Array, bound: float) -> None:
    """Numbers spread evenly over -bound ... bound."""
    _assignment(arr, np.random.uniform(-bound, bound, arr.shape))


def _truncated_normal(sigma: float, mean: float, a: float, b: float, shape: Shape) -> Array:
    """Inverse transform sampling: no draw has to be rejected."""
    from scipy.special import ndtr, ndtri

    if sigma == 0:
        return np.full(shape, min(max(mean, a), b))
    low, high = (a - mean) / sigma, (b - mean) / sigma
    mirrored = low > 0  # the function is exact in its lower tail only
    low, high = (-high, -low) if mirrored else (low, high)
    drawn = ndtri(np.random.uniform(ndtr(low), ndtr(high), shape))
    found: Array = np.clip(mean + sigma * (-drawn if mirrored else drawn), a, b)
    return found


# ------------------------------------------------------------------------------------------------ the factory
def initializer(init: Any, shape: Any = None, dtype: Any = float32) -> Tensor:
    """A new Tensor of a shape and dtype, filled as `init` says.

    `init` is an `Initializer`, the name of one that needs no arguments ("normal", "he_uniform", "zeros", ...; capitals
    do not matter), a number, or a Tensor whose values are copied (its shape counts if none is given).  `shape` is an
    int, or a tuple or list of ints.

    TypeError: another `init`, or the name of one that needs arguments.  ValueError: an unknown name, a size that is not
    a positive int, no shape, or a Tensor of another shape.

    >>> initializer("ones", [1, 2])
    Tensor(shape=[1, 2], dtype=Float32, value=
    [[ 1.00000000e+00,  1.00000000e+00]])
    >>> initializer(0.1, 3, "float64").tolist()
    [0.1, 0.1, 0.1]
    """
    wanted = dtype_of(dtype)
    if isinstance(init, Tensor):
        sizes = init.shape if shape is None else _sizes(shape)
        if init.shape != sizes:
            raise ValueError(f"the initial value has shape {init.shape}, not {sizes}")
        return Tensor(init, wanted)
    found = _initializer_of(init)
    if shape is None:
        raise ValueError("initializer() needs a `shape`")
    return _filled(found, _sizes(shape), wanted)


def _initializer_of(init: Any) -> Initializer:
    if isinstance(init, Initializer):
        return init
    if isinstance(init, str):
        cls = _BY_NAME.get(init.lower())
        if cls is None:
            raise ValueError(f"there is no initializer called {init!r}; known are {', '.join(sorted(_BY_NAME))}")
        return cls()
    if isinstance(init, int | float) and not isinstance(init, bool):
        return Constant(init)
    raise TypeError(f"an initial value is an Initializer, a name, a number or a Tensor, not a {type(init).__name__}")


def _sizes(shape: Any) -> Shape:
    sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    for n in sizes:
        if isinstance(n, bool) or not isinstance(n, int) or n <= 0:
            raise ValueError(f"the sizes of a shape are positive ints, not {n!r} as in {shape}")
    return sizes


def _filled(init: Initializer, shape: Shape, dtype: DType) -> Tensor:
    """A Tensor that an Initializer has filled; it works in the Tensor's own dtype."""
    return Tensor(shape=shape, dtype=dtype, init=init)
