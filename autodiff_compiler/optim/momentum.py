"""Gradient descent, plain and with momentum."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import ops
from ..dtypes import float32
from ..runtime.parameter import Parameter
from ..runtime.tensor import Tensor
from .optimizer import Optimizer, checked_number

__all__ = ["SGD", "Momentum"]


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum if it is greater than 0.

    ``v = momentum * v + (1 - dampening) * g`` (``v = g`` in the first step); ``p -= lr * v``, with `nesterov`
    ``p -= lr * (g + momentum * v)``.  The v are Parameters called `accum.X`.

    >>> p = Parameter([1.0, 2.0], name="p")
    >>> _ = SGD([p], learning_rate=0.5)([Tensor([1.0, 1.0])]); p.tolist()
    [0.5, 1.5]
    """

    def __init__(
        self,
        params: Iterable[Parameter],
        learning_rate: Any = 0.1,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        momentum = checked_number("momentum", momentum, least=0.0)
        self.dampening = checked_number("dampening", dampening, least=0.0)
        if nesterov and (momentum == 0.0 or self.dampening != 0.0):
            raise ValueError("`nesterov` needs a momentum and no dampening")
        self.nesterov = nesterov
        self.has_momentum = momentum > 0.0
        self.momentum = Parameter(Tensor(momentum, float32), "momentum", requires_grad=False)
        self.accum = self.moments_like("accum")

    def construct(self, gradients: Any) -> Any:
        """One step; returns the Parameters."""
        gradients, lr = self.prepared(gradients), self.get_lr()
        share = 1.0
        if self.dampening != 0.0:
            share = ops.where(self.global_step == 0, 1.0, 1.0 - self.dampening)
        trained = tuple(
            [self._step(p, g, v, lr, share) for p, g, v in zip(self.parameters, gradients, self.accum, strict=True)]
        )
        ops.assign_add(self.global_step, 1)
        return trained

    def _step(self, p: Any, g: Any, v: Any, lr: Any, share: Any) -> Any:
        if self.has_momentum:
            new_v = self.momentum * v + g * share
            ops.assign(v, ops.cast(new_v, v.dtype))
            g = g + self.momentum * new_v if self.nesterov else new_v
        return ops.assign(p, ops.cast(p - lr * g, p.dtype))


class Momentum(Optimizer):
    """Gradient descent with momentum: ``v = momentum * v + g``; ``p -= lr * v``.

    With `use_nesterov` ``p -= lr * (g + momentum * v)``.  The v are Parameters called `moments.X`.

    >>> p = Parameter([1.0], name="p")
    >>> optimizer = Momentum([p], learning_rate=0.5, momentum=0.5)
    >>> _ = optimizer([Tensor([1.0])]), optimizer([Tensor([1.0])]); p.tolist()
    [-0.25]
    """

    def __init__(
        self,
        params: Iterable[Parameter],
        learning_rate: Any,
        momentum: float,
        weight_decay: float = 0.0,
        loss_scale: float = 1.0,
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        momentum = checked_number("momentum", momentum, least=0.0)
        self.use_nesterov = use_nesterov
        self.momentum = Parameter(Tensor(momentum, float32), "momentum", requires_grad=False)
        self.moments = self.moments_like("moments")

    def construct(self, gradients: Any) -> Any:
        """One step; returns the Parameters."""
        gradients, lr = self.prepared(gradients), self.get_lr()
        trained = tuple(
            [self._step(p, g, v, lr) for p, g, v in zip(self.parameters, gradients, self.moments, strict=True)]
        )
        ops.assign_add(self.global_step, 1)
        return trained

    def _step(self, p: Any, g: Any, v: Any, lr: Any) -> Any:
        new_v = self.momentum * v + g
        ops.assign(v, ops.cast(new_v, v.dtype))
        direction = g + self.momentum * new_v if self.use_nesterov else new_v
        return ops.assign(p, ops.cast(p - lr * direction, p.dtype))
