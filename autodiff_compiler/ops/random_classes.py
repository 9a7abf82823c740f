"""MindSpore's operator classes that draw: seeds and constants are given when the object is made, the rest at each call.

Two seeds of 0 mean none, as everywhere in MindSpore.  Every call of an object draws other numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtypes import float32, int32, int64
from ..primitives.requirements import static_int
from . import random
from .operation import Draw, drawing, operation

__all__: list[str] = []


def _drawing(name: str, make: Callable[..., Callable[..., Draw]], doc: str) -> None:
    """Publishes a class: `make` takes its constants and returns the plan of a call."""
    globals()[name] = operation(name, drawing(make), __name__, doc)
    __all__.append(name)


def _seed(seed: int, seed2: int) -> int | None:
    """One seed from MindSpore's two."""
    seed, seed2 = static_int(seed, "seed"), static_int(seed2, "seed2")
    if not 0 <= seed < 2**31 or not 0 <= seed2 < 2**31:
        raise ValueError(f"seeds are from 0 to 2**31 - 1, not {seed} and {seed2}")
    # MindSpore 2.10: two seeds of 0 mean none: every call draws other numbers.
    return None if seed == seed2 == 0 else seed + (seed2 << 31)


def _seeded(name: str, plan: Callable[..., Draw], doc: str) -> None:
    """Publishes a class whose only constants are two seeds; `plan` takes the one they make first."""

    def make(seed: int = 0, seed2: int = 0) -> Callable[..., Draw]:
        combined = _seed(seed, seed2)
        return lambda *operands: plan(combined, *operands)

    _drawing(name, make, doc)


# ------------------------------------------------------------------------------------------------ distributions
_seeded(
    "Gamma",
    lambda seed, shape, alpha, beta: (random.gamma, (shape, alpha, beta, seed)),
    (
        "``Gamma(seed=0, seed2=0)(shape, alpha, beta)``: random numbers of gamma distributions of shape "
        "alpha, rate beta."
    ),
)
_seeded(
    "Poisson",
    lambda seed, shape, mean: (random.poisson_numbers, (shape, mean, seed)),
    "``Poisson(seed=0, seed2=0)(shape, mean)``: random numbers (int32) of Poisson distributions.",
)
_seeded(
    "RandomGamma",
    lambda seed, shape, alpha: (random.random_gamma, (shape, alpha, seed)),
    "``RandomGamma(seed=0, seed2=0)(shape, alpha)``: random numbers of gamma distributions: [*shape, *alpha.shape].",
)
_seeded(
    "RandomShuffle",
    lambda seed, x: (random.shuffle, (x, seed)),
    "``RandomShuffle(seed=0, seed2=0)(x)``: the slices along the first dimension in a random order.",
)
_seeded(
    "StandardLaplace",
    lambda seed, shape: (random.standard_laplace, (shape, seed)),
    "``StandardLaplace(seed=0, seed2=0)(shape)``: random numbers (float32) of the Laplace distribution.",
)
_seeded(
    "StandardNormal",
    lambda seed, shape: (random.standard_normal, (shape, seed)),
    "``StandardNormal(seed=0, seed2=0)(shape)``: random numbers (float32) of the standard normal distribution.",
)
_seeded(
    "UniformInt",
    lambda seed, shape, minval, maxval: (random.uniform, (shape, minval, maxval, seed, int32)),
    "``UniformInt(seed=0, seed2=0)(shape, minval, maxval)``: random integers (int32) from minval to maxval - 1.",
)
_seeded(
    "UniformReal",
    lambda seed, shape: (random.uniform, (shape, 0.0, 1.0, seed)),
    "``UniformReal(seed=0, seed2=0)(shape)``: random numbers (float32) of [0, 1).",
)


def _bernoulli(seed: int = -1, offset: int = 0) -> Callable[..., Draw]:
    combined = _seed(max(static_int(seed, "seed"), 0), offset)
    return lambda x, p: (random.bernoulli, (x, p, combined))


def _random_poisson(seed: int = 0, seed2: int = 0, dtype: Any = int64) -> Callable[..., Draw]:
    combined = _seed(seed, seed2)
    return lambda shape, rate: (random.random_poisson, (shape, rate, combined, dtype))


def _truncated_normal(dtype: Any = float32, seed: int = 0, seed2: int = 0) -> Callable[..., Draw]:
    combined = _seed(seed, seed2)
    return lambda shape: (random.truncated_normal, (shape, dtype, combined))


