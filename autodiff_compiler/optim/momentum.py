"""Gradient descent, plain, with momentum, and averaged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import ops
from ..dtypes import float32
from ..runtime.parameter import Parameter, ParameterTuple
from ..runtime.tensor import Tensor
from .groups import checked_flag, checked_number
from .optimizer import Optimizer

__all__ = ["ASGD", "SGD", "Momentum"]


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum if it is greater than 0.

    ``v = momentum * v + (1 - dampening) * g`` (``v = g`` in the first step); ``p -= lr * v``, with `nesterov`
    ``p -= lr * (g + momentum * v)``.  State as Parameters: `accum.X` (v), and `stat.X`, which is 1 until v is written.

    >>> p = Parameter([1.0, 2.0], name="p")
    >>> _ = SGD([p], learning_rate=0.5)([Tensor([1.0, 1.0])]); p.tolist()
    [0.5, 1.5]
    """

    momentum: Any

    def __init__(
        self,
        params: Iterable[Any],
        learning_rate: Any = 0.1,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: Any = 0.0,
        nesterov: bool = False,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        momentum = checked_number("momentum", momentum, least=0.0)
        self.dampening = checked_number("dampening", dampening, least=0.0)
        self.nesterov = checked_flag("nesterov", nesterov)
        if nesterov and (momentum == 0.0 or self.dampening != 0.0):
            raise ValueError("`nesterov` needs a momentum and no dampening")
        self.has_momentum = momentum > 0.0
        self.momentum = Parameter(Tensor(momentum, float32), "momentum", requires_grad=False)
        self.accum = self.moments_like("accum")
        self.stat = self.moments_like("stat", "ones")

    def update(self, i: int, p: Any, g: Any, lr: Any) -> Any:
        if self.has_momentum:
            fresh = self.damped(self.stat[i], g, self.dampening)
            v = self.kept(self.accum[i], self.momentum * self.accum[i] + fresh)
            g = g + self.momentum * v if self.nesterov else v
        return ops.assign(p, ops.cast(p - lr * g, p.dtype))


class Momentum(Optimizer):
    """Gradient descent with momentum: ``v = momentum * v + g``; ``p -= lr * v``.

    With `use_nesterov` ``p -= lr * (g + momentum * v)``.  The v are Parameters called `moments.X`.

    >>> p = Parameter([1.0], name="p")
    >>> optimizer = Momentum([p], learning_rate=0.5, momentum=0.5)
    >>> _ = optimizer([Tensor([1.0])]), optimizer([Tensor([1.0])]); p.tolist()
    [-0.25]
    """

    momentum: Any

    def __init__(
        self,
        params: Iterable[Any],
        learning_rate: Any,
        momentum: float,
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        momentum = checked_number("momentum", momentum, least=0.0)
        self.use_nesterov = checked_flag("use_nesterov", use_nesterov)
        self.momentum = Parameter(Tensor(momentum, float32), "momentum", requires_grad=False)
        self.moments = self.moments_like("moments")

    def update(self, i: int, p: Any, g: Any, lr: Any) -> Any:
        v = self.kept(self.moments[i], self.momentum * self.moments[i] + g)
        direction = g + self.momentum * v if self.use_nesterov else v
        return ops.assign(p, ops.cast(p - lr * direction, p.dtype))


class ASGD(Optimizer):
    """Averaged stochastic gradient descent: the mean of the Parameters over the steps is kept beside them.

    In step t = 1, 2, ...: ``p = p * (1 - lambd * eta) - eta * g``; ``ax += (p - ax) * mu`` (``ax = p`` while mu is 1);
    then ``eta = lr / (1 + lambd * lr * t)**alpha`` and ``mu = 1 / max(1, t - t0)``.  At first eta is lr and mu is 1.
    State as Parameters: `ax_.X`, `mu_X`, `eta_X`.

    >>> p = Parameter([1.0], name="p")
    >>> optimizer = ASGD([p], learning_rate=0.5, lambd=0.0)
    >>> _ = optimizer([Tensor([1.0])]); p.tolist(), optimizer.ax[0].tolist()
    ([0.5], [0.5])
    """

    def __init__(
        self,
        params: Iterable[Any],
        learning_rate: Any = 0.1,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay)
        self.lambd = checked_number("lambd", lambd)
        self.alpha = checked_number("alpha", alpha)
        self.t0 = checked_number("t0", t0)
        self.ax = self.moments_like("ax_")
        self.mu = _scalars("mu_", self.parameters, 1.0)
        self.eta = _scalars("eta_", self.parameters, 0.0)

    def update(self, i: int, p: Any, g: Any, lr: Any) -> Any:
        mu, eta, ax = self.mu[i], self.eta[i], self.ax[i]
        step = ops.cast(self.steps_done() + 1, float32)
        rate = ops.where(self.steps_done() == 0, lr, eta)
        new = p * (1.0 - self.lambd * rate) - rate * g
        ops.assign(ax, ops.cast(ops.where(mu == 1.0, new, ax + (new - ax) * mu), ax.dtype))
        ops.assign(eta, lr / (1.0 + self.lambd * lr * step) ** self.alpha)
        ops.assign(mu, 1.0 / ops.maximum(step - self.t0, 1.0))
        return ops.assign(p, ops.cast(new, p.dtype))


def _scalars(prefix: str, parameters: ParameterTuple, value: float) -> Any:
    return ParameterTuple(
        Parameter(Tensor(value, float32), f"{prefix}{p.name}", requires_grad=False) for p in parameters
    )
