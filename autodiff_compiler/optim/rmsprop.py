"""Steps scaled by a running mean of the squared gradients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import ops
from .groups import checked_flag, checked_number
from .optimizer import Optimizer

__all__ = ["Adadelta", "RMSProp"]


class RMSProp(Optimizer):
    """RMSProp: ``s = decay * s + (1 - decay) * g**2``; ``m = momentum * m + lr * g / sqrt(s + epsilon)``; ``p -= m``.

    If `centered`, the root is taken of ``s - a**2 + epsilon``, with ``a = decay * a + (1 - decay) * g``.  State as
    Parameters: `mean_square.X` (s, which begins with 1), `moment.X` (m) and `mean_grad.X` (a).

    >>> from autodiff_compiler import Parameter, Tensor
    >>> p = Parameter([1.0], name="p")
    >>> _ = RMSProp([p], learning_rate=0.5, decay=0.0)([Tensor([4.0])]); p.tolist()
    [0.5]
    """

    def __init__(
        self,
        params: Iterable[Any],
        learning_rate: Any = 0.1,
        decay: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.decay = checked_number("decay", decay, least=0.0)
        self.momentum = checked_number("momentum", momentum, least=0.0)
        self.epsilon = checked_number("epsilon", epsilon, above=0.0)
        checked_flag("use_locking", use_locking)
        self.centered = checked_flag("centered", centered)
        # MindSpore 2.10: the mean square begins with 1, so that first steps are short.
        self.ms = self.moments_like("mean_square", "ones")
        self.moment = self.moments_like("moment")
        if centered:
            self.mg = self.moments_like("mean_grad")

    def update(self, i: int, p: Any, g: Any, lr: Any) -> Any:
        size = self.running_mean(self.ms[i], self.decay, ops.square(g))
        if self.centered:
            size = size - ops.square(self.running_mean(self.mg[i], self.decay, g))
        step = self.momentum * self.moment[i] + lr * g / ops.sqrt(size + self.epsilon)
        return ops.assign(p, ops.cast(p - self.kept(self.moment[i], step), p.dtype))


class Adadelta(Optimizer):
    """Adadelta: steps of the size of the running root mean square of earlier steps.

    ``s = rho * s + (1 - rho) * g**2``; ``d = sqrt(u + epsilon) / sqrt(s + epsilon) * g``;
    ``u = rho * u + (1 - rho) * d**2``; ``p -= lr * d``.  State as Parameters: `accum.X` (s), `accum_update.X` (u).

    >>> from autodiff_compiler import Parameter, Tensor
    >>> p = Parameter([1.0], name="p")
    >>> _ = Adadelta([p], rho=0.0, epsilon=1.0)([Tensor([0.0])]); p.tolist()
    [1.0]
    """

    def __init__(
        self,
        params: Iterable[Any],
        learning_rate: Any = 1.0,
        rho: float = 0.9,
        epsilon: float = 1e-6,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.rho = checked_number("rho", rho, least=0.0)
        if self.rho > 1.0:
            raise ValueError(f"`rho` must be <= 1.0, not {rho}")
        self.epsilon = checked_number("epsilon", epsilon, least=0.0)
        self.accum = self.moments_like("accum")
        self.accum_update = self.moments_like("accum_update")

    def update(self, i: int, p: Any, g: Any, lr: Any) -> Any:
        s = self.running_mean(self.accum[i], self.rho, ops.square(g))
        d = ops.sqrt(self.accum_update[i] + self.epsilon) / ops.sqrt(s + self.epsilon) * g
        self.running_mean(self.accum_update[i], self.rho, ops.square(d))
        return ops.assign(p, ops.cast(p - lr * d, p.dtype))
