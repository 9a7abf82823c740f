"""Random numbers as pure functions: what is drawn depends on the state ``[seed, stream, count]`` and nothing else.

The numbers are those of the counter-based generator Philox (Salmon et al., 2011), whose key is seed and stream.  The
count of draws is a higher word of its counter, so that draws never overlap, however many numbers each takes.
Draws are constants to derivatives, but for those of gamma distributions.
"""

from __future__ import annotations

import numpy as np

from ..dtypes import DType, float32, float64, int64
from ..ir.primitive import F, Primitive
from ..ir.types import Shape, Size, TensorType, tensor
from .family import cast
from .incomplete_gamma import density, igamma_by_shape
from .requirements import require, require_dtype
from .samples import F2, L2

_STATE = tensor(int64, (3,))


# ------------------------------------------------------------------------------------------------ kernels
def _drawn(state, method, *args, idle=[]):  # noqa: B006  (the default is the pool: printed source has it, too)
    """The result of a method of NumPy's generator in the state of one draw."""
    # Making a generator takes ten times as long as setting its state.  While a draw uses one, nobody else finds
    # it in `idle`: other threads and signal handlers draw too.
    try:
        generator = idle.pop()
    except IndexError:
        generator = np.random.Generator(np.random.Philox(0))
    seed, stream, count = state.tolist()
    word = 0xFFFFFFFFFFFFFFFF  # negative numbers as unsigned ones
    generator.bit_generator.state = {
        "bit_generator": "Philox", "state": {"counter": (0, count & word, 0, 0), "key": (seed & word, stream & word)},
        "buffer": (0, 0, 0, 0), "buffer_pos": 4, "has_uint32": 0, "uinteger": 0,
    }  # fmt: skip
    result = method(generator, *args)
    idle.append(generator)
    return result


def _uniform(state, shape, dtype):
    """Multiples of 2^-k in [0, 1) that the dtype holds exactly."""
    if dtype.itemsize > 2:
        return np.asarray(_drawn(state, np.random.Generator.random, shape, dtype))
    steps = np.float32(2048 if dtype == np.float16 else 256)
    drawn = _drawn(state, np.random.Generator.random, shape, np.float32)
    return np.asarray(np.floor(drawn * steps) / steps).astype(dtype)


def _drawn_for(state, method, parameter):
    """Numbers of the distributions with the given parameters; one for all is drawn faster, to the same numbers."""
    parameter = parameter.astype(np.float64)
    if parameter.size and (parameter == (first := parameter.flat[0])).all():
        return np.asarray(_drawn(state, method, first, parameter.shape))
    return np.asarray(_drawn(state, method, parameter))


def _needs_state(state):
    require(state.shape == (3,), f"the state of random numbers is int64[3], not {state}")
    require_dtype(state.dtype is int64, f"the state of random numbers is int64[3], not {state}")


def _states(rng):
    return np.array([7, 1, 5])


# ------------------------------------------------------------------------------------------------ primitives
class RandomUniform(Primitive):
    """Numbers of [0, 1), all multiples of a power of 2 with the same probability."""

    internal = True

    def infer(state: TensorType, *, shape: Shape, dtype: DType):
        _needs_state(state)
        require_dtype(dtype.is_float, f"uniform numbers are floats, not {dtype.name}")
        return tensor(dtype, shape)

    flops = 10

    def numpy(state, *, shape, dtype):
        return _uniform(state, shape, np.dtype(dtype))

    def samples(rng):
        yield _states(rng), {"shape": (2, 3), "dtype": "float32"}
        yield _states(rng), {"shape": (0,), "dtype": "bfloat16"}
        yield _states(rng), {"shape": (), "dtype": "float64"}

    errors = [((L2,), {"shape": (2,), "dtype": float32}, "the state of random numbers")]


class RandomNormal(Primitive):
    """Numbers of the standard normal distribution."""

    internal = True

    def infer(state: TensorType, *, shape: Shape, dtype: DType):
        _needs_state(state)
        require_dtype(dtype.is_float, f"normal numbers are floats, not {dtype.name}")
        return tensor(dtype, shape)

    flops = 60

    def numpy(state, *, shape, dtype):
        dtype = np.dtype(dtype)
        drawn = _drawn(state, np.random.Generator.standard_normal, shape, dtype if dtype.itemsize > 2 else np.float32)
        return np.asarray(drawn).astype(dtype, copy=False)

    def samples(rng):
        yield _states(rng), {"shape": (2, 3), "dtype": "float32"}
        yield _states(rng), {"shape": (), "dtype": "float16"}

    errors = [((L2,), {"shape": (2,), "dtype": float32}, "the state of random numbers")]


