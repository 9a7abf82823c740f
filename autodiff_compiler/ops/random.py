"""MindSpore's functional names of random numbers and dropout.

Every draw takes the next count of the generator's state (`runtime.random`), in program order, so that eager and
compiled code draw the same numbers.  With `seed=s` it is the state of that seed: two calls differ, and after
`set_seed` they repeat.  Draws are constants to derivatives; means, bounds and scales have their gradients.  The
examples of a `vmap` draw one after the other.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, Never

from ..dtypes import dtype_of, float32, float64, int32, int64
from ..errors import DTypeError, ShapeError, StaticValueError, UnsupportedCallError
from ..ir.primitive import F, call, trace
from ..ir.sizes import Size
from ..ir.types import Shape, tensor
from ..keywords import answering, refuse_unknown
from ..primitives.family import (
    as_shape,
    as_tensor,
    broadcast_shapes,
    broadcast_to,
    cast,
    constant,
    in_dtype,
    static_size,
)
from ..primitives.requirements import static_int
from ..runtime.generators import Generator
from ..runtime.random import generator
from ..runtime.tensor import Tensor
from .state import assign

__all__ = [
    "bernoulli", "choice_with_mask", "dropout", "dropout1d", "dropout2d", "dropout3d", "gamma", "gumbel_softmax",
    "laplace", "multinomial", "multinomial_with_replacement", "normal", "poisson", "rand", "rand_like", "randint",
    "randint_like", "randn", "randn_like", "random_categorical", "random_gamma", "random_poisson", "randperm", "rrelu",
    "shuffle", "standard_laplace", "standard_normal", "uniform",
]  # fmt: skip

_Function = Callable[..., Any]


def _advanced(state: Any) -> Any:
    """The state for one draw; advances the generator, as `Generator.take` does, in compiled code."""
    now = state + 0
    assign(state, now + Tensor([0, 0, 1], int64))
    return now


def _drawing(function: _Function, masks: bool = False) -> _Function:
    """The public form of a function of a generator state, which `seed` (or `generator`) chooses.

    `masks`: it drops elements, each of the processes that train one network others.
    """
    full = inspect.signature(function)
    signature = full.replace(parameters=list(full.parameters.values())[1:])

    def source_of(args: Any, kwargs: Any, unwrap: _Function = lambda x: x) -> tuple[Any, tuple[Any, ...]]:
        """The generator to draw from and the seed of its stream: a `generator` of the user's has one stream."""
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{function.__name__}() {error}") from None
        bound.apply_defaults()
        own, seed = unwrap(bound.arguments.get("generator")), unwrap(bound.arguments["seed"])
        if own is not None:
            if not isinstance(own, Generator):
                raise TypeError(f"`generator` is a Generator or None, not a {type(own).__name__}")
            return own, ()
        if seed is None or (seed == 0 and signature.parameters["seed"].default == 0):
            return generator, (None, masks)  # where the default is 0, 0 means no seed
        return generator, (static_int(seed, "seed"),)

    @functools.wraps(function)
    def public(*args: Any, **kwargs: Any) -> Any:
        if trace.builder is not None:
            raise UnsupportedCallError(f"{function.__name__} would be drawn once, while compiling, and frozen")
        source, stream = source_of(args, kwargs)
        return function(source.take(*stream), *args, **kwargs)

    def graph_call(ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        source, stream = source_of(args, kwargs, ctx.unwrap)
        cell = ctx.outside.state(source.state(*stream))
        return ctx.native(function, [ctx.call_python(_advanced, [cell], {}), *args], kwargs)

    public.__signature__ = signature  # type: ignore[attr-defined]
    public.__graph_call__ = graph_call  # type: ignore[attr-defined]
    return public


def _sizes(shape: Any) -> Shape:
    shape = shape.tolist() if isinstance(shape, Tensor) else shape
    return as_shape((tuple(shape),) if isinstance(shape, list | tuple) else (shape,))


def _parameters(shape: Any, *parameters: Any) -> list[Any]:
    """The shape of what is drawn, and the parameters of its distribution as floats of that shape and of one dtype."""
    dtype = float64 if any(getattr(p, "dtype", None) is float64 for p in parameters) else float32
    xs = [in_dtype(p, dtype) for p in parameters]
    sizes = broadcast_shapes([_sizes(shape), *(x.shape for x in xs)], "shape and parameters")
    return [sizes, *(broadcast_to(x, sizes) for x in xs)]


# ------------------------------------------------------------------------------------------------ uniform
@_drawing
def uniform(state: Any, shape: Any, minval: Any, maxval: Any, seed: int | None = None, dtype: Any = float32) -> Any:
    """Numbers from `minval` to less than `maxval`, Tensors or numbers that broadcast with `shape`.

    `dtype` is float32, or int32 for integers.  DTypeError: another one.

    >>> bool((uniform((2, 3), 1.0, 2.0) >= 1).all())
    True
    """
    dtype = dtype_of(dtype)
    if dtype not in (float32, float64, int32, int64):
        raise DTypeError(f"uniform numbers are float32, float64, int32 or int64, not {dtype.name}")
    # Integers in float64: float32 would round great ones up to `maxval`.
    low, high = (in_dtype(x, dtype if dtype.is_float else float64) for x in (minval, maxval))
    sizes, low, high = _parameters(shape, low, high)
    drawn = call.add(low, call.mul(F.random_uniform(state, shape=sizes, dtype=low.dtype), call.sub(high, low)))
    most = F.select(F.less(low, high), call.nextafter(high, low), math.inf)
    drawn = F.clamp_max(drawn, F.stop_gradient(most))  # it may have been rounded up to `high`
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
    """Integers from `low` to `high` - 1, int64 by default.

    >>> sorted(set(randint(0, 2, (100,)).tolist()))
    [0, 1]
    """
    return _integers(state, low, high, _sizes(size), dtype or int64)


def _integers(state: Any, low: Any, high: Any, shape: Shape, dtype: Any) -> Any:
    low, high = static_int(low, "low"), static_int(high, "high")
    if low >= high:
        raise ValueError(f"`low` must be less than `high`: there is no integer from {low} to less than {high}")
    return cast(F.random_integers(state, low=low, high=high, shape=shape), dtype_of(dtype))


@_drawing
def randint_like(state: Any, input: Any, low: int, high: int, seed: int | None = None, *, dtype: Any = None) -> Any:
    """Integers from `low` to `high` - 1 in the shape, and by default the dtype, of a Tensor."""
    return _integers(state, low, high, input.shape, dtype or input.dtype)


def _order(state: Any, n: Size) -> Any:
    return F.random_order(state, size=n)


@_drawing
def randperm(state: Any, n: int, seed: int = 0, offset: int = 0, dtype: Any = int64) -> Any:
    """The numbers 0 ... n - 1 in a random order.

    >>> sorted(randperm(4).tolist())
    [0, 1, 2, 3]
    """
    _require_no_offset(offset)
    return cast(_order(state, static_size(n, "n")), dtype_of(dtype))


def _require_no_offset(offset: int) -> None:
    if offset:
        raise UnsupportedCallError("`offset` is not available", hint="give another seed")


@_drawing
def padded_randperm(
    state: Any, n: int, max_length: int = 1, pad: int = -1, dtype: Any = int32, seed: int | None = None
) -> Any:
    """The numbers 0 ... n - 1 in a random order, followed by `pad` up to a length."""
    n = static_int(n, "n")
    if not 0 <= n <= max_length:
        raise ValueError(f"{n} numbers do not fit in max_length={max_length}")
    return cast(call.pad(_order(state, n), (0, max_length - n), "constant", pad), dtype_of(dtype))


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
    return trials(state, input, p)


def trials(state: Any, x: Any, p: Any) -> Any:
    """1 with probability p, else 0, in the shape and dtype of x; ValueError: a number p outside of [0, 1]."""
    if isinstance(p, int | float) and not 0 <= p <= 1:
        raise ValueError(f"p must be from 0 to 1, not {p}")
    drawn = F.random_uniform(state, shape=x.shape, dtype=float64)
    return cast(F.less(drawn, F.stop_gradient(_parameters(x.shape, in_dtype(p, float64))[1])), x.dtype)


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

    ValueError: a negative standard deviation, if it is a number (those in a Tensor are not looked at).

    >>> normal((2, 1), 0.0, [1.0, 2.0]).shape
    (2, 2)
    """
    for number in stddev if isinstance(stddev, list | tuple) else (stddev,):
        if isinstance(number, int | float) and number < 0:
            raise ValueError(f"`stddev` must not be negative, but is {number}")
    sizes, mean, stddev = _parameters(shape, *map(_array, (mean, stddev)))
    return call.add(mean, call.mul(F.random_normal(state, shape=sizes, dtype=mean.dtype), stddev))


def _array(x: Any) -> Any:
    return call.stack(x) if isinstance(x, list | tuple) else x


def _laplace(state: Any, sizes: Shape, dtype: Any) -> Any:
    # A random sign times an exponentially distributed number, -log(1 - u).
    u = F.random_uniform(state, shape=sizes, dtype=float64)
    centred = call.sub(call.mul(u, 2), 1)  # from -1 on: the next step avoids log(0)
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

    Both have gradients, alpha's that of the quantile a number lies at.
    """
    _, alpha, beta = _parameters(shape, alpha, beta)
    return call.div(F.random_gamma(state, alpha), beta)


def _appended(shape: Any, parameter: Any) -> Any:
    """A parameter repeated: `shape` before its own."""
    (x,) = _parameters((), parameter)[1:]
    return broadcast_to(x, (*_sizes(shape), *x.shape))


@_drawing
def random_gamma(state: Any, shape: Any, alpha: Any, seed: int | None = None) -> Any:
    """`shape` numbers of each gamma distribution of shape alpha and rate 1: [*shape, *alpha.shape].

    alpha has a gradient, that of the quantile a number lies at.
    """
    return F.random_gamma(state, _appended(shape, alpha))


@_drawing
def poisson(state: Any, shape: Any, mean: Any, seed: int | None = None) -> Any:
    """Numbers (float32) of Poisson distributions whose means broadcast with `shape`; -1 for a negative mean."""
    return cast(_counts(state, shape, mean), float32)


def _counts(state: Any, shape: Any, mean: Any) -> Any:
    return F.random_poisson(state, F.stop_gradient(_parameters(shape, mean)[1]))


@_drawing
def random_poisson(state: Any, shape: Any, rate: Any, seed: int | None = None, dtype: Any = float32) -> Any:
    """`shape` numbers of each Poisson distribution: [*shape, *rate.shape]; -1 for a negative rate."""
    return cast(F.random_poisson(state, F.stop_gradient(_appended(shape, rate))), dtype_of(dtype))


@_drawing
def poisson_numbers(state: Any, shape: Any, mean: Any, seed: int | None = None) -> Any:
    """The numbers of `poisson` as int32."""
    return cast(_counts(state, shape, mean), int32)


@_drawing
def truncated_normal(state: Any, shape: Any, dtype: Any = float32, seed: int | None = None) -> Any:
    """Numbers of the standard normal distribution between -2 and 2."""
    # By inversion: the quantiles of uniform numbers between the probabilities of -2 and 2.
    centred = call.sub(call.mul(F.random_uniform(state, shape=_sizes(shape), dtype=float64), 2), 1)
    return cast(call.mul(call.erfinv(call.mul(centred, math.erf(math.sqrt(2)))), math.sqrt(2)), dtype_of(dtype))


@_drawing
def cauchy(state: Any, size: Any, median: float = 0.0, sigma: float = 1.0, seed: int | None = None) -> Any:
    """Numbers (float32) of the Cauchy distribution around a median."""
    return cast(cauchy_numbers(state, _sizes(size), median, sigma), float32)


def cauchy_numbers(state: Any, sizes: Shape, median: float, sigma: float) -> Any:
    """Numbers (float64) of the Cauchy distribution: its quantiles."""
    centred = call.sub(F.random_uniform(state, shape=sizes, dtype=float64), 0.5)
    return call.add(call.mul(call.tan(call.mul(centred, math.pi)), sigma), median)


@_drawing
def log_normal(state: Any, x: Any, mean: float = 1.0, std: float = 2.0, seed: int | None = None) -> Any:
    """Numbers whose logarithms are normal, in the shape and dtype of a Tensor."""
    drawn = F.random_normal(state, shape=x.shape, dtype=float64)
    return cast(call.exp(call.add(call.mul(drawn, std), mean)), x.dtype)


# ------------------------------------------------------------------------------------------------ choices
def _slice(x: Any, start: int, stop: int) -> Any:
    return F.slice(x, axes=(-1,), starts=(start,), stops=(stop,), steps=(1,))


def _chosen(state: Any, weights: Any, n: int) -> Any:
    """Positions (int64) along the last axis, `n` for each row, with probabilities in proportion to float64 weights."""
    up_to = call.cumsum(F.chance_weights(weights, least=1), -1)
    total = _slice(up_to, weights.shape[-1] - 1, weights.shape[-1])
    u = F.random_uniform(state, shape=(*weights.shape[:-1], n), dtype=float64)
    found = F.searchsorted(up_to, call.mul(u, total), right=True)
    # u * total may round to total: the last position of weight > 0 is the first whose sum is the total.
    last = F.searchsorted(up_to, total, right=False)
    return call.minimum(cast(found, int64), cast(last, int64))


@_drawing
def multinomial(state: Any, input: Any, num_samples: int, replacement: bool = True, seed: int | None = None) -> Any:
    """Positions (int32) drawn in proportion to the weights in a vector, or in each row of a matrix.

    ShapeError: other dimensions, or more draws without replacement than there are weights.  ValueError: a weight that
    is negative, nan or infinite, or too few that are not 0.
    """
    return _classes(state, input, num_samples, replacement, int32)


def _classes(state: Any, input: Any, num_samples: int, replacement: bool, dtype: Any) -> Any:
    weights, n = F.stop_gradient(cast(as_tensor(input, "input"), float64)), static_int(num_samples, "num_samples")
    if weights.ndim not in (1, 2):
        raise ShapeError(f"multinomial takes a vector or a matrix, not {weights.ndim} dimensions")
    if replacement:
        return cast(_chosen(state, weights, n), dtype)
    if n > weights.shape[-1]:
        raise ShapeError(f"{n} of {weights.shape[-1]} cannot be drawn without replacement")
    # The k smallest of exponential variables whose rates are the weights (Efraimidis and Spirakis, 2006).
    u = F.random_uniform(state, shape=weights.shape, dtype=float64)
    clocks = call.div(call.neg(call.log(call.sub(1, u))), F.chance_weights(weights, least=n))
    return cast(_slice(F.argsort(clocks, axis=-1), 0, n), dtype)


@_drawing
def multinomial_of(state: Any, x: Any, num_samples: int, dtype: Any, seed: int | None = None) -> Any:
    """The positions of `multinomial` with replacement, in a dtype."""
    return _classes(state, x, num_samples, True, dtype_of(dtype))


@_drawing
def multinomial_with_replacement(
    state: Any, x: Any, seed: int, offset: int, numsamples: int, replacement: bool = False
) -> Any:
    """Positions (int64) drawn in proportion to the weights in a vector, or in each row of a matrix.

    >>> multinomial_with_replacement(Tensor([0.0, 1.0]), 2, 0, 3, True).tolist()
    [1, 1, 1]
    """
    _require_no_offset(offset)
    return _classes(state, x, numsamples, replacement, int64)


@_drawing
def random_categorical(state: Any, logits: Any, num_sample: int, seed: int = 0, dtype: Any = int64) -> Any:
    """`num_sample` positions for each row of a matrix of logarithms of weights."""
    weights = call.softmax(F.stop_gradient(cast(as_tensor(logits, "logits"), float64)), -1)
    return cast(_chosen(state, weights, static_int(num_sample, "num_sample")), dtype_of(dtype))


@_drawing
def choice_with_mask(state: Any, input_x: Any, count: int = 256, seed: int | None = None) -> tuple[Any, Any]:
    """`count` distinct indices of true elements of a bool tensor, in random order (int32, [count, dimensions]).

    The second result (bool, [count]) is False where there are no more of them; the index is 0 there.

    >>> places, found = choice_with_mask(Tensor([[True, False]]), 2)
    >>> places.tolist(), found.tolist()
    ([[0, 0], [0, 0]], [True, False])
    """
    x, count = as_tensor(input_x, "input_x"), static_int(count, "count")
    sizes, flat = x.shape, call.reshape(x, (-1,))
    if not sizes or not x.dtype.is_bool:
        raise DTypeError(f"choice_with_mask takes bools in at least one dimension, not {x.dtype.name}{list(sizes)}")
    keys = F.random_uniform(state, shape=flat.shape, dtype=float64)
    order = F.argsort(call.where(flat, keys, 2), axis=-1)
    order = _slice(order, 0, min(count, flat.shape[0]))
    order = call.pad(order, (0, count - order.shape[0]), "constant", 0)
    found = call.less(call.arange(count), call.count_nonzero(flat))
    order, places = call.where(found, order, 0), []
    for size in reversed(sizes):
        places.append(cast(call.mod(order, size), int32))
        order = call.floordiv(order, size)
    return call.stack(places[::-1], 1), found


# ------------------------------------------------------------------------------------------------ noise in layers
@_drawing
def _gumbel_softmax(state: Any, logits: Any, tau: float, hard: bool, dim: int, seed: int | None = None) -> Any:
    logits = as_tensor(logits, "logits")
    u = call.maximum(F.random_uniform(state, shape=logits.shape, dtype=float64), 2.0**-54)  # not 0
    noise = cast(call.neg(call.log(call.neg(call.log(u)))), logits.dtype)
    soft = call.softmax(call.div(call.add(logits, noise), tau), dim)
    if not hard:
        return soft
    chosen = call.one_hot(call.argmax(soft, dim), logits.shape[dim], 1, 0, dim)
    return call.add(cast(chosen, soft.dtype), call.sub(soft, F.stop_gradient(soft)))


@answering
def gumbel_softmax(logits: Any, tau: float = 1.0, hard: bool = False, dim: int = -1, **unknown: Never) -> Any:
    """The softmax of logits with Gumbel noise, divided by a temperature: classes drawn by their probabilities.

    With `hard` the result is 1 for the class drawn and 0 for the others, with the derivative of the soft one.

    >>> sum(gumbel_softmax(Tensor([1.0, 2.0, 3.0]), hard=True).tolist())
    1.0
    """
    if unknown:
        refuse_unknown(gumbel_softmax, unknown)
    return _gumbel_softmax(logits, tau, hard, dim)


@_drawing
def _rrelu(state: Any, x: Any, lower: float, upper: float, seed: int | None = None) -> Any:
    x = as_tensor(x, "input")
    if not 0 <= lower <= upper <= 1:
        raise ValueError(f"the slopes of rrelu are 0 <= lower <= upper <= 1, not {lower} and {upper}")
    u = F.random_uniform(state, shape=x.shape, dtype=x.dtype)
    slope = call.add(call.mul(u, upper - lower), lower)
    return call.mul(x, call.where(call.less(x, 0), slope, cast(call.not_equal(x, 0), x.dtype)))


def rrelu(input: Any, lower: float = 1 / 8, upper: float = 1 / 3) -> Any:
    """Negative numbers times slopes drawn between two bounds, positive ones as they are; the derivative at 0 is 0.

    >>> rrelu(Tensor([-1.0, 2.0]), 0.5, 0.5).tolist()
    [-0.5, 2.0]
    """
    return _rrelu(input, lower, upper)


# ------------------------------------------------------------------------------------------------ dropout
def _drawn_dropout(state: Any, x: Any, p: float, dimensions: int | None) -> tuple[Any, Any]:
    """Dropout of single elements, or of whole slices of the last `dimensions`, and the mask of what was kept."""
    if not isinstance(p, int | float):
        raise StaticValueError(f"p of dropout must be a constant number, not {p!r}")
    x = as_tensor(x, "input")
    kept = x.ndim if dimensions is None else x.ndim - dimensions
    if dimensions is not None and kept not in (1, 2):
        raise ShapeError(f"dropout{dimensions}d takes {dimensions + 1} or {dimensions + 2} dimensions, not {x.ndim}")
    shape = (*x.shape[:kept], *(1 for _ in range(x.ndim - kept)))
    drawn = F.random_uniform(state, shape=shape, dtype=float32)
    mask = F.greater_equal(drawn, broadcast_to(constant(float(p), tensor(float32, ())), shape))
    mask = broadcast_to(mask, x.shape)
    return call.masked_dropout(x, mask, p), mask


def _dropping(function: _Function) -> _Function:
    """The public form of a function that drops elements."""
    return _drawing(function, masks=True)


@_dropping
def _dropped(state: Any, x: Any, p: float, dimensions: int | None, seed: int | None = None) -> Any:
    return _drawn_dropout(state, x, p, dimensions)[0]


@_dropping
def dropout_and_mask(
    state: Any, x: Any, p: float, dimensions: int | None, of_x: bool, seed: int | None = None
) -> tuple[Any, Any]:
    """Dropout, and a mask of what was kept: of bools, or of the dtype of x."""
    out, mask = _drawn_dropout(state, x, p, dimensions)
    return out, (cast(mask, out.dtype) if of_x else mask)


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
    """Compiled code interprets the function's source like the user's: so the draw advances the generator."""
    function.__graph_call__ = lambda ctx, args, kwargs: ctx.call_python(function, args, kwargs)  # type: ignore[attr-defined]


for _function in (dropout, dropout1d, dropout2d, dropout3d, gumbel_softmax, rrelu):
    _compiled_from_source(_function)
