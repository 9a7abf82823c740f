"""Adam."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import ops
from ..dtypes import float32, float64
from ..errors import UnsupportedCallError
from ..runtime.parameter import Parameter
from ..runtime.tensor import Tensor
from .optimizer import Optimizer, checked_number

__all__ = ["Adam"]


class Adam(Optimizer):
    """Adam: steps scaled by running means of the gradient and of its square.

    In step t = 1, 2, ...: ``m = beta1 * m + (1 - beta1) * g``, ``v = beta2 * v + (1 - beta2) * g**2``,
    ``p -= lr * sqrt(1 - beta2**t) / (1 - beta1**t) * m / (sqrt(v) + eps)``.  With `use_nesterov` the last m is replaced
    by ``beta1 * m + (1 - beta1) * g``; with `use_amsgrad` the last v by the greatest so far.

    State as Parameters: `moment1.X` (m), `moment2.X` (v), `vhat.X`, and the powers `beta1_power`, `beta2_power`.

    >>> p = Parameter([1.0], name="p")
    >>> _ = Adam([p], learning_rate=0.25)([Tensor([2.0])]); round(p.item(), 6)  # the first step is lr * sign(g)
    0.75
    """

    beta1_power: Any
    beta2_power: Any

    def __init__(
        self,
        params: Iterable[Parameter],
        learning_rate: Any = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        use_locking: bool = False,
        use_nesterov: bool = False,
        weight_decay: float = 0.0,
        loss_scale: float = 1.0,
        use_amsgrad: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        for name in kwargs:
            if name not in ("use_lazy", "use_offload"):
                raise TypeError(f"Adam has no argument {name!r}")
            if kwargs[name]:
                raise UnsupportedCallError(f"`{name}` of Adam is not available")
        self.beta1 = checked_number("beta1", beta1, above=0.0, below=1.0)
        self.beta2 = checked_number("beta2", beta2, above=0.0, below=1.0)
        self.eps = checked_number("eps", eps, above=0.0)
        self.use_nesterov, self.use_amsgrad = use_nesterov, use_amsgrad
        # 1 - beta2**t of the first steps is a small difference of large numbers: float32 would lose its digits.
        self.beta1_power = Parameter(Tensor(1.0, float64), "beta1_power", requires_grad=False)
        self.beta2_power = Parameter(Tensor(1.0, float64), "beta2_power", requires_grad=False)
        self.moment1 = self.moments_like("moment1")
        self.moment2 = self.moments_like("moment2")
        self.vhat = self.moments_like("vhat") if use_amsgrad else self.moment2

    def construct(self, gradients: Any) -> Any:
        """One step; returns the Parameters."""
        gradients, lr = self.prepared(gradients), self.get_lr()
        ops.assign(self.beta1_power, self.beta1_power * self.beta1)
        ops.assign(self.beta2_power, self.beta2_power * self.beta2)
        correction = ops.sqrt(1.0 - self.beta2_power) / (1.0 - self.beta1_power)
        lr = lr * ops.cast(correction, float32)
        ops.assign_add(self.global_step, 1)
        state = zip(self.parameters, gradients, self.moment1, self.moment2, self.vhat, strict=True)
        return tuple([self._step(p, g, m, v, vhat, lr) for p, g, m, v, vhat in state])

    def _step(self, p: Any, g: Any, m: Any, v: Any, vhat: Any, lr: Any) -> Any:
        new_m = self.beta1 * m + (1.0 - self.beta1) * g
        new_v = self.beta2 * v + (1.0 - self.beta2) * ops.square(g)
        ops.assign(m, ops.cast(new_m, m.dtype))
        ops.assign(v, ops.cast(new_v, v.dtype))
        if self.use_amsgrad:
            new_v = ops.maximum(vhat, new_v)
            ops.assign(vhat, ops.cast(new_v, vhat.dtype))
        if self.use_nesterov:
            new_m = self.beta1 * new_m + (1.0 - self.beta1) * g
        return ops.assign(p, ops.cast(p - lr * new_m / (ops.sqrt(new_v) + self.eps), p.dtype))
