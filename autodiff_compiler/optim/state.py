"""The Parameters that optimizers keep beside those they train, and how steps change them."""

from __future__ import annotations

from typing import Any

from .. import ops

__all__ = ["KeptState"]


class KeptState:
    """Methods of optimizers, whose `parameters` are trained.

    They are methods, since functions of this package run while code is compiled: they would read Parameters then.
    """

    parameters: Any

    def moments_like(self, prefix: str, init: Any = "zeros") -> Any:
        """A ParameterTuple of untrained Parameters of the trained ones' shapes, called ``prefix.name``."""
        made = self.parameters.clone(prefix, init)
        for p in made:
            p.requires_grad = False
        return made

    def kept(self, state: Any, value: Any) -> Any:
        """Assigns a value to a Parameter, in its dtype, and returns the value as it is."""
        ops.assign(state, ops.cast(value, state.dtype))
        return value

    def running_mean(self, mean: Any, share: Any, x: Any) -> Any:
        """Brings a running mean up to date: `share` of it stays, the rest is x."""
        return self.kept(mean, share * mean + (1.0 - share) * x)

    def damped(self, stat: Any, g: Any, dampening: float) -> Any:
        """The part of a gradient that a momentum takes: all of it while `stat` is 1, that is in the first step."""
        part = g if dampening == 0.0 else g * ops.where(stat > 0.0, 1.0, 1.0 - dampening)
        ops.assign(stat, ops.zeros_like(stat))
        return part
