"""LAMB and LARS: steps scaled per Parameter by its norm, for large batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .. import ops
from ..data_parallel.collective import all_reduce
from ..dtypes import float32, float64
from ..nn.cell import Cell
from ..runtime.parameter import Parameter
from .adam import AdamW
from .groups import checked_flag, checked_number
from .optimizer import Optimizer

__all__ = ["LARS", "Lamb"]


def _squares(x: Any) -> Any:
    wide = x if x.dtype is float64 else ops.cast(x, float32)
    return ops.sum(ops.square(wide))


def _norm(x: Any) -> Any:
    return ops.sqrt(_squares(x))


class Lamb(AdamW):
    """LAMB: the step of AdamW, for each Parameter scaled to the Parameter's norm.

    With ``r = m / (1 - beta1**t) / (sqrt(v / (1 - beta2**t)) + eps) + weight_decay * p`` it is
    ``p -= lr * norm(p) / norm(r) * r``; the quotient is 1 if one of the norms is 0.  State as Parameters: `lamb_m.X`,
    `lamb_v.X`.

    >>> from autodiff_compiler import Tensor
    >>> p = Parameter([3.0, 4.0], name="p")
    >>> _ = Lamb([p], learning_rate=0.5)([Tensor([1.0, 0.0])]); [round(v, 4) for v in p.tolist()]
    [0.5, 4.0]
    """

    def __init__(
        self,
        params: Iterable[Any],
        learning_rate: Any,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-6,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(params, learning_rate, beta1, beta2, eps, weight_decay)
        for prefix, moments in (("lamb_m", self.moments1), ("lamb_v", self.moments2)):
            for p, m in zip(self.parameters, moments, strict=True):
                m.name = f"{prefix}.{p.name}"

    def update(self, i: int, p: Any, g: Any, lr: Any) -> Any:
        step = self.step(i, p, g)
        if self.sharding is None:
            norm, length = _norm(p), _norm(step)
        else:
            squares = ops.stack([ops.cast(_squares(p), float64), ops.cast(_squares(step), float64)])
            roots = ops.cast(ops.sqrt(all_reduce(squares, self.sharding.group, self.sharding.size)), float32)
            norm, length = roots[0], roots[1]
        usable = ops.logical_and(norm > 0.0, length > 0.0)
        trust = ops.where(usable, norm / ops.where(usable, length, 1.0), 1.0)
        return ops.assign(p, ops.cast(p - lr * trust * step, p.dtype))


class LARS(Optimizer):
    """LARS around another optimizer: the gradient of each Parameter is scaled to the Parameter's norm.

    With w the weight decay of `optimizer`, which this takes over, the optimizer is given ``l * (g + w * p)``, where
    ``l = coefficient * norm(p) / (norm(g) + w * norm(p) + epsilon)`` (1 if norm(p) or norm(g) is 0), with `use_clip`
    ``l = min(l / lr, 1)``.  Parameters for which `lars_filter` is false keep their gradients, without decay.

    ValueError for `use_clip` with schedules that differ between groups.

    >>> from autodiff_compiler import Tensor, nn
    >>> p = Parameter([3.0, 4.0], name="p")
    >>> optimizer = LARS(nn.SGD([p], 1.0), epsilon=0.0, coefficient=0.5)
    >>> _ = optimizer([Tensor([2.0, 0.0])]); p.tolist()
    [0.5, 4.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        epsilon: float = 1e-05,
        coefficient: float = 0.001,
        use_clip: bool = False,
        lars_filter: Callable[[Parameter], bool] = lambda x: "LayerNorm" not in x.name and "bias" not in x.name,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"`optimizer` must be an optimizer, not a {type(optimizer).__name__}")
        Cell.__init__(self, auto_prefix=False)
        self.epsilon = checked_number("epsilon", epsilon, least=0.0)
        self.coefficient = checked_number("coefficient", coefficient)
        self.use_clip = checked_flag("use_clip", use_clip)
        if use_clip and optimizer.is_group_lr and optimizer.dynamic_lr:
            raise ValueError("`use_clip` of LARS does not go with schedules of groups")
        self.opt = optimizer
        self.lars_flag = tuple(bool(lars_filter(p)) for p in optimizer.parameters)
        for name in ("is_group", "is_group_lr", "group_of", "decay_flags", "weight_decay", "loss_scale", "parameters"):
            setattr(self, name, getattr(optimizer, name))
        if self.is_group:
            self.centralized = optimizer.centralized
            optimizer.centralized = (False,) * len(self.parameters)
        self.learning_rate, self.global_step = optimizer.learning_rate, optimizer.global_step
        if self.is_group_lr:
            self.group_rates = optimizer.group_rates
        # LARS prepares the gradients from now on, so the optimizer must not decay or scale them again.
        optimizer.loss_scale, optimizer.decay_flags = 1.0, (False,) * len(self.parameters)

    def construct(self, gradients: Any) -> Any:
        """One step of the optimizer, with scaled gradients; returns what that returns."""
        gradients = self.gradients_centralization(self.scale_grad(self.checked(gradients)))
        rates = self.rates()
        return self.opt(
            tuple(
                [
                    self._scaled(p, g, self.decay_of(i), rates[self.group_of[i]] if self.is_group_lr else rates[0])
                    if self.lars_flag[i]
                    else g
                    for i, (p, g) in enumerate(zip(self.parameters, gradients, strict=True))
                ]
            )
        )

    def _scaled(self, p: Any, g: Any, decay: Any, lr: Any) -> Any:
        norm, size = _norm(p), _norm(g)
        usable = ops.logical_and(norm > 0.0, size > 0.0)
        length = size + self.epsilon if decay is None else size + decay * norm + self.epsilon
        local = ops.where(usable, self.coefficient * norm / ops.where(usable, length, 1.0), 1.0)
        if self.use_clip:
            local = ops.minimum(local / lr, 1.0)
        return ops.cast(local * (g if decay is None else g + decay * p), g.dtype)
