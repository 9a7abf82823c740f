"""What optimizers share: the Parameters they train, the rate of every step, weight decay and loss scale."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from .. import ops
from ..dtypes import float32, int32
from ..errors import UnsupportedCallError
from ..nn.cell import Cell
from ..runtime.parameter import Parameter, ParameterTuple
from ..runtime.tensor import Tensor

__all__ = ["Optimizer", "checked_number"]


class Optimizer(Cell):
    """Base of optimizers: ``optimizer(gradients)`` changes the Parameters, eagerly or inside compiled functions.

    `learning_rate` is a number, a Tensor or list with the rate of every step (the last one stays), or a Cell that is
    called with `global_step`.  Weight decay adds ``weight_decay * p`` to the gradient of every Parameter whose name
    contains neither "beta" nor "gamma"; gradients are divided by `loss_scale` before.

    `parameters` are the trained Parameters; `learning_rate` (unless it is a Cell) and `global_step` are Parameters too.
    """

    learning_rate: Any
    global_step: Any

    def __init__(
        self, learning_rate: Any, parameters: Iterable[Parameter], weight_decay: float = 0.0, loss_scale: float = 1.0
    ) -> None:
        super().__init__(auto_prefix=False)
        parameters = _checked_parameters(parameters)
        rate = _checked_rate(learning_rate)
        self.weight_decay = checked_number("weight_decay", weight_decay, least=0.0)
        self.loss_scale = checked_number("loss_scale", loss_scale, above=0.0)
        self.learning_rate = rate if isinstance(rate, Cell) else Parameter(rate, "learning_rate", requires_grad=False)
        self.rate_is_cell = isinstance(rate, Cell)
        self.global_step = Parameter(Tensor(0, int32), "global_step", requires_grad=False)
        self.parameters = ParameterTuple(parameters)
        self.decay_flags = tuple("beta" not in p.name and "gamma" not in p.name for p in parameters)

    def get_lr(self) -> Any:
        """The learning rate of the next step: a float Tensor without dimensions."""
        if self.rate_is_cell:
            return ops.reshape(self.learning_rate(self.global_step), ())
        if self.learning_rate.ndim == 0:
            return self.learning_rate
        last = self.learning_rate.shape[0] - 1
        return ops.gather(self.learning_rate, ops.minimum(self.global_step, last), 0)

    def prepared(self, gradients: Sequence[Any]) -> list[Any]:
        """The gradients, one per Parameter, unscaled and with weight decay."""
        if not isinstance(gradients, tuple | list):
            raise TypeError(f"an optimizer takes a tuple of gradients, not a {type(gradients).__name__}")
        if len(gradients) != len(self.parameters):
            raise ValueError(f"there are {len(self.parameters)} Parameters, but {len(gradients)} gradients")
        return [
            self._prepared(p, g, decays)
            for p, g, decays in zip(self.parameters, gradients, self.decay_flags, strict=True)
        ]

    def _prepared(self, p: Any, g: Any, decays: bool) -> Any:
        if p.shape != g.shape:
            raise ValueError(f"the gradient of {p.name} has shape {g.shape}, the Parameter has {p.shape}")
        if self.loss_scale != 1.0:
            g = g / self.loss_scale
        return g + self.weight_decay * p if decays and self.weight_decay != 0.0 else g

    def moments_like(self, prefix: str, init: Any = "zeros") -> ParameterTuple:
        """Untrained Parameters of the trained ones' shapes, called ``prefix.name``."""
        made = self.parameters.clone(prefix, init)
        for p in made:
            p.requires_grad = False
        return made

    def extend_repr(self) -> str:
        return f"parameters={len(self.parameters)}"


def _checked_parameters(parameters: Any) -> list[Parameter]:
    if isinstance(parameters, Tensor) or not isinstance(parameters, Iterable):
        raise TypeError(f"an optimizer takes a list of Parameters, not a {type(parameters).__name__}")
    found = list(parameters)
    if not found:
        raise ValueError("an optimizer needs at least one Parameter")
    for p in found:
        if isinstance(p, dict):
            raise UnsupportedCallError("groups of Parameters are not available yet", hint="make an optimizer for each")
        if not isinstance(p, Parameter):
            raise TypeError(f"an optimizer trains Parameters, not a {type(p).__name__}")
    return found


def _checked_rate(rate: Any) -> Any:
    if isinstance(rate, Cell):
        return rate
    if isinstance(rate, Tensor):
        rates = Tensor(rate, float32)
    elif isinstance(rate, Iterable) and not isinstance(rate, str):
        rates = Tensor([checked_number("learning_rate", r, least=0.0) for r in rate], float32)
    else:
        rates = Tensor(checked_number("learning_rate", rate, least=0.0), float32)
    if rates.ndim > 1 or rates.size == 0 or not (rates.asnumpy() >= 0).all():
        raise ValueError(f"`learning_rate` must be one number or a list of them, none negative: {rates}")
    return rates


def checked_number(
    name: str, value: Any, least: float = -math.inf, above: float = -math.inf, below: float = math.inf
) -> float:
    """A Python number as a float; TypeError for anything else, ValueError outside of the bounds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"`{name}` must be a number, not a {type(value).__name__}")
    if not (value >= least and value > above and value < below):
        bounds = [f">= {least}"] * (least > -math.inf) + [f"> {above}"] * (above > -math.inf)
        bounds += [f"< {below}"] * (below < math.inf)
        raise ValueError(f"`{name}` must be {' and '.join(bounds) or 'finite'}, not {value}")
    return float(value)