_drawing(
    "Bernoulli",
    _bernoulli,
    "``Bernoulli(seed=-1, offset=0)(x, p)``: 1 with probability p, else 0, in the shape and dtype of x.",
)
_drawing(
    "Cauchy",
    lambda size, median=0.0, sigma=1.0: lambda: (random.cauchy, (size, median, sigma)),
    "``Cauchy(size, median=0.0, sigma=1.0)()``: random numbers of the Cauchy distribution.",
)
_drawing(
    "LogNormalReverse",
    lambda mean=1.0, std=2.0: lambda x: (random.log_normal, (x, mean, std)),
    "``LogNormalReverse(mean=1.0, std=2.0)(x)``: random numbers whose logarithms are normal, in the shape of x.",
)
_drawing(
    "RandomPoisson",
    _random_poisson,
    "``RandomPoisson(seed=0, seed2=0, dtype=int64)(shape, rate)``: Poisson numbers: [*shape, *rate.shape].",
)
_drawing(
    "TruncatedNormal",
    _truncated_normal,
    "``TruncatedNormal(dtype=float32, seed=0, seed2=0)(shape)``: standard normal numbers between -2 and 2.",
)


# ------------------------------------------------------------------------------------------------ choices
def _multinomial(seed: int = 0, seed2: int = 0, dtype: Any = int32) -> Callable[..., Draw]:
    combined = _seed(seed, seed2)
    return lambda x, num_samples: (random.multinomial_of, (x, num_samples, dtype, combined))


def _multinomial_with_replacement(numsamples: int, replacement: bool = False) -> Callable[..., Draw]:
    return lambda x, seed, offset: (random.multinomial_with_replacement, (x, seed, offset, numsamples, replacement))


def _choice(count: int = 256, seed: int = 0, seed2: int = 0) -> Callable[..., Draw]:
    combined = _seed(seed, seed2)
    return lambda x: (random.choice_with_mask, (x, count, combined))


_drawing(
    "Multinomial",
    _multinomial,
    "``Multinomial(seed=0, seed2=0, dtype=int32)(weights, n)``: positions drawn in proportion to weights.",
)
_drawing(
    "MultinomialWithReplacement",
    _multinomial_with_replacement,
    "``MultinomialWithReplacement(numsamples, replacement=False)(weights, seed, offset)``: positions (int64).",
)
_drawing(
    "RandomChoiceWithMask",
    _choice,
    "``RandomChoiceWithMask(count=256, ...)(mask)``: random indices of true elements, and which of them exist.",
)
_drawing(
    "RandomCategorical",
    lambda dtype=int64: (
        lambda logits, num_sample, seed=0: (random.random_categorical, (logits, num_sample, seed, dtype))
    ),
    "``RandomCategorical(dtype=int64)(logits, num_sample, seed=0)``: positions drawn by logarithms of weights.",
)
_drawing(
    "Randperm",
    lambda max_length=1, pad=-1, dtype=int32: lambda n: (random.padded_randperm, (n, max_length, pad, dtype)),
    "``Randperm(max_length=1, pad=-1, dtype=int32)(n)``: 0 ... n - 1 in a random order, padded to a length.",
)
_drawing(
    "RandpermV2",
    lambda seed=0, offset=0, dtype=int64: lambda n: (random.randperm, (n, seed, offset, dtype)),
    "``RandpermV2(seed=0, offset=0, dtype=int64)(n)``: 0 ... n - 1 in a random order.",
)


# ------------------------------------------------------------------------------------------------ dropout
def _dropout(keep_prob: float = 0.5, Seed0: int = 0, Seed1: int = 0) -> Callable[..., Draw]:
    combined = _seed(Seed0, Seed1)
    return lambda x: (random.dropout_and_mask, (x, 1 - keep_prob, None, True, combined))


def _of_channels(dimensions: int) -> Callable[..., Callable[..., Draw]]:
    return lambda keep_prob=0.5: lambda x: (random.dropout_and_mask, (x, 1 - keep_prob, dimensions, False))


_drawing(
    "Dropout",
    _dropout,
    "``Dropout(keep_prob=0.5, Seed0=0, Seed1=0)(x)``: x / keep_prob where it is kept, else 0; and that mask.",
)
_drawing(
    "Dropout2D",
    _of_channels(2),
    "``Dropout2D(keep_prob=0.5)(x)``: dropout of whole channels [N, C, H, W], and the mask (bools).",
)
_drawing(
    "Dropout3D",
    _of_channels(3),
    "``Dropout3D(keep_prob=0.5)(x)``: dropout of whole channels [N, C, D, H, W], and the mask (bools).",
)
