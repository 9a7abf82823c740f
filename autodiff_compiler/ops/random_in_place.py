"""Tensor methods that fill the Tensor with random numbers: ``x.normal_(0, 1)``.

They draw as the functions of `random` do.  The package adds them to the table of all methods that change a Tensor.
"""

from __future__ import annotations

from typing import Any

from ..dtypes import bfloat16, float16, float32, float64
from ..ir.primitive import F, call
from ..primitives.family import cast
from . import random
from .random import _drawing as drawing

__all__ = ["RANDOM_IN_PLACE"]


#: A float dtype holds all integers below this power of 2.
_EXACT = {bfloat16: 8, float16: 11, float32: 24, float64: 53}


def _draw_dtype(x: Any) -> Any:
    return x.dtype if x.dtype.is_float else float64


@drawing
def normal_(state: Any, x: Any, mean: Any = 0, std: Any = 1, *, generator: Any = None, seed: int | None = None) -> Any:
    drawn = F.random_normal(state, shape=x.shape, dtype=_draw_dtype(x))
    return cast(call.add(call.mul(drawn, std), mean), x.dtype)


@drawing
def uniform_(state: Any, x: Any, from_: Any = 0, to: Any = 1, *, generator: Any = None, seed: int | None = None) -> Any:
    drawn = F.random_uniform(state, shape=x.shape, dtype=_draw_dtype(x))
    return cast(call.add(call.mul(drawn, call.sub(to, from_) if _dynamic(to, from_) else to - from_), from_), x.dtype)


def _dynamic(*xs: Any) -> bool:
    return any(not isinstance(x, bool | int | float) for x in xs)


@drawing
def random_(
    state: Any, x: Any, from_: int = 0, to: int | None = None, *, generator: Any = None, seed: int | None = None
) -> Any:
    """Integers from `from_` to less than `to`, by default all that the dtype holds exactly."""
    if to is None:
        from_, to = 0, 2 ** _EXACT.get(x.dtype, 8 * x.dtype.itemsize - 1)
    drawn = F.random_uniform(state, shape=x.shape, dtype=float64)
    return cast(call.floor(call.add(call.mul(drawn, float(to) - float(from_)), float(from_))), x.dtype)


@drawing
def exponential_(state: Any, x: Any, lambd: Any = 1, *, generator: Any = None, seed: int | None = None) -> Any:
    drawn = F.random_uniform(state, shape=x.shape, dtype=_draw_dtype(x))
    return cast(call.div(call.neg(call.log(call.sub(1, drawn))), lambd), x.dtype)


@drawing
def bernoulli_(state: Any, x: Any, p: Any = 0.5, *, generator: Any = None, seed: int | None = None) -> Any:
    return random.trials(state, x, p)


RANDOM_IN_PLACE = {
    "bernoulli_": bernoulli_,
    "exponential_": exponential_,
    "normal_": normal_,
    "random_": random_,
    "uniform_": uniform_,
}
