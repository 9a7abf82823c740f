"""Adam and its variants."""

from __future__ import annotations

from typing import Any

from ... import ops
from ...dtypes import float32, float64
from ...optim.groups import checked_flag
from .optimizer import Optimizer, checked_betas, not_negative

__all__ = ["Adam", "AdamW", "Adamax", "NAdam", "RAdam"]

_BETAS = (0.9, 0.999)


class _Means(Optimizer):
    """The base of Adam and its variants: moments and bias corrections."""

    exp_avg: Any
    exp_avg_sq: Any
    _counter = "step_t"

    def means(self, i: int, g: Any, betas: tuple[float, float]) -> tuple[Any, Any]:
        """Updates the running means of the gradient and of its square, and returns them."""
        m = self.running_mean(self.exp_avg[i], betas[0], g)
        return m, self.running_mean(self.exp_avg_sq[i], betas[1], ops.square(g))

    def corrections(self, betas: tuple[float, float]) -> tuple[Any, Any]:
        """``1 - beta**t`` of both betas; in float32 the powers would lose the digits of the first steps."""
        t = self.step_count(float64)
        return ops.cast(1.0 - betas[0] ** t, float32), ops.cast(1.0 - betas[1] ** t, float32)


class Adam(_Means):
    """Adam: steps scaled by running means of the gradient and of its square.

    In step t = 1, 2, ...: ``m = b1 * m + (1 - b1) * g``, ``v = b2 * v + (1 - b2) * g**2``,
    ``p -= lr * m / (1 - b1**t) / (sqrt(v / (1 - b2**t)) + eps)``; with `amsgrad` the greatest v so far counts.
    State as Parameters: `exp_avg.X`, `exp_avg_sq.X`, `max_exp_avg_sq.X`, and the number of steps, `state_step`.

    >>> from autodiff_compiler import Parameter, Tensor
    >>> p = Parameter([1.0], name="p")
    >>> _ = Adam([p], lr=0.25)((Tensor([2.0]),)); round(p.item(), 6)
    0.75
    """

    _counter = "state_step"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = _BETAS,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        defaults = {"lr": lr, "betas": checked_betas(betas), "eps": not_negative("eps", eps)}
        defaults |= {"weight_decay": weight_decay, "amsgrad": checked_flag("amsgrad", amsgrad), "maximize": maximize}
        super().__init__(params, defaults)
        self.exp_avg = self.moments_like("exp_avg")
        self.exp_avg_sq = self.moments_like("exp_avg_sq")
        self.max_exp_avg_sq = self.moments_like("max_exp_avg_sq")

    def update(self, i: int, p: Any, g: Any, group: dict[str, Any]) -> Any:
        m, v = self.means(i, g, group["betas"])
        if group["amsgrad"]:
            v = self.kept(self.max_exp_avg_sq[i], ops.maximum(self.max_exp_avg_sq[i], v))
        first, second = self.corrections(group["betas"])
        step = m / first / (ops.sqrt(v) / ops.sqrt(second) + group["eps"])
        return ops.assign(p, ops.cast(self.shrunk(p, group) - group["lr"] * step, p.dtype))

    def shrunk(self, p: Any, group: dict[str, Any]) -> Any:
        """The Parameter before the step."""
        return p


class AdamW(Adam):
    """Adam with a weight decay that is no part of the gradient: before the step ``p -= lr * weight_decay * p``.

    >>> from autodiff_compiler import Parameter, Tensor
    >>> p = Parameter([1.0], name="p")
    >>> _ = AdamW([p], lr=0.5, weight_decay=0.5)((Tensor([0.0]),)); p.tolist()
    [0.75]
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = _BETAS,
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)

    def decayed(self, p: Any, g: Any, group: dict[str, Any]) -> Any:
        return g

    def shrunk(self, p: Any, group: dict[str, Any]) -> Any:
        return p if group["weight_decay"] == 0.0 else p * (1.0 - group["lr"] * group["weight_decay"])


class Adamax(_Means):
    """Adam with the decaying maximum of the gradients' size in the place of the root of their mean square.

    In step t: ``m = b1 * m + (1 - b1) * g``, ``u = max(b2 * u, |g| + eps)``, ``p -= lr / (1 - b1**t) * m / u``.
    State as Parameters: `exp_avg.X`, `exp_inf.X`, `step_t`.

    >>> from autodiff_compiler import Parameter, Tensor
    >>> p = Parameter([1.0], name="p")
    >>> _ = Adamax([p], lr=0.25)((Tensor([2.0]),)); round(p.item(), 6)
    0.75
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = _BETAS,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        defaults = {"lr": lr, "betas": checked_betas(betas), "eps": not_negative("eps", eps)}
        super().__init__(params, {**defaults, "weight_decay": weight_decay, "maximize": maximize})
        self.exp_avg = self.moments_like("exp_avg")
        self.exp_inf = self.moments_like("exp_inf")

    def update(self, i: int, p: Any, g: Any, group: dict[str, Any]) -> Any:
        beta1, beta2 = group["betas"]
        m = self.running_mean(self.exp_avg[i], beta1, g)
        u = self.kept(self.exp_inf[i], ops.maximum(beta2 * self.exp_inf[i], ops.abs(g) + group["eps"]))
        first, _ = self.corrections(group["betas"])
        return ops.assign(p, ops.cast(p - group["lr"] / first * m / u, p.dtype))