class RandomIntegers(Primitive):
    """Numbers (int64) from `low` to `high` - 1, all with the same probability."""

    internal = True

    def infer(state: TensorType, *, low: int, high: int, shape: Shape):
        _needs_state(state)
        require(-(2**63) <= low < high <= 2**63, f"there is no int64 from {low} to less than {high}")
        return tensor(int64, shape)

    flops = 10

    def numpy(state, *, low, high, shape):
        return np.asarray(_drawn(state, np.random.Generator.integers, low, high, shape))

    def samples(rng):
        yield _states(rng), {"low": -2, "high": 9, "shape": (2, 3)}
        yield _states(rng), {"low": 0, "high": 1, "shape": ()}

    errors = [((_STATE,), {"low": 2, "high": 2, "shape": (2,)}, "no int64 from 2")]


class RandomOrder(Primitive):
    """The numbers (int64) 0 ... size - 1, every order with the same probability."""

    internal = True

    def infer(state: TensorType, *, size: Size):
        _needs_state(state)
        return tensor(int64, (size,))

    flops = 20

    def numpy(state, *, size):
        return _drawn(state, np.random.Generator.permutation, size)

    def samples(rng):
        yield _states(rng), {"size": 5}
        yield _states(rng), {"size": 0}

    errors = [((L2,), {"size": 2}, "the state of random numbers")]


class RandomGamma(Primitive):
    """Numbers of the gamma distributions of shape alpha and scale 1; their derivatives keep the quantiles."""

    def infer(state: TensorType, alpha: TensorType):
        _needs_state(state)
        require_dtype(alpha.dtype.is_float, f"alpha must hold floats, not {alpha.dtype.name}")
        return alpha

    flops = 150

    def numpy(state, alpha):
        valid = alpha > 0
        if valid.all():
            return _drawn_for(state, np.random.Generator.standard_gamma, alpha).astype(alpha.dtype)
        drawn = _drawn_for(state, np.random.Generator.standard_gamma, np.where(valid, alpha, 1))
        return np.where(valid, drawn, np.nan).astype(alpha.dtype)

    def vjp(c, g, state, alpha):
        # A number moves so that the share of the distribution below it stays (Figurnov et al., 2018).  Far out the
        # density is small and float32 would leave nothing of the quotient.
        a, drawn = cast(alpha, float64), cast(c.out, float64)
        slope = F.select(F.equal(drawn, 0), 0, -(igamma_by_shape(a, drawn) / density(a, drawn)))
        return None, g * cast(slope, alpha.dtype)

    def samples(rng):
        yield _states(rng), rng(2, 3, low=0.5, high=4.0)

    errors = [((L2, F2), {}, "the state of random numbers")]


class ChanceWeights(Primitive):
    """Weights to draw by: rows of finite numbers from 0 on, of which at least `least` are not 0; else ValueError."""

    internal = True

    def infer(x: TensorType, *, least: int):
        require(x.ndim > 0, f"weights need a dimension: {x}")
        return x

    def numpy(x, *, least):
        if not (np.isfinite(x) & (x >= 0)).all():
            raise ValueError("weights to draw by must be finite and not negative")
        if x.size and np.count_nonzero(x, axis=-1).min() < least:
            raise ValueError(f"too few weights to draw by are greater than 0: {least} needed")
        return x

    view = "x"

    def samples(rng):
        yield rng(2, 3, low=0.5, high=2.0), {"least": 2}
        yield rng(0, 3), {"least": 1}

    errors = [((tensor(float32, ()),), {"least": 1}, "need a dimension")]


class RandomPoisson(Primitive):
    """Numbers (int64) of the Poisson distributions with the given means; -1 where a mean is negative or nan."""

    def infer(state: TensorType, mean: TensorType):
        _needs_state(state)
        require_dtype(mean.dtype.is_float, f"the means must be floats, not {mean.dtype.name}")
        return tensor(int64, mean.shape)

    flops = 150

    def numpy(state, mean):
        valid = mean >= 0
        if np.any(mean > 9.2e18):
            raise ValueError("the mean of a Poisson distribution must be less than 9.2e18")
        if valid.all():
            return _drawn_for(state, np.random.Generator.poisson, mean)
        drawn = _drawn_for(state, np.random.Generator.poisson, np.where(valid, mean, 0))
        return np.asarray(np.where(valid, drawn, -1))

    def samples(rng):
        yield _states(rng), rng(2, 3, low=0.5, high=4.0)

    errors = [((L2, F2), {}, "the state of random numbers")]
