"""The state of optimizers (moments): Parameters beside the trained ones, and their updates."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..ir.primitive import METHODS
from ..runtime.parameter import ParameterTuple

__all__ = ["KeptState", "in_dtype_of", "minus", "over", "plus", "running_mean", "times"]

#: The operators, which convert and broadcast in functions that run at compile time, too.
plus, times, over, minus = map(METHODS.__getitem__, ("__add__", "__mul__", "__truediv__", "__sub__"))


def running_mean(mean: Any, share: Any, x: Any) -> Any:
    """The next running mean.

    As all functions here it runs at compile time, and is no code that a compiled step reads for each Parameter again.
    """
    return plus(times(mean, share), times(x, 1.0 - share))


def in_dtype_of(state: Any, value: Any) -> Any:
    """A value as a Parameter keeps it."""
    return ops.cast(value, state.dtype)


class KeptState:
    """Methods that make and update the state of an optimizer, whose `parameters` are trained.

    They are methods because plain functions of this package run at compile time and could not read Parameters.
    """

    parameters: Any
    #: What updates change, if these are not the whole Parameters: see `ShardedState`.
    trained: Any = None

    def moments_like(self, prefix: str, init: Any = "zeros") -> Any:
        """A ParameterTuple of untrained Parameters of the shapes of the trained ones, called ``prefix.name``."""
        made = ParameterTuple(self.trained or self.parameters).clone(prefix, init)
        for p in made:
            p.requires_grad = False
        return made

    def kept(self, state: Any, value: Any) -> Any:
        """Assigns a value to a Parameter, cast to its dtype, and returns the value uncast."""
        ops.assign(state, in_dtype_of(state, value))
        return value

    def running_mean(self, mean: Any, share: Any, x: Any) -> Any:
        """Updates a running mean: ``mean = share * mean + (1 - share) * x``."""
        return self.kept(mean, running_mean(mean, share, x))

    def damped(self, stat: Any, g: Any, dampening: float) -> Any:
        """The gradient times 1 - `dampening`, for a momentum; undamped in the first step, while `stat` is 1."""
        # MindSpore 2.10: the first step is not damped; `stat`, which is 1 until then, tells so in checkpoints, too.
        part = g if dampening == 0.0 else g * ops.where(stat > 0.0, 1.0, 1.0 - dampening)
        ops.assign(stat, ops.zeros_like(stat))
        return part
