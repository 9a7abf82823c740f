"""Steps scaled by sums and running means of squared gradients."""

from __future__ import annotations

from typing import Any

from ... import ops
from ...optim.groups import checked_flag, checked_number
from .optimizer import Optimizer, not_negative

__all__ = ["Adadelta", "Adagrad", "RMSprop"]


class Adagrad(Optimizer):
    """Adagrad: ``s += g**2``; ``p -= lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + eps)`` in step t.

    The s, Parameters called `accum.X`, begin with `initial_accumulator_value`; the Parameter `step_t` counts the steps.

    >>> from autodiff_compiler import Parameter, Tensor
    >>> p = Parameter([1.0], name="p")
    >>> _ = Adagrad([p], lr=0.25)((Tensor([2.0]),)); p.tolist()
    [0.75]
    """

    _counter = "step_t"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
    ) -> None:
        defaults = {"lr": lr, "lr_decay": not_negative("lr_decay", lr_decay), "weight_decay": weight_decay}
        super().__init__(params, {**defaults, "eps": not_negative("eps", eps), "maximize": maximize})
        start = not_negative("initial_accumulator_value", initial_accumulator_value)
        self.accum = self.moments_like("accum", start)

    def update(self, i: int, p: Any, g: Any, group: dict[str, Any]) -> Any:
        s = self.accum[i]
        new_s = s + ops.square(g)
        ops.assign(s, ops.cast(new_s, s.dtype))
        rate = group["lr"] / (1.0 + (self.step_count() - 1.0) * group["lr_decay"])
        return ops.assign(p, ops.cast(p - rate * g / (ops.sqrt(new_s) + group["eps"]), p.dtype))


class Adadelta(Optimizer):
    """Adadelta: ``s = rho * s + (1 - rho) * g**2``; ``d = sqrt(u + eps) / sqrt(s + eps) * g``; ``p -= lr * d``.

    Then ``u = rho * u + (1 - rho) * d**2``.  State as Parameters: `accum.X` (s), `accum_update.X` (u).

    >>> from autodiff_compiler import Parameter, Tensor
    >>> p = Parameter([1.0], name="p")
    >>> _ = Adadelta([p])((Tensor([0.0]),)); p.tolist()
    [1.0]
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        if not_negative("rho", rho) > 1.0:
            raise ValueError(f"`rho` must be <= 1.0, not {rho}")
        defaults = {"lr": lr, "rho": rho, "eps": not_negative("eps", eps), "weight_decay": weight_decay}
        super().__init__(params, {**defaults, "maximize": maximize})
        self.accum = self.moments_like("accum")
        self.accum_update = self.moments_like("accum_update")

    def update(self, i: int, p: Any, g: Any, group: dict[str, Any]) -> Any:
        rho, eps = group["rho"], group["eps"]
        s = self.running_mean(self.accum[i], rho, ops.square(g))
        d = ops.sqrt(self.accum_update[i] + eps) / ops.sqrt(s + eps) * g
        self.running_mean(self.accum_update[i], rho, ops.square(d))
        return ops.assign(p, ops.cast(p - group["lr"] * d, p.dtype))


class RMSprop(Optimizer):
    """RMSprop: ``s = alpha * s + (1 - alpha) * g**2``; ``m = momentum * m + g / (sqrt(s) + eps)``; ``p -= lr * m``.

    If `centered`, the root is taken of ``s - a**2``, with ``a = alpha * a + (1 - alpha) * g``.  State as Parameters:
    `mean_square.X` (s, from 0), `moment.X` (m), `mean_grad.X` (a).

    >>> from autodiff_compiler import Parameter, Tensor
    >>> p = Parameter([1.0], name="p")
    >>> _ = RMSprop([p], lr=0.25, alpha=0.0)((Tensor([2.0]),)); p.tolist()
    [0.75]
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        maximize: bool = False,
    ) -> None:
        defaults = {"lr": lr, "alpha": checked_number("alpha", alpha, least=0.0), "eps": not_negative("eps", eps)}
        defaults |= {"weight_decay": weight_decay, "momentum": not_negative("momentum", momentum)}
        super().__init__(params, {**defaults, "centered": checked_flag("centered", centered), "maximize": maximize})
        self.mean_square = self.moments_like("mean_square")
        self.moment = self.moments_like("moment")
        self.mean_grad = self.moments_like("mean_grad")

    def update(self, i: int, p: Any, g: Any, group: dict[str, Any]) -> Any:
        size = self.running_mean(self.mean_square[i], group["alpha"], ops.square(g))
        if group["centered"]:
            size = size - ops.square(self.running_mean(self.mean_grad[i], group["alpha"], g))
        step = g / (ops.sqrt(size) + group["eps"])
        if group["momentum"] != 0.0:
            step = self.kept(self.moment[i], group["momentum"] * self.moment[i] + step)
        return ops.assign(p, ops.cast(p - group["lr"] * step, p.dtype))