class NAdam(_Means):
    """Adam with Nesterov's momentum, whose weight rises with the steps.

    In step t: m and v as in `Adam`; ``w = b1 * (1 - 0.96**(t * momentum_decay) / 2)``, ``w'`` the same of t + 1, W the
    product of all w so far; ``d = w' * m / (1 - W * w') + (1 - w) * g / (1 - W)``; then
    ``p -= lr * d / (sqrt(v / (1 - b2**t)) + eps)``.
    State as Parameters: `exp_avg.X`, `exp_avg_sq.X`, `step_t`, `mu_product.X` (W).

    >>> from autodiff_compiler import Parameter, Tensor
    >>> p = Parameter([1.0], name="p")
    >>> _ = NAdam([p], lr=0.25)((Tensor([2.0]),)); p.item() < 1.0
    True
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = _BETAS,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 4e-3,
    ) -> None:
        defaults = {"lr": lr, "betas": checked_betas(betas), "eps": not_negative("eps", eps)}
        defaults |= {"weight_decay": weight_decay, "momentum_decay": not_negative("momentum_decay", momentum_decay)}
        super().__init__(params, defaults)
        self.exp_avg = self.moments_like("exp_avg")
        self.exp_avg_sq = self.moments_like("exp_avg_sq")
        self.mu_product = self.moments_like("mu_product", "ones")

    def update(self, i: int, p: Any, g: Any, group: dict[str, Any]) -> Any:
        m, v = self.means(i, g, group["betas"])
        _, second = self.corrections(group["betas"])
        beta1, t, rise = group["betas"][0], self.step_count(), group["momentum_decay"]
        weight = beta1 * (1.0 - 0.5 * 0.96 ** (t * rise))
        following = beta1 * (1.0 - 0.5 * 0.96 ** ((t + 1.0) * rise))
        # MindSpore 2.10: `mu_product` has the shape of its Parameter, though all elements are equal.
        product = self.kept(self.mu_product[i], self.mu_product[i] * weight)
        direction = following * m / (1.0 - product * following) + (1.0 - weight) * g / (1.0 - product)
        return ops.assign(p, ops.cast(p - group["lr"] * direction / (ops.sqrt(v / second) + group["eps"]), p.dtype))


class RAdam(_Means):
    """Adam with a rectified rate: while the mean square is known from too few steps, plain momentum.

    With ``r0 = 2 / (1 - b2) - 1`` and ``r = r0 - 2 * t * b2**t / (1 - b2**t)``: if r > 5
    ``p -= lr * m / (1 - b1**t) * sqrt(1 - b2**t) / (sqrt(v) + eps) * sqrt(q)`` with
    ``q = (r - 4) * (r - 2) * r0 / ((r0 - 4) * (r0 - 2) * r)``, else ``p -= lr * m / (1 - b1**t)``.
    State as Parameters: `exp_avg.X`, `exp_avg_sq.X`, `step_t`.

    >>> from autodiff_compiler import Parameter, Tensor
    >>> p = Parameter([1.0], name="p")
    >>> _ = RAdam([p], lr=0.25)((Tensor([2.0]),)); round(p.item(), 6)
    0.5
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = _BETAS,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        defaults = {"lr": lr, "betas": checked_betas(betas), "eps": not_negative("eps", eps)}
        super().__init__(params, {**defaults, "weight_decay": weight_decay})
        self.exp_avg = self.moments_like("exp_avg")
        self.exp_avg_sq = self.moments_like("exp_avg_sq")

    def update(self, i: int, p: Any, g: Any, group: dict[str, Any]) -> Any:
        m, v = self.means(i, g, group["betas"])
        first, second = self.corrections(group["betas"])
        beta2, t = group["betas"][1], self.step_count(float64)
        most = 2.0 / (1.0 - beta2) - 1.0
        power = beta2**t
        length = most - 2.0 * t * power / (1.0 - power)
        known = length > 5.0
        safe = ops.where(known, length, 6.0)
        rest = (safe - 4.0) * (safe - 2.0) * most / ((most - 4.0) * (most - 2.0) * safe)
        rectified = ops.cast(ops.sqrt(rest), float32)
        scale = ops.where(known, ops.sqrt(second) / (ops.sqrt(v) + group["eps"]) * rectified, 1.0)
        return ops.assign(p, ops.cast(p - group["lr"] * m / first * scale, p.dtype))
