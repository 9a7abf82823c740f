"""MindSpore's functional names of random numbers and dropout.

Every draw takes the next count of the generator's state (`runtime.random`), in program order, so that eager and
compiled code draw the same numbers.  With `seed=s` it is the state of that seed: two calls differ, and after
`set_seed` they repeat.  Draws are constants to derivatives; means, bounds and scales have their gradients.  The
examples of a `vmap` draw one after the other.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..dtypes import dtype_of, float32, float64, int32, int64
from ..errors import DTypeError, ShapeError, StaticValueError, UnsupportedCallError
from ..ir.primitive import F, call, trace
from ..ir.types import Shape, tensor
from ..primitives.family import as_shape, as_tensor, broadcast_shapes, broadcast_to, cast, constant, static_int
from ..runtime.random import generator
from ..runtime.tensor import Tensor
from .state import assign

__all__ = [
    "bernoulli", "dropout", "dropout1d", "dropout2d", "dropout3d", "gamma", "laplace", "multinomial", "normal",
    "poisson", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "random_categorical",
    "random_gamma", "random_poisson", "randperm", "shuffle", "standard_laplace", "standard_normal", "uniform",
]  # fmt: skip

_Function = Callable[..., Any]


def _advanced(state: Any) -> Any:
    """The state for one draw, after which the next draw gets another: what `Generator.take` does, in compiled code."""
    now = state + 0
    assign(state, now + Tensor([0, 0, 1], int64))
    return now


def _drawing(function: _Function) -> _Function:
    """The public form of a function whose first parameter is the state to draw from: it is found by its `seed`."""
    full = inspect.signature(function)
    signature = full.replace(parameters=list(full.parameters.values())[1:])

    def seed_of(args: Any, kwargs: Any, unwrap: _Function = lambda x: x) -> int | None:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        seed = unwrap(bound.arguments["seed"])
        if seed is None or (seed == 0 and signature.parameters["seed"].default == 0):
            return None  # where the default is 0, 0 means no seed
        return static_int(seed, "seed")

    @functools.wraps(function)
    def public(*args: Any, **kwargs: Any) -> Any:
        if trace.builder is not None:
            raise UnsupportedCallError(f"{function.__name__} would be drawn once, while compiling, and frozen")
        return function(generator.take(seed_of(args, kwargs)), *args, **kwargs)

    def graph_call(lw: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        cell = lw.outside.state(generator.state(seed_of(args, kwargs, lw.unwrap)))
        return lw.native(function, [lw.call_python(_advanced, [cell], {}), *args], kwargs)

    public.__signature__ = signature  # type: ignore[attr-defined]
    public.__graph_call__ = graph_call  # type: ignore[attr-defined]
    return public


def _sizes(shape: Any) -> Shape:
    return as_shape((tuple(shape),) if isinstance(shape, list | tuple) else (shape,))


def _parameters(shape: Any, *parameters: Any) -> list[Any]:
    """The shape of what is drawn, and the parameters of its distribution as floats of that shape and of one dtype."""
    xs = [as_tensor(p) for p in parameters]
    dtype = float64 if any(x.dtype is float64 for x in xs) else float32
    sizes = broadcast_shapes([_sizes(shape), *(x.shape for x in xs)], "shape and parameters")
    return [sizes, *(broadcast_to(cast(x, dtype), sizes) for x in xs)]


# ------------------------------------------------------------------------------------------------ uniform
@_drawing
def uniform(state: Any, shape: Any, minval: Any, maxval: Any, seed: int | None = None, dtype: Any = float32) -> Any:
    """Numbers from `minval` to less than `maxval`, Tensors or numbers that broadcast with `shape`.

    `dtype` is float32, or int32 for whole numbers.  DTypeError: another one.

    >>> bool((uniform((2, 3), 1.0, 2.0) >= 1).all())
    True
    """
    dtype = dtype_of(dtype)
    if dtype not in (float32, float64, int32, int64):
        raise DTypeError(f"uniform numbers are float32, float64, int32 or int64, not {dtype.name}")
    # Whole numbers in float64: float32 would round great ones up to `maxval`.
    low, high = (cast(as_tensor(x), dtype if dtype.is_float else float64) for x in (minval, maxval))
    sizes, low, high = _parameters(shape, low, high)
    drawn = call.add(low, call.mul(F.random_uniform(state, shape=sizes, dtype=low.dtype), call.sub(high, low)))
    return drawn if dtype.is_float else cast(call.floor(drawn), dtype)


@_drawing
def rand(state: Any, *size: Any, dtype: Any = None, seed: int | None = None) -> Any:
    """Numbers of [0, 1), float32 by default.

    >>> rand(2, 3).shape
    (2, 3)
    """
    return F.random_uniform(state, shape=as_shape(size), dtype=dtype_of(dtype or float32))


@_drawing
def rand_like(state: Any, input: Any, seed: int | None = None, *, dtype: Any = None) -> Any:
    """Numbers of [0, 1) in the shape, and by default the dtype, of a Tensor."""
    return F.random_uniform(state, shape=input.shape, dtype=dtype_of(dtype or input.dtype))


@_drawing
def randint(state: Any, low: int, high: int, size: Any, seed: int | None = None, *, dtype: Any = None) -> Any:
    """Whole numbers from `low` to `high` - 1, int64 by default.

    >>> sorted(set(randint(0, 2, (100,)).tolist()))
    [0, 1]
    """
    drawn = F.random_integers(state, low=static_int(low, "low"), high=static_int(high, "high"), shape=_sizes(size))
    return cast(drawn, dtype_of(dtype or int64))


@_drawing
def randint_like(state: Any, input: Any, low: int, high: int, seed: int | None = None, *, dtype: Any = None) -> Any:
    """Whole numbers from `low` to `high` - 1 in the shape, and by default the dtype, of a Tensor."""
    drawn = F.random_integers(state, low=static_int(low, "low"), high=static_int(high, "high"), shape=input.shape)
    return cast(drawn, dtype_of(dtype or input.dtype))


def _order(state: Any, n: int) -> Any:
    return F.argsort(F.random_uniform(state, shape=(n,), dtype=float64), axis=-1)


@_drawing
def randperm(state: Any, n: int, seed: int = 0, offset: int = 0, dtype: Any = int64) -> Any:
    """The numbers 0 ... n - 1 in a random order.

    >>> sorted(randperm(4).tolist())
    [0, 1, 2, 3]
    """
    if offset:
        raise UnsupportedCallError("`offset` of randperm is not available", hint="give another seed")
    return cast(_order(state, static_int(n, "n")), dtype_of(dtype))


@_drawing
def shuffle(state: Any, x: Any, seed: int | None = None) -> Any:
    """The slices along the first dimension in a random order."""
    x = as_tensor(x)
    return x if x.ndim == 0 else F.gather(x, _order(state, x.shape[0]), axis=-x.ndim)


@_drawing
def bernoulli(state: Any, input: Any, p: Any = 0.5, seed: int | None = None) -> Any:
    """1 with probability p, else 0, in the shape and dtype of a Tensor; p is a number or a Tensor that broadcasts.

    ValueError: a number p outside of [0, 1].
    """
    if isinstance(p, int | float) and not 0 <= p <= 1:
        raise ValueError(f"p must be from 0 to 1, not {p}")
    drawn = F.random_uniform(state, shape=input.shape, dtype=float64)
    return cast(F.less(drawn, F.stop_gradient(_parameters(input.shape, cast(as_tensor(p), float64))[1])), input.dtype)


# ------------------------------------------------------------------------------------------------ normal and others
@_drawing
def standard_normal(state: Any, shape: Any, seed: int | None = None) -> Any:
    """Numbers (float32) of the normal distribution with mean 0 and standard deviation 1."""
    return F.random_normal(state, shape=_sizes(shape), dtype=float32)


@_drawing
def randn(state: Any, *size: Any, dtype: Any = None, seed: int | None = None) -> Any:
    """Numbers of the standard normal distribution, float32 by default."""
    return F.random_normal(state, shape=as_shape(size), dtype=dtype_of(dtype or float32))


@_drawing
def randn_like(state: Any, input: Any, seed: int | None = None, *, dtype: Any = None) -> Any:
    """Numbers of the standard normal distribution in the shape, and by default the dtype, of a Tensor."""
    return F.random_normal(state, shape=input.shape, dtype=dtype_of(dtype or input.dtype))


@_drawing
def normal(state: Any, shape: Any, mean: Any, stddev: Any, seed: int | None = None) -> Any:
    """Numbers of normal distributions; mean and standard deviation broadcast with `shape` and have gradients.

    >>> normal((2, 1), 0.0, [1.0, 2.0]).shape
    (2, 2)
    """
    sizes, mean, stddev = _parameters(shape, *map(_array, (mean, stddev)))
    return call.add(mean, call.mul(F.random_normal(state, shape=sizes, dtype=mean.dtype), stddev))


def _array(x: Any) -> Any:
    return call.stack([as_tensor(e) for e in x]) if isinstance(x, list | tuple) else x


def _laplace(state: Any, sizes: Shape, dtype: Any) -> Any:
    # Of a sign and an exponential distribution, whose numbers are -log(1 - u).
    u = F.random_uniform(state, shape=sizes, dtype=float64)
    centred = call.sub(call.mul(u, 2), 1)  # from -1: the logarithm of 0 is avoided by the next step
    magnitude = call.neg(call.log(call.maximum(call.sub(1, call.abs(centred)), 2.0**-53)))
    return cast(call.mul(call.sign(centred), magnitude), dtype)


@_drawing
def standard_laplace(state: Any, shape: Any, seed: int | None = None) -> Any:
    """Numbers (float32) of the Laplace distribution with mean 0 and scale 1."""
    return _laplace(state, _sizes(shape), float32)


@_drawing
def laplace(state: Any, shape: Any, mean: Any, lambda_param: Any, seed: int | None = None) -> Any:
    """Numbers of Laplace distributions; mean and scale broadcast with `shape` and have gradients."""
    sizes, mean, scale = _parameters(shape, mean, lambda_param)
    return call.add(mean, call.mul(_laplace(state, sizes, mean.dtype), scale))


@_drawing
def gamma(state: Any, shape: Any, alpha: Any, beta: Any, seed: int | None = None) -> Any:
    """Numbers of gamma distributions of shape alpha and rate beta, which broadcast with `shape`; nan where alpha <= 0.

    The rate has a gradient; alpha has none.
    """
    _, alpha, beta = _parameters(shape, alpha, beta)
    return call.div(F.random_gamma(state, F.stop_gradient(alpha)), beta)


def _appended(shape: Any, parameter: Any) -> Any:
    """A parameter repeated: `shape` before its own."""
    (x,) = _parameters((), parameter)[1:]
    return broadcast_to(F.stop_gradient(x), (*_sizes(shape), *x.shape))


@_drawing
def random_gamma(state: Any, shape: Any, alpha: Any, seed: int | None = None) -> Any:
    """`shape` numbers of each gamma distribution of shape alpha and rate 1: [*shape, *alpha.shape], no gradient."""
    return F.random_gamma(state, _appended(shape, alpha))


@_drawing
def poisson(state: Any, shape: Any, mean: Any, seed: int | None = None) -> Any:
    """Numbers (float32) of Poisson distributions whose means broadcast with `shape`; -1 for a negative mean."""
    mean = _parameters(shape, mean)[1]
    return cast(F.random_poisson(state, F.stop_gradient(mean)), float32)


@_drawing
def random_poisson(state: Any, shape: Any, rate: Any, seed: int | None = None, dtype: Any = float32) -> Any:
    """`shape` numbers of each Poisson distribution: [*shape, *rate.shape]; -1 for a negative rate."""
    return cast(F.random_poisson(state, _appended(shape, rate)), dtype_of(dtype))


# ------------------------------------------------------------------------------------------------ choices
def _slice(x: Any, start: int, stop: int) -> Any:
    return F.slice(x, axes=(-1,), starts=(start,), stops=(stop,), steps=(1,))


def _chosen(state: Any, weights: Any, n: int) -> Any:
    """Positions (int64) along the last axis, `n` for each row, with probabilities in proportion to float64 weights."""
    up_to = call.cumsum(weights, -1)
    total = _slice(up_to, weights.shape[-1] - 1, weights.shape[-1])
    u = F.random_uniform(state, shape=(*weights.shape[:-1], n), dtype=float64)
    found = F.searchsorted(up_to, call.mul(u, total), right=True)
    # u * total may round to total: the last position of weight > 0 is the first whose sum is the total.
    last = F.searchsorted(up_to, total, right=False)
    return call.minimum(cast(found, int64), cast(last, int64))


@_drawing
def multinomial(state: Any, input: Any, num_samples: int, replacement: bool = True, seed: int | None = None) -> Any:
    """Positions (int32) drawn in proportion to the weights in a vector, or in each row of a matrix.

    ShapeError: other dimensions, or more draws without replacement than there are weights.
    """
    weights, n = F.stop_gradient(cast(as_tensor(input, "input"), float64)), static_int(num_samples, "num_samples")
    if weights.ndim not in (1, 2):
        raise ShapeError(f"multinomial takes a vector or a matrix, not {weights.ndim} dimensions")
    if replacement:
        return cast(_chosen(state, weights, n), int32)
    if n > weights.shape[-1]:
        raise ShapeError(f"{n} of {weights.shape[-1]} cannot be drawn without replacement")
    # The first of exponential clocks whose rates are the weights (Efraimidis and Spirakis, 2006).
    u = F.random_uniform(state, shape=weights.shape, dtype=float64)
    clocks = call.div(call.neg(call.log(call.sub(1, u))), weights)
    return _slice(cast(F.argsort(clocks, axis=-1), int32), 0, n)


@_drawing
def random_categorical(state: Any, logits: Any, num_sample: int, seed: int = 0, dtype: Any = int64) -> Any:
    """`num_sample` positions for each row of a matrix of logarithms of weights."""
    weights = call.softmax(F.stop_gradient(cast(as_tensor(logits, "logits"), float64)), -1)
    return cast(_chosen(state, weights, static_int(num_sample, "num_sample")), dtype_of(dtype))


# ------------------------------------------------------------------------------------------------ dropout
@_drawing
def _dropped(state: Any, x: Any, p: float, dimensions: int | None, seed: int | None = None) -> Any:
    """Dropout of single elements, or of all that lie in the last `dimensions` together."""
    if not isinstance(p, int | float):
        raise StaticValueError(f"p of dropout must be a constant number, not {p!r}")
    x = as_tensor(x, "input")
    kept = x.ndim if dimensions is None else x.ndim - dimensions
    if dimensions is not None and kept not in (1, 2):
        raise ShapeError(f"dropout{dimensions}d takes {dimensions + 1} or {dimensions + 2} dimensions, not {x.ndim}")
    shape = (*x.shape[:kept], *(1 for _ in range(x.ndim - kept)))
    drawn = F.random_uniform(state, shape=shape, dtype=float32)
    mask = F.greater_equal(drawn, broadcast_to(constant(float(p), tensor(float32, ())), shape))
    return call.masked_dropout(x, broadcast_to(mask, x.shape), p)


def dropout(input: Any, p: float = 0.5, training: bool = True, seed: int | None = None) -> Any:
    """0 with probability p (less than 1), else x / (1 - p); without `training` the input.

    ValueError: p outside of [0, 1).

    >>> dropout(Tensor([1.0, 2.0]), training=False).tolist()
    [1.0, 2.0]
    """
    return _dropped(input, p, None, seed) if training else input


def dropout1d(input: Any, p: float = 0.5, training: bool = True) -> Any:
    """Dropout of whole channels of [batch, channels, n] or [channels, n]."""
    return _dropped(input, p, 1) if training else input


def dropout2d(input: Any, p: float = 0.5, training: bool = True) -> Any:
    """Dropout of whole channels of [batch, channels, h, w] or [channels, h, w]."""
    return _dropped(input, p, 2) if training else input


def dropout3d(input: Any, p: float = 0.5, training: bool = True) -> Any:
    """Dropout of whole channels of [batch, channels, d, h, w] or [channels, d, h, w]."""
    return _dropped(input, p, 3) if training else input


def _compiled_from_source(function: _Function) -> None:
    """Compiled code compiles the function's source as it does the user's, so that the draw in it is seen."""
    function.__graph_call__ = lambda lw, args, kwargs: lw.call_python(function, args, kwargs)  # type: ignore[attr-defined]


for _function in (dropout, dropout1d, dropout2d, dropout3d):
    _compiled_from_source(_function)
