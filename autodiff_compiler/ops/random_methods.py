"""Tensor methods that draw another Tensor: ``x.uniform(0, 1)``.  The package adds them to those of all Tensors."""

from __future__ import annotations

from typing import Any

from ..ir.primitive import F, call
from ..primitives.family import cast
from . import random
from .random import _drawing as drawing

__all__ = ["RANDOM_METHODS"]


@drawing
def cauchy(state: Any, x: Any, median: float = 0.0, sigma: float = 1.0, *, seed: int | None = None) -> Any:
    return cast(random.cauchy_numbers(state, x.shape, median, sigma), x.dtype)


@drawing
def uniform(
    state: Any, x: Any, from_: float = 0.0, to: float = 1.0, generator: Any = None, *, seed: int | None = None
) -> Any:
    drawn = F.random_uniform(state, shape=x.shape, dtype=x.dtype)
    return call.add(call.mul(drawn, to - from_), from_)


@drawing
def bernoulli(state: Any, x: Any, *, generator: Any = None, seed: int | None = None) -> Any:
    """1 with the probabilities in a Tensor, else 0."""
    return random.trials(state, x, x)


RANDOM_METHODS = {
    "bernoulli": bernoulli,
    "cauchy": cauchy,
    "log_normal": random.log_normal,
    "multinomial": random.multinomial,
    "random_categorical": random.random_categorical,
    "uniform": uniform,
}
